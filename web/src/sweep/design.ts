// One design, opened: its configuration and what it reaches on every network.
import { el, replace } from "../parts/dom";
import { settingText, type Sweep } from "./data";
import { exactNumber, metricTitle } from "./text";

export function showDesign(panel: HTMLElement, sweep: Sweep, design: number, close: () => void): void {
  const [id, machine, model, parameters] = sweep.data.designs[design]!;
  const settings = sweep.data.parameters.map(({ name }, i): [string, string] => [name, settingText(sweep.setting(design, i))]);
  const rows = sweep.data.sets.flatMap((set, index) => {
    const row = set.designs.indexOf(design);
    return row < 0 ? [] : [{ network: sweep.network(index), values: set.columns.map((column) => column[row] ?? null) }];
  });
  replace(panel,
    el("header", {}, el("h3", { tabindex: "-1" }, `Design ${id}: ${machine}`), el("button", { type: "button", class: "small", click: close }, "Close")),
    el("p", { class: "note" }, `${model === machine ? "" : `A configuration of ${model}. `}${parameters === "" ? "All parameters at their defaults." : `Not at the defaults: ${parameters}`}`),
    el("dl", {}, ...settings.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)])),
    el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Results of this design" },
      el("table", {},
        el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "network"), ...sweep.data.metrics.map((_, i) => el("th", { scope: "col", class: "n" }, metricTitle(sweep, i))))),
        el("tbody", {}, ...rows.map((row) => el("tr", {}, el("td", {}, row.network), ...row.values.map((value) => el("td", { class: "n" }, exactNumber(value)))))))));
  panel.hidden = false;
}
