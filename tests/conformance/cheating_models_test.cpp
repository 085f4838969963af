// The conformance suite on machines that cheat: each is like the template but for one thing, and caught for
// it.
#include <gtest/gtest.h>

#include "conformance/model_checks.hpp"
#include "models/template/template_machine.hpp"

namespace lacuna {
namespace {

enum class Cheat {
  kNone,
  kCyclesFromMasks,    // values are computed too; the cycles are the fast engine's
  kNothingIsComputed,  // the functional engine is the fast one
  kMacsFromMasks,      // cycles from values, what was multiplied from masks
  kWrongPairs,         // what the rows skip is another group's
  kLosesACycle,        // the fast engine
};

class Cheater final : public template_machine::TemplateMachine {
 public:
  explicit Cheater(Cheat cheat)
      : TemplateMachine({"cheater", TileChip::params(TemplateMachine::own_params())}), cheat_(cheat) {}

  using Accelerator::simulate;
  OpResult simulate(const OperationWork& work, const SimOptions& options) const override {
    SimOptions cheating = options;
    if (cheat_ == Cheat::kNothingIsComputed) cheating.engine = Engine::kFast;
    return TemplateMachine::simulate(work, cheating);
  }

 protected:
  void count_product(const OperationWork& work, const Placement& placement, const PlacedProduct& product,
                     TileOutcome& outcome) const override {
    TemplateMachine::count_product(work, placement, product, outcome);
    if (cheat_ == Cheat::kLosesACycle && outcome.compute_cycles > 1) --outcome.compute_cycles;
  }

  void execute(const OperationWork& work, const Placement& placement, LayerValues& values,
               std::vector<float>& computed, TileOutcome& outcome) const override {
    TemplateMachine::execute(work, placement, values, computed, outcome);
    if (cheat_ == Cheat::kWrongPairs) computed.back() += 1;
    if (cheat_ == Cheat::kCyclesFromMasks) {
      TileOutcome counted{.counters = outcome.counters};
      for (const PlacedProduct& product : placement.placed) count_product(work, placement, product, counted);
      outcome.compute_cycles = counted.compute_cycles;
    }
    if (cheat_ == Cheat::kMacsFromMasks)
      outcome.scheduled_macs = count_macs(work.layer, work.op).with(placement.row_operand, work.op);
  }

  // Cycles and MACs have to tell by themselves.
  void finish(const OperationWork&, const Placement&, TileOutcome& outcome) const override {
    outcome.counters.clear();
  }

 private:
  Cheat cheat_;
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
