// From the program's JSON to what the pictures need: steps of training, machines on them, and their layers.
import { ops, type Cycles, type InspectTrace, type Op, type OpOrAll, type PageData, type Run, type StepInfo } from "./data";
import { isNumber } from "./parts/format";
import { baseTitle, machineColour } from "./parts/theme";

export interface Machine {
  run: Run;
  title: string;
  colour: string;
  own: boolean; // its own baseline: the dense machine
  both: boolean; // skips zeros of both operands
}
export interface Layer {
  index: number;
  name: string;
  shape: string;
  scale: number;
  macs: number; // of a batch, all operations
  share: number; // of the step's
}
export interface Step {
  info: StepInfo;
  title: string;
  machines: Machine[]; // skipping ones; the dense one is in `dense`
  dense: Machine | null;
  inspect: InspectTrace | null;
  layers: Layer[];
}

export const ratio = (a: number, b: number): number | null => (b > 0 && isNumber(a / b) ? a / b : null);
// Over the baseline: the machine without any zero over its baseline, times what zeros give it.
export const speedup = (run: Run, op: OpOrAll): number | null => ratio(run.per_batch[op].baseline_cycles, run.per_batch[op].cycles);
const cyclesWithoutZeros = (cycles: Cycles): number => cycles.cycles_without_zeros ?? cycles.baseline_cycles;
export const speedupWithoutZeros = (run: Run, op: OpOrAll): number | null => ratio(run.per_batch[op].baseline_cycles, cyclesWithoutZeros(run.per_batch[op]));
export const fromZeros = (run: Run, op: OpOrAll): number | null => ratio(cyclesWithoutZeros(run.per_batch[op]), run.per_batch[op].cycles);
// Seconds of a batch; cycles of different clocks do not compare.
export const seconds = (run: Run): number => run.per_batch.all.cycles / (typeof run.config.frequency_mhz === "number" ? 1e6 * run.config.frequency_mhz : 1);

export function layerSpeedup(machine: Machine, layer: number, op: OpOrAll): number | null {
  const found = machine.run.layers[layer]?.ops.filter((one) => op === "all" || one.op === op) ?? [];
  return ratio(found.reduce((sum, one) => sum + one.baseline_cycles, 0), found.reduce((sum, one) => sum + one.cycles, 0));
}

// Potential of skipping: every MAC over those that remain. Machines that look at both operands can go further.
export function atBest(step: Step, op: OpOrAll, both: boolean): number | null {
  const potential = step.inspect?.per_batch[op];
  if (potential) return ratio(potential.macs, both ? potential.effectual_macs : potential.remaining_macs);
  return null;
}
export function layerAtBest(step: Step, layer: number, op: OpOrAll): number | null {
  const found = step.inspect?.layers[layer]?.ops.filter((one) => op === "all" || one.op === op) ?? [];
  return ratio(found.reduce((sum, one) => sum + one.macs, 0), found.reduce((sum, one) => sum + one.remaining_macs, 0));
}

export function stepTitle(info: StepInfo): string {
  const place = isNumber(info.progress) ? `, step at ${Math.round(100 * info.progress)} % of training` : "";
  return `${info.model || "a network"}${info.dataset ? ` on ${info.dataset}` : ""}${place}`;
}

function layersOf(runs: Run[], inspect: InspectTrace | null): Layer[] {
  const source = inspect
    ? inspect.layers.map((layer) => ({ name: layer.name, shape: layer.shape, scale: layer.batch_scale, macs: layer.ops.reduce((sum, op) => sum + op.macs, 0) }))
    : (runs[0]?.layers ?? []).map((layer) => ({ name: layer.name, shape: layer.shape, scale: layer.batch_scale, macs: layer.ops.reduce((sum, op) => sum + op.macs, 0) }));
  const all = source.reduce((sum, layer) => sum + layer.macs * layer.scale, 0) || 1;
  return source.map((layer, index) => ({ ...layer, index, macs: layer.macs * layer.scale, share: (layer.macs * layer.scale) / all }));
}

export function buildSteps(page: PageData): Step[] {
  const steps = new Map<string, { info: StepInfo; runs: Run[]; inspect: InspectTrace | null }>();
  // The steps of one training may have no separate file.
  const key = (info: StepInfo): string => `${info.progress ?? ""} ${info.trace}`;
  for (const inspect of page.inspect?.traces ?? []) steps.set(key(inspect), { info: inspect, runs: [], inspect });
  for (const run of page.simulate?.runs ?? []) {
    const step = steps.get(key(run)) ?? { info: run, runs: [], inspect: null };
    step.runs.push(run);
    steps.set(key(run), step);
  }
  return [...steps.values()].map(({ info, runs, inspect }) => {
    const count = (base: string): number => runs.filter((run) => run.base === base).length;
    const machines = runs.map((run): Machine => ({
      run,
      title: count(run.base) === 1 ? baseTitle(run.base) : run.arch,
      colour: machineColour(run.base),
      own: run.baseline === null,
      both: run.layers.some((layer) => layer.ops.some((op) => op.scheduled === "both")),
    }));
    return {
      info,
      title: stepTitle(info),
      machines: machines.filter((machine) => !machine.own),
      dense: machines.find((machine) => machine.own) ?? null,
      inspect,
      layers: layersOf(runs, inspect),
    };
  });
}

// The one the first sentence is about: TensorDash if it is there, else the fastest.
export function headline(step: Step): Machine | null {
  return step.machines.find((machine) => machine.run.base === "tensordash") ?? fastest(step.machines);
}

export function fastest(machines: Machine[]): Machine | null {
  return [...machines].sort((a, b) => seconds(a.run) - seconds(b.run))[0] ?? null;
}

// A machine that waits for memory is not compared with one that does not.
export const sameMemory = (a: Machine, b: Machine): boolean => a.run.config.memory === b.run.config.memory;

export interface Slice { op: Op; part: string; cycles: number }
// Cycles of a batch: computing, and waiting for what decided the time.
export function timeSlices(run: Run, baseline: boolean): Slice[] {
  const sums = new Map<string, Slice>();
  const add = (op: Op, part: string, cycles: number): void => {
    const key = `${part} ${op}`;
    const slice = sums.get(key) ?? { op, part, cycles: 0 };
    slice.cycles += cycles;
    sums.set(key, slice);
  };
  for (const layer of run.layers)
    for (const op of layer.ops) {
      const cycles = (baseline ? op.baseline_cycles : op.cycles) * layer.batch_scale;
      const computing = baseline ? op.baseline_compute_cycles : op.activity?.compute_cycles;
      const compute = isNumber(computing) ? Math.min(computing * layer.batch_scale, cycles) : cycles;
      add(op.op, "compute", compute);
      if (cycles > compute) add(op.op, (baseline ? op.baseline_bound : op.activity?.bound) ?? "memory", cycles - compute);
    }
  const order = (slice: Slice): number => (slice.part === "compute" ? ops.indexOf(slice.op) : 10 + ops.indexOf(slice.op));
  return [...sums.values()].filter((slice) => slice.cycles > 0).sort((a, b) => order(a) - order(b));
}
