// The network of the demo learns the built-in set: the only test here with a whole training.
#include <gtest/gtest.h>

#include "base/parallel.hpp"
#include "train/graph/model_file.hpp"
#include "train/run/trainer.hpp"

namespace lacuna::train {
namespace {

TEST(Accuracy, TheSmallNetworkPasses90PercentOnTheTestPart) {
  const dataset::DatasetPair data = dataset::open_dataset("shapes", {});
  Network network(open_model("vgg-small", {}), {32, Kernels::kSparse, resolve_threads(0)});
  TrainOptions options;
  options.steps = 260;  // 99.3 % of the images right
  options.schedule.rate = 0.02;
  options.schedule.warmup = 20;
  Trainer trainer(network, data, options);
  EXPECT_LT(trainer.test().accuracy, 0.2);
  while (!trainer.done()) trainer.run_step();
  const TestReport report = trainer.test();
  EXPECT_GT(report.accuracy, 0.9) << "seed " << options.seed << ", loss " << report.loss;
  RecordProperty("accuracy_percent", std::to_string(100 * report.accuracy));
}

}  // namespace
}  // namespace lacuna::train
