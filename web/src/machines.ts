// Speedup of each machine by operation, pale up to what the machine has without any zero, a tick for 'at best'.
import * as Plot from "@observablehq/plot";
import { machinesTitle } from "./answer";
import { keys, type Picture } from "./parts/card";
import { opsAndAll, opTitle, type OpOrAll } from "./data";
import { shorten } from "./parts/dom";
import { exactTimes, times, whole } from "./parts/format";
import { addHover, type Spot } from "./parts/hover";
import { atBest, fromZeros, speedup, speedupWithoutZeros, type Step } from "./model";
import { addPatterns } from "./parts/patterns";

type Scales = SVGSVGElement & { scale(name: string): { apply(value: unknown): number; bandwidth?: number } | undefined };

export function machinesPicture(step: Step): Picture {
  const bars = opsAndAll.flatMap((op) => step.machines.map((machine) => ({
    op, machine: machine.title, colour: machine.colour, value: speedup(machine.run, op), without: speedupWithoutZeros(machine.run, op), zeros: fromZeros(machine.run, op),
    best: atBest(step, op, machine.both), run: machine.run,
  }))).filter((bar) => bar.value !== null) as { op: OpOrAll; machine: string; colour: string; value: number; without: number; zeros: number; best: number | null; run: Step["machines"][number]["run"] }[];
  const waiting = step.machines.filter((machine) => machine.run.config.memory === "modelled").map((machine) => machine.title);
  const mixed = waiting.length > 0 && waiting.length < step.machines.length ? ` These do not compare: only ${waiting.join(", ")} ${waiting.length === 1 ? "waits" : "wait"} for memory.` : "";
  return {
    name: "machines",
    title: machinesTitle(step),
    note: `Speedup over the same number of dense multipliers (1x), for one step with the whole batch. Hatched: what the machine would have without any zero; zeros give the rest. Machines that skip the zeros of both operands have a higher 'at best'.${mixed}`,
    key: [step.inspect && keys.best(), keys.withoutZeros()],
    rows: () => bars.map((bar) => ({ machine: bar.run.arch, operation: bar.op, speedup_from_zeros: bar.zeros, speedup_without_zeros: bar.without, speedup: bar.value, at_best: bar.best, baseline_cycles: bar.run.per_batch[bar.op].baseline_cycles, cycles: bar.run.per_batch[bar.op].cycles })),
    draw: (width) => {
      const fastest = Math.max(1, ...bars.map((bar) => bar.value));
      const limit = Math.min(Math.max(fastest, ...bars.map((bar) => bar.best ?? 0)), 2.2 * fastest) * 1.06;
      const narrow = width < 560;
      const left = narrow ? 86 : 120;
      // What zeros give is written where no tick for 'at best' stands in it.
      const unit = limit / (width - left - 16);
      const says = (bar: (typeof bars)[number]): string => {
        const both = `${times(bar.value)}, ${times(bar.zeros)} from zeros`;
        const fits = bar.best === null || bar.best < bar.value || bar.best > bar.value + (7 * both.length + 8) * unit;
        return !narrow && fits && Math.abs(bar.without - 1) > 0.05 ? both : times(bar.value);
      };
      const plot = Plot.plot({
        width,
        height: 26 + opsAndAll.length * (step.machines.length * 23 + 26) + 40,
        marginLeft: left,
        marginRight: 16,
        marginTop: 26,
        marginBottom: 40,
        x: { domain: [0, limit], label: "speedup over dense (times)", labelAnchor: "center", labelArrow: "none", grid: true, ticks: narrow ? 4 : 8 },
        y: { domain: step.machines.map((machine) => machine.title), label: null, tickSize: 0, padding: 0.18, tickFormat: (title: string) => shorten(title, 16) },
        fy: { domain: opsAndAll, label: null, axis: null, padding: 26 / (step.machines.length * 23 + 26) },
        marks: [
          Plot.text(opsAndAll, { fy: (op) => op, text: (op: OpOrAll) => opTitle[op], frameAnchor: "top-left", dy: -14, fontWeight: 600, fontSize: 12 }),
          Plot.barX(bars, { fy: "op", y: "machine", x: "value", fill: "colour" }),
          Plot.barX(bars, { fy: "op", y: "machine", x: (bar) => Math.min(bar.without, bar.value), fill: "url(#p-hatch)" }),
          Plot.ruleX([1], { stroke: "var(--text)", strokeOpacity: 0.7 }),
          Plot.tickX(bars.filter((bar) => bar.best !== null && bar.best <= limit), { fy: "op", y: "machine", x: "best", stroke: "var(--dense)", strokeWidth: 3 }),
          Plot.text(bars.filter((bar) => bar.best !== null && bar.best > limit), { fy: "op", y: "machine", x: limit, text: (bar) => `at best ${times(bar.best)} →`, textAnchor: "end", fill: "var(--muted)", fontSize: 11 }),
          Plot.text(bars, { fy: "op", y: "machine", x: "value", text: says, textAnchor: "start", dx: 5, fontSize: 12, fontVariant: "tabular-nums", stroke: "var(--card)", strokeWidth: 4, fill: "var(--text)" }),
        ],
      }) as Scales;
      addPatterns(plot);
      const x = plot.scale("x")!;
      const y = plot.scale("y")!;
      const fy = plot.scale("fy")!;
      const spots = bars.map((bar): Spot => {
        const top = fy.apply(bar.op) - 26 + y.apply(bar.machine);
        return {
          x: x.apply(Math.min(bar.value, limit)), y: top + y.bandwidth! / 2,
          box: [x.apply(0), top, width - 16, top + y.bandwidth!],
          lines: [
            `${bar.machine}, ${opTitle[bar.op]}`,
            `speedup ${exactTimes(bar.value)}`,
            `from zeros ${exactTimes(bar.zeros)}, without any ${exactTimes(bar.without)}`,
            `${whole(bar.run.per_batch[bar.op].cycles)} cycles, dense ${whole(bar.run.per_batch[bar.op].baseline_cycles)}`,
            ...(bar.best === null ? [] : [`at best ${exactTimes(bar.best)}`]),
          ],
        };
      });
      addHover(plot, "Speedup of each machine by operation", spots);
      return plot;
    },
  };
}
