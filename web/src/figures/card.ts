// One figure: its pictures, our numbers next to the paper's with the reasons, and all numbers.
import { assumptionText } from "../assumptions";
import { keys, pictureCard, type Picture } from "../parts/card";
import { el } from "../parts/dom";
import { saveCsv, type Row } from "../parts/save";
import { drawBarTable } from "./bars";
import { agrees, compared, differenceText, exact, isCounted, number, paperColour, paperText, sentence, source, type Compared, type Figure, type Table } from "./data";
import { drawLineTable } from "./lines";

const rowsOf = (figure: Figure, tables: Table[]): Row[] => tables.flatMap((table) => table.cells.map((cell) => ({
  figure: figure.id, table: table.id, row: cell.row, column: cell.column, ours: cell.ours, low: cell.range?.[0] ?? null, high: cell.range?.[1] ?? null, unit: table.unit, paper: cell.paper ? paperText(table, cell.paper) : null,
  paper_key: cell.paper?.key ?? null, difference: cell.difference ?? null, reason: cell.reason ?? null, assumptions: cell.assumptions?.join(" ") ?? null,
})));
export const figureRows = (figure: Figure): Row[] => rowsOf(figure, figure.tables);

function tablePicture(figure: Figure, table: Table): Picture {
  return {
    name: `${figure.id}-${table.id}`, title: table.title, note: "",
    key: [table.cells.some((cell) => cell.paper !== undefined) && keys.paper()],
    rows: () => rowsOf(figure, [table]),
    draw: (width) => (table.chart === "bars" ? drawBarTable(figure, table, width) : drawLineTable(figure, table, width)),
  };
}

// "3 of 5 numbers are within 5 % of the paper's; the furthest is 17.8 % below."
export function verdict(figure: Figure): string {
  const all = compared(figure);
  const counted = all.filter(isCounted);
  if (all.length === 0) return "The paper prints no number for this.";
  if (counted.length === 0) return "Ours were made from the paper's numbers: nothing to count.";
  const good = counted.filter(agrees).length;
  const numbers = counted.filter((one) => one.paper.value !== undefined);
  const worst = (numbers.length > 0 ? numbers : counted).reduce((a, b) => (Math.abs(b.cell.difference!) > Math.abs(a.cell.difference!) ? b : a));
  const what = counted.length === 1 ? "number" : "numbers";
  const rest = all.length > counted.length ? ` ${all.length - counted.length} that were made from the paper's are not counted.` : "";
  if (good === counted.length) return counted.length === 1 ? "The number is within 5 % of the paper's." : `All ${counted.length} ${what} are within 5 % of the paper's.${rest}`;
  return `${good} of ${counted.length} ${what} ${good === 1 ? "is" : "are"} within 5 % of the paper's; the furthest is ${differenceText(worst.cell)} (${worst.cell.row}, ${worst.cell.column}).${rest}`;
}

const assumption = (name: string): HTMLElement => el("span", { class: "assumes", title: assumptionText(name) }, name);

function comparison(one: Compared, before: Compared | undefined, hidden: boolean): HTMLElement {
  const { table, cell, paper } = one;
  const far = isCounted(one) && !agrees(one);
  const same = far && before !== undefined && cell.reason === before.cell.reason;
  const shown = (cell.evidence ?? []).map((key) => key.split("/").slice(1).join(", ")).join("; ");
  const why = far ? [same ? el("span", { class: "reading" }, "As above. ") : `${sentence(cell.reason ?? "")} `, ...(cell.assumptions ?? []).map(assumption), shown && el("span", { class: "reading" }, ` Measured: ${shown}.`)] : [el("span", { class: "reading" }, source(paper))];
  return el("tr", { class: hidden ? "later" : undefined, "data-key": paper.key },
    el("th", { scope: "row" }, /^\d+$/.test(cell.row) ? `${table.row_title}: ${cell.row}` : cell.row, el("small", {}, cell.column)),
    el("td", { class: "n ours", title: exact(table, cell.ours) }, number(table, cell.ours)),
    el("td", { class: paper.words ? "n theirs words" : "n theirs", title: `${paper.figure}, ${paper.section}: ${paper.reading}` }, paperText(table, paper)),
    el("td", { class: far ? "n far" : "n" }, differenceText(cell)),
    el("td", { class: "why" }, ...why));
}

// As many comparisons as a reader takes in at once; a button shows the others.
const first = 7;

function comparisons(figure: Figure): HTMLElement | null {
  const all = compared(figure);
  if (all.length === 0) return null;
  const body = el("tbody", {}, ...all.map((one, i) => comparison(one, all[i - 1], all.length > first + 2 && i >= first)));
  const more = el("button", { type: "button", class: "small", click: () => { body.classList.add("whole"); more.remove(); } }, `Show all ${all.length}`);
  return el("div", { class: "with-paper" },
    el("h3", {}, "With the paper"),
    el("table", {}, el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "number"), el("th", { scope: "col", class: "n" }, "ours"), el("th", { scope: "col", class: "n" }, "paper"), el("th", { scope: "col", class: "n" }, "difference"), el("th", { scope: "col" }, "why, where it is over 5 % or fails; else how the paper's can be read"))), body),
    all.length > first + 2 && more);
}

function numbers(figure: Figure): HTMLElement {
  return el("details", { class: "numbers-of" }, el("summary", {}, "All numbers"), ...figure.tables.map((table) => {
    const at = new Map(table.cells.map((cell) => [`${cell.row}\n${cell.column}`, cell]));
    return el("div", {}, el("h3", {}, table.title), el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": table.title }, el("table", {},
      el("thead", {}, el("tr", {}, el("th", { scope: "col" }, table.row_title), ...table.columns.map((column) => el("th", { scope: "col", class: "n" }, column)))),
      el("tbody", {}, ...table.rows.map((row) => el("tr", {}, el("td", {}, row), ...table.columns.map((column) => {
        const cell = at.get(`${row}\n${column}`);
        return el("td", { class: "n", title: cell ? exact(table, cell.ours) : undefined }, cell ? number(table, cell.ours) : "");
      })))))));
  }));
}

export function figureCard(figure: Figure): HTMLElement {
  const pictures = figure.tables.filter((table) => table.chart !== "none").map((table) => pictureCard(() => tablePicture(figure, table), true).card);
  return el("section", { class: "card figure", id: figure.id, tabindex: "-1", style: `--accent:${paperColour(figure.paper)}` },
    el("p", { class: "place" }, `${figure.paper}, ${figure.place}`, el("code", {}, `lacuna reproduce ${figure.id}${figure.timed ? " --timed" : ""}`)),
    el("header", {}, el("h2", {}, figure.title),
      el("div", { class: "tools" }, el("button", { type: "button", class: "small", "aria-label": `Save the numbers as CSV: ${figure.id}`, click: () => saveCsv(`lacuna-${figure.id}`, figureRows(figure)) }, "CSV"))),
    el("p", { class: "verdict" }, figure.timed ? "Timed on this machine, not simulated: it differs from run to run. " : "", verdict(figure)),
    ...pictures,
    comparisons(figure),
    ...figure.notes.map((note) => el("p", { class: "note" }, note)),
    numbers(figure));
}
