// A run that is resumed equals one that never stopped; parameters can be taken from another file.
#include "train/run/checkpoint.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <span>

#include "base/testing.hpp"
#include "train/testing/hand_made_state.hpp"
#include "train/testing/tiny_run.hpp"

namespace lacuna::train {
namespace {

struct Case {
  const char* name;
  TinyOptions options;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  const auto add = [&](const char* name) -> TinyOptions& {
    all.push_back({name, {}});
    return all.back().options;
  };
  add("plain");
  add("dense").kernels = Kernels::kDense;
  add("rich").model = kRichModel;
  TinyOptions& images = add("flip and crop");
  images.train.flip = true;
  images.train.crop_padding = 2;
  add("step").train.schedule.kind = RateSchedule::Kind::kStep;
  TinyOptions& constant = add("constant, warmup");
  constant.train.schedule.kind = RateSchedule::Kind::kConstant;
  constant.train.schedule.warmup = 7;
  for (const auto method :
       {PruningOptions::Method::kSparseMomentum, PruningOptions::Method::kDynamicSparse}) {
    TinyOptions& pruned = add(method == PruningOptions::Method::kSparseMomentum ? "sm" : "ds");
    pruned.model = kRichModel;
    pruned.train.pruning.method = method;
    pruned.train.pruning.zeros = 0.7;
    pruned.train.pruning.every = 2;
    pruned.train.pruning.until = 9;
    pruned.train.optimizer.weight_decay = 0;
  }
  const auto adamw = static_cast<std::size_t>(
      std::ranges::find(kOptimizers, std::string("adamw"), &OptimizerKind::name) - kOptimizers.begin());
  TinyOptions& pruned = add("adamw, sm");
  pruned.train.pruning = {.method = PruningOptions::Method::kSparseMomentum, .zeros = 0.7, .every = 2};
  add("adamw");
  for (Case& one : std::span(all).last(2)) {
    one.options.train.optimizer.kind = adamw;
    one.options.train.schedule.rate = 0.002;
  }
  return all;
}

// Two checkpoints of equal bytes are equal in parameters, running means, momenta, masks, threshold, step and
// in the sums of the log's next line.
TEST(Checkpoint, AResumedRunEqualsOneThatNeverStopped) {
  const TemporaryFolder folder;
  for (const Case& one : cases()) {
    TinyRun whole(one.options);
    std::vector<double> losses;
    while (!whole.trainer.done()) losses.push_back(whole.trainer.run_step().loss);
    whole.trainer.save(folder / "whole", {});
    const TestReport tested = whole.trainer.test();
    // An epoch has five steps: at its start, inside, at its end, before and after pruning moves, at the end.
    for (const std::int64_t stop : {0, 1, 3, 5, 6, 11, 12}) {
      TinyRun before(one.options);
      before.run_to(stop);
      before.trainer.test();  // a test changes nothing that is learnt
      before.trainer.save(folder / "stopped", {});
      TinyRun after(one.options);
      after.run_to(2);  // the state before resume() does not matter
      after.trainer.resume(folder / "stopped", {});
      ASSERT_EQ(after.trainer.step(), stop);
      while (!after.trainer.done()) {
        const auto step = static_cast<std::size_t>(after.trainer.step());
        EXPECT_EQ(after.trainer.run_step().loss, losses[step]) << one.name << ", step " << step;
      }
      after.trainer.save(folder / "resumed", {});
      EXPECT_EQ(bytes_in(folder / "resumed"), bytes_in(folder / "whole")) << one.name << ", stop " << stop;
      EXPECT_EQ(after.trainer.test().loss, tested.loss) << one.name;
      EXPECT_EQ(after.trainer.test().accuracy, tested.accuracy) << one.name;
    }
  }
}

TEST(Checkpoint, TheSumsOfAnUnfinishedLineAreKept) {
  const TemporaryFolder folder;
  TinyRun run{TinyOptions()};
  run.run_to(3);
  run.trainer.end_line();
  run.run_to(5);
  run.trainer.save(folder / "c", {});
  TinyRun other{TinyOptions()};
  other.trainer.resume(folder / "c", {});
  EXPECT_EQ(other.trainer.line().steps, 2);
  EXPECT_EQ(other.trainer.line().loss, run.trainer.line().loss);
  EXPECT_EQ(other.trainer.line().correct, run.trainer.line().correct);
  EXPECT_GT(other.trainer.line().loss, 0);
  EXPECT_FALSE(other.trainer.line().untested.has_value());
  // A line that waits for its test.
  run.trainer.hold_line({0.25, 0.75, 123.5});
  run.trainer.save(folder / "d", {});
  other.trainer.resume(folder / "d", {});
  ASSERT_TRUE(other.trainer.line().untested.has_value());
  EXPECT_EQ(other.trainer.line().untested->activation_zeros, 0.25);
  EXPECT_EQ(other.trainer.line().untested->gradient_zeros, 0.75);
  EXPECT_EQ(other.trainer.line().untested->images_per_second, 123.5);
  other.trainer.end_line();
  EXPECT_FALSE(other.trainer.line().untested.has_value());
}

TEST(Checkpoint, ANetworkThatComputesOtherwiseIsAnotherNetwork) {
  const TemporaryFolder folder;
  // The same tensors; another kind of pooling, another stride, another share dropped.
  const auto with = [](const std::string& layer) {
    TinyOptions options;
    options.model = "model: m\nlayers:\n  - conv: {name: a, out: 8, kernel: 3}\n  - " + layer +
                    "\n  - average_pool: global\n  - linear: {name: c, out: 10}\n";
    return options;
  };
  TinyRun first(with("max_pool"));
  first.trainer.save(folder / "c", {});
  for (const char* layer : {"average_pool", "max_pool: {stride: 1}", "dropout: {rate: 0.1}", "relu"}) {
    TinyRun other(with(layer));
    const std::vector<float> before = values_of(other.network);
    EXPECT_NE(error_of([&] { other.trainer.resume(folder / "c", {}); }).find("its run had network="),
              std::string::npos)
        << layer;
    EXPECT_EQ(values_of(other.network), before);
  }
  TinyRun same(with("max_pool"));
  EXPECT_EQ(error_of([&] { same.trainer.resume(folder / "c", {}); }), "no error");
}

TEST(LoadParameters, ACheckpointOrAnyFileWithTheseNames) {
  const TemporaryFolder folder;
  TinyRun from{TinyOptions()};
  from.run_to(2);
  from.trainer.save(folder / "c", {});
  TinyRun to{TinyOptions()};
  to.trainer.start_from(folder / "c");
  EXPECT_EQ(values_of(to.network), values_of(from.network));
  EXPECT_EQ(to.trainer.step(), 0);

  const std::string header =
      R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"more":{"dtype":"U8","shape":[1],"data_offsets":[8,9]}})";
  const auto plain = safetensors_file(header, std::string_view("\0\0\x80\x3f\0\0\0\x40!", 9));
  folder.write("plain", {reinterpret_cast<const char*>(plain.data()), plain.size()});
  Parameter w("w", Parameter::Kind::kWeights, {2});
  load_parameters(folder / "plain", {&w});
  EXPECT_EQ(w.value[0], 1);
  EXPECT_EQ(w.value[1], 2);
  Parameter x("x", Parameter::Kind::kWeights, {2});
  EXPECT_NE(error_of([&] {
              load_parameters(folder / "plain", {&w, &x});
            }).find("there is no tensor 'x'"),
            std::string::npos);
  Parameter wide("w", Parameter::Kind::kWeights, {2, 1});
  EXPECT_NE(error_of([&] {
              load_parameters(folder / "plain", {&wide});
            }).find("is F32 [2], the network needs F32 [2, 1]"),
            std::string::npos);
}

TEST(LoadParameters, DamagedCheckpointsAreRefused) {
  const TemporaryFolder folder;
  TinyRun from{TinyOptions()};
  from.trainer.save(folder / "c", {});
  const std::vector<std::uint8_t> good = bytes_in(folder / "c");
  TinyRun to{TinyOptions()};
  const std::vector<float> before = values_of(to.network);
  // Only the part of the header that these parameters need is read.
  for (std::size_t at = header_size(good); at < good.size(); at += 41) {
    std::vector<std::uint8_t> bad = good;
    bad[at] ^= 0x10;
    folder.write("bad", {reinterpret_cast<const char*>(bad.data()), bad.size()});
    ASSERT_NE(error_of([&] { to.trainer.start_from(folder / "bad"); }), "no error") << at;
    ASSERT_EQ(values_of(to.network), before);
  }
}

// Pruned weights stay zero with any file.
TEST(LoadParameters, PrunedWeightsStayZero) {
  const TemporaryFolder folder;
  TinyRun dense{TinyOptions()};
  dense.trainer.save(folder / "c", {});
  TinyOptions options;
  options.train.pruning.method = PruningOptions::Method::kSparseMomentum;
  TinyRun pruned(options);
  pruned.trainer.start_from(folder / "c");
  for (Parameter* parameter : pruned.network.parameters()) {
    if (parameter->kind != Parameter::Kind::kWeights) continue;
    const auto zeros =
        std::count(parameter->value.data(), parameter->value.data() + parameter->value.size(), 0.0F);
    const double share = static_cast<double>(zeros) / static_cast<double>(parameter->value.size());
    EXPECT_NEAR(share, parameter->name == "a.weight" ? 0 : 0.9, 0.01) << parameter->name;
  }
}

}  // namespace
}  // namespace lacuna::train
