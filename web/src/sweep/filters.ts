// Filters of the designs in the pictures: one row of buttons per parameter.
import { el, replace, shorten } from "../parts/dom";
import { settingText, type Sweep } from "./data";

const mostButtons = 14;

export function filtersCard(sweep: Sweep, changed: () => void): { card: HTMLElement; refresh: (shown: number, all: number) => void } {
  const count = el("span", { class: "count", role: "status" });
  const reset = el("button", { type: "button", class: "small", click: () => { sweep.reset(); update(); changed(); } }, "Show all");
  const rows = el("div", { class: "filters" });
  const toggle = (parameter: number, value: number): void => {
    const shown = sweep.shown[parameter]!;
    // The first click on a row of which all are shown keeps that value alone; the last one shown brings all back.
    if (!shown.includes(false)) shown.fill(false), (shown[value] = true);
    else shown[value] = !shown[value];
    if (!shown.includes(true)) shown.fill(true);
    update();
    changed();
  };
  const update = (): void => {
    replace(rows, ...sweep.data.parameters.map(({ name, values, of }, i) => {
      const shown = sweep.shown[i]!;
      const all = !shown.includes(false);
      const without = of.some((at) => at < 0);
      const options = [...values.map((value, v) => ({ v, text: settingText(value) })), ...(without ? [{ v: values.length, text: "none" }] : [])];
      const label = el("span", { class: "name", title: name }, shorten(name, 26));
      if (options.length > mostButtons) {
        const one = shown.indexOf(true);
        const select = el("select", { "aria-label": `Only this ${name}` }, el("option", { value: "" }, "all"), ...options.map(({ v, text }) => el("option", { value: v, selected: !all && v === one }, shorten(text, 30))));
        select.addEventListener("change", () => { shown.fill(select.value === ""); if (select.value !== "") shown[Number(select.value)] = true; update(); changed(); });
        return el("div", { class: "filter" }, label, select);
      }
      return el("div", { class: "filter", role: "group", "aria-label": `Values of ${name}` }, label,
        ...options.map(({ v, text }) => el("button", { type: "button", class: "small", "aria-pressed": String(!all && shown[v]!), click: () => toggle(i, v) }, shorten(text, 24))));
    }));
  };
  update();
  const card = el("section", { class: "card", id: "filters" }, el("header", {}, el("h2", {}, "Show only"), el("div", { class: "tools" }, count, reset)), rows);
  return {
    card,
    refresh: (shown, all) => {
      count.textContent = shown === all ? `${all.toLocaleString("en")} designs` : `${shown.toLocaleString("en")} of ${all.toLocaleString("en")} designs`;
      reset.hidden = !sweep.isFiltered();
      update();
    },
  };
}
