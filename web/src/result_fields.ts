// Fields of results, written from src/sim/result_fields.hpp and src/report/result/run_fields.hpp: see
// result_documents_test.cpp.

export type Config = Record<string, string | number | boolean>;

export interface StepInfo {
  trace: string;
  model: string;
  dataset?: string;
  progress?: number;
  epoch?: number;
  accuracy?: number;
  loss?: number;
  samples?: number;
  recorded_share?: number;
  left_out?: { name: string; type: string; macs: number | null }[];
  batch: number;
}

export interface RunHead extends StepInfo {
  arch: string;
  base: string;
  engine: "fast" | "functional";
  seed: number;
  config: Config;
  baseline: { arch: string; config: Config } | null;
}

export interface Cycles {
  baseline_cycles: number;
  cycles_without_zeros: number;
  cycles: number;
  speedup: number | null;
  speedup_from_zeros: number | null;
  speedup_without_zeros: number | null;
}

export interface OpResult {
  op: "forward" | "input_grad" | "weight_grad";
  scheduled: "A" | "W" | "G" | "both" | "none";
  macs: number;
  scheduled_macs: number;
  effectual_macs: number;
  baseline_cycles: number;
  cycles_without_zeros: number;
  cycles: number;
  speedup: number | null;
  speedup_from_zeros: number | null;
  speedup_without_zeros: number | null;
  utilisation?: number | null;
  macs_per_cycle?: number | null;
  macs_per_dram_byte?: number | null;
  dram_bytes_per_cycle?: number | null;
  mapping?: Record<string, string | number>;
  counters?: Record<string, number>;
  activity?: Activity;
  baseline_compute_cycles?: number;
  baseline_bound?: "compute" | "dram" | "transposers" | "sram" | "scratchpads" | "backside";
}

export interface Activity {
  bound: "compute" | "dram" | "transposers" | "sram" | "scratchpads" | "backside";
  compute_cycles: number;
  dram_cycles: number;
  dram_bytes?: number;
  transposer_cycles: number;
  sram_cycles: number;
  sram_conflict_cycles: number;
  scratchpad_cycles: number;
  fill_cycles: number;
  am_reads: number;
  bm_reads: number;
  scratchpad_reads: number;
  scratchpad_writes: number;
  psum_reads: number;
  psum_writes: number;
  transposed_groups: number;
  samples_dram_read_bytes: number;
  samples_dram_write_bytes: number;
  samples_dram_activations: number;
  samples_fill_rows: number;
  samples_output_rows: number;
  weights_dram_read_bytes: number;
  weights_dram_write_bytes: number;
  weights_dram_activations: number;
  weights_fill_rows: number;
  weights_output_rows: number;
}

export interface Efficiencies {
  compute_efficiency: number;
  chip_efficiency: number;
  compute_efficiency_from_zeros?: number | null;
  chip_efficiency_from_zeros?: number | null;
}
