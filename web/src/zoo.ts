// Recorded traces on every machine: a dot per machine and trace, and the numbers as a table.
import * as Plot from "@observablehq/plot";
import type { Answer } from "./answer";
import { choice, type Picture } from "./parts/card";
import { exactTimes, percent, times } from "./parts/format";
import { addHover, type Spot } from "./parts/hover";
import { tableCard, type Column } from "./parts/table";
import { machineColour } from "./parts/theme";

export const zooMeasures = ["speedup", "from_zeros", "efficiency"] as const;
export type ZooMeasure = (typeof zooMeasures)[number];
const measureTitles: Record<ZooMeasure, string> = { speedup: "speedup over dense", from_zeros: "what zeros give", efficiency: "energy efficiency" };

export interface ZooTrace {
  trace: string;
  progress: number; // of the training, 0 to 1
  last: boolean; // recorded at the end of the training
  network: string;
  data: string;
  zeros: Partial<Record<"A" | "W" | "G", number>>; // shares, weighted by multiplications
  at_best: number;
  machines: Record<string, Partial<Record<ZooMeasure, number>>>; // by base
  kernels?: number; // measured: our kernels over oneDNN's direct convolutions
}
export interface Zoo {
  machines: { base: string; title: string }[];
  kernels_machine: string;
  without_kernels: string; // why some traces have no number; empty if all have one
  traces: ZooTrace[];
}

const notes: Record<ZooMeasure, string> = { speedup: "Time of the dense machine / time of the machine", from_zeros: "Time of the machine without zeros / time with them", efficiency: "Energy of the dense machine / energy of the machine" };

const lastSteps = (zoo: Zoo): ZooTrace[] => zoo.traces.filter((trace) => trace.last);
const value = (trace: ZooTrace, base: string, measure: ZooMeasure): number | undefined => trace.machines[base]?.[measure];

// Share of multiplications with a zero in the checked operand.
const skippable = (trace: ZooTrace): number => 1 - 1 / trace.at_best;

export interface Crossover {
  above?: number; // the share of such multiplications above which the machine is faster than dense by 1 %; absent: nowhere
  exceptions: number; // traces on the other side
}
// The share that parts faster from slower traces with the fewest exceptions.
export function crossover(points: { share: number; speedup: number }[]): Crossover {
  const sorted = [...points].sort((a, b) => a.share - b.share);
  const faster = (point: { speedup: number }): boolean => point.speedup >= 1.01;
  let exceptions = sorted.filter((point) => !faster(point)).length;
  let best: Crossover = { above: 0, exceptions };
  sorted.forEach((point, index) => {
    exceptions += faster(point) ? 1 : -1;
    const next = sorted[index + 1];
    if (exceptions < best.exceptions && next?.share !== point.share) best = next ? { above: (point.share + next.share) / 2, exceptions } : { exceptions };
  });
  return best;
}
const crossovers = (zoo: Zoo): (Crossover & { base: string; title: string })[] => zoo.machines.map(({ base, title }) => ({
  base, title,
  ...crossover(zoo.traces.flatMap((trace) => { const speedup = value(trace, base, "speedup"); return speedup === undefined ? [] : [{ share: skippable(trace), speedup }]; })),
}));

export function zooAnswer(all: Zoo): Answer {
  const zoo = { ...all, traces: lastSteps(all) };
  const means = zoo.machines
    .map((machine) => {
      const values = zoo.traces.map((trace) => value(trace, machine.base, "speedup")).filter((one) => one !== undefined);
      return { ...machine, mean: Math.exp(values.reduce((sum, one) => sum + Math.log(one), 0) / values.length), wins: 0 };
    })
    .sort((a, b) => b.mean - a.mean);
  for (const trace of zoo.traces) {
    const best = [...means].sort((a, b) => (value(trace, b.base, "speedup") ?? 0) - (value(trace, a.base, "speedup") ?? 0))[0];
    if (best) best.wins += 1;
  }
  const first = [...means].sort((a, b) => b.wins - a.wins)[0]!;
  const best = zoo.traces.map((trace) => trace.at_best).sort((a, b) => a - b);
  return {
    sentences: [`${first.title} would be the fastest on the last step of ${first.wins} of ${zoo.traces.length} recorded trainings, if no machine ever waited for memory.`],
    numbers: [
      { label: "At best", value: times(best[best.length >> 1], 2), detail: `median; from ${times(best[0])} to ${times(best.at(-1))}` },
      ...means.slice(0, 3).map((machine) => ({ label: machine.title, value: times(machine.mean, 2), detail: `faster than dense, geometric mean; the fastest on ${machine.wins} of ${zoo.traces.length}`, colour: machineColour(machine.base), exact: exactTimes(machine.mean) })),
    ],
  };
}

export function zooPicture(zoo: Zoo, measure: ZooMeasure, choose: (measure: ZooMeasure) => void): Picture {
  const traces = lastSteps(zoo).sort((a, b) => b.at_best - a.at_best);
  const dots = traces.flatMap((trace) => zoo.machines.flatMap(({ base, title }) => {
    const number = value(trace, base, measure);
    return number === undefined ? [] : [{ trace: trace.trace, title, number, colour: machineColour(base) }];
  }));
  const speeds = measure !== "efficiency";
  return {
    name: "zoo", title: "Every network on every machine",
    note: `${notes[measure]}, all three operations of the last recorded step of each training; traces with the most to gain first${speeds ? ", the line is what skipping the zeros of one operand gives at best" : ""}.`,
    controls: choice("What is shown", zooMeasures, (one) => measureTitles[one], measure, choose),
    key: zoo.machines.map(({ base, title }) => { const key = document.createElement("span"); key.className = "swatch"; const dot = document.createElement("i"); dot.style.background = machineColour(base); key.append(dot, title); return key; }),
    rows: () => dots.map(({ trace, title, number }) => ({ trace, machine: title, [measure]: number })),
    draw: (width) => {
      const narrow = width < 560;
      const row = 22;
      const height = 30 + row * traces.length + 40;
      const left = narrow ? 132 : 240;
      const name = (trace: string): string => (narrow && trace.length > 18 ? `${trace.slice(0, 17)}…` : trace);
      const numbers = [...dots.map((dot) => dot.number), ...(speeds ? traces.map((trace) => trace.at_best) : [])];
      const plot = Plot.plot({
        width, height, marginLeft: left, marginRight: 16, marginTop: 30, marginBottom: 40,
        x: { type: "log", domain: [0.9 * Math.min(...numbers), 1.1 * Math.max(...numbers)], label: `${measureTitles[measure]} (times)`, labelAnchor: "center", labelArrow: "none", grid: true, ticks: narrow ? 4 : 8, tickFormat: (tick: number) => (/^[125]/.test(String(tick).replace(/^0\.0*/, "")) ? `${tick}x` : "") },
        y: { type: "band", domain: traces.map((trace) => trace.trace), label: null, tickFormat: name, tickSize: 0 },
        marks: [
          Plot.ruleX([1], { stroke: "var(--text)", strokeOpacity: 0.7 }),
          ...(speeds ? [Plot.tickX(traces, { x: "at_best", y: "trace", stroke: "var(--dense)", strokeWidth: 2 })] : []),
          Plot.dot(dots, { x: "number", y: "trace", fill: "colour", r: 4.5, fillOpacity: 0.85, stroke: "var(--card)" }),
        ],
      }) as SVGSVGElement & { scale(name: string): { apply(value: unknown): number } | undefined };
      const y = plot.scale("y")!;
      const spots = traces.map((trace): Spot => {
        const top = y.apply(trace.trace);
        return {
          x: width / 2, y: top + row / 2, box: [0, top, width, top + row],
          lines: [trace.trace, `at best ${exactTimes(trace.at_best)}`, ...zoo.machines.map(({ base, title }) => ({ title, number: value(trace, base, measure) })).filter((one) => one.number !== undefined).sort((a, b) => b.number! - a.number!).map((one) => `${one.title} ${exactTimes(one.number)}`)],
        };
      });
      addHover(plot, `${measureTitles[measure]} of each machine on each network`, spots);
      return plot;
    },
  };
}

// Where each machine starts to be faster than dense: a dot per trace and machine over the share that it could skip.
export function crossoverPicture(zoo: Zoo): Picture {
  const found = crossovers(zoo);
  const dots = zoo.traces.flatMap((trace) => zoo.machines.flatMap(({ base, title }) => {
    const speedup = value(trace, base, "speedup");
    return speedup === undefined ? [] : [{ trace: trace.trace, title, share: skippable(trace), speedup, colour: machineColour(base) }];
  }));
  const says = ({ above, exceptions }: Crossover): string => {
    const place = above === undefined ? "nowhere" : above === 0 ? "everywhere" : `above ${percent(above)}`;
    return exceptions ? `${place}, ${exceptions} exception${exceptions > 1 ? "s" : ""}` : place;
  };
  return {
    name: "crossovers", title: "Zeros that each machine needs",
    note: `Speedup over dense by the share of multiplications with a zero in the checked operand, ${zoo.traces.length} recorded steps. Below: where a machine is faster than the dense one by at least 1 %, with the fewest exceptions.`,
    key: found.map((one) => { const key = document.createElement("span"); key.className = "swatch"; const dot = document.createElement("i"); dot.style.background = machineColour(one.base); key.append(dot, `${one.title}: ${says(one)}`); return key; }),
    rows: () => found.map(({ title, above, exceptions }) => ({ machine: title, faster_above: above ?? null, exceptions })),
    draw: (width) => {
      const speeds = dots.map((dot) => dot.speedup);
      const height = 320;
      const plot = Plot.plot({
        width, height, marginLeft: 56, marginRight: 16, marginTop: 16, marginBottom: 44,
        x: { domain: [0, 1], label: "multiplications with a zero", labelAnchor: "center", labelArrow: "none", ticks: width < 560 ? 4 : 10, tickFormat: (share: number) => `${Math.round(100 * share)} %` },
        y: { type: "log", domain: [0.9 * Math.min(...speeds), 1.1 * Math.max(...speeds)], label: null, grid: true, ticks: 6, tickSize: 0, tickFormat: (tick: number) => (/^[125]/.test(String(tick).replace(/^0\.0*/, "")) ? `${tick}x` : "") },
        marks: [
          Plot.ruleY([1], { stroke: "var(--text)", strokeOpacity: 0.7 }),
          Plot.dot(dots, { x: "share", y: "speedup", fill: "colour", r: 3.5, fillOpacity: 0.75 }),
        ],
      }) as SVGSVGElement & { scale(name: string): { apply(value: unknown): number } | undefined };
      const x = plot.scale("x")!;
      const y = plot.scale("y")!;
      addHover(plot, "Speedup of each machine by the share of zeros", dots.map((dot) => ({ ...dot, left: x.apply(dot.share), top: y.apply(dot.speedup) })).map((dot): Spot => ({
        x: dot.left, y: dot.top, box: [dot.left - 5, dot.top - 5, dot.left + 5, dot.top + 5],
        lines: [dot.trace, `${percent(dot.share)} of its multiplications have a zero`, `${dot.title} ${exactTimes(dot.speedup)}`],
      })));
      return plot;
    },
  };
}

const short = (number: number): string => times(number, 3);
export function zooTable(zoo: Zoo): HTMLElement {
  const columns: Column[] = [
    { name: "trace", title: "trace" },
    { name: "progress", title: "training", text: (share: number) => percent(share) },
    ...(["A", "W", "G"] as const).map((name) => ({ name: `zeros_${name}`, title: name, unit: "zeros", text: (share: number) => percent(share) })),
    { name: "at_best", title: "at best", text: short },
    { name: "kernels", title: "CPU kernels", unit: "faster", text: short },
    ...zoo.machines.flatMap(({ base, title }) => [{ name: `speedup_${base}`, title, unit: "faster", text: short }, { name: `from_zeros_${base}`, title, unit: "from zeros", text: short }, { name: `efficiency_${base}`, title, unit: "less energy", text: short }]),
    { name: "network", title: "network", filter: true }, { name: "data", title: "data", filter: true },
  ];
  const rows = zoo.traces.map((trace) => ({
    trace: trace.trace, progress: trace.progress, network: trace.network, data: trace.data,
    ...Object.fromEntries((["A", "W", "G"] as const).map((name) => [`zeros_${name}`, trace.zeros[name] ?? null])),
    at_best: trace.at_best,
    ...Object.fromEntries(zoo.machines.flatMap(({ base }) => [[`speedup_${base}`, value(trace, base, "speedup") ?? null], [`from_zeros_${base}`, value(trace, base, "from_zeros") ?? null], [`efficiency_${base}`, value(trace, base, "efficiency") ?? null]])),
    kernels: trace.kernels ?? null,
  }));
  const without = zoo.without_kernels ? ` Without a number: ${zoo.without_kernels}.` : "";
  return tableCard("table", "All numbers", `One row per trace; click a heading to sort. Machines are simulated. CPU kernels: times as fast as oneDNN's direct convolutions in all three operations of the layers after the first, batch 4, measured (${zoo.kernels_machine}).${without}`, columns, rows);
}
