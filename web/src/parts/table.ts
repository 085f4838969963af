// All numbers: a table that sorts, filters and exports. Rows appear a hundred at a time, so that 2,000 layers stay smooth.
import { el, replace } from "./dom";
import { saveCsv, type Row } from "./save";

export interface Column { name: string; title: string; unit?: string; text?: (value: any) => string; filter?: boolean }
const page = 100;

export function tableCard(id: string, title: string, note: string, columns: Column[], rows: Row[], open?: (row: Row) => void): HTMLElement {
  let shown = page;
  let sorted: { name: string; down: boolean } | null = null;
  let text = "";
  const picked = new Map<string, string>();
  const numeric = new Map(columns.map((column) => [column.name, rows.some((row) => typeof row[column.name] === "number")]));
  const words = new Map<Row, string>();
  const wordsOf = (row: Row): string => {
    let found = words.get(row);
    if (found === undefined) words.set(row, (found = columns.filter((column) => !numeric.get(column.name)).map((column) => String(row[column.name] ?? "")).join("\n").toLowerCase()));
    return found;
  };
  const count = el("span", { class: "count", role: "status" });
  const body = el("tbody");
  const more = el("button", { type: "button", class: "small", click: () => { shown += 5 * page; fill(); } }, "Show more rows");
  let current: Row[] = rows;

  const choose = (): Row[] => {
    let found = rows.filter((row) => wordsOf(row).includes(text) && [...picked].every(([name, value]) => value === "" || String(row[name]) === value));
    if (sorted) {
      const { name, down } = sorted;
      const sign = down ? -1 : 1;
      found = [...found].sort((a, b) => {
        const x = a[name] ?? null;
        const y = b[name] ?? null;
        if (x === null || y === null) return x === y ? 0 : x === null ? 1 : -1; // nothing comes last
        return typeof x === "number" && typeof y === "number" ? sign * (x - y) : sign * String(x).localeCompare(String(y), "en", { numeric: true });
      });
    }
    return found;
  };
  const fill = (): void => {
    current = choose();
    const all = `${rows.length.toLocaleString("en")} ${rows.length === 1 ? "row" : "rows"}`;
    count.textContent = current.length === rows.length ? all : `${current.length.toLocaleString("en")} of ${all}`;
    body.replaceChildren(...current.slice(0, shown).map((row) => el("tr", {}, ...columns.map((column, i) => {
      const value = row[column.name];
      const show = value === null || value === undefined ? "–" : column.text ? column.text(value) : String(value);
      if (i === 0 && open) return el("td", {}, el("button", { type: "button", class: "link", click: () => open(row) }, show));
      return el("td", { class: numeric.get(column.name) ? "n" : undefined, title: typeof value === "number" ? String(value) : undefined }, show);
    }))));
    more.hidden = current.length <= shown;
  };
  const heads = columns.map((column) => {
    const head = el("th", { scope: "col", class: numeric.get(column.name) ? "n" : undefined, "aria-sort": "none" });
    head.append(el("button", { type: "button", class: "sort", click: () => {
      sorted = { name: column.name, down: sorted?.name === column.name ? !sorted.down : !!numeric.get(column.name) };
      shown = page;
      heads.forEach((other) => other.setAttribute("aria-sort", "none"));
      head.setAttribute("aria-sort", sorted.down ? "descending" : "ascending");
      fill();
    } }, column.title, column.unit ? el("small", {}, ` ${column.unit}`) : null));
    return head;
  });
  const selects = columns.filter((column) => column.filter).map((column) => {
    const values = [...new Set(rows.map((row) => String(row[column.name])))];
    if (values.length < 2) return null;
    const select = el("select", { "aria-label": `Only this ${column.title}` }, el("option", { value: "" }, `${column.title}: all`), ...values.map((value) => el("option", { value }, value)));
    select.addEventListener("change", () => { picked.set(column.name, select.value); shown = page; fill(); });
    return select;
  });
  const input = el("input", { type: "search", placeholder: "Filter by name", "aria-label": "Filter rows by name" });
  input.addEventListener("input", () => { text = input.value.trim().toLowerCase(); shown = page; fill(); });
  const card = el("section", { class: "card", id },
    el("header", {}, el("h2", {}, title),
      el("div", { class: "tools" }, el("button", { type: "button", class: "small", "aria-label": `Save the numbers as CSV: ${id}`, click: () => saveCsv(`lacuna-${id}`, current) }, "CSV"))),
    el("p", { class: "note" }, note),
    el("div", { class: "controls" }, [...numeric.values()].some((one) => !one) && input, ...selects, count),
    el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": title }, el("table", {}, el("thead", {}, el("tr", {}, ...heads)), body)),
    more);
  replace(body);
  fill();
  return card;
}
