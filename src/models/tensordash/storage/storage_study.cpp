#include "models/tensordash/storage/storage_study.hpp"

#include <array>
#include <cmath>
#include <fmt/format.h>

#include "base/parallel.hpp"
#include "models/tensordash/storage/backside_scheduler.hpp"
#include "models/tensordash/storage/storage_footprint.hpp"
#include "sim/simulation.hpp"

namespace lacuna::tensordash {

std::vector<ParamSpec> storage_study_params() {
  return {
      ParamSpec::choice("grouping", "blocks", {"blocks", "channels", "merged", "filters"},
                        "values that are scheduled together: blocks of lanes x lanes, all channels of a "
                        "position, the same with the positions between strides merged, or whole filters "
                        "(A and G by channels)",
                        "TensorDash §3.4, §3.6; docs/assumptions.md A23"),
      ParamSpec::integer("pointer_bits", 32, 1, 64, "bits", "size of a pointer to a group or to a row of CSR",
                         "docs/assumptions.md A24"),
      ParamSpec::integer("run_bits", 5, 1, 16, "bits", "size of a run of zeros in zero run-length form",
                         "docs/assumptions.md A24"),
      ParamSpec::integer("schedulers", 1, 1, 1024, "per tile", "backside schedulers behind the PEs",
                         "TensorDash §3.7; docs/assumptions.md A27"),
      ParamSpec::integer(
          "block_cycles", 0, 0, 64, "cycles",
          "time a backside scheduler takes per block of outputs; 0: one cycle per level of the "
          "scheduler, 6 in the paper",
          "TensorDash §3.7; docs/assumptions.md A28"),
  };
}

namespace {

// A form of the study and where its bits are.
struct Form {
  StorageForm form;
  double StorageBits::*bits;
};

std::vector<Form> forms() {
  const std::string scheduled = "scheduled form / dense", other = "other forms / dense";
  return {{{"dense", "", ""}, &StorageBits::dense},
          {{"pointers", "", ""}, &StorageBits::pointers},
          {{"scheduled", "rows only", scheduled}, &StorageBits::scheduled},
          {{"scheduled_pointers", "with pointers", scheduled}, &StorageBits::scheduled_pointers},
          {{"worst_case", "worst case", scheduled}, &StorageBits::worst_case},
          {{"run_length", "run-length", other}, &StorageBits::run_length},
          {{"bitmap", "bitmap", other}, &StorageBits::bitmap},
          {{"csr", "CSR", other}, &StorageBits::csr}};
}

std::vector<double> all_bits(const StorageBits& bits) {
  std::vector<double> all;
  for (const Form& form : forms()) all.push_back(bits.*form.bits);
  return all;
}

}  // namespace

StorageSizes study_sizes(const Trace& trace, const Accelerator& machine, const Params& params) {
  const Config config = Config::from(machine.params());
  const Connectivity& connectivity = config.scheduler.connectivity();
  const LaneSelector selector(connectivity);
  const FormBits form = form_bits(connectivity);
  const StorageParams storage{.grouping = parse_grouping(params.text("grouping"), params.owner()),
                              .pointer_bits = static_cast<int>(params.integer("pointer_bits")),
                              .run_bits = static_cast<int>(params.integer("run_bits"))};
  StorageSizes sizes;
  sizes.settings = {{"grouping", params.text("grouping")}, {"lanes", connectivity.lanes()},
                    {"depth", connectivity.depth()},       {"idx_bits", form.move},
                    {"advance_bits", form.advance},        {"pointer_bits", storage.pointer_bits},
                    {"run_bits", storage.run_bits}};
  sizes.description = fmt::format(
      "scheduled in {} with {} lanes and depth {}: idx of {} bits, AS of {} bits; pointers of {} bits, runs "
      "of "
      "{} bits",
      params.text("grouping"), connectivity.lanes(), connectivity.depth(), form.move, form.advance,
      storage.pointer_bits, storage.run_bits);
  for (const Form& entry : forms()) sizes.forms.push_back(entry.form);
  sizes.count_names = {"groups", "steps", "rows", "slots", "run_entries"};
  for (const Layer& layer : trace.layers()) {
    StorageSizes::LayerSizes entry{layer.name, layer.shape.describe(), {}};
    for (const TraceTensor which : kTraceTensors) {
      if (which.of(layer) == nullptr) continue;
      StoredTensorSize tensor;
      tensor.which = which;
      tensor.batch_scale = layer.shape.once_per_batch(which.operand) ? 1 : trace.batch_scale(layer);
      entry.tensors.push_back(std::move(tensor));
    }
    sizes.layers.push_back(std::move(entry));
  }
  std::vector<std::pair<const Layer*, StoredTensorSize*>> all;
  for (std::size_t l = 0; l < sizes.layers.size(); ++l)
    for (StoredTensorSize& tensor : sizes.layers[l].tensors) all.emplace_back(&trace.layers()[l], &tensor);
  parallel_for(all.size(), 1, [&](std::size_t i) {
    const Layer& layer = *all[i].first;
    StoredTensorSize& tensor = *all[i].second;
    const StorageCounts counts =
        count_storage(layer.shape, tensor.which.operand, tensor.which.of(layer)->mask, selector, storage);
    tensor.elements = counts.elements;
    tensor.nonzeros = counts.nonzeros;
    tensor.counts = {counts.groups, counts.steps, counts.rows, counts.slots, counts.run_entries};
    for (const DataType type : kRecordedTypes)
      tensor.bits[type] = all_bits(storage_bits(counts, form, bits_of(type), storage));
  });
  return sizes;
}

namespace {

// In the order of measures().
std::vector<double> measured(const BacksideLoad& load) {
  const auto real = [](std::int64_t count) { return static_cast<double>(count); };
  return {real(load.outputs), real(load.blocks), real(load.cycles),   real(load.schedule_cycles),
          load.needed_rate,   load.offered_rate, real(load.stalls()), real(load.schedulers_needed)};
}

constexpr std::size_t kCycles = 2, kStalls = 6;

std::vector<BacksideMeasure> measures() {
  using Total = BacksideMeasure::Total;
  const std::string rates = "outputs per tile and cycle", stalls = "stalls";
  return {
      {.name = "outputs", .title = "outputs", .group = "", .total = Total::kSum},
      {.name = "blocks", .title = "", .group = ""},
      {.name = "cycles", .title = "cycles", .group = "", .total = Total::kSum},
      {.name = "schedule_cycles", .title = "", .group = ""},
      {.name = "needed_rate", .title = "produced", .group = rates, .decimals = 3},
      {.name = "offered_rate", .title = "schedulable", .group = rates, .decimals = 3},
      {.name = "stalls", .title = "cycles", .group = stalls, .total = Total::kSum},
      {.name = "schedulers_needed", .title = "schedulers needed", .group = stalls, .total = Total::kLargest}};
}

}  // namespace

// Forward and input gradients are those of the recorded samples; gradients of weights come out once per
// batch, so that theirs is the load of the whole batch.
BacksideLoads study_backside(const Trace& trace, const Accelerator& machine, const Params& params,
                             int threads) {
  Config config = Config::from(machine.params());
  config.backside_schedulers = params.integer("schedulers");
  config.backside_cycles = params.integer("block_cycles");
  const std::int64_t per_block = cycles_per_block(config);
  BacksideLoads loads;
  loads.settings = {{"tiles", config.tile.tiles},
                    {"schedulers_per_tile", config.backside_schedulers},
                    {"cycles_per_block", per_block}};
  loads.description =
      fmt::format("{} tiles, {} backside scheduler{} per tile, {} cycle{} per block of outputs",
                  config.tile.tiles, config.backside_schedulers, config.backside_schedulers == 1 ? "" : "s",
                  per_block, per_block == 1 ? "" : "s");
  loads.measures = measures();
  loads.cycles = kCycles;
  loads.stalls = kStalls;
  const RunResult run = simulate_trace(trace, machine, machine.params().owner(), {}, threads);
  for (std::size_t i = 0; i < run.layers.size(); ++i) {
    const Layer& layer = trace.layers()[i];
    const double scale = trace.batch_scale(layer);
    BacksideLoads::LayerLoads entry{layer.name, layer.shape.describe(), {}};
    for (const OpResult& op : run.layers[i].ops) {
      const bool once_per_batch = layer.shape.once_per_batch(op.op);
      const std::int64_t cycles =
          once_per_batch ? std::llround(static_cast<double>(op.cycles) * scale) : op.cycles;
      entry.ops.push_back(
          {op.op, once_per_batch ? 1 : scale, measured(backside_load(layer.shape, op.op, cycles, config))});
    }
    loads.layers.push_back(std::move(entry));
  }
  return loads;
}

}  // namespace lacuna::tensordash
