// Puts the page together: what is in the data decides which parts there are.
import { answerView, stepAnswer, type Answer } from "./answer";
import { benchAnswer, benchPictures, benchTable, kernelsPicture } from "./bench";
import { pictureCard, redrawAll, type Picture } from "./card";
import { compareAnswer, comparePictures, compareTable, settingsTable } from "./compare";
import { readPage, type OpOrAll, type PageData } from "./data";
import { layerRows, showLayer } from "./detail";
import { el, replace, shorten } from "./dom";
import { joules, percent, plain, times, whole } from "./format";
import { hideTip } from "./hover";
import { howCard } from "./how";
import { layersPicture } from "./layers";
import { machinesPicture } from "./machines";
import { buildSteps, type Step } from "./model";
import { networksPicture } from "./networks";
import { saveCsv } from "./save";
import { areaPicture } from "./area";
import { energyPicture, timePicture } from "./stacks";
import { tableCard } from "./table";
import { isDark, toggleTheme } from "./theme";
import { progressPictures, trainAnswer, trainPictures } from "./training";
import { zerosPicture } from "./zeros";

const page = readPage();
const steps = buildSteps(page);
const root = document.getElementById("page")!;

const fixed = (picture: Picture): HTMLElement => pictureCard(() => picture).card;
const pair = (...cards: (HTMLElement | null | undefined | false)[]): HTMLElement | null => {
  const there = cards.filter((card): card is HTMLElement => !!card);
  return there.length === 0 ? null : el("div", { class: "pair" }, ...there);
};

function header(title: string, tools: HTMLElement[]): HTMLElement {
  const theme = el("button", { type: "button", class: "small", id: "theme", "aria-label": "Switch between light and dark" });
  const name = (): void => { theme.textContent = isDark() ? "Light" : "Dark"; };
  theme.addEventListener("click", () => { toggleTheme(); name(); redrawAll(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { name(); redrawAll(); });
  name();
  return el("div", { class: "top" }, el("h1", {}, title), el("div", { class: "tools" }, ...tools, theme));
}

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
    ...(machines ? [{ name: "baseline_cycles", title: "dense", unit: "cycles", text: whole }, { name: "cycles", title: "machine", unit: "cycles", text: whole }, { name: "from_zeros", title: "speedup", unit: "from zeros", text: (value: number) => times(value, 4) }, { name: "speedup", title: "with empty lanes", text: (value: number) => times(value, 4) }] : []),
    { name: "at_best", title: "at best", text: (value: number) => times(value, 4) },
    ...(rows.some((row) => row.joules !== null) ? [{ name: "joules", title: "energy", unit: "per batch", text: (value: number) => joules(value, 4) }] : []),
  ];
  return tableCard("table", "All numbers", "One row per layer, operation and machine. Cycles and MACs are of the recorded samples. Click a heading to sort, a layer to open it.", columns, rows, (row) => open(index.get(String(row.layer)) ?? 0));
}

function stepView(step: Step, same: Step[]): HTMLElement[] {
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
  const parts: (HTMLElement | null)[] = [answerView(stepAnswer(step, page))];
  if (step.inspect) parts.push(fixed({ ...zerosPicture(step, open), controls: picker }), panel);
  if (step.machines.length > 0) {
    parts.push(fixed(machinesPicture(step)));
    const layers = pictureCard(() => layersPicture(step, op, (next) => { op = next; layers.redraw(); }, open));
    parts.push(layers.card);
    if (!step.inspect) parts.push(panel);
    const energy = energyPicture(step);
    parts.push(pair(fixed(timePicture(step)), energy && fixed(energy)));
    const area = areaPicture(step);
    if (area) parts.push(fixed(area));
  }
  if (page.kernels) parts.push(fixed(kernelsPicture(page.kernels)));
  parts.push(pair(...progressPictures(same).map(fixed)));
  if (page.train) parts.push(pair(...trainPictures(page.train).slice(0, 2).map(fixed)), pair(...trainPictures(page.train).slice(2).map(fixed)));
  parts.push(stepTable(step, open));
  return parts.filter((part): part is HTMLElement => !!part);
}

function stepsPage(): void {
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
    replace(body, ...stepView(step, steps.filter((other) => other.info.model === step.info.model)), networks && fixed(networks), howCard(page));
  };
  choose.addEventListener("change", () => { now = Number(choose.value); show(); });
  replace(root, title, body);
  show();
}

function plainPage(title: string, answer: Answer, parts: (HTMLElement | null)[]): void {
  document.title = `${title} - Lacuna`;
  replace(root, el("div", { id: "title" }, header(title, [])), el("main", {}, answerView(answer), ...parts, howCard(page)));
}

function build(data: PageData): void {
  if (steps.length > 0) return stepsPage();
  if (data.bench) {
    const bench = data.bench;
    const columns = [{ name: "layer", title: "layer" }, { name: "network", title: "network", filter: true }, { name: "shape", title: "shape" }, { name: "operation", title: "operation", filter: true }, { name: "zeros", title: "zeros", text: (value: number) => percent(value, 1) }, { name: "used", title: "kernel used" }, { name: "microseconds", title: "ours", unit: "µs", text: (value: number) => plain(value, 4) }, { name: "direct_microseconds", title: "oneDNN direct", unit: "µs", text: (value: number) => plain(value, 4) }, { name: "x_direct", title: "over direct", text: (value: number) => times(value, 4) }, { name: "x_auto", title: "over oneDNN's choice", text: (value: number) => times(value, 4) }];
    return plainPage(`Kernels that skip zeros on ${bench.machine.cpu}`, benchAnswer(bench), [...benchPictures(bench).map(fixed), tableCard("table", "All numbers", "One row per layer, operation and share of zeros.", columns, benchTable(bench))]);
  }
  if (data.compare) {
    const compare = data.compare;
    const settings = settingsTable(compare);
    return plainPage("Two results compared", compareAnswer(compare), [
      ...comparePictures(compare).map(fixed),
      settings.length > 0 ? tableCard("settings", "Settings that differ", "They do not by themselves make the results differ.", [{ name: "setting", title: "setting" }, { name: "a", title: "A" }, { name: "b", title: "B" }, { name: "model", title: "network", filter: true }, { name: "machine", title: "machine", filter: true }], settings) : null,
      tableCard("table", "What changed", "One row per layer and operation; cycles of the recorded samples.", [{ name: "layer", title: "layer" }, { name: "operation", title: "operation", filter: true }, { name: "model", title: "network", filter: true }, { name: "machine", title: "machine", filter: true }, { name: "a_cycles", title: "A", unit: "cycles", text: whole }, { name: "b_cycles", title: "B", unit: "cycles", text: whole }, { name: "ratio", title: "B / A", text: (value: number) => plain(value, 5) }, { name: "a_speedup", title: "A speedup", text: (value: number) => times(value, 4) }, { name: "b_speedup", title: "B speedup", text: (value: number) => times(value, 4) }, { name: "changed", title: "changed" }], compareTable(compare)),
    ]);
  }
  if (data.train) {
    const train = data.train;
    const { sentences, facts } = trainAnswer(train);
    const pictures = trainPictures(train).map(fixed);
    return plainPage(`Training of ${train.config.model ?? "a network"}`, { sentences, numbers: facts }, [
      pair(pictures[0], pictures[1]), pair(pictures[2], pictures[3]), data.kernels ? fixed(kernelsPicture(data.kernels)) : null,
      tableCard("table", "All numbers", "One row per line of the log.", [{ name: "steps", title: "steps", text: whole }, { name: "epoch", title: "epoch", text: (value: number) => plain(value, 4) }, { name: "loss", title: "loss" }, { name: "train_accuracy", title: "training accuracy", text: (value: number) => percent(value, 1) }, { name: "test_accuracy", title: "test accuracy", text: (value: number) => percent(value, 1) }, { name: "images_per_second", title: "speed", unit: "images/s", text: (value: number) => plain(value, 4) }, { name: "zeros_A", title: "zeros A", text: (value: number) => percent(value, 1) }, { name: "zeros_G", title: "zeros G", text: (value: number) => percent(value, 1) }, { name: "zeros_W", title: "zeros W", text: (value: number) => percent(value, 1) }], train.log.map((one) => ({ ...one })))]);
  }
  replace(root, el("p", {}, "This page holds no results."));
}

build(page);
document.documentElement.dataset.ready = "true";
