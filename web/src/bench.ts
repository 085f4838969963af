// Kernels on this CPU: how much faster they are than oneDNN as the share of zeros grows, and from where on.
import type { Answer } from "./answer";
import { drawBars } from "./parts/bars";
import { keys, type Picture } from "./parts/card";
import { ops, opTitle, type Bench, type Kernels, type Op } from "./data";
import { exactTimes, percent, plain, times } from "./parts/format";
import { drawLines, type Line } from "./parts/lines";
import type { Step } from "./model";
import { kernelRows } from "./training";
import { cpuColour } from "./parts/theme";

const dashes: Record<Op, string | undefined> = { forward: undefined, input_grad: "7 3", weight_grad: "2 3" };
const round = (zeros: number): number => Math.round(100 * zeros);

// Geometric mean over layers at each share of zeros.
function means(bench: Bench, op: Op): { x: number; y: number }[] {
  const sums = new Map<number, { logs: number; count: number }>();
  for (const one of bench.cases) {
    if (one.op !== op || one.initial || !(one.x_direct > 0)) continue;
    const sum = sums.get(round(one.zeros)) ?? { logs: 0, count: 0 };
    sum.logs += one.count * Math.log(one.x_direct);
    sum.count += one.count;
    sums.set(round(one.zeros), sum);
  }
  return [...sums].sort((a, b) => a[0] - b[0]).map(([x, sum]) => ({ x, y: Math.exp(sum.logs / sum.count) }));
}

// Returns the share at which the line crosses 1x from below; null if it does not.
export function crossover(points: { x: number; y: number }[]): number | null {
  for (let i = 0; i < points.length; ++i) {
    const here = points[i]!;
    if (here.y < 1 || points.slice(i).some((point) => point.y < 1)) continue;
    const before = points[i - 1];
    return before ? before.x + ((1 - before.y) / (here.y - before.y)) * (here.x - before.x) : here.x;
  }
  return null;
}

const overall = (bench: Bench): { x: number; y: number }[] => {
  const all = new Map<number, number[]>();
  for (const op of ops) for (const point of means(bench, op)) all.set(point.x, [...(all.get(point.x) ?? []), point.y]);
  return [...all].sort((a, b) => a[0] - b[0]).map(([x, values]) => ({ x, y: Math.exp(values.reduce((sum, value) => sum + Math.log(value), 0) / values.length) }));
};

export function benchAnswer(bench: Bench): Answer {
  const points = overall(bench);
  const cross = crossover(points);
  const last = points.at(-1);
  const network = bench.networks.at(-1);
  const sentences = [
    cross === null ? "Skipping zeros does not pay at these shares of zeros on this CPU." : cross <= (points[0]?.x ?? 0) ? `Skipping zeros pays at every share of zeros measured here.` : `Skipping zeros pays from ${Math.round(cross)} % of zeros on.`,
    last ? `With ${last.x} % of zeros these kernels are ${times(last.y)} ${last.y >= 1 ? "as fast as" : "the speed of"} oneDNN's direct convolution.` : "",
  ];
  return {
    sentences: sentences.filter(Boolean),
    numbers: [
      { label: "Pays from", value: cross === null ? "–" : `${Math.round(cross)} %`, detail: "zeros on; geometric mean over layers and operations", colour: cpuColour },
      ...(last ? [{ label: `With ${last.x} % zeros`, value: times(last.y, 3), detail: "faster than oneDNN's direct convolution", colour: cpuColour, exact: exactTimes(last.y) }] : []),
      ...(network ? [{ label: String(network.name), value: times(network.x_direct, 3), detail: network.zeros === undefined ? "training time of its convolutions, its own zeros" : `training time of its convolutions at ${percent(network.zeros)} zeros`, colour: cpuColour, exact: exactTimes(network.x_direct) }] : []),
      { label: "Cases", value: String(bench.cases.length), detail: "layers, operations and shares of zeros, timed in pairs" },
    ],
  };
}

export function benchPictures(bench: Bench): Picture[] {
  const pictures: Picture[] = [];
  const lines: Line[] = ops.map((op) => ({ title: opTitle[op], colour: cpuColour, dash: dashes[op], points: means(bench, op) })).filter((line) => line.points.length > 1);
  if (lines.length > 0) {
    const cases = new Map<string, { x: number; y: number }[]>();
    for (const one of bench.cases) {
      const key = `${one.network} ${one.layer} ${one.op}`;
      cases.set(key, [...(cases.get(key) ?? []), { x: round(one.zeros), y: one.x_direct }]);
    }
    const faint: Line[] = [...cases.values()].slice(0, 400).map((points) => ({ title: "", colour: cpuColour, faint: true, points: points.sort((a, b) => a.x - b.x) }));
    const marks = lines.flatMap((line) => { const x = crossover(line.points); return x === null || x <= line.points[0]!.x ? [] : [{ x, y: 1, text: `${line.title}: ${Math.round(x)} %`, colour: cpuColour }]; });
    // Skipping every multiplication with a zero: 1 / (1 - zeros), up to the end of the lines.
    const highest = Math.max(...[...faint, ...lines].flatMap((line) => line.points.map((point) => point.y)));
    const [first, last] = [Math.min(...lines.map((line) => line.points[0]!.x)), Math.max(...lines.map((line) => line.points.at(-1)!.x))];
    const ideal = Array.from({ length: 61 }, (_, i) => first + ((last - first) * i) / 60).filter((x) => x < 100).map((x) => ({ x, y: 100 / (100 - x) })).filter((point) => point.y <= 1.2 * highest);
    const best: Line = { title: "", colour: "var(--dense)", faint: true, dash: "2 3", points: ideal };
    const cross = lines.map((line) => `${line.title}: ${crossover(line.points) === null ? "never" : `from ${Math.round(crossover(line.points)!)} %`}`).join(", ");
    pictures.push({
      name: "bench-zeros", title: "How many zeros does it take?",
      note: `Times faster than oneDNN's direct convolution. Strong lines: geometric mean over layers; faint: single layers; grey dots: 'at best', no time for any zero. Above 1x it pays (${cross}); rings mark where.`,
      rows: () => lines.flatMap((line) => line.points.map((point) => ({ operation: line.title, zeros_percent: point.x, x_direct: point.y }))),
      draw: (width) => drawLines([...faint, ...lines, ...(ideal.length > 1 ? [best] : [])], { marks, width, height: 320, xLabel: "share of zeros (%)", yLabel: "speedup (times)", label: "Speedup over the share of zeros", one: true, value: (value) => times(value, 4), at: (value) => `${value} % zeros` }),
    });
  }
  if (bench.networks.length > 0)
    pictures.push({
      key: [bench.networks.some((one) => typeof one.zeros === "number") && keys.best()],
      name: "bench-networks", title: "Whole networks", note: "Training time of the convolutions after the first one: oneDNN's time divided by ours.",
      rows: () => bench.networks.map((one) => ({ network: one.name, zeros: one.zeros ?? null, x_direct: one.x_direct, x_auto: one.x_auto, paper: one.paper ?? null })),
      draw: (width) => drawBars(bench.networks.flatMap((one) => [{ group: String(one.name), name: one.zeros === undefined ? "its own zeros" : `${percent(one.zeros)} zeros`, value: one.x_direct, best: typeof one.zeros === "number" && one.zeros < 1 ? 1 / (1 - one.zeros) : null, colour: cpuColour, text: times(one.x_direct), lines: [`over oneDNN direct ${exactTimes(one.x_direct)}`, `over oneDNN's own choice ${exactTimes(one.x_auto)}`] }]), width, "speedup over oneDNN (times)", "Speedup by network"),
    });
  return pictures;
}

export const benchTable = (bench: Bench) => bench.cases.map((one) => ({ layer: one.layer, network: one.network, shape: one.shape, operation: one.op, zeros: one.zeros, used: one.used, microseconds: 1e6 * one.seconds, direct_microseconds: 1e6 * one.direct_seconds, x_direct: one.x_direct, x_auto: one.x_auto }));

// Measurements of `demo` and `train --compare`: layers of the trained network, dense and sparse interleaved.
// `step`: the recorded step of the same network, for what would be possible at best.
export function kernelsPicture(kernels: Kernels, step?: Step): Picture {
  const rows = kernelRows(kernels);
  const best = (layer: string, op: string): number | null => step?.inspect?.layers.find((one) => one.name === layer)?.ops.find((one) => one.op === op)?.potential ?? null;
  return {
    name: "cpu", title: `On this CPU: ${times(kernels.step_speedup)} for the whole step`,
    note: `Measured: ${plain(kernels.dense_step_ms, 4)} ms dense (oneDNN), ${plain(kernels.other_step_ms, 4)} ms with kernels that skip zeros; medians of ${kernels.steps} batches of ${kernels.batch}. Speedup by layer:`,
    key: [rows.some((row) => best(row.layer, row.operation) !== null) && keys.best()],
    rows: () => rows.map((row) => ({ ...row, at_best: best(row.layer, row.operation) })),
    draw: (width) => drawBars(rows.filter((row) => row.speedup !== null).map((row) => ({ group: row.layer, name: opTitle[row.operation as Op], value: row.speedup!, best: best(row.layer, row.operation), colour: cpuColour, text: times(row.speedup), lines: [`dense ${plain(row.dense_ms, 4)} ms`, `skipping zeros ${plain(row.sparse_ms, 4)} ms`, exactTimes(row.speedup)] })), width, "speedup over dense (times)", "Speedup of the CPU kernels by layer"),
  };
}
