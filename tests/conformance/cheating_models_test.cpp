// The conformance suite on machines that cheat: each is like the template but for one thing, and caught for
// it.
#include <fmt/format.h>
#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <set>

#include "conformance/model_checks.hpp"
#include "conformance/possible_machine.hpp"
#include "conformance/step_skip_brute.hpp"
#include "models/template/template_machine.hpp"
#include "sim/testing/machines.hpp"
#include "sim/testing/random_layer.hpp"

namespace lacuna {
namespace {

enum class Cheat {
  kNone,
  kCyclesFromMasks,    // values are computed too; the cycles are the fast engine's
  kNothingIsComputed,  // the functional engine is the fast one
  kMacsFromMasks,      // cycles from values, what was multiplied from masks
  kWrongPairs,         // what the rows skip is another group's
  kLosesACycle,        // the fast engine
  kSkipsAStepMore,     // both engines; all values are right
};

class Cheater final : public template_machine::TemplateMachine {
 public:
  explicit Cheater(Cheat cheat, const testing::Settings& settings = {})
      : TemplateMachine(params_with(settings)), cheat_(cheat) {}

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
  void finish(const OperationWork&, const Placement& placement, TileOutcome& outcome) const override {
    outcome.counters.clear();
    const auto products = static_cast<std::int64_t>(placement.placed.size());
    if (cheat_ == Cheat::kSkipsAStepMore && outcome.compute_cycles > products) --outcome.compute_cycles;
  }

 private:
  static Params params_with(const testing::Settings& settings) {
    Params params("cheater", TileChip::params(TemplateMachine::own_params()));
    for (const auto& [name, value] : settings) params.set(name, value, "test");
    return params;
  }

  Cheat cheat_;
};

// An honest machine whose results, or whose description, are changed on the way out.
class Tampered final : public Accelerator {
 public:
  using Tamper = std::function<void(const OperationWork&, OpResult&)>;
  using Describe = std::function<void(Hardware&)>;

  explicit Tampered(std::unique_ptr<Accelerator> honest, Tamper tamper, Describe describe = {})
      : honest_(std::move(honest)), tamper_(std::move(tamper)), describe_(std::move(describe)) {}

  const Params& params() const override { return honest_->params(); }
  std::optional<BaselineSpec> baseline() const override { return honest_->baseline(); }
  std::optional<Hardware> hardware() const override {
    std::optional<Hardware> hardware = honest_->hardware();
    if (describe_) describe_(*hardware);
    return hardware;
  }
  using Accelerator::simulate;
  OpResult simulate(const OperationWork& work, const SimOptions& options) const override {
    OpResult result = honest_->simulate(work, options);
    if (tamper_) tamper_(work, result);
    return result;
  }

 private:
  std::unique_ptr<Accelerator> honest_;
  Tamper tamper_;
  Describe describe_;
};

// Changes the counts of one action.
Tampered::Tamper times(std::string part, std::string action, double factor) {
  return [=](const OperationWork&, OpResult& result) {
    for (ActionCount& count : result.actions) {
      if (count.part == part && count.action == action) count.count *= factor;
    }
  };
}

std::unique_ptr<Accelerator> honest(const testing::Settings& settings = {}) {
  return testing::make_machine("tensordash", settings);
}

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

// In both engines and with all values right: nothing that compares the machine with itself tells.
TEST(CheatingModels, HalfTheCyclesAreCaught) {
  for (const std::string& model : ArchCatalog().model_names()) {
    const Tampered machine(testing::make_machine(model), [](const OperationWork&, OpResult& result) {
      result.cycles = (result.cycles + 1) / 2;
    });
    EXPECT_EQ(testing::check_engines_agree(machine, 10), "") << model;
    EXPECT_EQ(testing::check_executes_values(machine, 10).wrong, "") << model;
    EXPECT_EQ(testing::check_counters(machine, 10), "") << model;
    EXPECT_NE(testing::check_throughput(machine).wrong.find(" products in "), std::string::npos) << model;
  }
}

TEST(CheatingModels, MultipliersThatAreNotDeclaredAreCaught) {
  const Tampered machine(honest(), {}, [](Hardware& hardware) {
    std::ranges::find(hardware.totals, "multipliers", &DesignTotal::name)->value /= 2;
  });
  EXPECT_NE(testing::check_throughput(machine).wrong.find("of 2048 multipliers"), std::string::npos);
}

TEST(CheatingModels, SamplesThatAreNotSimulatedAreCaught) {
  const Tampered machine(honest(), [](const OperationWork& work, OpResult& result) {
    result.cycles = (result.cycles + work.layer.shape.n - 1) / work.layer.shape.n;
  });
  EXPECT_NE(testing::check_throughput(machine).wrong.find(" products in "), std::string::npos);
}

TEST(CheatingModels, AnOperandThatIsNotReadIsCaught) {
  const Tampered from_sram(honest(),
                           [](const OperationWork&, OpResult& result) { result.activity->bm_reads = 0; });
  EXPECT_NE(testing::check_actions(from_sram).find("an operand is not read from SRAM"), std::string::npos);
  const Tampered from_dram(honest(), times("dram", "bit", 0.6));
  EXPECT_NE(testing::check_actions(from_dram).find("fewer bits cross the DRAM bus"), std::string::npos);
}

TEST(CheatingModels, EnergyThatIsNotCountedIsCaught) {
  EXPECT_NE(testing::check_actions(Tampered(honest(), times("sram", "read", 0.5)))
                .find("SRAM is read more often than its energy is counted"),
            std::string::npos);
  EXPECT_NE(testing::check_actions(Tampered(honest(), times("mac", "cycle", 0.5)))
                .find("fewer multiplier cycles are counted than there are products"),
            std::string::npos);
  EXPECT_NE(testing::check_actions(Tampered(honest(), times("dram", "static", 0.5)))
                .find("DRAM is not powered for as long"),
            std::string::npos);
}

TEST(CheatingModels, APartThatNeverActsIsCaught) {
  const Tampered machine(honest(), times("transposer", "cycle", 0));
  EXPECT_EQ(testing::check_actions(machine), "");
  EXPECT_NE(testing::check_parts_are_used(machine).find("no action of transposer in transposers"),
            std::string::npos);
}

TEST(CheatingModels, CountsOfAHiddenPartAreCaught) {
  const Tampered machine(honest(), {}, [](Hardware& hardware) {
    std::erase_if(hardware.components, [](const Component& part) { return part.name == "transposers"; });
  });
  EXPECT_NE(testing::check_actions(machine).find("is counted and not declared"), std::string::npos);
}

TEST(CheatingModels, ABatchForThePriceOfASampleIsCaught) {
  const Tampered machine(honest(), [](const OperationWork& work, OpResult& result) {
    for (ActionCount& count : result.actions) {
      if (count.part == "transposer") count.count /= work.batch_scale;
    }
  });
  EXPECT_NE(testing::check_actions(machine).find("does not grow with the batch"), std::string::npos);
}

TEST(CheatingModels, MemoryThatHelpsIsCaught) {
  const auto ideal = honest();
  const Tampered faster(honest({{"memory", "modelled"}}), [](const OperationWork&, OpResult& result) {
    result.cycles = result.activity->compute_cycles * 9 / 10;
  });
  EXPECT_NE(testing::check_memory_takes_time(*ideal, faster).find(" cycles with memory, "),
            std::string::npos);
  // It never waits for DRAM, whatever there is to move.
  const testing::Settings narrow{{"dram_channels", "1"}, {"dram_mts", "400"}};
  const auto narrow_ideal = honest(narrow);
  testing::Settings narrow_modelled = narrow;
  narrow_modelled.emplace_back("memory", "modelled");
  EXPECT_EQ(testing::check_memory_takes_time(*narrow_ideal, *honest(narrow_modelled)), "");
  const Tampered never_waits(honest(narrow_modelled), [](const OperationWork&, OpResult& result) {
    result.cycles = result.activity->compute_cycles;
  });
  EXPECT_NE(testing::check_memory_takes_time(*narrow_ideal, never_waits).find("bytes cross a DRAM bus"),
            std::string::npos);
}

TEST(CheatingModels, KnowingTheBenchmarkIsCaught) {
  const Tampered machine(honest(), [](const OperationWork& work, OpResult& result) {
    if (work.layer.name == "conv1") result.cycles = result.cycles * 9 / 10;
  });
  EXPECT_NE(testing::check_depends_on_the_layer_alone(machine).find("a layer called 'conv1'"),
            std::string::npos);
}

TEST(CheatingModels, RememberingALayerIsCaught) {
  auto seen = std::make_shared<std::set<std::string>>();
  const Tampered machine(honest(), [seen](const OperationWork& work, OpResult& result) {
    const std::string key = work.layer.shape.describe() + work.layer.name;
    if (!seen->insert(key + std::string(operation_name(work.op))).second) result.cycles = 1;
  });
  EXPECT_NE(testing::check_depends_on_the_layer_alone(machine).find("the second run gives another result"),
            std::string::npos);
}

// One step of an operation that nobody skips: too little for any bound, and both engines do it.
TEST(CheatingModels, AStepMoreIsCaughtByTheTwin) {
  const testing::Settings one_tile{{"tiles", "1"}, {"lanes", "4"}};
  const auto first_difference = [](const Accelerator& machine) {
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
      const Trace trace = testing::random_trace(seed, testing::RandomLayerLimits{20, 6, 2});
      for (const Operation op : kOperations) {
        const Layer& layer = trace.layers()[0];
        if (machine.simulate(layer, op).cycles != testing::step_skip_cycles(layer, op, 4, 4, 4))
          return fmt::format("seed {}, {}", seed, operation_name(op));
      }
    }
    return std::string();
  };
  EXPECT_EQ(first_difference(Cheater(Cheat::kNone, one_tile)), "");
  const Cheater machine(Cheat::kSkipsAStepMore, one_tile);
  EXPECT_EQ(testing::check_engines_agree(machine, kLayers), "");
  EXPECT_EQ(testing::check_executes_values(machine, kLayers).wrong, "");
  EXPECT_NE(first_difference(machine), "");
}

TEST(CheatingModels, EnginesThatDifferAreCaught) {
  EXPECT_NE(testing::check_engines_agree(Cheater(Cheat::kLosesACycle), kLayers).find("do not agree"),
            std::string::npos);
}

}  // namespace
}  // namespace lacuna
