// SparTen: both operands as bit masks with packed values; compute units join chunks of two masks and multiply
// the matches one per cycle [Gondimalla et al., SparTen, MICRO 2019]. docs/models/sparten.md.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <stdexcept>

#include "base/work_progress.hpp"
#include "models/sparten/hardware.hpp"
#include "sim/catalog/registry.hpp"
#include "sim/memory/memory_actions.hpp"
#include "sim/memory/packed_memory.hpp"
#include "sim/work_estimate.hpp"
#include "sim/workload/stream_classes.hpp"

namespace lacuna::sparten {
namespace {

class Sparten final : public Accelerator {
 public:
  explicit Sparten(Params params)
      : params_(std::move(params)), config_(make_config(params_)), memory_(params_) {}

  const Params& params() const override { return params_; }
  std::optional<Hardware> hardware() const override {
    Hardware hardware = machine_hardware(config_);
    add_dram(hardware, memory_.dram());
    hardware.totals.push_back(memory_.dram().bandwidth());
    return hardware;
  }

  // ASSUMPTION(P1): the dense machine of tiles with as many multipliers.
  std::optional<BaselineSpec> baseline() const override {
    BaselineSpec spec = baseline_sharing("dense", params_, shared_params());
    spec.settings.emplace_back("tiles", std::to_string(config_.units / kDenseTileMultipliers));
    return spec;
  }

  double work(const LayerShape& shape) const override {
    return steps(shape, std::numeric_limits<double>::infinity());
  }
  // Streams differ by where the border cuts them, if at all.
  double work_without_zeros(const LayerShape& shape) const override {
    return steps(shape, 4 * static_cast<double>(shape.taps()));
  }
  std::string sharing_key() const override { return compute_key_; }
  using Accelerator::simulate;
  OpResult simulate(const OperationWork& work, const SimOptions& options) const override;

 private:
  // Steps of the fast engine if the streams of a product are of at most `kinds` kinds.
  double steps(const LayerShape& shape, double kinds) const;
  struct Outcome {
    ProductCounts counts;
    UnitTraffic traffic;
    std::int64_t matches = 0;
    std::vector<MappingChoice> mapping;
    UnitRecord units;
  };
  Outcome run(const OperationWork& work, const SimOptions& options) const;
  std::int64_t sram_cycles(const OperationWork& work, const Activity& activity) const;

  Params params_;
  Config config_;
  PackedMemory memory_;
  std::string compute_key_ = memo_key(params_, shared_params(), {"idle_logic"});
};

// A vector counts 512 MACs or more at once where segments fill their words; streams are read, and the held
// ones kept, word by word.
double Sparten::steps(const LayerShape& s, double kinds) const {
  constexpr double kMacsPerStep = 128, kStepsPerWord = 8;
  const auto words = [](std::int64_t segments, std::int64_t elements) {
    return static_cast<double>(segments) * static_cast<double>(ceil_div(elements, kLanes));
  };
  const auto product = [&](double streams, double other_streams, double stream_words) {
    return std::min(streams, kinds) * other_streams * stream_words * kLanes / kMacsPerStep +
           (streams + other_streams) * stream_words * kStepsPerWord;
  };
  const auto real = [](std::int64_t count) { return static_cast<double>(count); };
  const double phase_inputs =
      real(s.n) * real(ceil_div(s.input.h, s.stride.h)) * real(ceil_div(s.input.w, s.stride.w));
  const double positions = s.is_matrix() ? words(1, s.n) : words(s.n, s.output_positions());
  // All phases of an input gradient together have each tap once.
  return real(s.groups) *
             (product(real(s.n) * real(s.output_positions()), real(s.k_per_group()),
                      words(s.taps(), s.c_per_group())) +
              product(phase_inputs, real(s.c_per_group()), words(s.taps(), s.k_per_group())) +
              product(real(s.k_per_group()), real(s.taps()) * real(s.c_per_group()), positions)) +
         tile_products(s);
}

// Products of an operation differ in size alone; `placed` stands for all.
std::vector<MappingChoice> mapping_of(const PlacedProduct& placed, std::int64_t products) {
  return {{"held", std::string(operand_name(placed.held->role))},
          {"broadcast", std::string(operand_name(placed.broadcast->role))},
          {"held_streams", placed.held->count()},
          {"broadcast_streams", placed.broadcast->count()},
          {"products", products},
          {"cluster_grid", fmt::format("{}x{}", placed.grid.tile_rows, placed.grid.tile_columns)}};
}

Sparten::Outcome Sparten::run(const OperationWork& work, const SimOptions& options) const {
  const LayerShape& shape = work.layer.shape;
  const bool functional = options.engine == Engine::kFunctional;
  LayerValues values;
  std::vector<float> result;
  const bool leaves_out = config_.needed && has_unneeded_outputs(work.layer, work.op);
  std::optional<ValueMask> of_a;  // by values in the functional engine
  if (functional) {
    values = layer_values(work.layer, options.seed, config_.data_type);
    result.assign(static_cast<std::size_t>(result_elements(shape, work.op)), 0.0F);
    if (leaves_out) of_a.emplace(values.a);
  }
  const MaskView& needed = of_a ? of_a->view() : work.layer.a.mask;
  Outcome outcome;
  // Products of an operation (groups, phases) follow one another, as on the tiles (A3).
  const std::vector<LaneProduct> products = lane_products(work.layer, work.op, kLanes);
  std::vector<ProductCounts> known;
  std::vector<UnitRecord> known_units;
  for (const LaneProduct& product : in_steps(products)) {
    PlacedProduct placed = place_product(product, work.op, config_);
    if (leaves_out)
      placed.needed = std::make_shared<NeededOutputs>(shape, product, *placed.broadcast, needed);
    const std::size_t alike = alike_product(known.size(), products.size(), shape.groups);
    const bool counted = !leaves_out && alike < known.size() && has_no_zeros(product.primary) &&
                         has_no_zeros(product.secondary);
    UnitRecord units;
    if (counted) units = known_units[alike];
    const UnitRecording recording(options.units && !counted ? &units : nullptr);
    const ProductCounts counts =
        functional ? execute_product(placed, shape, work.op, values, result, outcome.matches)
        : counted  ? known[alike]
                   : count_product(placed);
    if (known.empty()) outcome.mapping = mapping_of(placed, std::ssize(products));
    known.push_back(counts);
    outcome.units.append(units);
    known_units.push_back(std::move(units));
    outcome.counts += counts;
    outcome.traffic += unit_traffic(placed, counts);
  }
  if (options.units) outcome.units.unit = "cluster";
  if (functional) {
    if (!leaves_out && outcome.matches != work.macs.effectual)
      throw std::logic_error("matches are not the effectual MACs");
    check_against_reference(shape, work.op, values, result, of_a ? &needed : nullptr);
  } else {
    outcome.matches = leaves_out ? work.needed_macs().effectual : work.macs.effectual;
  }
  return outcome;
}

// One row per bank and cycle: the busiest of AM (broadcast operand), BM (held operand) and CM. ASSUMPTION(P9)
std::int64_t Sparten::sram_cycles(const OperationWork& work, const Activity& activity) const {
  const auto share = [&](bool weights, std::int64_t count) {
    return weights ? static_cast<double>(count) / work.batch_scale : static_cast<double>(count);
  };
  const auto fill = [&](Operand role) {
    const LayerTensor& tensor = work.layer.tensor(role);
    return share(work.layer.shape.once_per_batch(role), memory_.rows(tensor.nonzeros, tensor.elements()));
  };
  const auto [primary, secondary] = operands(work.op);
  const Operand held = config_.held(work.op);
  const Operand broadcast = held == primary ? secondary : primary;
  const bool once = work.layer.shape.once_per_batch(work.op);
  const TensorTraffic& results = once ? activity.weights : activity.samples;
  const double busiest =
      std::max({static_cast<double>(activity.am_reads) + fill(broadcast),
                static_cast<double>(activity.bm_reads) + fill(held), 2 * share(once, results.output_rows)});
  return static_cast<std::int64_t>(std::ceil(busiest / static_cast<double>(config_.sram_banks) - 1e-9));
}

OpResult Sparten::simulate(const OperationWork& work, const SimOptions& options) const {
  const auto [counts, traffic, matches, mapping, units] =
      options.engine == Engine::kFast
          ? *work.remember<Outcome>(compute_key_, [&] { return run(work, options); })
          : run(work, options);
  const std::int64_t empty_joins = counts.matches_or_one - matches - traffic.joins_left_out;
  OpResult result{.op = work.op,
                  .scheduled = ScheduledOperands::both(),
                  .macs = work.macs.macs,
                  .scheduled_macs = matches,
                  .effectual_macs = matches,
                  .counters = {{"joins", traffic.joins},
                               {"joins_left_out", traffic.joins_left_out},
                               {"empty_joins", empty_joins},
                               {"empty_join_cycles", counts.join_cycles - matches},
                               {"barrier_cycles", counts.occupied_cycles - counts.join_cycles},
                               {"idle_unit_cycles", config_.units * counts.cycles - counts.occupied_cycles},
                               {"broadcast_values_read", traffic.broadcast_values_read},
                               {"held_values_read", traffic.held_values_read},
                               {"buffer_values_written", traffic.values_written}},
                  .mapping = mapping,
                  .actions = unit_actions(config_, work, counts, traffic, matches, empty_joins)};
  result.units = units;
  Activity activity;
  activity.compute_cycles = counts.cycles;
  activity.am_reads = memory_.rows(traffic.broadcast_values_read, traffic.broadcast_mask_bits_read);
  activity.bm_reads = memory_.rows(traffic.held_values_read, traffic.held_mask_bits_read);
  memory_.finish(
      work, activity,
      [&](std::int64_t elements, std::int64_t nonzeros) { return memory_.rows(nonzeros, elements); },
      [&](const Activity& counted) { return sram_cycles(work, counted); }, result);
  if (memory_.dram().all_static())
    append_static_actions(*hardware(), memory_.dram(), work.batch_scale, result);
  return result;
}

const RegisterAccelerator kRegister{{
    .name = "sparten",
    .summary =
        "SparTen: joins bit masks of both operands, multiplies matches only; filters paired by density",
    .paper = "Gondimalla et al., SparTen, MICRO 2019, doi 10.1145/3352460.3358291; taken to training",
    .cites = {"sparten"},
    .params = config_params(),
    .make = make_accelerator<Sparten>,
}};

}  // namespace
}  // namespace lacuna::sparten
