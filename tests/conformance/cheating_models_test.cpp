// The conformance suite on machines that cheat: each is like the template but for one thing, and caught for
// it.
#include <gtest/gtest.h>

#include "conformance/model_checks.hpp"
#include "models/template/engine.hpp"
#include "sim/tile/tile_chip.hpp"
#include "sim/workload/reference.hpp"

namespace lacuna {
namespace {

using template_machine::Config, template_machine::FunctionalWork;

enum class Cheat {
  kNone,
  kCyclesFromMasks,    // values are computed beside; the cycles are the fast engine's
  kNothingIsComputed,  // the functional engine is the fast one
  kMacsFromMasks,      // cycles from values, what was multiplied from masks
  kWrongPairs,         // what the rows skip is another group's
  kLosesACycle,        // the fast engine
};

class Cheater final : public Accelerator {
 public:
  explicit Cheater(Cheat cheat)
      : cheat_(cheat),
        params_("cheater", TileChip::params(Config::params())),
        chip_(params_),
        config_(Config::from(params_, chip_.tile())) {}

  const Params& params() const override { return params_; }

  using Accelerator::simulate;
  OpResult simulate(const OperationWork& work, const SimOptions& options) const override {
    const Placement placement = chip_.place(work.layer, work.op);
    const bool functional = options.engine == Engine::kFunctional && cheat_ != Cheat::kNothingIsComputed;
    TileOutcome outcome = functional ? run_values(work, placement, options.seed) : run_fast(work, placement);
    return chip_.result(work, placement, std::move(outcome));
  }

 private:
  std::int64_t mask_cycles(const Placement& placement) const {
    std::int64_t cycles = 0;
    for (const PlacedProduct& product : placement.placed) {
      cycles += chip_cycles(config_, product.grid, count_steps(config_, product));
    }
    return cycles;
  }

  TileOutcome run_fast(const OperationWork& work, const Placement& placement) const {
    std::int64_t cycles = mask_cycles(placement);
    if (cheat_ == Cheat::kLosesACycle && cycles > 1) --cycles;
    return {.scheduled = placement.row_operand,
            .scheduled_macs = work.macs.with(placement.row_operand, work.op),
            .effectual_macs = work.macs.effectual,
            .compute_cycles = cycles};
  }

  TileOutcome run_values(const OperationWork& work, const Placement& placement, std::uint64_t seed) const {
    const LayerValues values = layer_values(work.layer, seed, chip_.data_type());
    const LayerShape& shape = work.layer.shape;
    std::vector<float> computed(static_cast<std::size_t>(result_elements(shape, work.op)), 0.0F);
    TileOutcome outcome{.scheduled = placement.row_operand};
    for (const PlacedProduct& product : placement.placed) {
      const FunctionalWork done = run_functional(config_, shape, work.op, product, values, computed);
      outcome.compute_cycles += chip_cycles(config_, product.grid, done.steps);
      outcome.scheduled_macs += done.scheduled_macs;
      outcome.effectual_macs += done.effectual_macs;
    }
    if (cheat_ == Cheat::kWrongPairs) computed.back() += 1;
    check_against_reference(shape, work.op, values, computed);
    if (cheat_ == Cheat::kCyclesFromMasks) outcome.compute_cycles = mask_cycles(placement);
    if (cheat_ == Cheat::kMacsFromMasks) {
      outcome.scheduled_macs = count_macs(work.layer, work.op).with(placement.row_operand, work.op);
    }
    return outcome;
  }

  Cheat cheat_;
  Params params_;
  TileChip chip_;
  Config config_;
};

constexpr std::uint64_t kLayers = 40;

TEST(CheatingModels, AnHonestOnePasses) {
  const Cheater machine(Cheat::kNone);
  EXPECT_EQ(testing::check_engines_agree(machine, kLayers), "");
  EXPECT_EQ(testing::check_executes_values(machine, kLayers).wrong, "");
  EXPECT_GT(testing::check_executes_values(machine, kLayers).telling, 10);
}

// All that the engines can be asked on honest layers is right; only values under other masks tell.
TEST(CheatingModels, CyclesFromMasksAreCaught) {
  const Cheater machine(Cheat::kCyclesFromMasks);
  EXPECT_EQ(testing::check_engines_agree(machine, kLayers), "");
  EXPECT_NE(testing::check_executes_values(machine, kLayers).wrong.find("cycles where the values ask for"),
            std::string::npos);
}

TEST(CheatingModels, AnEngineThatComputesNothingIsCaught) {
  const Cheater machine(Cheat::kNothingIsComputed);
  EXPECT_EQ(testing::check_engines_agree(machine, kLayers), "");
  EXPECT_NE(testing::check_executes_values(machine, kLayers).wrong.find("cycles where the values ask for"),
            std::string::npos);
}

TEST(CheatingModels, CountsFromMasksAreCaught) {
  EXPECT_NE(
      testing::check_executes_values(Cheater(Cheat::kMacsFromMasks), kLayers).wrong.find("scheduled_macs"),
      std::string::npos);
}

TEST(CheatingModels, WrongValuesAreCaught) {
  EXPECT_NE(testing::check_engines_agree(Cheater(Cheat::kWrongPairs), kLayers).find("threw"),
            std::string::npos);
}

TEST(CheatingModels, EnginesThatDifferAreCaught) {
  EXPECT_NE(testing::check_engines_agree(Cheater(Cheat::kLosesACycle), kLayers).find("do not agree"),
            std::string::npos);
}

}  // namespace
}  // namespace lacuna
