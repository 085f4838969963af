// The first thing on the page: the answer in a sentence or two, and the numbers behind it.
import { ops, opTitle, type OpOrAll, type PageData } from "./data";
import { el } from "./parts/dom";
import { exactTimes, joules, percent, plain, si, times, whole } from "./parts/format";
import { atBest, fastest, fromZeros, headline, sameMemory, seconds, speedup, speedupWithoutZeros, timeSlices, type Machine, type Step } from "./model";
import { cpuColour } from "./parts/theme";

export interface Answer { sentences: string[]; numbers: Fact[] }
export interface Fact { label: string; value: string; detail: string; colour?: string; exact?: string }

function heldBack(machine: Machine): string {
  const slices = timeSlices(machine.run, false);
  const all = slices.reduce((sum, slice) => sum + slice.cycles, 0);
  const waits = new Map<string, number>();
  for (const slice of slices) if (slice.part !== "compute") waits.set(slice.part, (waits.get(slice.part) ?? 0) + slice.cycles);
  const [part, cycles] = [...waits].sort((a, b) => b[1] - a[1])[0] ?? ["", 0];
  if (cycles > 0.15 * all) return `; ${percent(cycles / all)} of its time is spent waiting for ${part === "dram" ? "DRAM" : part}`;
  const whole_ = speedup(machine.run, "all") ?? 0;
  const slowest = ops
    .map((op) => ({ op, value: speedup(machine.run, op) }))
    .filter((one): one is { op: (typeof ops)[number]; value: number } => one.value !== null)
    .sort((a, b) => a.value - b.value)[0];
  return slowest && slowest.value < 0.95 * whole_ ? `; held back by ${slowest.op === "forward" ? "the forward pass" : opTitle[slowest.op]} (${times(slowest.value)})` : "";
}

// Part of a speedup that zeros give, for machines that would not take the baseline's time without them.
function partOfZeros(machine: Machine): string {
  const without = speedupWithoutZeros(machine.run, "all") ?? 1;
  return Math.abs(without - 1) < 0.05 ? "" : ` (${times(fromZeros(machine.run, "all"))} of it from zeros)`;
}

function machineSentence(machine: Machine): string {
  const value = speedup(machine.run, "all");
  if (value === null) return "";
  const energy = machine.run.energy?.all.chip_efficiency;
  const less = energy === undefined ? "" : energy >= 1 ? ` with ${times(energy, 3)} less energy` : ` with ${times(1 / energy, 3)} more energy`;
  if (Math.abs(value - 1) < 0.005) return `${machine.title} would take as long as the dense machine${less}.`;
  if (value >= 1) return `${machine.title} would run it ${times(value)} faster${partOfZeros(machine)}${less}${heldBack(machine)}.`;
  return `${machine.title} would take ${times(1 / value)} the time of the dense machine${less}; zeros make it ${times(fromZeros(machine.run, "all"))} faster.`;
}

export function stepAnswer(step: Step, page: PageData): Answer {
  const sentences: string[] = [];
  const numbers: Fact[] = [];
  if (step.inspect) {
    const all = step.inspect.per_batch.all;
    sentences.push(`${percent(1 - all.remaining_macs / all.macs)} of this training step's multiplications are on zeros.`);
    const share_ = step.inspect.recorded_share;
    if (share_ !== undefined && share_ < 0.995) sentences.push(`The trace holds ${percent(share_)} of the network's multiplications; the rest is not counted.`);
    const { A, W, G } = step.inspect.zeros_by_macs;
    const share = (name: string, value: number | undefined): string => (value === undefined ? "" : `${name} ${percent(value)}`.replaceAll(" ", "\u00a0"));
    numbers.push({
      label: "Zeros",
      value: [share("A", A), share("G", G)].filter(Boolean).join("  "),
      detail: `of activations (A) and gradients (G)${W ? `; weights (W): ${percent(W)}` : ""}, weighted by multiplications`,
    });
    const best = atBest(step, "all", false);
    numbers.push({ label: "At best", value: times(best, 3), detail: "faster if every multiplication with a zero in the sparser operand took no time", colour: "var(--dense)", exact: exactTimes(best) });
  }
  const machine = headline(step);
  if (machine) {
    sentences.push(machineSentence(machine));
    const alike = step.machines.filter((one) => sameMemory(one, machine));
    const first = fastest(alike)!;
    const among = alike.length < step.machines.length ? ` of those that ${machine.run.config.memory === "modelled" ? "wait" : "do not wait"} for memory` : "";
    if (1.05 * seconds(first.run) < seconds(machine.run)) sentences.push(`The fastest machine here${among} is ${first.title}: ${times(speedup(first.run, "all"))}.`);
    const value = speedup(machine.run, "all");
    numbers.push({ label: machine.title, value: times(value, 3), detail: `speedup over the ${machine.run.baseline?.arch ?? "dense"} machine, simulated${partOfZeros(machine)}`, colour: machine.colour, exact: exactTimes(value) });
  } else if (step.inspect) {
    const best = atBest(step, "all", false);
    if (best !== null) sentences.push(`Skipping them all would make it ${times(best)} faster at best.`);
    const all = step.inspect.per_batch.all;
    numbers.push({ label: "Multiplications", value: si(all.macs), detail: `of one step with a batch of ${whole(step.info.batch)}` });
    numbers.push({ label: "Layers", value: whole(step.layers.length), detail: "convolutions and linear layers" });
  }
  if (page.kernels) {
    const fast = page.kernels.layers_speedup ?? page.kernels.step_speedup;
    sentences.push(`The kernels that skip zeros ran its layers ${times(fast)} faster on this CPU.`);
    numbers.push({ label: "This CPU", value: times(fast, 3), detail: "faster with kernels that skip zeros, measured", colour: cpuColour, exact: exactTimes(fast) });
  } else if (machine?.run.energy) {
    const pair = machine.run.energy.all;
    numbers.push({ label: `${machine.title}, energy`, value: times(pair.chip_efficiency, 3), detail: `${joules(pair.machine.total, 4)} per step, ${joules(pair.baseline.total, 4)} for the ${machine.run.baseline?.arch ?? "dense"} machine`, colour: machine.colour, exact: exactTimes(pair.chip_efficiency) });
  } else if (machine) {
    const cycles = machine.run.per_batch.all.cycles;
    numbers.push({ label: "Time of a step", value: `${si(cycles)} cycles`, detail: `${machine.title}, batch of ${whole(step.info.batch)}${typeof machine.run.config.frequency_mhz === "number" ? `; ${plain(cycles / machine.run.config.frequency_mhz / 1e3, 3)} ms at ${machine.run.config.frequency_mhz} MHz` : ""}`, colour: machine.colour });
  }
  return { sentences: sentences.filter(Boolean), numbers };
}

export function answerView(answer: Answer, id = "answer"): HTMLElement {
  return el("div", { class: "answer", id },
    ...answer.sentences.map((text, i) => el("p", { class: i === 0 ? "lead" : "lead second" }, text)),
    el("div", { class: "numbers" },
      ...answer.numbers.slice(0, 4).map((number) =>
        el("div", { class: "number", style: number.colour ? `--accent:${number.colour}` : undefined, title: number.exact },
          el("h3", {}, number.label), el("p", { class: "value" }, number.value), el("p", { class: "detail" }, number.detail)))));
}

// The title of a chart of machines: an answer where the data support one.
export function machinesTitle(step: Step): string {
  const machine = headline(step);
  if (!machine) return "Speedup by machine";
  const values = ops.map((op) => ({ op: op as OpOrAll, value: speedup(machine.run, op) ?? NaN })).filter((one) => Number.isFinite(one.value));
  if (values.length > 1) {
    values.sort((a, b) => a.value - b.value);
    const low = values[0]!;
    const high = values[values.length - 1]!;
    const name = low.op === "forward" ? "The forward pass holds" : `${low.op === "input_grad" ? "Input" : "Weight"} gradients hold`;
    if (low.value < 0.85 * high.value) return `${name} ${machine.title} back`;
  }
  return "What each machine makes of the zeros";
}
