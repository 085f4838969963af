// Two results: `compare`.
import { compareAnswer, comparePictures, compareTable, settingsTable } from "../compare";
import type { PageData } from "../data";
import { plain, times, whole } from "../parts/format";
import { tableCard } from "../parts/table";
import { fixed, plainPage, type PageKind } from "./page";

function build(data: PageData, root: HTMLElement): void {
  const compare = data.compare!;
  const settings = settingsTable(compare);
  plainPage(data, root, "Two results compared", compareAnswer(compare), [
    ...comparePictures(compare).map(fixed),
    settings.length > 0 ? tableCard("settings", "Settings that differ", "They do not by themselves make the results differ.", [{ name: "setting", title: "setting" }, { name: "a", title: "A" }, { name: "b", title: "B" }, { name: "model", title: "network", filter: true }, { name: "machine", title: "machine", filter: true }], settings) : null,
    tableCard("table", "What changed", "One row per layer and operation; cycles of the recorded samples.", [{ name: "layer", title: "layer" }, { name: "operation", title: "operation", filter: true }, { name: "model", title: "network", filter: true }, { name: "machine", title: "machine", filter: true }, { name: "a_cycles", title: "A", unit: "cycles", text: whole }, { name: "b_cycles", title: "B", unit: "cycles", text: whole }, { name: "ratio", title: "B / A", text: (value: number) => plain(value, 5) }, { name: "a_speedup", title: "A speedup", text: (value: number) => times(value, 4) }, { name: "b_speedup", title: "B speedup", text: (value: number) => times(value, 4) }, { name: "changed", title: "changed" }], compareTable(compare)),
  ]);
}

export const comparePage: PageKind = { shows: (data) => !!data.compare, build };
