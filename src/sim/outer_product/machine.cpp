#include "sim/outer_product/machine.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <stdexcept>

#include "base/error.hpp"
#include "base/text/quote.hpp"
#include "sim/memory/memory_actions.hpp"
#include "sim/outer_product/block_costs.hpp"
#include "sim/outer_product/hardware.hpp"
#include "sim/outer_product/residency.hpp"
#include "sim/outer_product/work.hpp"

namespace lacuna::outer_product {
namespace {

constexpr std::int64_t kIndexBits = 16;  // ASSUMPTION(O11): of a value that is kept compressed

// Positions inside a plane are counted in 32 bits.
void check_plane_sizes(const Layer& layer) {
  constexpr std::int64_t kMost = std::numeric_limits<std::uint32_t>::max();
  const LayerShape& s = layer.shape;
  const bool linear = s.is_matrix();
  const std::int64_t largest = linear ? std::max({s.a_elements(), s.w_elements(), s.g_elements()}) / s.groups
                                      : std::max({s.input_positions(), s.output_positions(), s.taps()});
  if (largest <= kMost) return;
  throw InputError("layer " + quote_name(layer.name),
                   "a plane of more than 2^32 elements does not fit the outer-product machines' indices",
                   linear ? "split the layer" : "use smaller images");
}

}  // namespace

OuterProductMachine::OuterProductMachine(Params params, std::unique_ptr<ProcessingElement> pe)
    : params_(std::move(params)), config_(machine_config(params_)), memory_(params_), pe_(std::move(pe)) {}

std::optional<BaselineSpec> OuterProductMachine::baseline() const {
  BaselineSpec spec = baseline_sharing("dense", params_, dram_params("", ""));
  spec.settings.emplace_back("tiles", std::to_string(config_.multipliers / kDenseTileMultipliers));
  return spec;
}

std::optional<Hardware> OuterProductMachine::hardware() const {
  Hardware hardware = machine_hardware(config_, pe_->search_window());
  add_dram(hardware, memory_.dram());
  hardware.totals.push_back(memory_.dram().bandwidth());
  return hardware;
}

std::vector<LayerPasses> OuterProductMachine::plan(const Trace& trace, const SimOptions& options) const {
  if (!config_.sized) return {};
  for (const Layer& layer : trace.layers()) check_plane_sizes(layer);
  return plan_residency(trace, config_, memory_.dram(), options.operations);
}

namespace {

double elements_of(const LayerShape& s) {
  return static_cast<double>(s.a_elements() + s.w_elements() + s.g_elements());
}

// Whatever its products, a pair of planes and a block of them have a fixed cost each.
double steps_of_pairs(const LayerShape& s) {
  constexpr double kStepsPerPair = 8, kStepsPerBlock = 128;
  const bool linear = s.is_matrix();
  const double samples = linear ? static_cast<double>(s.sequence) : static_cast<double>(s.n);
  const double pairs = linear ? 0 : samples * static_cast<double>(s.k) * static_cast<double>(s.c_per_group());
  return 3 * (kStepsPerPair * pairs + kStepsPerBlock * samples * static_cast<double>(s.groups));
}

}  // namespace

double OuterProductMachine::work(const LayerShape& s) const {
  constexpr double kMacsPerStep = 32, kStepsPerElement = 4;  // products are counted by vectors
  return steps_of_pairs(s) +
         3 * (static_cast<double>(s.macs()) / kMacsPerStep + kStepsPerElement * elements_of(s));
}

// The planes of one sample stand for all; a matrix is read once.
double OuterProductMachine::work_without_zeros(const LayerShape& s) const {
  const double read = s.is_matrix() ? elements_of(s) : elements_of(s) / static_cast<double>(s.n);
  return steps_of_pairs(s) + 3 * read;
}

OuterProductMachine::Outcome OuterProductMachine::run(const OperationWork& work,
                                                      const SimOptions& options) const {
  Schedule schedule(config_.pes(), config_.fill, config_.fill_each_pair);
  PairCounts counts;
  UnitRecord units;
  if (options.units) {
    units.unit = "PE";
    schedule.record(&units);
  }
  const bool leaves_out = config_.needed && has_unneeded_outputs(work.layer, work.op);
  if (options.engine == Engine::kFast) {
    std::optional<PairCounts> by_sets;
    if (!leaves_out && !work.layer.shape.is_matrix())
      by_sets = count_by_sets(work, config_, *pe_, costs_key_, schedule);
    counts = by_sets ? *by_sets : count_pair_by_pair(work.layer, work.op, config_, *pe_, schedule);
    counts.useful = leaves_out ? work.needed_macs().effectual : work.macs.effectual;
  } else {
    counts = execute_operation(work.layer, work.op, config_, *pe_, schedule, options.seed);
    if (!leaves_out && counts.useful != work.macs.effectual)
      throw std::logic_error("useful products are not the effectual MACs");
  }
  const ScheduleResult time = schedule.finish();
  return {counts, time, std::move(units)};
}

std::vector<MappingChoice> OuterProductMachine::mapping(const Layer& layer, Operation op) const {
  const auto name = [](Operand role) { return std::string(operand_name(role)); };
  if (layer.shape.is_matrix()) {
    const LinearWork work = LinearWork::of(layer, op, config_).front();
    return {{"image", name(work.image.role)},
            {"kernel", name(work.kernel.role)},
            {"pairs", config_.linear == LinearMapping::kMatrix ? "whole matrices" : "one channel each"},
            {"blocks", work.blocks},
            {"block_columns", work.block_columns}};
  }
  const ConvolutionWork work = ConvolutionWork::of(layer.shape, op, config_);
  std::vector<MappingChoice> mapping{{"image", name(work.image_role)},
                                     {"kernel", name(work.kernel_role)},
                                     {"pairs", work.tiled ? "one tile of the plane per PE" : "in turns"},
                                     {"images", work.images},
                                     {"kernels", work.kernels},
                                     {"blocks", work.blocks()}};
  if (!work.tiled) return mapping;
  mapping.push_back({"pe_grid", fmt::format("{}x{}", work.tile_grid.h, work.tile_grid.w)});
  mapping.push_back({"tile", fmt::format("{}x{}", work.tile.h, work.tile.w)});
  mapping.push_back({"group_channels", work.group_channels});
  return mapping;
}

OpResult OuterProductMachine::simulate(const OperationWork& work, const SimOptions& options) const {
  const Layer& layer = work.layer;
  const Operation op = work.op;
  const MacCounts& macs = work.macs;
  check_plane_sizes(layer);
  const auto [counts, time, units] =
      options.engine == Engine::kFast
          ? *work.remember<Outcome>(compute_key_, [&] { return run(work, options); })
          : run(work, options);
  const std::int64_t lanes = config_.n * config_.n;
  const std::int64_t slots = config_.pes() * lanes * time.cycles;
  const PeTraffic traffic = pe_traffic(work, config_, counts.pairs, time.sent_again);
  OpResult result{
      .op = op,
      .scheduled = ScheduledOperands::both(),
      .macs = macs.macs,
      .scheduled_macs = counts.useful,
      .effectual_macs = counts.useful,
      .counters =
          {
              {"pairs", counts.pairs},
              {"cartesian_products", counts.cartesian},
              {"useful_products", counts.useful},
              {"rcps", counts.cartesian - counts.useful},
              {"rcps_anticipated", counts.cartesian - counts.executed},
              {"rcps_residual", counts.executed - counts.useful},
              {"executed_products", counts.executed},
              {"steps", counts.steps},
              {"bubbles", counts.bubbles},
              {"ranges_computed", counts.ranges},
              {"empty_ranges", counts.empty_ranges},
              {"conflict_stalls", counts.conflict_stalls},
              {"fill_cycles", time.fill},
              {"imbalance_cycles", time.imbalance},
              {"idle_pe_cycles", time.idle_pe},
              {"barriers", time.barriers},
              {"multiplier_slots", slots},
              {"idle_multiplier_slots", slots - counts.executed},
              {"fragmented_slots", counts.steps * lanes - counts.executed},
              {"image_values_read", counts.image_reads},
              {"image_indices_read", counts.image_reads},
              {"kernel_values_read", counts.kernel_value_reads},
              {"kernel_indices_read", counts.kernel_index_reads},
              {"row_pointers_read", counts.row_pointer_reads},
              {"crossbar_transfers", counts.useful},
              {"accumulator_updates", counts.useful},
              {"halo_values", traffic.halo},
              {"operand_values_loaded", traffic.loaded},
              {"drained_values", traffic.drained},
          },
      .actions = pe_actions(config_, pe_->search_window(), counts, traffic, time.cycles, work.batch_scale)};
  result.mapping = mapping(layer, op);
  result.units = units;
  if (config_.sized) {
    result.counters.push_back({"broadcast_wait_cycles", time.broadcast_wait});
    result.counters.push_back({"kernel_vectors_sent_again", time.sent_again});
  }
  if (config_.charge_drains) result.counters.push_back({"drain_wait_cycles", time.drain_wait});
  const auto rows = [this](std::int64_t values) { return memory_.rows(values, kIndexBits * values); };
  Activity activity;
  activity.compute_cycles = time.cycles;
  activity.am_reads = rows(traffic.image_values_sent);
  activity.bm_reads = rows(traffic.kernel_values_sent);
  memory_.finish(
      work, activity, [&](std::int64_t, std::int64_t nonzeros) { return rows(nonzeros); },
      [](const Activity&) { return std::int64_t{0}; }, result);
  if (memory_.dram().all_static())
    append_static_actions(*hardware(), memory_.dram(), work.batch_scale, result);
  return result;
}

}  // namespace lacuna::outer_product
