// The fields of a result, each described once: name, unit, meaning, how it scales to a batch, where it is.
//
// Everything that writes, reads, compares, stores or documents results walks these tables: JSON and its
// reader, CSV, `lacuna compare`, the records and columns of sweeps, docs/schema/result-v2.schema.json, tables
// of docs/output.md and web/src/result_fields.ts (the last three are written by result_documents_test.cpp).
// A new field of an operation is a member of OpResult and a line of kOpFields.
//
//   for (const OpField& field : kOpFields) {
//     const FieldValue value = field.get({machine, baseline});  // std::monostate: absent
//     if (field.set != nullptr) field.set({to_machine, to_baseline}, value);
//   }
#pragma once

#include <string_view>

#include "sim/result_field.hpp"

namespace lacuna {

// Terms of ratios.
constexpr std::int64_t cycles_of(const OpResult& op) { return op.cycles; }
constexpr std::int64_t macs_of(const OpResult& op) { return op.macs; }
constexpr std::int64_t scheduled_macs_of(const OpResult& op) { return op.scheduled_macs; }
constexpr std::int64_t peak_macs_of(const OpResult& op) { return op.peak_macs; }
constexpr std::int64_t dram_bytes_of(const OpResult& op) { return op.activity ? op.activity->dram_bytes : 0; }
// Cycles of a machine whose traffic is known.
constexpr std::int64_t cycles_with_traffic_of(const OpResult& op) {
  return dram_bytes_of(op) > 0 ? op.cycles : 0;
}

// An operation of a layer, in the order of files.
inline constexpr std::array kOpFields{
    fields::machine<&OpResult::op>("op", "", "`forward` (A*W), `input_grad` (W*G), `weight_grad` (A*G)"),
    fields::machine<&OpResult::scheduled>("scheduled", "", "operand whose zeros the machine skips"),
    fields::machine<&OpResult::macs>("macs", "MACs", "of the dense convolution, borders included"),
    fields::machine<&OpResult::scheduled_macs>("scheduled_macs", "MACs", "the scheduled operand is not zero"),
    fields::machine<&OpResult::effectual_macs>("effectual_macs", "MACs", "neither operand is zero"),
    fields::summed<&CycleComparison::baseline_cycles>(fields::baseline<&OpResult::cycles>(
        "baseline_cycles", "cycles", "of the baseline; equal to `cycles` if the machine is its own")),
    fields::summed<&CycleComparison::cycles_without_zeros>(fields::machine<&OpResult::cycles_without_zeros>(
        "cycles_without_zeros", "cycles", "of the machine [if no value were zero](#what-zeros-give)")),
    fields::summed<&CycleComparison::cycles>(
        fields::machine<&OpResult::cycles>("cycles", "cycles", "of the machine")),
    fields::ratio<&CycleComparison::baseline_cycles, &CycleComparison::cycles>(
        "speedup", "baseline_cycles", "cycles",
        "over the baseline, what papers print: the product of the next two"),
    fields::ratio<&CycleComparison::cycles_without_zeros, &CycleComparison::cycles>(
        "speedup_from_zeros", "cycles_without_zeros", "cycles", "what zeros give; `null` without cycles"),
    fields::ratio<&CycleComparison::baseline_cycles, &CycleComparison::cycles_without_zeros>(
        "speedup_without_zeros", "baseline_cycles", "cycles_without_zeros",
        "over the baseline, if no value were zero"),
    fields::own_ratio<scheduled_macs_of, peak_macs_of>(
        "utilisation", "", "`scheduled_macs` over what all multipliers could do in `cycles`"),
    fields::own_ratio<macs_of, cycles_of>("macs_per_cycle", "MACs/cycle", "of the dense convolution"),
    fields::own_ratio<macs_of, dram_bytes_of>("macs_per_dram_byte", "MACs/byte",
                                              "of the dense convolution: the x-axis of a roofline"),
    fields::own_ratio<dram_bytes_of, cycles_with_traffic_of>("dram_bytes_per_cycle", "bytes/cycle",
                                                             "achieved on the DRAM bus"),
    fields::mapping("mapping",
                    "[choices of the machine](#mapping): which operand is where, in which order; absent "
                    "where a machine states none"),
    fields::counters("counters", "counts that only this machine has; absent where there are none"),
    fields::activity("activity",
                     "[traffic of the memory system](#activity), and how long each part is busy; absent for "
                     "a machine without one"),
    fields::baseline_activity<&Activity::compute_cycles>("baseline_compute_cycles", "cycles",
                                                         "`compute_cycles` of the baseline's activity"),
    fields::baseline_activity<&Activity::bound>("baseline_bound", "", "`bound` of the baseline's activity"),
};

// `activity` of an operation: `samples_...` is traffic of activations and their gradients, `weights_...` of
// weights and theirs.
inline constexpr std::array kActivityFields{
    fields::moved<&Activity::bound>(
        "bound", "",
        "part that decides the cycles: `compute`, `dram`, `transposers`, `sram`, `scratchpads` or `backside` "
        "(TensorDash's schedulers behind the PEs). With `memory=ideal` it is `compute`, or `backside` where "
        "tiles wait for them"),
    fields::moved<&Activity::compute_cycles>("compute_cycles", "cycles", "of the tiles or PEs alone"),
    fields::moved<&Activity::dram_cycles>("dram_cycles", "cycles",
                                          "DRAM is busy, with the samples' share of the batch's weights"),
    fields::optional(fields::moved<&Activity::dram_bytes>(
        "dram_bytes", "bytes", "on the DRAM bus, with the samples' share of the batch's weights")),
    fields::moved<&Activity::transposer_cycles>("transposer_cycles", "cycles", "transposers are busy"),
    fields::moved<&Activity::sram_cycles>("sram_cycles", "cycles",
                                          "the busiest of AM, BM and CM needs, conflicts included"),
    fields::moved<&Activity::sram_conflict_cycles>("sram_conflict_cycles", "cycles",
                                                   "of `sram_cycles`, lost to blocks that meet in a bank"),
    fields::moved<&Activity::scratchpad_cycles>("scratchpad_cycles", "cycles",
                                                "scratchpads are busy, at one row per bank and cycle"),
    fields::moved<&Activity::fill_cycles>(
        "fill_cycles", "cycles", "the first block's way in and the last one's way out", FieldScope::kBatch),
    fields::moved<&Activity::am_reads>("am_reads", "rows", "of `lanes` values, read from AM"),
    fields::moved<&Activity::bm_reads>("bm_reads", "rows", "of `lanes` values, read from BM"),
    fields::moved<&Activity::scratchpad_reads>("scratchpad_reads", "rows", "of both operands"),
    fields::moved<&Activity::scratchpad_writes>("scratchpad_writes", "rows", "of both operands"),
    fields::moved<&Activity::psum_reads>("psum_reads", "values", "partial sums of 4 bytes"),
    fields::moved<&Activity::psum_writes>("psum_writes", "values", "partial sums of 4 bytes"),
    fields::moved<&Activity::transposed_groups>("transposed_groups", "groups",
                                                "of lanes x lanes values through a transposer"),
    fields::traffic<&Activity::samples, &TensorTraffic::dram_read_bytes>("samples_dram_read_bytes", "bytes",
                                                                         "as on the bus"),
    fields::traffic<&Activity::samples, &TensorTraffic::dram_write_bytes>("samples_dram_write_bytes", "bytes",
                                                                          "as on the bus"),
    fields::traffic<&Activity::samples, &TensorTraffic::dram_activations>("samples_dram_activations", "rows",
                                                                          "opened in DRAM"),
    fields::traffic<&Activity::samples, &TensorTraffic::fill_rows>("samples_fill_rows", "rows",
                                                                   "into AM and BM"),
    fields::traffic<&Activity::samples, &TensorTraffic::output_rows>("samples_output_rows", "rows",
                                                                     "into CM and out of it"),
    fields::traffic<&Activity::weights, &TensorTraffic::dram_read_bytes>("weights_dram_read_bytes", "bytes",
                                                                         "as on the bus"),
    fields::traffic<&Activity::weights, &TensorTraffic::dram_write_bytes>("weights_dram_write_bytes", "bytes",
                                                                          "as on the bus"),
    fields::traffic<&Activity::weights, &TensorTraffic::dram_activations>("weights_dram_activations", "rows",
                                                                          "opened in DRAM"),
    fields::traffic<&Activity::weights, &TensorTraffic::fill_rows>("weights_fill_rows", "rows",
                                                                   "into AM and BM"),
    fields::traffic<&Activity::weights, &TensorTraffic::output_rows>("weights_output_rows", "rows",
                                                                     "into CM and out of it"),
};

// Efficiencies of an operation or of a sum of operations; the joules by component stand next to them.
inline constexpr std::array kEnergyFields{
    fields::efficiency<&EnergyComparison::compute_efficiency>("compute_efficiency",
                                                              "baseline / machine, of the logic"),
    fields::efficiency<&EnergyComparison::chip_efficiency>("chip_efficiency",
                                                           "baseline / machine, of everything"),
    fields::efficiency<&EnergyComparison::compute_efficiency_from_zeros>(
        "compute_efficiency_from_zeros",
        "the machine without zeros / machine, of the logic; `null`: not known", true),
    fields::efficiency<&EnergyComparison::chip_efficiency_from_zeros>(
        "chip_efficiency_from_zeros", "the machine without zeros / machine, of everything; `null`: not known",
        true),
};

// Returns the field of that name; one that does not exist does not compile.
consteval const OpField& op_field(std::string_view name) {
  return *std::ranges::find(kOpFields, name, &OpField::name);
}

}  // namespace lacuna
