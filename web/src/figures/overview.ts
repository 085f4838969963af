// Distances of our numbers from the papers': one mark per number, by figure.
import * as Plot from "@observablehq/plot";
import type { Picture } from "../parts/card";
import { addHover, type Spot } from "../parts/hover";
import { compared, differenceText, isCounted, large, paperColour, paperText, type Compared, type Figure } from "./data";

interface Mark { id: string; index: number; value: number; colour: string; all: Compared[] }

// Differences beyond are counted at the edge, with an arrow.
const edge = 0.4;

// "TensorDash at most 18 % away, ANT up to 1,519 %"
function furthest(all: Compared[]): string {
  const papers = [...new Set(all.map((one) => one.figure.paper))];
  return papers.map((paper) => {
    const most = Math.ceil(100 * Math.max(...all.filter((one) => one.figure.paper === paper).map((one) => Math.abs(one.cell.difference!))));
    return `${paper} ${most <= 100 * edge ? "at most" : "up to"} ${most.toLocaleString("en")}\u00a0%`;
  }).join(", ").replace("\u00a0%", "\u00a0% away");
}

export function overviewPicture(figures: Figure[], open: (figure: number) => void): Picture | null {
  const shown = figures.map((figure, index) => ({ id: figure.id, figure, index, numbers: compared(figure).filter(isCounted) })).filter((one) => one.numbers.length > 0);
  if (shown.length === 0) return null;
  const all = shown.flatMap((one) => one.numbers);
  const far = all.some((one) => Math.abs(one.cell.difference!) > edge);
  return {
    name: "overview",
    title: furthest(all),
    note: `Ours divided by the paper's, minus 1, for every number that a paper prints; a larger dot is several numbers. The band is ±5 %; a bound that holds is at 0.${far ? " Arrows: the number of values beyond the end of the axis." : ""} A click opens the figure.`,
    rows: () => all.map(({ figure, table, cell, paper }) => ({ figure: figure.id, table: table.id, row: cell.row, column: cell.column, ours: cell.ours, paper: paperText(table, paper), paper_key: paper.key, difference: cell.difference! })),
    draw: (width) => {
      const left = Math.min(116, width * 0.3);
      const right = 52;
      const row = 26;
      const bin = 9 / ((width - left - right) / (2 * edge)); // what a mark takes, as a difference
      const marks: Mark[] = [];
      const beyond: (Mark & { sign: number })[] = [];
      for (const { figure, index, numbers } of shown) {
        const groups = new Map<string, Compared[]>();
        for (const one of numbers) {
          const value = one.cell.difference!;
          const key = Math.abs(value) > edge ? (value < 0 ? "below" : "above") : String(Math.round(value / bin));
          groups.set(key, [...(groups.get(key) ?? []), one]);
        }
        for (const [key, found] of groups) {
          const mark = { id: figure.id, index, colour: paperColour(figure.paper), all: found };
          if (key === "below" || key === "above") beyond.push({ ...mark, sign: key === "below" ? -1 : 1, value: key === "below" ? -edge : edge });
          else marks.push({ ...mark, value: found.reduce((sum, one) => sum + one.cell.difference!, 0) / found.length });
        }
      }
      const radius = (mark: Mark): number => Math.min(row / 2 - 1, 3.9 * Math.sqrt(mark.all.length));
      const plot = Plot.plot({
        width, height: 8 + shown.length * row + 42, marginLeft: left, marginRight: right, marginTop: 8, marginBottom: 42,
        x: { domain: [-edge, edge], insetLeft: beyond.some((one) => one.sign < 0) ? 34 : 0, label: "difference from the paper (%)", labelAnchor: "center", labelArrow: "none", grid: true, ticks: width < 560 ? 5 : 9, tickFormat: (value: number) => `${value > 0 ? "+" : value < 0 ? "−" : ""}${Math.round(100 * Math.abs(value))}` },
        y: { domain: shown.map((one) => one.id), label: null, tickSize: 0, padding: 0.5 },
        r: { type: "identity" },
        marks: [
          Plot.rectX([0], { x1: -large, x2: large, fill: "var(--zeros)", fillOpacity: 0.13 }),
          Plot.ruleX([0], { stroke: "var(--text)", strokeOpacity: 0.5 }),
          Plot.ruleY(shown.slice(1), { y: "id", dy: -row / 2, stroke: "var(--line)" }),
          Plot.dot(marks, { x: "value", y: "id", r: radius, fill: "colour", fillOpacity: 0.85, stroke: "var(--card)", strokeWidth: 0.9 }),
          Plot.text(beyond.filter((one) => one.sign > 0), { x: "value", y: "id", text: (one) => `→ ${one.all.length}`, fill: "colour", fontWeight: 700, fontSize: 13, textAnchor: "start", dx: 8 }),
          Plot.text(beyond.filter((one) => one.sign < 0), { x: "value", y: "id", text: (one) => `← ${one.all.length}`, fill: "colour", fontWeight: 700, fontSize: 13, textAnchor: "start", dx: -31 }),
        ],
      }) as SVGSVGElement & { scale(name: string): { apply(value: unknown): number; bandwidth?: number } | undefined };
      const [x, y] = [plot.scale("x")!, plot.scale("y")!];
      const lines = (mark: Mark): string[] => [
        mark.all.length === 1 ? mark.id : `${mark.id}: ${mark.all.length} numbers`,
        ...mark.all.slice(0, 8).map((one) => `${one.cell.row}, ${one.cell.column}: ${differenceText(one.cell)}`),
        ...(mark.all.length > 8 ? ["…"] : []),
      ];
      const spot = (mark: Mark, before: number, after: number): Spot => {
        const [cx, cy] = [x.apply(mark.value), y.apply(mark.id) + y.bandwidth! / 2];
        return { x: cx, y: cy, box: [cx - before, cy - 12, cx + after, cy + 12], lines: lines(mark), layer: mark.index };
      };
      addHover(plot, "Difference of every number from the paper's. Arrow keys move between marks, Enter opens the figure.",
        [...marks.map((mark) => spot(mark, Math.max(5, radius(mark)), Math.max(5, radius(mark)))), ...beyond.map((mark) => spot(mark, mark.sign < 0 ? 34 : -4, mark.sign < 0 ? -4 : 48))], open);
      return plot;
    },
  };
}
