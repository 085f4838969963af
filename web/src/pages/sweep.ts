// The page of `lacuna sweep pareto --html`.
import { answerView, type Answer } from "../answer";
import { pictureCard, type Picture } from "../parts/card";
import { el, replace, shorten } from "../parts/dom";
import { exactTimes, whole } from "../parts/format";
import { hideTip } from "../parts/hover";
import { howCard } from "../how";
import { frontOf, Sweep, type Point } from "../sweep/data";
import { showDesign } from "../sweep/design";
import { effectsPicture } from "../sweep/effects";
import { filtersCard } from "../sweep/filters";
import { parallelPicture } from "../sweep/parallel";
import { scatterPicture } from "../sweep/scatter";
import { designName, exactNumber, metricTitle, metricWords, shortNumber, withUnit } from "../sweep/text";
import { tableCard } from "../parts/table";
import { machineColour } from "../parts/theme";
import { header, pair, type PageKind } from "./page";

function answerOf(sweep: Sweep, points: Point[], front: Point[]): Answer {
  if (front.length === 0) return { sentences: ["No design meets the filters."], numbers: [] };
  const [x, y] = [metricWords(sweep, sweep.x), metricWords(sweep, sweep.y)];
  const best = (metric: number): Point => front.reduce((a, b) => ((sweep.data.more_is_better[metric] ? 1 : -1) * (sweep.value(b, metric)! - sweep.value(a, metric)!) > 0 ? b : a));
  const [byX, byY] = [best(sweep.x), best(sweep.y)];
  const value = (point: Point, metric: number): string => withUnit(sweep, metric, Number(sweep.value(point, metric)!.toPrecision(3)));
  const sentences = front.length === 1
    ? [`One of ${whole(points.length)} designs is best in both ${y} and ${x}.`, `On ${sweep.network()} it reaches ${value(byY, sweep.y)} at ${value(byY, sweep.x)}: ${designName(sweep, byY.design, 70)}.`]
    : [`${whole(front.length)} of ${whole(points.length)} designs are worth a look: no other is better in both ${y} and ${x}.`,
       `On ${sweep.network()} they go from ${value(byX, sweep.y)} at ${value(byX, sweep.x)} to ${value(byY, sweep.y)} at ${value(byY, sweep.x)}.`];
  const fact = (metric: number, point: Point): Answer["numbers"][number] => {
    const number = sweep.value(point, metric);
    const ratio = sweep.data.units[metric] === "x";
    return { label: `Best ${metricTitle(sweep, metric)}`, value: ratio ? `${shortNumber(number)}x` : shortNumber(number), exact: ratio ? exactTimes(number) : exactNumber(number), detail: designName(sweep, point.design, 90), colour: machineColour(sweep.data.designs[point.design]![2]) };
  };
  return { sentences, numbers: [{ label: "On the front", value: whole(front.length), detail: `of ${whole(points.length)} designs shown, on ${sweep.network()}` }, fact(sweep.y, byY), fact(sweep.x, byX)] };
}

function frontTable(sweep: Sweep, front: Point[], open: (design: number) => void): HTMLElement {
  const index = new Map(front.map((point) => [sweep.data.designs[point.design]![0], point.design]));
  const metrics = [...new Set([sweep.x, sweep.y, ...sweep.data.metrics.keys()])];
  const columns = [
    { name: "design", title: "design" }, { name: "machine", title: "machine", filter: true }, { name: "parameters", title: "parameters" },
    ...metrics.map((metric) => ({ name: sweep.data.metrics[metric]!, title: metricTitle(sweep, metric), text: (value: number) => shortNumber(value) })),
  ];
  const rows = front.map((point) => {
    const [id, machine, , parameters] = sweep.data.designs[point.design]!;
    return { design: id, machine, parameters: parameters || "(defaults)", ...Object.fromEntries(sweep.data.metrics.map((name, i) => [name, sweep.value(point, i)])) };
  });
  return tableCard("table", "The front", "One row per design that no other beats in both metrics. Click a heading to sort, a design to open it.", columns, rows, (row) => open(index.get(Number(row.design))!));
}

export const sweepPage: PageKind = {
  shows: (data) => data.sweep !== undefined,
  build: (data, root) => {
    const sweep = new Sweep(data.sweep!);
    let points: Point[] = [];
    let front: Point[] = [];
    const title = `Sweep of ${whole(sweep.data.designs.length)} designs`;
    document.title = `${title} - Lacuna`;

    const answer = el("div");
    const table = el("div");
    const panel = el("section", { class: "card layer", id: "design", hidden: true, "aria-live": "polite" });
    const close = (): void => { panel.hidden = true; };
    const open = (design: number): void => {
      hideTip();
      showDesign(panel, sweep, design, close);
      panel.scrollIntoView({ block: "nearest" });
      panel.querySelector<HTMLElement>("h3")?.focus({ preventScroll: true });
    };
    const select = (id: string, label: string, options: string[], now: number, choose: (index: number) => void): HTMLSelectElement => {
      const node = el("select", { id, "aria-label": label }, ...options.map((option, i) => el("option", { value: i, selected: i === now }, shorten(option, 44))));
      node.addEventListener("change", () => { choose(Number(node.value)); update(); });
      return node;
    };
    const names = sweep.data.metrics.map((_, i) => metricTitle(sweep, i));
    const controls = el("div", { class: "choice" },
      sweep.data.sets.length > 1 && select("network", "Network", sweep.data.sets.map((_, i) => sweep.network(i)), 0, (i) => { sweep.set = i; sweep.limits.clear(); }),
      el("label", {}, "up: ", select("y", "Metric up", names, sweep.y, (i) => { sweep.y = i; })),
      el("label", {}, "across: ", select("x", "Metric across", names, sweep.x, (i) => { sweep.x = i; })));

    const recompute = (): void => { points = sweep.points(); front = frontOf(sweep, points); };
    recompute();
    const nothing = (id: string, metric: number): Picture => ({ name: id, title: `Nothing varies that could move ${metricWords(sweep, metric)}`, note: "Every parameter has one value among the designs shown.", rows: () => [], draw: () => document.createElementNS("http://www.w3.org/2000/svg", "svg") });
    const scatter = pictureCard(() => scatterPicture(sweep, points, front, open, controls));
    const parallel = pictureCard(() => parallelPicture(sweep, points, front, update));
    const effects = [pictureCard(() => effectsPicture(sweep, points, sweep.y, "effects-y") ?? nothing("effects-y", sweep.y)), pictureCard(() => effectsPicture(sweep, points, sweep.x, "effects-x") ?? nothing("effects-x", sweep.x))];
    const filters = filtersCard(sweep, update);
    const fill = (): void => {
      replace(answer, answerView(answerOf(sweep, points, front)));
      replace(table, frontTable(sweep, front, open));
      filters.refresh(points.length, sweep.data.sets[sweep.set]!.designs.length);
    };
    function update(): void {
      hideTip();
      recompute();
      scatter.redraw();
      parallel.redraw();
      effects.forEach((one) => one.redraw());
      fill();
    }
    fill();
    const how = {
      facts: [["Results", sweep.data.file], ["Computed by", `Lacuna ${sweep.data.program}`], ...(sweep.data.where ? [["Only designs with", sweep.data.where]] : [])] as [string, string][],
      rests: ["Numbers of a network are of one training step with the whole batch, its traces added up. Those of all networks together are geometric means, so that no network counts more because it is larger."],
    };
    const varied = sweep.data.parameters.length > 0;
    replace(root, el("div", { id: "title" }, header(title, [])),
      el("main", {}, answer, varied && filters.card, scatter.card, panel, parallel.card, varied && pair(...effects.map((one) => one.card)), table, howCard(data, how)));
  },
};
