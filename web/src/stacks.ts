// Time and energy by part: stacked bars, the dense machine next to each other one, on the same scale.
import * as Plot from "@observablehq/plot";
import { keys, type Picture } from "./parts/card";
import { opTitle } from "./data";
import { shorten } from "./parts/dom";
import { exactTimes, joules, percent, si, whole } from "./parts/format";
import { addHover, type Spot } from "./parts/hover";
import { timeSlices, type Step } from "./model";
import { addPatterns } from "./parts/patterns";

interface Piece { bar: string; part: string; x1: number; x2: number; colour: string; opacity: number; pattern?: string; lines: string[] }
interface Stack { title: string; colour: string; total: number; pieces: { part: string; value: number; pattern?: string; opacity: number; lines: string[] }[] }

// Bars far longer than the rest would leave nothing to see: they are cut, and say so.
const longest = 2.5;

function drawStacks(stacks: Stack[], width: number, axis: string, tick: (value: number) => string, total: (value: number) => string, label: string): SVGSVGElement {
  const dense = stacks[0]!.total;
  const rest = stacks.map((stack) => stack.total).filter((value) => value <= longest * dense);
  const limit = Math.max(dense, ...rest);
  const cut = stacks.some((stack) => stack.total > limit);
  const pieces: Piece[] = [];
  for (const stack of stacks) {
    let x = 0;
    for (const piece of stack.pieces) {
      const x1 = Math.min(x, limit);
      x += piece.value;
      if (Math.min(x, limit) > x1) pieces.push({ ...piece, bar: stack.title, x1, x2: Math.min(x, limit), colour: stack.colour });
    }
  }
  const left = width < 560 ? 80 : 104;
  const right = 70;
  const pixels = (width - left - right) / limit;
  const plot = Plot.plot({
    width,
    height: 16 + stacks.length * 38 + 42,
    marginLeft: left,
    marginRight: right,
    marginTop: 8,
    marginBottom: 42,
    x: { domain: [0, limit], label: axis, labelAnchor: "center", labelArrow: "none", grid: true, ticks: width < 560 ? 3 : 5, tickFormat: tick },
    y: { domain: stacks.map((stack) => stack.title), label: null, tickSize: 0, padding: 0.22, tickFormat: (title: string) => shorten(title, 15) },
    marks: [
      Plot.barX(pieces, { x1: "x1", x2: "x2", y: "bar", fill: "colour", fillOpacity: "opacity", insetRight: 0.7 }),
      ...["p-input_grad", "p-weight_grad", "p-hatch"].map((id) => Plot.barX(pieces.filter((piece) => piece.pattern === id), { x1: "x1", x2: "x2", y: "bar", fill: `url(#${id})`, insetRight: 0.7 })),
      Plot.text(pieces.filter((piece) => !piece.pattern && (piece.x2 - piece.x1) * pixels > 7 * piece.part.length + 6), { x: (piece) => (piece.x1 + piece.x2) / 2, y: "bar", text: "part", fill: (piece) => (piece.opacity > 0.55 ? "var(--card)" : "var(--text)"), fontSize: 11 }),
      Plot.text(stacks, { x: (stack) => Math.min(stack.total, limit), y: "title", text: (stack) => (stack.total > limit ? `→ ${total(stack.total)}` : total(stack.total)), textAnchor: "start", dx: 6, fontSize: 12, fontVariant: "tabular-nums" }),
    ],
    opacity: { type: "identity" },
  }) as SVGSVGElement & { scale(name: string): { apply(value: unknown): number; bandwidth?: number } | undefined };
  addPatterns(plot);
  const x = plot.scale("x")!;
  const y = plot.scale("y")!;
  const spots = pieces.map((piece): Spot => ({
    x: x.apply((piece.x1 + piece.x2) / 2), y: y.apply(piece.bar) + y.bandwidth! / 2,
    box: [x.apply(piece.x1), y.apply(piece.bar), x.apply(piece.x2), y.apply(piece.bar) + y.bandwidth!],
    lines: [`${piece.bar}: ${piece.part}`, ...piece.lines],
  }));
  addHover(plot, `${label}${cut ? "; bars with an arrow are cut" : ""}`, spots);
  return plot;
}

const waitTitle = (part: string): string => (part === "dram" ? "DRAM" : part === "sram" ? "SRAM" : part);

export function timePicture(step: Step): Picture {
  const make = (title: string, colour: string, run: Step["machines"][number]["run"], baseline: boolean): Stack => {
    const slices = timeSlices(run, baseline);
    const total = slices.reduce((sum, slice) => sum + slice.cycles, 0);
    return {
      title, colour, total,
      pieces: slices.map((slice) => ({
        part: slice.part === "compute" ? opTitle[slice.op] : `${opTitle[slice.op]}, waiting for ${waitTitle(slice.part)}`,
        value: slice.cycles,
        pattern: slice.part !== "compute" ? "p-hatch" : slice.op === "forward" ? undefined : `p-${slice.op}`,
        opacity: slice.part === "compute" ? 1 : 0.5,
        lines: [`${whole(slice.cycles)} cycles per step`, `${percent(slice.cycles / total, 1)} of the time`],
      })),
    };
  };
  const first = (step.dense ?? step.machines[0])!;
  const stacks = [make("dense", "var(--dense)", first.run, true), ...step.machines.map((machine) => make(machine.title, machine.colour, machine.run, false))];
  const waits = stacks.some((stack) => stack.pieces.some((piece) => piece.pattern === "p-hatch"));
  return {
    name: "time",
    title: "Where the time goes",
    note: `Cycles of one step with the whole batch${waits ? "" : "; memory is ideal here, so all of it is computing"}.`,
    key: [keys.forward(), keys.input(), keys.weight(), waits && keys.wait()],
    rows: () => stacks.flatMap((stack) => stack.pieces.map((piece) => ({ machine: stack.title, part: piece.part, cycles: piece.value, share: piece.value / stack.total }))),
    draw: (width) => drawStacks(stacks, width, "cycles per training step", (value) => si(value, 2), (value) => si(value, 2), "Cycles by machine and operation"),
  };
}

export function energyPicture(step: Step): Picture | null {
  const machines = step.machines.filter((machine) => machine.run.energy);
  if (machines.length === 0) return null;
  const make = (title: string, colour: string, parts: Record<string, number>, lines: string[]): Stack => {
    const named = Object.entries(parts).filter(([name]) => name !== "total");
    const total = parts.total!;
    return {
      title, colour, total,
      pieces: named.map(([name, value], i) => ({
        part: name.replaceAll("_", " "), value, opacity: 1 - (0.75 * i) / Math.max(1, named.length - 1),
        lines: [`${joules(value, 4)} per step`, `${percent(value / total, 1)} of ${joules(total, 4)}`, ...lines],
      })),
    };
  };
  const energy = machines[0]!.run.energy!;
  const stacks = [
    make("dense", "var(--dense)", energy.all.baseline, []),
    ...machines.map((machine) => make(machine.title, machine.colour, machine.run.energy!.all.machine, [`${exactTimes(machine.run.energy!.all.chip_efficiency)} less energy than dense`])),
  ];
  return {
    name: "energy",
    title: "Where the energy goes",
    note: `Joules of one step with the whole batch, by component (point at a bar for names and numbers). Cost table ${energy.table}, ${energy.node_nm} nm.`,
    rows: () => stacks.flatMap((stack) => stack.pieces.map((piece) => ({ machine: stack.title, component: piece.part, joules: piece.value, share: piece.value / stack.total }))),
    draw: (width) => drawStacks(stacks, width, "energy per training step", (value) => joules(value, 2), (value) => joules(value, 2), "Energy by machine and component"),
  };
}
