// Steps of training with what was found in them: `simulate`, `inspect`, `demo`.
import { answerView, stepAnswer } from "../answer";
import { areaPicture } from "../area";
import { kernelsPicture } from "../bench";
import { pictureCard, type Picture } from "../parts/card";
import type { OpOrAll, PageData } from "../data";
import { layerRows, showLayer } from "../detail";
import { el, replace, shorten } from "../parts/dom";
import { joules, percent, plain, times, whole } from "../parts/format";
import { hideTip } from "../parts/hover";
import { howCard } from "../how";
import { layersPicture } from "../layers";
import { machinesPicture } from "../machines";
import { buildSteps, type Step } from "../model";
import { networksPicture } from "../networks";
import { profileAnswer, profilePictures } from "../profile";
import { saveCsv } from "../parts/save";
import { rooflinePicture } from "../roofline";
import { energyPicture, timePicture } from "../stacks";
import { tableCard } from "../parts/table";
import { progressPictures, trainPictures } from "../training";
import { zerosPicture } from "../zeros";
import { fixed, header, pair, type PageKind } from "./page";

const numberColumns = [
  { name: "macs", title: "MACs", text: whole },
  { name: "effectual_macs", title: "both non-zero", unit: "MACs", text: whole },
];
function stepTable(step: Step, open: (layer: number) => void): HTMLElement {
  const rows = step.layers.flatMap((layer) => layerRows(step, layer.index));
  const machines = rows.some((row) => row.machine !== null);
  const index = new Map(step.layers.map((layer) => [layer.name, layer.index]));
  const columns = [
    { name: "layer", title: "layer" }, { name: "shape", title: "shape" }, { name: "operation", title: "operation", filter: true },
    ...(machines ? [{ name: "machine", title: "machine", filter: true }] : []), { name: "skips", title: "skips" }, ...numberColumns,
    ...(machines ? [{ name: "baseline_cycles", title: "dense", unit: "cycles", text: whole }, { name: "cycles", title: "machine", unit: "cycles", text: whole }, { name: "from_zeros", title: "from zeros", text: (value: number) => times(value, 4) }, { name: "speedup", title: "speedup", text: (value: number) => times(value, 4) }] : []),
    { name: "at_best", title: "at best", text: (value: number) => times(value, 4) },
    ...(rows.some((row) => row.utilisation !== null) ? [{ name: "utilisation", title: "multipliers used", text: (value: number) => percent(value, 1) }, { name: "dram_gigabytes_per_second", title: "DRAM", unit: "GB/s", text: (value: number) => plain(value, 3) }] : []),
    ...(rows.some((row) => row.joules !== null) ? [{ name: "joules", title: "energy", unit: "per batch", text: (value: number) => joules(value, 4) }] : []),
  ];
  return tableCard("table", "All numbers", "One row per layer, operation and machine. Cycles and MACs are of the recorded samples. Click a heading to sort, a layer to open it.", columns, rows, (row) => open(index.get(String(row.layer)) ?? 0));
}

function stepView(page: PageData, step: Step, same: Step[]): HTMLElement[] {
  let op: OpOrAll = "all";
  const panel = el("section", { class: "card layer", id: "layer", hidden: true, "aria-live": "polite" });
  const picker = el("select", { id: "pick", "aria-label": "Open a layer" }, el("option", { value: "" }, "Open a layer …"), ...step.layers.map((layer) => el("option", { value: layer.index }, shorten(layer.name, 48))));
  const close = (): void => { panel.hidden = true; picker.value = ""; };
  const open = (layer: number): void => {
    hideTip();
    showLayer(panel, step, layer, close);
    picker.value = String(layer);
    panel.scrollIntoView({ block: "nearest" });
    panel.querySelector<HTMLElement>("h3")?.focus({ preventScroll: true });
  };
  picker.addEventListener("change", () => (picker.value === "" ? close() : open(Number(picker.value))));
  const parts: (HTMLElement | null)[] = [];
  if (page.profile) parts.push(answerView(profileAnswer(page), "profile"), pair(...profilePictures(page).slice(0, 2).map(fixed)), pair(...profilePictures(page).slice(2).map(fixed)), el("h2", {}, "The last measured step"));
  parts.push(answerView(stepAnswer(step, page)));
  if (step.inspect) parts.push(fixed({ ...zerosPicture(step, open), controls: picker }), panel);
  if (step.machines.length > 0) {
    parts.push(fixed(machinesPicture(step)));
    const layers = pictureCard(() => layersPicture(step, op, (next) => { op = next; layers.redraw(); }, open));
    parts.push(layers.card);
    if (!step.inspect) parts.push(panel);
    const energy = energyPicture(step);
    parts.push(pair(fixed(timePicture(step)), energy && fixed(energy)));
    let roofOp: OpOrAll = "all";
    const chooseRoof = (next: OpOrAll): void => { roofOp = next; roof?.redraw(); };
    const rooflineNow = (): Picture | null => rooflinePicture(step, roofOp, chooseRoof, open);
    // An operation that no machine ran keeps the picture of all.
    const roof = rooflineNow() && pictureCard(() => rooflineNow() ?? rooflinePicture(step, "all", chooseRoof, open)!);
    if (roof) parts.push(roof.card);
    const area = areaPicture(step);
    if (area) parts.push(fixed(area));
  }
  if (page.kernels) parts.push(fixed(kernelsPicture(page.kernels, step)));
  parts.push(pair(...progressPictures(same).map(fixed)));
  if (page.train) parts.push(pair(...trainPictures(page.train).slice(0, 2).map(fixed)), pair(...trainPictures(page.train).slice(2).map(fixed)));
  parts.push(stepTable(step, open));
  return parts.filter((part): part is HTMLElement => !!part);
}

function build(page: PageData, root: HTMLElement): void {
  const steps = buildSteps(page);
  const body = el("main");
  let now = steps.length - 1;
  const last = steps.filter((step) => step.info.model === steps[0]!.info.model);
  if (new Set(steps.map((step) => step.info.model)).size > 1) now = 0;
  else now = steps.indexOf(last.reduce((a, b) => ((b.info.progress ?? 0) >= (a.info.progress ?? 0) ? b : a)));
  const title = el("div", { id: "title" });
  const csv = el("button", { type: "button", class: "small", "aria-label": "Save all numbers of this step as CSV", click: () => saveCsv("lacuna-report", steps[now]!.layers.flatMap((layer) => layerRows(steps[now]!, layer.index))) }, "CSV");
  const choose = el("select", { id: "step", "aria-label": "Network and step of training" }, ...steps.map((step, i) => el("option", { value: i }, shorten(step.title, 60))));
  const show = (): void => {
    const step = steps[now]!;
    document.title = `${step.title} - Lacuna`;
    choose.value = String(now);
    replace(title, header(step.title, steps.length > 1 ? [choose, csv] : [csv]));
    const networks = networksPicture(steps);
    replace(body, ...stepView(page, step, steps.filter((other) => other.info.model === step.info.model)), networks && fixed(networks), howCard(page));
  };
  choose.addEventListener("change", () => { now = Number(choose.value); show(); });
  replace(root, title, body);
  show();
}

export const stepsPage: PageKind = { shows: (data) => !!data.simulate?.runs.length || !!data.inspect?.traces.length, build };
