// Speedup over the layers: one line per machine, points as large as the layer's share of the work.
import * as Plot from "@observablehq/plot";
import { choice, type Picture } from "./parts/card";
import { opsAndAll, opTitle, type OpOrAll } from "./data";
import { lastPart } from "./parts/dom";
import { percent, times } from "./parts/format";
import { addHover, type Spot } from "./parts/hover";
import { layerAtBest, layerSpeedup, type Step } from "./model";

export function layersPicture(step: Step, op: OpOrAll, choose: (op: OpOrAll) => void, open: (layer: number) => void): Picture {
  const count = step.layers.length;
  const points = step.machines.flatMap((machine) => step.layers.map((layer) => ({ layer, machine: machine.title, colour: machine.colour, value: layerSpeedup(machine, layer.index, op) }))).filter((point) => point.value !== null);
  const best = step.layers.map((layer) => ({ layer, value: layerAtBest(step, layer.index, op) })).filter((one) => one.value !== null);
  return {
    name: "layers",
    title: "Layer by layer",
    note: `Speedup over the baseline, ${opTitle[op]}. Points are as large as the layer's share of the work; the grey line is 'at best' with the sparser operand. A click opens the layer.`,
    controls: choice("Operation", opsAndAll, (one) => (one === "all" ? "all" : opTitle[one]), op, choose),
    rows: () => step.layers.map((layer) => ({ layer: layer.name, operation: op, share_of_work: layer.share, at_best: layerAtBest(step, layer.index, op), ...Object.fromEntries(step.machines.map((machine) => [machine.run.arch, layerSpeedup(machine, layer.index, op)])) })),
    draw: (width) => {
      const highest = Math.max(1.2, ...points.map((point) => point.value!));
      const narrow = width < 560;
      const right = narrow ? 14 : 96;
      const every = Math.max(1, Math.ceil(count / Math.max(2, Math.floor((width - 60 - right) / (narrow ? 52 : 34)))));
      const limit = Math.min(Math.max(highest, ...best.map((one) => one.value!)), 2 * highest) * 1.05;
      const last = step.machines.map((machine) => points.filter((point) => point.machine === machine.title).at(-1)!).filter(Boolean).sort((a, b) => b.value! - a.value!);
      // Labels at the ends of the lines, moved apart.
      let before = -Infinity;
      const height = 330;
      const labels = last.map((point) => {
        const y = Math.max(30 + (1 - point.value! / limit) * (height - 120), before + 14);
        before = y;
        return { ...point, y };
      });
      const plot = Plot.plot({
        width,
        height,
        marginLeft: 46,
        marginRight: right,
        marginTop: 30,
        marginBottom: 90,
        x: { domain: [-0.5, count - 0.5], label: null, ticks: step.layers.filter((_, i) => i % every === 0).map((layer) => layer.index), tickFormat: (i: number) => lastPart(step.layers[i]?.name ?? "", 14), tickRotate: -55, tickSize: 3 },
        y: { domain: [0, limit], label: "speedup (times)", grid: true, nice: true, labelArrow: "none" },
        r: { domain: [0, Math.max(...step.layers.map((layer) => layer.share))], range: [1, count > 300 ? 4 : 8] },
        marks: [
          Plot.ruleY([1], { stroke: "var(--text)", strokeOpacity: 0.7 }),
          Plot.line(best, { x: (one) => one.layer.index, y: "value", stroke: "var(--dense)", strokeWidth: count > 300 ? 0.7 : 2, strokeOpacity: count > 300 ? 0.45 : 1, strokeDasharray: count > 300 ? undefined : "2 3", clip: true, curve: count > 300 ? "linear" : "step" }),
          Plot.line(points, { x: (point) => point.layer.index, y: "value", z: "machine", stroke: "colour", strokeWidth: count > 300 ? 1 : 1.6, strokeOpacity: 0.75, clip: true }),
          Plot.dot(points, { x: (point) => point.layer.index, y: "value", r: (point) => point.layer.share, fill: "colour", stroke: count > 300 ? "none" : "var(--card)", strokeWidth: 0.7, clip: true }),
          ...(narrow ? [] : labels.map((label) => Plot.text([label], { frameAnchor: "top-right", text: () => label.machine, fill: label.colour, fontWeight: 600, textAnchor: "start", dx: 8, dy: label.y - 30, lineAnchor: "middle", fontSize: 12 }))),
        ],
      }) as SVGSVGElement & { scale(name: string): { apply(value: unknown): number } | undefined };
      const x = plot.scale("x")!;
      const y = plot.scale("y")!;
      const spots = step.layers.map((layer): Spot => {
        const values = step.machines.map((machine) => ({ title: machine.title, value: layerSpeedup(machine, layer.index, op) }));
        return {
          x: x.apply(layer.index), y: y.apply(Math.min(limit, Math.max(0, ...values.map((one) => one.value ?? 0)))),
          lines: [layer.name, layer.shape, ...values.map((one) => `${one.title}: ${times(one.value, 4)}`), `at best ${times(layerAtBest(step, layer.index, op), 4)}`, `${percent(layer.share, 2)} of the work`],
          layer: layer.index,
        };
      });
      addHover(plot, `Speedup by layer, ${opTitle[op]}. Arrow keys move between layers, Enter opens one.`, spots, open);
      return plot;
    },
  };
}
