// Lines over a number: the training's progress, its steps, the share of zeros. Labels at their ends, all values on hover.
import * as Plot from "@observablehq/plot";
import { addHover, type Spot } from "./hover";

export interface Line { title: string; colour: string; dash?: string; faint?: boolean; points: { x: number; y: number }[]; band?: { x: number; low: number; high: number }[] }
export interface LineOptions {
  width: number;
  height?: number;
  xLabel: string;
  yLabel: string;
  label: string;
  one?: boolean; // a line at 1
  percentX?: boolean;
  top?: number;
  value: (value: number) => string;
  at: (x: number) => string;
  dots?: boolean;
  marks?: { x: number; y: number; text: string; colour: string }[]; // places on the lines with a name
}

export function drawLines(lines: Line[], options: LineOptions): SVGSVGElement {
  const { width } = options;
  const height = options.height ?? 270;
  const narrow = width < 480;
  const named = lines.filter((line) => !line.faint && line.points.length > 0);
  const right = named.length > 1 || named[0]?.title ? (narrow ? 84 : 122) : 16;
  const all = lines.flatMap((line) => line.points.map((point) => ({ ...point, title: line.title, colour: line.colour, dash: line.dash, faint: line.faint })));
  const most = options.top ?? Math.max(1e-9, ...all.map((point) => point.y), ...lines.flatMap((line) => (line.band ?? []).map((one) => one.high))) * 1.05;
  // Numbers on hover where a line that has a name has some.
  const xs = [...new Set((named.length > 0 ? named : lines).flatMap((line) => line.points.map((point) => point.x)))].sort((a, b) => a - b);
  const low = Math.min(...all.map((point) => point.x));
  const high = Math.max(...all.map((point) => point.x));
  let before = -Infinity;
  const labels = named
    .map((line) => ({ line, y: 30 + (1 - line.points.at(-1)!.y / most) * (height - 74) }))
    .sort((a, b) => a.y - b.y)
    .map((label) => {
      before = Math.max(label.y, before + 14);
      return { ...label, y: before };
    });
  const plot = Plot.plot({
    width, height, marginLeft: 48, marginRight: right, marginTop: 30, marginBottom: 44,
    x: { domain: low === high ? [low - 1, high + 1] : [low, high], label: options.xLabel, labelAnchor: "center", labelArrow: "none", ticks: narrow ? 4 : 7, tickFormat: (value: number) => (Number.isInteger(value) ? value.toLocaleString("en") : "") },
    y: { domain: [0, most], label: options.yLabel, grid: true, labelArrow: "none", ticks: 6 },
    marks: [
      ...(options.one ? [Plot.ruleY([1], { stroke: "var(--text)", strokeOpacity: 0.7 })] : []),
      ...lines.map((line) => Plot.areaY(line.band ?? [], { x: "x", y1: "low", y2: "high", fill: line.colour, fillOpacity: 0.15, clip: true })),
      ...lines.map((line) => Plot.line(line.points, { x: "x", y: "y", stroke: line.colour, strokeWidth: line.faint ? (line.dash ? 2 : 0.8) : 2.2, strokeOpacity: line.faint && !line.dash ? 0.35 : 1, strokeDasharray: line.dash, clip: true })),
      ...(options.dots === false ? [] : [Plot.dot(all.filter((point) => !point.faint), { x: "x", y: "y", fill: "colour", r: 3.2, stroke: "var(--card)" })]),
      ...(options.marks ?? []).flatMap((mark, i) => [
        Plot.dot([mark], { x: "x", y: "y", r: 5.5, fill: "var(--card)", stroke: "colour", strokeWidth: 2 }),
        Plot.text([mark], { x: "x", y: "y", text: "text", fill: "var(--text)", fontSize: 11.5, dy: -13 - 13 * i, stroke: "var(--card)", strokeWidth: 4 }),
      ]),
      ...(right > 16 ? labels.map(({ line, y }) => Plot.text([0], { frameAnchor: "top-right", text: () => line.title, fill: line.colour, fontWeight: 600, fontSize: 12, textAnchor: "start", lineAnchor: "middle", dx: 8, dy: y - 30 })) : []),
    ],
  }) as SVGSVGElement & { scale(name: string): { apply(value: unknown): number } | undefined };
  const x = plot.scale("x")!;
  const at = named.map((line) => new Map(line.points.map((point) => [point.x, point.y])));
  const spots = xs.map((value): Spot => ({
    x: x.apply(value), y: height / 2,
    lines: [options.at(value), ...named.flatMap((line, i) => (at[i]!.has(value) ? [`${line.title || options.yLabel}: ${options.value(at[i]!.get(value)!)}`] : []))],
  }));
  addHover(plot, options.label, spots);
  return plot;
}
