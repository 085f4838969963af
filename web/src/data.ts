// Data that the program puts into the page: the JSON outputs of its commands (docs/output.md), unchanged.
import type { Reproduction } from "./figures/data";
import type { Cycles, Efficiencies, OpResult, RunHead, StepInfo } from "./result_fields";
import type { SweepData } from "./sweep/data";
import type { Zoo } from "./zoo";

export type { Config, Cycles, OpResult, StepInfo } from "./result_fields";

export type Op = OpResult["op"];
export type OpOrAll = Op | "all";
export const ops: Op[] = ["forward", "input_grad", "weight_grad"];
export const opsAndAll: OpOrAll[] = ["all", ...ops];
export const opTitle: Record<OpOrAll, string> = {
  all: "all three operations",
  forward: "forward",
  input_grad: "input gradients",
  weight_grad: "weight gradients",
};

export interface LayerResult { name: string; shape: string; batch_scale: number; ops: OpResult[] }
export type Joules = Record<string, number> & { total: number };
export interface EnergyPair extends Efficiencies { baseline: Joules; machine: Joules }
export interface Energy extends Record<OpOrAll, EnergyPair> {
  table: string;
  node_nm: number;
  operations?: (EnergyPair & { layer: string; op: Op })[];
}
export interface Area { compute: number; total: number }
export interface Run extends RunHead {
  layers: LayerResult[];
  total: Record<OpOrAll, Cycles>;
  per_batch: Record<OpOrAll, Cycles>;
  energy?: Energy;
  area?: { table: string; node_nm: number; machine: Area; baseline: Area | null };
}

export type Operand = "A" | "W" | "G";
export const operands: Operand[] = ["A", "W", "G"];
export interface Potential { macs: number; remaining_macs: number; effectual_macs: number; potential: number | null }
export interface InspectLayer {
  name: string;
  type: string;
  shape: string;
  batch_scale: number;
  macs: number;
  zeros: Partial<Record<Operand, number>>;
  ops: (Potential & { op: Op; targeted: Operand })[];
}
export interface InspectTrace extends StepInfo {
  zeros_by_macs: Partial<Record<Operand, number>>;
  layers: InspectLayer[];
  total: Record<OpOrAll, Potential>;
  per_batch: Record<OpOrAll, Potential>;
}

export interface BenchCase {
  network: string;
  layer: string;
  shape?: string;
  op: Op;
  count: number;
  initial: boolean;
  zeros: number | null;
  measured_zeros?: number;
  seconds: number;
  x_direct: number;
  x_auto: number | null;
  [other: string]: unknown;
}
export interface Bench {
  machine: { cpu: string; isa: string; onednn: string; peak_gflops: number };
  cases: Record<string, any>[];
  networks: Record<string, any>[];
  groups: Record<string, any>[];
}
export interface TrainLine {
  steps: number;
  epoch: number;
  loss: number;
  train_accuracy: number;
  test_loss: number | null;
  test_accuracy: number | null;
  images_per_second: number;
  zeros_A: number;
  zeros_G: number;
  zeros_W: number;
}
export interface Train { config: Record<string, any>; log: TrainLine[] }
// Rows of Python's lacuna.Profiler, one per measured step and machine. null: not known.
export interface ProfileRow {
  step: number;
  seconds: number;
  rank: number;
  machine: string;
  speedup: number | null;
  speedup_from_zeros: number | null;
  standard_error: number | null;
  energy_efficiency: number | null;
  zeros_A: number;
  zeros_W: number;
  zeros_G: number;
  samples: number;
  dropped: number;
}
export interface Profile {
  title: string;
  live: boolean; // data.json has what came since
  steps: number;
  dropped: number;
  failures: string[];
  rows: ProfileRow[];
  layers: Record<string, [number, number, number]>; // zeros of A, W and G in the last measured step
}
export interface KernelLayer { layer: string; op: Op; dense_ms: number; sparse_ms: number }
export interface Kernels {
  batch: number;
  steps: number;
  kernels: string;
  layers_speedup: number | null;
  step_speedup: number;
  dense_step_ms: number;
  other_step_ms: number;
  layers: KernelLayer[];
}
export interface Compare {
  a: { file: string; lacuna: string };
  b: { file: string; lacuna: string };
  threshold: number;
  differs: boolean;
  runs: {
    trace: string;
    model: string;
    arch: string;
    differs: boolean;
    settings: { name: string; a: string; b: string }[];
    total: Record<OpOrAll, { a: Cycles; b: Cycles; ratio: number | null }>;
    energy?: Record<OpOrAll, { a: number; b: number; ratio: number | null }>;
    changes: { layer: string; op: Op; fields: string[]; a: Cycles; b: Cycles; ratio: number | null }[];
    only_a: unknown[];
    only_b: unknown[];
  }[];
  only_a: unknown[];
  only_b: unknown[];
}

export interface PageData {
  kind: string;
  command: string;
  lacuna: string;
  build: Record<string, string>;
  simulate?: { lacuna: string; runs: Run[] };
  inspect?: { traces: InspectTrace[] };
  bench?: Bench;
  compare?: Compare;
  train?: Train;
  kernels?: Kernels;
  profile?: Profile;
  reproduce?: Reproduction;
  files?: { trace: string; bytes?: number; sha256?: string }[];
  sweep?: SweepData;
  zoo?: Zoo;
}

export function readPage(): PageData {
  return JSON.parse(document.getElementById("lacuna-data")!.textContent!) as PageData;
}
