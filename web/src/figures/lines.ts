// A table as lines: one panel per line, all on the same axes; the paper's values are open diamonds.
import * as Plot from "@observablehq/plot";
import { shorten } from "../parts/dom";
import { addHover, type Spot } from "../parts/hover";
import { axisTitle, cellColour, hoverLines, number, paperNumber, type Figure, type Table } from "./data";

type Scales = SVGSVGElement & { scale(name: string): { apply(value: unknown): number; bandwidth?: number } | undefined };

// "4 rows" as 4, with "rows" for the axis.
function steps(names: string[], title: string): { tick: (name: string) => string; label: string } {
  const parts = names.map((name) => /^([\d.]+) (\D+)$/.exec(name));
  if (!parts.every((part) => part)) return { tick: (name) => name, label: title };
  const unit = parts.at(-1)![2]!;
  return { tick: (name) => name.split(" ")[0]!, label: unit === "%" ? (title ? `${title} (%)` : "%") : unit };
}

export function drawLineTable(figure: Figure, table: Table, width: number): SVGSVGElement {
  const byRow = table.chart === "lines_by_row";
  const names = byRow ? table.rows : table.columns;
  const places = byRow ? table.columns : table.rows;
  const { tick, label } = steps(places, byRow ? "" : table.row_title);
  const left = 40;
  const right = 12;
  const most = Math.max(2, Math.floor((width - left) / 172));
  const lines = Math.ceil(names.length / most);
  const panels = Math.ceil(names.length / lines);
  const pitch = (width - left - right) / panels;
  const gap = 22;
  const head = 30;
  const foot = 40;
  const panelHeight = 104;
  const height = lines * (panelHeight + head) + foot;
  const points = table.cells.map((cell) => {
    const name = byRow ? cell.row : cell.column;
    const index = names.indexOf(name);
    return { cell, name, place: byRow ? cell.column : cell.row, fx: index % panels, fy: Math.floor(index / panels), ours: cell.ours, paper: paperNumber(cell.paper), colour: cellColour(figure, table, name) };
  }).sort((a, b) => places.indexOf(a.place) - places.indexOf(b.place));
  const ends = names.flatMap((name) => { const own = points.filter((point) => point.name === name); return own.length > 0 ? [own[0]!, own.at(-1)!] : []; });
  const limit = Math.max(1e-12, ...points.map((point) => Math.max(point.ours, point.paper ?? 0))) * 1.25; // room for a label above
  const paired = points.filter((point) => point.paper !== null);
  const every = Math.max(1, Math.ceil((places.length * 22) / (pitch - gap)));
  const plot = Plot.plot({
    width, height, marginLeft: left, marginRight: right, marginTop: head, marginBottom: foot,
    x: { type: "point", domain: places, label: null, padding: 0.35, tickSize: 3, tickFormat: (place: string) => (places.indexOf(place) % every === 0 || place === places.at(-1) && every < 2 ? tick(place) : "") },
    y: { domain: [0, limit], label: null, grid: true, ticks: 4, tickSize: 0 },
    fx: { domain: [...Array(panels).keys()], axis: null, paddingInner: gap / pitch, paddingOuter: 0 },
    fy: { domain: [...Array(lines).keys()], axis: null, paddingInner: lines > 1 ? head / (panelHeight + head) : 0, paddingOuter: 0 },
    marks: [
      Plot.text(names, { fx: (_, i) => i % panels, fy: (_, i) => Math.floor(i / panels), text: (name: string) => shorten(name, Math.floor((pitch - gap) / 6.4)), frameAnchor: "top-left", lineAnchor: "bottom", dy: -6, fontWeight: 600, fontSize: 12 }),
      ...(table.unit === "x" ? [Plot.ruleY([1], { stroke: "var(--text)", strokeOpacity: 0.55 })] : []),
      Plot.line(points, { fx: "fx", fy: "fy", z: "name", x: "place", y: "ours", stroke: "colour", strokeWidth: 2.2 }),
      Plot.link(points.filter((point) => point.cell.range), { fx: "fx", fy: "fy", x1: "place", x2: "place", y1: (point) => point.cell.range![0], y2: (point) => point.cell.range![1], stroke: "var(--text)", strokeWidth: 2.4, strokeOpacity: 0.8 }),
      Plot.link(paired, { fx: "fx", fy: "fy", x1: "place", x2: "place", y1: "ours", y2: (point) => point.paper!, stroke: "var(--text)", strokeWidth: 1.2, strokeDasharray: "2 2" }),
      Plot.dot(points, { fx: "fx", fy: "fy", x: "place", y: "ours", fill: "colour", r: 3, stroke: "var(--card)", strokeWidth: 0.8 }),
      Plot.dot(paired, { fx: "fx", fy: "fy", x: "place", y: (point) => point.paper!, symbol: "diamond", r: 5, fill: "var(--card)", stroke: "var(--text)", strokeWidth: 1.7 }),
      ...[true, false].map((above) => Plot.text(ends.filter((point) => (point.paper === null || point.paper < point.ours) === above), { fx: "fx", fy: "fy", x: "place", y: "ours", text: (point) => number(table, point.ours), dy: above ? -11 : 12, fontSize: 11, fontVariant: "tabular-nums", stroke: "var(--card)", strokeWidth: 3, fill: "var(--text)" })),
      Plot.text([label], { frameAnchor: "bottom", fx: () => Math.floor((panels - 1) / 2), fy: () => lines - 1, dy: 34, fontSize: 12, fill: "var(--muted)" }),
      Plot.text([axisTitle(table)], { frameAnchor: "top-left", fx: () => 0, fy: () => 0, dx: -34, dy: -24, textAnchor: "start", fontSize: 11, fill: "var(--muted)" }),
    ],
  }) as Scales;
  const [x, y, fx, fy] = [plot.scale("x")!, plot.scale("y")!, plot.scale("fx")!, plot.scale("fy")!];
  const half = (pitch - gap) / (2 * places.length);
  addHover(plot, `${table.title}. Arrow keys move between numbers.`, points.map((point): Spot => {
    const dx = fx.apply(point.fx) - left;
    const dy = fy.apply(point.fy) - head;
    const at = dx + x.apply(point.place);
    return { x: at, y: dy + y.apply(point.ours), box: [at - half, dy + head, at + half, dy + head + panelHeight], lines: hoverLines(table, point.cell) };
  }));
  return plot;
}
