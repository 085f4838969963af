// Area of the chip against speedup.
import * as Plot from "@observablehq/plot";
import type { Picture } from "./parts/card";
import { exactTimes, plain, times } from "./parts/format";
import { addHover, type Spot } from "./parts/hover";
import { atBest, speedup, type Step } from "./model";

export function areaPicture(step: Step): Picture | null {
  const priced = step.machines.filter((machine) => machine.run.area && speedup(machine.run, "all") !== null);
  if (priced.length === 0) return null;
  // Areas from different tables do not compare: those of the first machine's table are shown.
  const { table, node_nm } = priced[0]!.run.area!;
  const shown = priced.filter((machine) => machine.run.area!.table === table && machine.run.area!.node_nm === node_nm);
  const dense = shown.map((machine) => machine.run.area!.baseline).find((area) => area);
  const points = [
    ...(dense ? [{ title: "dense", arch: "dense", colour: "var(--dense)", area: dense.total, compute: dense.compute, value: 1 }] : []),
    ...shown.map((machine) => ({ title: machine.title, arch: machine.run.arch, colour: machine.colour, area: machine.run.area!.machine.total, compute: machine.run.area!.machine.compute, value: speedup(machine.run, "all")! })),
  ].sort((a, b) => a.area - b.area);
  const best = atBest(step, "all", false);
  const others = priced.length - shown.length;
  return {
    name: "area",
    title: "What does it cost in silicon?",
    note: `Area of the whole chip against speedup. Cost table ${table}, ${node_nm} nm.${others > 0 ? ` ${others === 1 ? "One machine is" : `${others} machines are`} priced by another table and left out: such areas do not compare.` : ""}${best === null ? "" : " The dotted line is 'at best' with the sparser operand."}`,
    rows: () => points.map((point) => ({ machine: point.arch, area_mm2: point.area, logic_mm2: point.compute, speedup: point.value })),
    draw: (width) => {
      const right = Math.max(...points.map((point) => point.area)) * 1.12;
      const highest = Math.max(1.2, ...points.map((point) => point.value));
      const top = Math.min(Math.max(highest, best ?? 0), 2 * highest) * 1.1;
      // Labels of points that lie close together are moved apart, from the slowest up.
      let above = Infinity;
      const labels = [...points].sort((a, b) => a.value - b.value || b.area - a.area).map((point) => {
        const y = 28 + (1 - point.value / top) * (280 - 72);
        above = Math.min(y, above - 13);
        return { point, dy: above - y - 1 };
      });
      const plot = Plot.plot({
        width, height: 280, marginLeft: 48, marginRight: 70, marginTop: 28, marginBottom: 44,
        x: { domain: [0, right], label: "area of the chip (mm²)", labelAnchor: "center", labelArrow: "none", ticks: width < 560 ? 4 : 8 },
        y: { domain: [0, top], label: "speedup (times)", grid: true, labelArrow: "none", ticks: 6 },
        marks: [
          Plot.ruleY([1], { stroke: "var(--text)", strokeOpacity: 0.25 }),
          ...(best !== null && best <= top ? [Plot.ruleY([best], { stroke: "var(--dense)", strokeWidth: 2, strokeDasharray: "2 3" }), Plot.text([best], { y: best, frameAnchor: "right", text: () => `at best ${times(best)}`, fill: "var(--muted)", dy: -8, textAnchor: "end", fontSize: 11 })] : []),
          ...(best !== null && best > top ? [Plot.text([best], { frameAnchor: "top-right", text: () => `at best ${times(best)} ↑`, fill: "var(--muted)", dy: 4, textAnchor: "end", fontSize: 11 })] : []),
          Plot.dot(points, { x: "area", y: "value", r: 6, fill: "colour", stroke: "var(--card)" }),
          ...labels.map(({ point, dy }) => Plot.text([point], { x: "area", y: "value", text: () => `${point.title} ${times(point.value)}`, fill: "colour", fontWeight: 600, textAnchor: "start", dx: 10, dy, stroke: "var(--card)", strokeWidth: 3 })),
        ],
      }) as SVGSVGElement & { scale(name: string): { apply(value: unknown): number } | undefined };
      const x = plot.scale("x")!;
      const y = plot.scale("y")!;
      addHover(plot, "Area of each machine against its speedup", points.map((point): Spot => ({
        x: x.apply(point.area), y: y.apply(point.value),
        box: [x.apply(point.area) - 14, y.apply(point.value) - 14, x.apply(point.area) + 90, y.apply(point.value) + 14],
        lines: [point.title, `${plain(point.area, 5)} mm², logic ${plain(point.compute, 5)} mm²`, `speedup ${exactTimes(point.value)}`],
      })));
      return plot;
    },
  };
}
