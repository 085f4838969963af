// Two results side by side.
import type { Answer } from "./answer";
import { drawBars } from "./parts/bars";
import type { Picture } from "./parts/card";
import { opsAndAll, opTitle, type Compare } from "./data";
import { exactTimes, joules, percent, plain, times, whole } from "./parts/format";
import { machineColour } from "./parts/theme";

const name = (run: Compare["runs"][number]): string => `${run.model} on ${run.arch}`;
const changed = (ratio: number | null): string => (ratio === null ? "–" : ratio === 1 ? "no change" : `${ratio > 1 ? "+" : "−"}${plain(100 * Math.abs(ratio - 1), 3)} %`);

export function compareAnswer(compare: Compare): Answer {
  const differing = compare.runs.filter((run) => run.differs);
  const changes = compare.runs.reduce((sum, run) => sum + run.changes.length, 0);
  const most = [...compare.runs].sort((a, b) => Math.abs(Math.log(b.total.all.ratio ?? 1)) - Math.abs(Math.log(a.total.all.ratio ?? 1)))[0];
  const ratio = most?.total.all.ratio ?? null;
  const sentences = [
    compare.differs ? `The two results differ in ${differing.length} of ${compare.runs.length} runs.` : "The two results are equal.",
    compare.differs && most && ratio !== null && ratio !== 1 ? `B takes ${ratio < 1 ? `${percent(1 - ratio, 1)} fewer` : `${percent(ratio - 1, 1)} more`} cycles than A for ${name(most)}.` : "",
  ];
  return {
    sentences: sentences.filter(Boolean),
    numbers: [
      { label: "Runs that differ", value: `${differing.length} of ${compare.runs.length}`, detail: `changes of up to ${plain(100 * compare.threshold)} % are ignored` },
      { label: "Operations that changed", value: whole(changes), detail: "layers and operations, in all runs" },
      { label: "Cycles, B / A", value: ratio === null ? "–" : plain(ratio, 4), detail: most ? `${name(most)}, where the change is largest` : "" },
      { label: "Only in one file", value: whole(compare.only_a.length + compare.only_b.length), detail: "runs without a partner" },
    ],
  };
}

export function comparePictures(compare: Compare): Picture[] {
  const pictures: Picture[] = [{
    name: "compare-cycles", title: "Cycles of B compared with A", note: "Cycles of B divided by those of A: left of the line at 1, B is faster.",
    rows: () => compare.runs.flatMap((run) => opsAndAll.map((op) => ({ model: run.model, arch: run.arch, operation: op, a_cycles: run.total[op].a.cycles, b_cycles: run.total[op].b.cycles, ratio: run.total[op].ratio }))),
    draw: (width) => drawBars(compare.runs.slice(0, 30).flatMap((run) => opsAndAll.flatMap((op) => { const { a, b, ratio } = run.total[op]; return ratio === null ? [] : [{ group: name(run), name: op === "all" ? "all" : opTitle[op], value: ratio, colour: machineColour(run.arch.split("-")[0]!), text: `${plain(ratio, 3)}  ${changed(ratio)}`, lines: [`A ${whole(a.cycles)} cycles, speedup ${exactTimes(a.speedup)}`, `B ${whole(b.cycles)} cycles, speedup ${exactTimes(b.speedup)}`, `B / A ${plain(ratio)}`] }]; })), width, "cycles, B / A", "Cycles of B compared with A"),
  }];
  const energies = compare.runs.filter((run) => run.energy);
  if (energies.length > 0)
    pictures.push({
      name: "compare-energy", title: "Energy of B compared with A", note: "Joules of the machine, B divided by A: left of the line at 1, B needs less.",
      rows: () => energies.flatMap((run) => opsAndAll.map((op) => ({ model: run.model, arch: run.arch, operation: op, a_joules: run.energy![op].a, b_joules: run.energy![op].b, ratio: run.energy![op].ratio }))),
      draw: (width) => drawBars(energies.slice(0, 30).flatMap((run) => opsAndAll.flatMap((op) => { const { a, b, ratio } = run.energy![op]; return ratio === null ? [] : [{ group: name(run), name: op === "all" ? "all" : opTitle[op], value: ratio, colour: machineColour(run.arch.split("-")[0]!), text: `${plain(ratio, 3)}  ${changed(ratio)}`, lines: [`A ${joules(a, 5)}`, `B ${joules(b, 5)}`] }]; })), width, "energy, B / A", "Energy of B compared with A"),
    });
  return pictures;
}

export const compareTable = (compare: Compare) => compare.runs.flatMap((run) => run.changes.map((one) => ({ layer: one.layer, operation: one.op, model: run.model, machine: run.arch, a_cycles: one.a.cycles, b_cycles: one.b.cycles, ratio: one.ratio, a_speedup: one.a.speedup, b_speedup: one.b.speedup, changed: one.fields.join(", ") })));
export const settingsTable = (compare: Compare) => compare.runs.flatMap((run) => run.settings.map((one) => ({ setting: one.name, a: one.a, b: one.b, model: run.model, machine: run.arch })));
export const compareText = { ratio: (value: number) => times(value, 4) };
