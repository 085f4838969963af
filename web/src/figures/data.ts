// Output of `reproduce --json` (docs/schema/reproduce-v2.schema.json).

export interface Paper {
  key: string; // in data/papers
  value?: number;
  at_least?: number;
  at_most?: number;
  words?: string; // the paper's; the bounds are what we read into them
  circular?: string; // why ours cannot differ
  effect: boolean; // compared by the distance from 1
  unit: string;
  figure: string;
  section: string;
  reading: string;
}
export interface Cell {
  row: string;
  column: string;
  ours: number;
  range?: [number, number]; // over samples, or over seeds
  paper?: Paper;
  difference?: number;
  verdict?: "circular" | "near" | "far" | "apart" | "holds" | "fails";
  reason?: string;
  assumptions?: string[];
  evidence?: string[]; // TABLE/ROW/COLUMN of the figure
}
export interface Table {
  id: string;
  title: string;
  row_title: string;
  unit: string;
  digits: number;
  chart: "bars" | "lines_by_row" | "lines_by_column" | "none";
  rows: string[];
  columns: string[];
  cells: Cell[];
}
export interface Figure {
  id: string;
  title: string;
  paper: string;
  citation: string;
  place: string;
  timed: boolean;
  traces: string[];
  tables: Table[];
  notes: string[];
}
export interface Moved { key: string; recorded: number | null; now: number | null }
// Comparisons by verdict; `drawn`: of the numbers, those of masks drawn to a number of the paper.
export interface Grade { near: number; far: number; apart: number; hold: number; fail: number; circular: number; drawn: number; drawn_near: number }
export interface Reproduction { grade: Grade; figures: Figure[]; moved: Moved[] }

// A difference from the paper above this has a reason.
export const large = 0.05;

export interface Compared { figure: Figure; table: Table; cell: Cell; paper: Paper }
export const compared = (figure: Figure): Compared[] =>
  figure.tables.flatMap((table) => table.cells.flatMap((cell) => (cell.paper ? [{ figure, table, cell, paper: cell.paper }] : [])));
// A number that was made from the paper's is shown, not counted.
export const isCounted = (one: Compared): boolean => one.cell.verdict !== "circular";
export const agrees = (one: Compared): boolean => one.cell.verdict === "near" || one.cell.verdict === "holds";

// The number a mark is drawn at.
export const paperNumber = (paper: Paper | undefined): number | null => paper?.value ?? paper?.at_least ?? paper?.at_most ?? null;

const units: Record<string, string> = { x: "x", "%": " %", mm2: " mm²", mW: " mW" };
const unitText = (unit: string): string => (Object.hasOwn(units, unit) ? units[unit]! : "");
export const number = (table: Table, value: number): string => `${value.toFixed(table.digits)}${unitText(table.unit)}`;
export const exact = (table: Table, value: number): string => `${Number(value.toPrecision(6))}${unitText(table.unit)}`;
export function paperText(table: Table, paper: Paper): string {
  if (paper.value !== undefined) return number(table, paper.value);
  const bounds = [paper.at_least !== undefined && `≥ ${number(table, paper.at_least)}`, paper.at_most !== undefined && `≤ ${number(table, paper.at_most)}`].filter(Boolean).join(", ");
  return paper.words ? `“${paper.words}” (${bounds})` : bounds;
}
export function differenceText(cell: Cell): string {
  if (cell.verdict === "circular") return "not counted";
  if (cell.paper?.value === undefined) return cell.verdict ?? "–";
  const text = Math.abs(100 * cell.difference!).toFixed(1);
  return `${cell.difference! < 0 && text !== "0.0" ? "−" : "+"}${text} %${cell.paper.effect ? " of the effect" : ""}`;
}
export const axisTitle = (table: Table): string => ({ x: "times", "%": "%", mm2: "area (mm²)", mW: "power (mW)" })[table.unit] ?? table.unit;

// As a sentence.
export const sentence = (text: string): string =>
  text === "" ? "" : `${text[0]!.toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}`.replace(/(\d) %/g, "$1\u00a0%");
// Place in the paper, and how exactly it can be read.
export const source = (paper: Paper): string => (paper.reading.startsWith(paper.figure) ? paper.reading : `${paper.figure}: ${paper.reading}`);

const colours: Record<string, string> = { TensorDash: "var(--tensordash)", ANT: "var(--ant)", SparseTrain: "var(--cpu)" };
export const paperColour = (paper: string): string => (Object.hasOwn(colours, paper) ? colours[paper]! : "var(--other)");
// The dense machine and what is possible at best are grey on every page.
export const cellColour = (figure: Figure, table: Table, name: string): string =>
  table.id === "potential" || /^baseline/.test(name) ? "var(--dense)" : paperColour(figure.paper);

export function hoverLines(table: Table, cell: Cell): string[] {
  const paper = cell.paper;
  return [
    `${cell.row}, ${cell.column}`,
    `ours ${exact(table, cell.ours)}${cell.range ? `, ${number(table, cell.range[0])} to ${number(table, cell.range[1])}` : ""}`,
    ...(paper ? [`the paper's ${paperText(table, paper)}${cell.verdict === "circular" ? "" : `: ${differenceText(cell)}`}`, source(paper)] : []),
  ];
}
