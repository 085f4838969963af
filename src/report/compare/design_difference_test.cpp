#include "report/compare/design_difference.hpp"

#include <gtest/gtest.h>

#include "base/params.hpp"

namespace lacuna {
namespace {

Hardware design(double multipliers, double memory, double mhz = 500) {
  Hardware hardware{.description = "", .data_type = "fp32", .frequency_mhz = mhz, .components = {}};
  hardware.totals = {{"multipliers", "multipliers", multipliers},
                     {"accumulators", "", multipliers / 16},
                     {"sram_values", "on-chip memory", memory}};
  return hardware;
}

TEST(DesignDifference, SaysWhatIsMoreAndLess) {
  EXPECT_EQ(design_difference(design(4096, 64), design(4096, 64)), "");
  EXPECT_EQ(design_difference(design(8192, 32), design(4096, 64)),
            "twice the multipliers, half the on-chip memory");
  EXPECT_EQ(design_difference(design(1024, 4), design(4096, 64)),
            "a quarter of the multipliers, 1/16 of the on-chip memory");
  EXPECT_EQ(design_difference(design(6144, 192, 750), design(4096, 64)),
            "1.5 times the multipliers, 3 times the on-chip memory, 1.5 times the clock frequency");
}

// Rounding to whole banks does not count as a difference.
TEST(DesignDifference, LeavesOutLessThanAPercent) {
  EXPECT_EQ(design_difference(design(4096, 64.5), design(4096, 64)), "");
}

TEST(DesignDifference, ComparesOnlyWhatBothHave) {
  Hardware without_memory = design(4096, 64);
  without_memory.totals.pop_back();
  EXPECT_EQ(design_difference(without_memory, design(4096, 32)), "");
  EXPECT_EQ(design_difference(design(4096, 32), without_memory), "");
}

// A machine that is as large as its parameter says.
class Sized final : public Accelerator {
 public:
  explicit Sized(Params params) : params_(std::move(params)) {}
  const Params& params() const override { return params_; }
  std::optional<Hardware> hardware() const override {
    return design(static_cast<double>(params_.integer("multipliers")), 64);
  }
  OpResult simulate(const OperationWork&, const SimOptions&) const override { return {}; }

 private:
  Params params_;
};

TEST(DesignDifference, NamesTheReference) {
  AcceleratorRegistry registry;
  registry.add({.name = "sized",
                .summary = "",
                .paper = "",
                .params = {ParamSpec::integer("multipliers", 1024, 1, 1 << 20, "", "", "")},
                .make = [](Params params) -> std::unique_ptr<Accelerator> {
                  return std::make_unique<Sized>(std::move(params));
                }});
  const auto run = [](const char* arch, const Hardware& hardware) {
    RunResult result;
    result.arch = arch;
    result.base = "sized";
    result.hardware = hardware;
    return result;
  };
  const std::vector<RunResult> as_it_is{run("sized", design(1024, 64)), run("sized", design(1024, 64))};
  EXPECT_EQ(design_differences(as_it_is, registry), "");

  std::vector<RunResult> runs{run("sized", design(1024, 64)), run("small", design(512, 32))};
  // The default of its model is the first machine here: said once.
  EXPECT_EQ(design_differences(runs, registry),
            "small: half the multipliers, half the on-chip memory of sized\n");

  runs[0] = run("large", design(2048, 64));
  auto baseline = std::make_shared<RunResult>(run("dense", design(512, 64)));
  runs[1].baseline = baseline;
  EXPECT_EQ(design_differences(runs, registry),
            "large: twice the multipliers of the default sized\n"
            "small: half the on-chip memory of its baseline, dense\n"
            "small: a quarter of the multipliers, half the on-chip memory of large\n"
            "small: half the multipliers, half the on-chip memory of the default sized\n");

  runs[1].hardware.reset();  // a machine that does not say what it is built of
  EXPECT_EQ(design_differences(runs, registry), "large: twice the multipliers of the default sized\n");
}

}  // namespace
}  // namespace lacuna
