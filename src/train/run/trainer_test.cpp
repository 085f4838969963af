#include "train/run/trainer.hpp"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include "base/random.hpp"
#include "base/testing.hpp"
#include "base/text/choice.hpp"
#include "train/testing/tiny_run.hpp"

namespace lacuna::train {
namespace {

// ---------------------------------------------------------------- the rate and the optimizer

TEST(RateSchedule, HasTheValuesItSays) {
  RateSchedule rate{.kind = RateSchedule::Kind::kConstant, .rate = 0.8, .steps = 100};
  EXPECT_EQ(rate.at(0), 0.8);
  EXPECT_EQ(rate.at(99), 0.8);
  rate.kind = RateSchedule::Kind::kCosine;
  EXPECT_DOUBLE_EQ(rate.at(0), 0.8);
  EXPECT_NEAR(rate.at(50), 0.4, 1e-15);
  EXPECT_NEAR(rate.at(25), 0.4 * (1 + std::sqrt(0.5)), 1e-15);
  EXPECT_NEAR(rate.at(100), 0, 1e-15);
  EXPECT_NEAR(rate.at(1000), 0, 1e-15);
  rate.kind = RateSchedule::Kind::kStep;
  EXPECT_DOUBLE_EQ(rate.at(49), 0.8);
  EXPECT_DOUBLE_EQ(rate.at(50), 0.08);
  EXPECT_DOUBLE_EQ(rate.at(74), 0.08);
  EXPECT_DOUBLE_EQ(rate.at(75), 0.008);
  rate.kind = RateSchedule::Kind::kConstant;
  rate.warmup = 4;
  EXPECT_DOUBLE_EQ(rate.at(0), 0.2);
  EXPECT_DOUBLE_EQ(rate.at(3), 0.8);
  EXPECT_DOUBLE_EQ(rate.at(4), 0.8);
  EXPECT_NE(error_of([] {
              parse_choice<RateSchedule::Kind>("--schedule", "cosin", kSchedules);
            }).find("did you mean 'cosine'?"),
            std::string::npos);
}

// v = momentum v + (g + decay w), w -= rate v, twice, in numbers that floating point holds exactly.
TEST(Sgd, TwoStepsByHand) {
  Parameter w("w", Parameter::Kind::kWeights, {1});
  Parameter s("s", Parameter::Kind::kScalar, {1});
  Parameter mean("mean", Parameter::Kind::kBuffer, {1});
  w.value[0] = 2;
  s.value[0] = 2;
  mean.value[0] = 3;
  const auto sgd = make_sgd({&w, &s, &mean}, {.momentum = 0.5, .weight_decay = 0.25}, 1);
  w.grad[0] = s.grad[0] = 1;
  sgd->step(0.5, 0);  // v = 1 + 0.5 = 1.5, w = 2 - 0.75 = 1.25
  EXPECT_EQ(w.value[0], 1.25F);
  EXPECT_FLOAT_EQ(s.value[0], 2 - 0.05F * 1.5F);  // a tenth of the rate
  w.grad[0] = -1;
  sgd->step(0.5, 1);  // v = 0.75 - 1 + 0.3125 = 0.0625, w = 1.25 - 0.03125
  EXPECT_EQ(w.value[0], 1.21875F);
  EXPECT_EQ(mean.value[0], 3);
  EXPECT_EQ(sgd->learnt().size(), 2u);
}

// Forty steps against the textbook's formulas in double precision, also for a parameter that is spread over
// threads; and the twin without decoupling, L2 decay added to the gradient, is caught.
TEST(Adamw, FollowsAPlainTwin) {
  const OptimizerOptions options{.weight_decay = 0.1, .beta1 = 0.8, .beta2 = 0.95, .eps = 1e-6};
  constexpr double kRate = 0.02;
  constexpr std::int64_t kSize = 40'000;
  Parameter w("w", Parameter::Kind::kWeights, {kSize});
  Parameter s("s", Parameter::Kind::kScalar, {1});
  Parameter mean("mean", Parameter::Kind::kBuffer, {1});
  mean.value[0] = 3;
  const auto adamw = make_adamw({&w, &s, &mean}, options, 2);
  struct Twin {
    double value, mean = 0, square = 0;
  };
  std::vector<Twin> decoupled, coupled;
  Random random(5);
  for (std::int64_t i = 0; i < kSize; ++i) {
    w.value[i] = static_cast<float>(random.integer(-100, 100)) / 50;
    decoupled.push_back({static_cast<double>(w.value[i])});
  }
  s.value[0] = 0.5F;
  decoupled.push_back({0.5});
  coupled = decoupled;
  const auto update = [&](Twin& twin, double gradient, double rate, std::int64_t t, bool apart) {
    const double g = apart ? gradient : gradient + options.weight_decay * twin.value;
    if (apart) twin.value -= rate * options.weight_decay * twin.value;
    twin.mean = options.beta1 * twin.mean + (1 - options.beta1) * g;
    twin.square = options.beta2 * twin.square + (1 - options.beta2) * g * g;
    const double m = twin.mean / (1 - std::pow(options.beta1, t));
    const double v = twin.square / (1 - std::pow(options.beta2, t));
    twin.value -= rate * m / (std::sqrt(v) + options.eps);
  };
  for (std::int64_t step = 0; step < 40; ++step) {
    for (std::int64_t i = 0; i <= kSize; ++i) {
      Parameter& parameter = i < kSize ? w : s;
      float& gradient = parameter.grad[i < kSize ? i : 0];
      gradient = random.chance(0.3) ? 0 : static_cast<float>(random.integer(-100, 100)) / 64;
      const double rate = i < kSize ? kRate : kRate / 10;  // that of scalars is a tenth
      const auto place = static_cast<std::size_t>(i);
      update(decoupled[place], static_cast<double>(gradient), rate, step + 1, true);
      update(coupled[place], static_cast<double>(gradient), rate, step + 1, false);
    }
    adamw->step(kRate, step);
    double worst = 0, apart = 0;
    for (std::int64_t i = 0; i <= kSize; ++i) {
      const auto ours = static_cast<double>(i < kSize ? w.value[i] : s.value[0]);
      worst = std::max(worst, std::fabs(ours - decoupled[static_cast<std::size_t>(i)].value));
      apart = std::max(apart, std::fabs(ours - coupled[static_cast<std::size_t>(i)].value));
    }
    ASSERT_LT(worst, 2e-5) << "step " << step;
    ASSERT_GT(apart, 1e-3) << "step " << step;
  }
  EXPECT_EQ(mean.value[0], 3);
  EXPECT_EQ(adamw->learnt().size(), 2u);
}

// ---------------------------------------------------------------- learning

// Enough weights for 64 images of 8x8, no decay: all of them right.
TEST(Trainer, Overfits64Images) {
  TinyOptions options;
  options.model =
      "model: m\nlayers:\n  - conv: {out: 32, kernel: 3, padding: 1}\n  - relu\n  - max_pool\n"
      "  - conv: {out: 64, kernel: 3, padding: 1}\n  - relu\n  - linear: {out: 10}\n";
  options.batch = 16;
  options.train_size = 64;
  options.train.steps = 240;
  options.train.optimizer.weight_decay = 0;
  for (const Kernels kernels : {Kernels::kDense, Kernels::kSparse}) {
    options.kernels = kernels;
    TinyRun run(options);
    EXPECT_LT(run.trainer.test(*run.data.train).accuracy, 0.5);
    run.run_to(options.train.steps);
    const TestReport report = run.trainer.test(*run.data.train);
    EXPECT_EQ(report.accuracy, 1) << kernels_name(kernels);
    EXPECT_LT(report.loss, 0.1) << kernels_name(kernels);
  }
}

// The kernels sum in other orders, and training makes the last bits grow: the losses of thirty steps stay
// within 1e-4 of each other (seen: below 1e-5), while they fall by far more.
TEST(Trainer, SparseTrainingFollowsDenseTraining) {
  constexpr double kTolerance = 1e-4;
  for (const char* model : {kPlainModel, kRichModel}) {
    TinyOptions options;
    options.model = model;
    options.train.steps = 30;
    options.train.schedule.rate = 0.02;
    options.batch = 20;
    options.kernels = Kernels::kDense;
    TinyRun dense(options);
    options.kernels = Kernels::kSparse;
    TinyRun sparse(options);
    double most = 0;
    double first = 0, last = 0;
    while (!dense.trainer.done()) {
      const double loss = dense.trainer.run_step().loss;
      most = std::max(most, std::fabs(loss - sparse.trainer.run_step().loss));
      first = first == 0 ? loss : first;
      last = loss;
    }
    EXPECT_LT(most, kTolerance);
    EXPECT_LT(last, first - 100 * kTolerance);
  }
}

TEST(Trainer, TheSameSeedTrainsTheSame) {
  for (const char* model : {kPlainModel, kRichModel}) {
    TinyOptions options;
    options.model = model;
    TinyRun one(options), two(options);
    options.train.seed = 2;
    TinyRun other(options);
    one.run_to(6);
    two.run_to(6);
    other.run_to(6);
    EXPECT_EQ(values_of(one.network), values_of(two.network));
    EXPECT_NE(values_of(one.network), values_of(other.network));
  }
}

// The test set ends inside a batch, or is smaller than one.
TEST(Trainer, TestsEveryImageOnce) {
  for (const std::int64_t images : {1, 7, 8, 9, 20}) {
    TinyOptions small;
    small.test_size = images;
    TinyRun by_batch(small);
    small.batch = 1;
    TinyRun one_by_one(small);
    const TestReport whole = by_batch.trainer.test();
    const TestReport single = one_by_one.trainer.test();
    EXPECT_NEAR(whole.loss, single.loss, 1e-5) << images;
    EXPECT_EQ(whole.accuracy, single.accuracy) << images;
  }
}

TEST(Trainer, ATestEndsWhereItIsTold) {
  TinyRun run({});  // 12 images, two batches
  for (int batches = 0; batches <= 2; ++batches) {
    int asked = 0;
    const auto report = run.trainer.test_unless([&] { return asked++ == batches; });
    EXPECT_EQ(report.has_value(), batches == 2);
    EXPECT_EQ(asked, batches == 2 ? 2 : batches + 1);
    EXPECT_EQ(report.value_or(TestReport{}).loss, batches == 2 ? run.trainer.test().loss : 0);
  }
}

// ---------------------------------------------------------------- errors

TEST(Trainer, ALossThatIsNoNumberEndsTheTraining) {
  const TemporaryFolder folder;
  TinyOptions options;
  options.train.schedule.rate = 1e25;
  TinyRun run(options);
  run.trainer.save(folder / "c", {});
  const auto good = bytes_in(folder / "c");
  const std::string message = error_of([&] { run.run_to(12); });
  EXPECT_NE(message.find("training: the loss of step 1 is "), std::string::npos) << message;
  EXPECT_NE(message.find("lower --lr, add --warmup"), std::string::npos) << message;
  EXPECT_EQ(bytes_in(folder / "c"), good);
}

// The loss of a step may be finite and the state after it not: that must not replace a good checkpoint.
TEST(Trainer, AStateThatIsLostIsNotSaved) {
  const TemporaryFolder folder;
  for (const double rate : {1e25, 3e38}) {
    TinyOptions options;
    options.train.schedule.rate = rate;
    options.train.optimizer.weight_decay = 1;
    TinyRun run(options);
    run.trainer.save(folder / "c", {});
    const auto good = bytes_in(folder / "c");
    run.trainer.run_step();
    const std::vector<float> values = values_of(run.network);
    // Both kinds: finite weights with which the loss is lost, and weights that are not finite.
    EXPECT_EQ(std::ranges::all_of(values, [](float v) { return std::isfinite(v); }), rate == 1e25);
    const std::string message = error_of([&] { run.trainer.save(folder / "c", {}); });
    EXPECT_NE(message.find("training: the loss after step 1 is "), std::string::npos) << message;
    EXPECT_NE(message.find("the last checkpoint is untouched"), std::string::npos) << message;
    EXPECT_EQ(bytes_in(folder / "c"), good);
    EXPECT_EQ(folder.files(), 1u);
  }
}

// A training that has diverged may keep finite numbers: they do not replace a good checkpoint, and the
// training ends after a while. A run that reaches its last step in that state fails, too.
TEST(Trainer, ATrainingFarAstrayIsNotSavedAndEnds) {
  const TemporaryFolder folder;
  for (const char* layers : {"linear: {out: $classes}", "linear: {out: $classes}, batch_norm"})
    for (const std::int64_t steps : {20, 1000}) {
      TinyOptions options;
      options.model = std::string("model: one\nlayers: [") + layers + "]\n";
      options.train_size = 2000;  // more than one layer can distinguish
      options.train.steps = steps;
      options.train.schedule = {.kind = RateSchedule::Kind::kConstant, .rate = 1e6};
      options.train.optimizer = {.momentum = 0, .weight_decay = 0};
      TinyRun run(options);
      ASSERT_TRUE(run.trainer.save(folder / "c", {}));
      const auto good = bytes_in(folder / "c");
      if (steps == 20) {
        run.run_to(19);
        EXPECT_FALSE(run.trainer.save(folder / "c", {})) << layers;
        run.run_to(20);
        const std::string message = error_of([&] { run.trainer.save(folder / "c", {}); });
        EXPECT_NE(message.find("training: the loss after step 20 is "), std::string::npos) << message;
      } else {
        const std::string message = error_of([&] { run.run_to(steps); });
        EXPECT_NE(message.find("training: the loss of the last 100 steps has been above 115, at step 10"),
                  std::string::npos)
            << message;
        EXPECT_NE(message.find("the last checkpoint is untouched"), std::string::npos) << message;
      }
      EXPECT_EQ(bytes_in(folder / "c"), good);
    }
}

TEST(Trainer, DataThatDoNotFit) {
  TinyOptions options;
  options.batch = 41;
  EXPECT_NE(error_of([&] { TinyRun run(options); }).find("a batch of 41 images cannot be taken from 40"),
            std::string::npos);
  options.batch = 8;
  options.train.crop_padding = 8;
  EXPECT_NE(error_of([&] { TinyRun run(options); }).find("cannot be cropped"), std::string::npos);
  const TinyOptions good;
  const dataset::DatasetPair data = tiny_data(good);
  Network large(parse_model(kPlainModel, "m", {{"size", "9"}}), {8, Kernels::kDense, 1});
  EXPECT_EQ(
      error_of([&] { Trainer trainer(large, data, good.train); }),
      "training: images of 'shapes' are 3x8x8, the network takes 3x9x9; set the model's channels and size");
  Network three(parse_model(kPlainModel, "m", {{"size", "8"}, {"classes", "3"}}), {8, Kernels::kDense, 1});
  EXPECT_EQ(error_of([&] { Trainer trainer(three, data, good.train); }),
            "training: 'shapes' has 10 classes, the network 3; set the model's classes");
}

TEST(Network, NeedsMemoryThatIsThere) {
  const std::string message = error_of([] {
    Network network(open_model("vgg16", {}), {1 << 20, Kernels::kDense, 1});
  });
  EXPECT_NE(message.find("vgg16: training it with a batch of 1048576 needs at least "), std::string::npos)
      << message;
  EXPECT_NE(message.find(" GiB of memory, this process may use "), std::string::npos) << message;
}

}  // namespace
}  // namespace lacuna::train
