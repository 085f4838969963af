#include "trace/trace.hpp"

#include <gtest/gtest.h>

namespace lacuna {
namespace {

TEST(Trace, OpensEverySharedTrace) {
  const std::filesystem::path folder = LACUNA_SOURCE_DIR "/../shared/traces";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no ../shared";
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    if (file.path().extension() != ".zst") continue;
    const Trace trace = Trace::open(file.path());
    EXPECT_FALSE(trace.layers().empty()) << file.path();
    EXPECT_TRUE(trace.info().batch.has_value()) << file.path();
    for (const Layer& layer : trace.layers()) {
      EXPECT_GE(trace.batch_scale(layer), 1.0) << file.path() << layer.name;
      for (const TensorRole role : {TensorRole::kA, TensorRole::kW, TensorRole::kG}) {
        EXPECT_LE(layer.tensor(role).nonzeros, layer.tensor(role).elements());
      }
    }
  }
}

}  // namespace
}  // namespace lacuna
