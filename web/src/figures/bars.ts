// A table as bars: one panel per column, one bar per row, all on one axis; the paper's value is an open diamond on the bar.
import * as Plot from "@observablehq/plot";
import { shorten } from "../parts/dom";
import { addHover, type Spot } from "../parts/hover";
import { axisTitle, cellColour, hoverLines, number, paperNumber, paperText, type Figure, type Table } from "./data";

const label = { fontSize: 11.5, fontVariant: "tabular-nums", fill: "var(--text)", stroke: "var(--card)", strokeWidth: 3 } as const;
type Scales = SVGSVGElement & { scale(name: string): { apply(value: unknown): number; bandwidth?: number } | undefined };

export function drawBarTable(figure: Figure, table: Table, width: number): SVGSVGElement {
  const narrow = width < 560;
  const longest = Math.max(...table.rows.map((row) => row.length));
  const left = Math.round(Math.min(longest * 6.7 + 14, width * (narrow ? 0.34 : 0.25)));
  const letters = Math.floor((left - 12) / 6.3);
  const most = Math.max(1, Math.floor((width - left) / (narrow ? 104 : 132)));
  const lines = Math.ceil(table.columns.length / most);
  const panels = Math.ceil(table.columns.length / lines);
  const right = 8;
  const pitch = (width - left - right) / panels;
  const gap = Math.min(14, pitch * 0.08);
  const bars = table.cells.map((cell) => {
    const column = table.columns.indexOf(cell.column);
    return { cell, row: cell.row, fx: column % panels, fy: Math.floor(column / panels), ours: cell.ours, paper: paperNumber(cell.paper), mean: /mean|^all$/.test(cell.row), colour: cellColour(figure, table, cell.column) };
  });
  const paired = bars.filter((bar) => bar.paper !== null);
  const bound = paired.filter((bar) => bar.cell.paper!.value === undefined);
  // Room for the labels after the longest bar; the paper's value is written out where it fits.
  const letter = 7.2;
  const wide = (some: typeof bars): number => Math.max(0, ...some.map((bar) => number(table, bar.ours).length)) * letter;
  const both = paired.length > 0 && pitch - gap > 260;
  const labels = Math.max(wide(bars) + 8, wide(paired) + (paired.length > 0 ? 16 : 0) + (both ? Math.max(0, ...paired.map((bar) => paperText(table, bar.cell.paper!).length)) * letter + 18 : 0));
  const top = Math.max(1e-12, ...bars.map((bar) => Math.max(bar.ours, bar.paper ?? 0)));
  const limit = top / Math.max(0.35, 1 - labels / (pitch - gap));
  const row = 21;
  const head = 26;
  const foot = 40;
  const panelHeight = table.rows.length * row;
  const height = lines * (panelHeight + head) + foot;
  const plot = Plot.plot({
    width, height, marginLeft: left, marginRight: right, marginTop: head, marginBottom: foot,
    x: { domain: [0, limit], label: null, grid: true, ticks: pitch < 120 ? 2 : 3, tickSize: 3 },
    y: { domain: table.rows, label: null, tickSize: 0, padding: 0.24, tickFormat: (name: string) => shorten(name, letters) },
    fx: { domain: [...Array(panels).keys()], axis: null, paddingInner: gap / pitch, paddingOuter: 0 },
    fy: { domain: [...Array(lines).keys()], axis: null, paddingInner: lines > 1 ? head / (panelHeight + head) : 0, paddingOuter: 0 },
    marks: [
      Plot.text(table.columns, { fx: (_, i) => i % panels, fy: (_, i) => Math.floor(i / panels), text: (column: string) => shorten(column, Math.floor((pitch - 10) / 7.2)), frameAnchor: "top-left", lineAnchor: "bottom", dy: -6, fontWeight: 600, fontSize: 12 }),
      Plot.barX(bars, { fx: "fx", fy: "fy", y: "row", x: "ours", fill: "colour", fillOpacity: (bar) => (bar.mean || table.rows.length < 4 ? 1 : 0.72), rx2: 2 }),
      ...(table.unit === "x" ? [Plot.ruleX([1], { stroke: "var(--text)", strokeOpacity: 0.55 })] : []),
      // The range over samples or seeds.
      Plot.link(bars.filter((bar) => bar.cell.range), { fx: "fx", fy: "fy", x1: (bar) => bar.cell.range![0], x2: (bar) => bar.cell.range![1], y1: "row", y2: "row", stroke: "var(--text)", strokeWidth: 2.4, strokeOpacity: 0.8 }),
      // From ours to the paper's.
      Plot.link(paired, { fx: "fx", fy: "fy", x1: "ours", x2: (bar) => bar.paper!, y1: "row", y2: "row", stroke: "var(--text)", strokeWidth: 1.2, strokeDasharray: "2 2" }),
      Plot.dot(paired, { fx: "fx", fy: "fy", x: (bar) => bar.paper!, y: "row", symbol: "diamond", r: 5, fill: "var(--card)", stroke: "var(--text)", strokeWidth: 1.7 }),
      Plot.text(bound, { fx: "fx", fy: "fy", x: (bar) => bar.paper!, y: "row", text: (bar) => (bar.cell.paper!.at_least !== undefined ? "≥" : "≤"), dx: -9, textAnchor: "end", fontSize: 11, stroke: "var(--card)", strokeWidth: 3, fill: "var(--text)" }),
      Plot.text(bars.filter((bar) => bar.paper === null), { fx: "fx", fy: "fy", x: "ours", y: "row", text: (bar) => number(table, bar.ours), textAnchor: "start", dx: 4, ...label }),
      Plot.text(paired, { fx: "fx", fy: "fy", x: (bar) => Math.max(bar.ours, bar.paper!), y: "row", text: (bar) => number(table, bar.ours), textAnchor: "start", dx: 10, ...label, fontWeight: 700, fill: "colour" }),
      ...(both ? paired.map((bar) => Plot.text([bar], { fx: "fx", fy: "fy", x: () => Math.max(bar.ours, bar.paper!), y: "row", text: () => `◇ ${paperText(table, bar.cell.paper!)}`, textAnchor: "start", dx: 20 + number(table, bar.ours).length * letter, ...label })) : []),
      Plot.text([axisTitle(table)], { frameAnchor: "bottom", fx: () => Math.floor((panels - 1) / 2), fy: () => lines - 1, dy: 32, fontSize: 12, fill: "var(--muted)" }),
    ],
  }) as Scales;
  const [x, y, fx, fy] = [plot.scale("x")!, plot.scale("y")!, plot.scale("fx")!, plot.scale("fy")!];
  addHover(plot, `${table.title}. Arrow keys move between numbers.`, bars.map((bar): Spot => {
    const dx = fx.apply(bar.fx) - left;
    const dy = fy.apply(bar.fy) - head;
    const top_ = dy + y.apply(bar.row);
    return { x: dx + x.apply(bar.ours), y: top_ + y.bandwidth! / 2, box: [dx + x.apply(0), top_ - 2, dx + x.apply(0) + pitch - gap, top_ + y.bandwidth! + 2], lines: hoverLines(table, bar.cell) };
  }));
  return plot;
}
