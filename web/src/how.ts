// Provenance of the page: enough to run it again.
import { assumptionsOf } from "./assumptions";
import type { PageData } from "./data";
import { el } from "./parts/dom";
import { whole } from "./parts/format";

const list = (entries: [string, string][]): HTMLElement => el("dl", {}, ...entries.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));
const settings = (config: Record<string, unknown>): [string, string][] =>
  Object.entries(config).map(([name, value]) => [name, value === true ? "on" : value === false ? "off" : value !== null && typeof value === "object" ? JSON.stringify(value) : String(value)]);

// Rows that a kind of page adds.
export interface HowMore { facts?: [string, string][]; rests?: string[]; lists?: { title: string; entries: [string, string][] }[] }

export function howCard(page: PageData, more: HowMore = {}): HTMLElement {
  const runs = page.simulate?.runs ?? [];
  const machines = new Map(runs.map((run) => [run.arch, run]));
  const traces = new Map([...(page.inspect?.traces ?? []), ...runs].map((one) => [one.trace, one]));
  const files = new Map((page.files ?? []).map((one) => [one.trace, one]));
  const file = (trace: string): [string, string][] => {
    const found = files.get(trace);
    return found?.sha256 ? [["SHA-256", found.sha256], ["Bytes", whole(found.bytes)]] : [];
  };
  // Steps of one training are shown together under its name.
  const others = (page.files ?? []).filter((one) => one.sha256 && !traces.has(one.trace));
  const bases = [...new Set([...runs.map((run) => run.base), ...(page.bench || page.kernels ? ["cpu"] : [])])];
  const engines = [...new Set(runs.map((run) => `${run.engine}, seed ${run.seed}`))];
  const tables = [...new Set(runs.flatMap((run) => (run.energy ? [`${run.energy.table} (${run.energy.node_nm} nm)`] : [])))];
  const facts: [string, string][] = [["Command", page.command], ["Lacuna", page.lacuna], ...Object.entries(page.build ?? {})];
  if (engines.length) facts.push(["Engine", engines.join("; ")]);
  if (tables.length) facts.push(["Energy costs", tables.join("; ")]);
  if (page.bench) facts.push(["CPU", `${page.bench.machine.cpu}, ${page.bench.machine.isa}`], ["oneDNN", page.bench.machine.onednn], ["Peak per core", `${whole(page.bench.machine.peak_gflops)} GFLOP/s`]);
  if (page.compare) facts.push(["A", `${page.compare.a.file} (Lacuna ${page.compare.a.lacuna})`], ["B", `${page.compare.b.file} (Lacuna ${page.compare.b.lacuna})`], ["Ignored", `relative changes of up to ${100 * page.compare.threshold} %`]);
  facts.push(...(more.facts ?? []));
  const ideal = runs.some((run) => run.config.memory === "ideal");
  const assumptions = [
    runs.length > 0 && "Speedups compare a machine with its baseline, a dense machine with the same number of multipliers. The speedup from zeros compares it with itself on the same layers without a zero. Cycles come from a simulation of the recorded zeros, not from a measurement.",
    runs.length > 0 && (ideal ? "With memory=ideal no machine waits for memory; add --set memory=modelled for time with DRAM, SRAM and transposers." : "Waiting for DRAM, SRAM and transposers is part of the cycles."),
    (runs.length > 0 || page.inspect) && "A trace holds some samples of a batch. Each layer is scaled to the batch that was trained with.",
    page.inspect && "'At best' is every multiplication divided by those whose sparser operand is not zero: a machine that loses nothing [TensorDash, Fig. 1].",
    tables.length > 0 && "Energy is the number of actions of each component times its cost in the table, whose sources are in configs/energy.",
    page.bench && "Times are medians of paired runs on the machine above; another CPU gives other numbers.",
    ...(more.rests ?? []),
    `Where a paper is silent the models make numbered assumptions${bases.length > 0 || more.lists ? ", listed above" : ""}: docs/assumptions.md in the repository.`,
  ];
  return el("section", { class: "card", id: "how" },
    el("header", {}, el("h2", {}, "How this was made")),
    list(facts),
    others.length > 0 && el("details", {}, el("summary", {}, others.length === 1 ? "The trace's file" : `The traces' files`), ...others.map((one) => list([["File", one.trace], ...file(one.trace)]))),
    traces.size > 0 && el("details", {}, el("summary", {}, traces.size === 1 ? "The trace" : `${traces.size} traces`),
      ...[...traces.values()].map((one) => list([["File", one.trace], ...file(one.trace), ["Network", one.model], ...(one.dataset ? ([["Data set", one.dataset]] as [string, string][]) : []), ["Batch", whole(one.batch)], ...(one.samples ? ([["Samples recorded", whole(one.samples)]] as [string, string][]) : []), ...(one.accuracy ? ([["Accuracy", `${(100 * one.accuracy).toFixed(1)} %`]] as [string, string][]) : [])]))),
    ...[...machines.values()].map((run) => el("details", { class: "machine" }, el("summary", {}, `Parameters of ${run.arch}${run.baseline ? `, compared with ${run.baseline.arch}` : ""}`), list(settings(run.config)))),
    ...[...(more.lists ?? []), ...assumptionsOf(bases)].map((one) => el("details", {}, el("summary", {}, one.title), list(one.entries))),
    page.train && el("details", {}, el("summary", {}, "Settings of the training"), list(settings(page.train.config))),
    el("h3", {}, "What it rests on"),
    el("ul", {}, ...assumptions.filter((text): text is string => !!text).map((text) => el("li", {}, text))));
}
