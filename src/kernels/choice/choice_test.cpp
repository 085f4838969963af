// The choice between sparse and dense, and the measurements that it rests on.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "base/clock.hpp"
#include "base/io/crc32.hpp"
#include "base/random.hpp"
#include "base/testing.hpp"
#include "kernels/choice/calibrate.hpp"
#include "kernels/choice/cost_model.hpp"
#include "kernels/choice/sampled_zeros.hpp"
#include "kernels/conv.hpp"
#include "kernels/conv_kernel.hpp"
#include "kernels/measure/plan_tensors.hpp"
#include "kernels/measure/race.hpp"
#include "kernels/ref/ref_conv.hpp"

namespace lacuna::kernels {
namespace {

// The result is right with either choice, and with nearly all zeros the sparse kernel is chosen.
TEST(Dispatch, AutoGivesTheSameResultEitherWay) {
  const std::string folder = testing::TempDir() + "lacuna_kernels_cache";
  ASSERT_EQ(setenv("LACUNA_CACHE_DIR", folder.c_str(), 1), 0);
  const LayerShape shape = LayerShape::conv2d(2, 64, 64, {28, 28}, {3, 3}, {1, 1}, {1, 1});
  for (const Operation op : kOperations)
    for (const WeightLayout weights : {WeightLayout::kOihw, WeightLayout::kPacked}) {
      ConvOptions o;
      o.op = op;
      o.layout = Layout::kBlocked;
      o.weights = weights;
      ConvPlan plan(shape, o);
      PlanTensors data(plan);
      data.fill(plan, 0.97, 6);
      const AlignedFloats& out = data.result();
      std::vector<std::vector<float>> results;
      for (const double hint : {0.0, 1.0, -1.0}) {
        const ConvRun run = hint < 0 ? plan.run(data.tensors()) : plan.run(data.tensors(), hint);
        if (hint != 0 && !runs_sanitized()) {  // sanitized it may well be the slower one
          EXPECT_EQ(run.used, Impl::kSparse) << operation_name(op);
        }
        // Nothing is counted where the choice is the same at any share.
        if (hint < 0 && run.zeros >= 0) {
          EXPECT_NEAR(run.zeros, 0.97, 0.02);
        }
        if (op == Operation::kWeightGrad && weights == WeightLayout::kPacked) {
          results.emplace_back(static_cast<std::size_t>(shape.w_elements()));
          plan.unpack_weights(out.data(), results.back().data());
        } else {
          results.emplace_back(out.data(), out.data() + out.size());
        }
      }
      for (std::size_t i = 0; i < results[0].size(); ++i)
        ASSERT_NEAR(results[0][i], results[1][i], 2e-4) << operation_name(op) << " " << i;
      EXPECT_EQ(results[1], results[2]);
    }
}

// Root mean square of the errors over that of the results.
double rounding(const LayerShape& shape, Operation op, Impl impl) {
  ConvOptions options;
  options.op = op;
  options.impl = impl;
  ConvPlan plan(shape, options);
  PlanTensors data(plan);
  data.fill(plan, 0, 5);
  const RefConv ref(shape, options);
  std::vector<double> exact(static_cast<std::size_t>(ref.result_size()));
  ConvTensors tensors = data.tensors();
  tensors.bias = nullptr;
  ref.run(tensors, exact.data());
  plan.run(data.tensors());
  double errors = 0, squares = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const double error = data.result()[static_cast<std::int64_t>(i)] - exact[i];
    errors += error * error;
    squares += exact[i] * exact[i];
  }
  return std::sqrt(errors / squares);
}

// The numbers of docs/results/winograd.md: Winograd costs digits, and that is why it must be allowed.
TEST(Winograd, RoundingIsAsDocumented) {
  for (const std::int64_t channels : {64, 256}) {
    const LayerShape shape = LayerShape::conv2d(1, channels, channels, {14, 14}, {3, 3}, {1, 1}, {1, 1});
    for (const Operation op : kOperations) {
      double direct = 0;
      std::string line = std::to_string(channels) + " " + std::string(operation_name(op));
      for (const Impl impl : {Impl::kDenseDirect, Impl::kWinograd4x4, Impl::kDenseWinograd}) try {
          const double error = rounding(shape, op, impl);
          char text[64];
          std::snprintf(text, sizeof text, "  %s %.1e", impl.name, error);
          line += text;
          if (impl == Impl::kDenseDirect) direct = error;
          EXPECT_LT(error, is_winograd(impl) ? 2e-6 : 4e-7);
          EXPECT_LE(direct, error);
        } catch (const ConvError&) {  // oneDNN has no Winograd for this CPU
        }
      std::puts(line.c_str());
    }
  }
}

// What a trace counts as zeros must not come from it: a sum of nothing but zeros is a small number here.
TEST(Winograd, TurnsSomeZerosIntoSmallNumbers) {
  const LayerShape shape = LayerShape::conv2d(1, 32, 32, {12, 12}, {3, 3}, {1, 1}, {1, 1});
  const auto small_numbers = [&](Impl impl) {
    ConvOptions options;
    options.impl = impl;
    ConvPlan plan(shape, options);
    PlanTensors data(plan);
    // Values in every sixth column alone: outputs beyond its neighbours are sums of zeros.
    data.fill(plan, {[](auto, auto, std::int64_t pixel) { return pixel % 6 == 0; }, {}}, 5);
    plan.run(data.tensors());
    int found = 0;
    for (std::int64_t i = 0; i < data.result().size(); ++i) {
      const std::int64_t column = i % 6;  // of twelve
      const bool zeros = column >= 2 && column <= 4;
      found += zeros && data.result()[i] != 0 ? 1 : 0;
    }
    return found;
  };
  EXPECT_EQ(small_numbers(Impl::kDenseDirect), 0);
  EXPECT_EQ(small_numbers(Impl::kSparse), 0);
  EXPECT_GT(small_numbers(Impl::kWinograd4x4), 0);
  try {
    EXPECT_GT(small_numbers(Impl::kDenseWinograd), 0);
  } catch (const ConvError&) {
    GTEST_SKIP() << "oneDNN has no Winograd for this CPU";
  }
}

// Close to a tie it continues until the noise is small; otherwise it ends at once.
TEST(Race, NoiseDecidesHowLong) {
  Random random(7);
  const auto noisy = [&](double seconds, double noise) {
    return [&random, seconds, noise] { return seconds * (1 + noise * (random.uniform() - 0.5)); };
  };
  RaceLimits limits;
  limits.seconds = 1e9;
  const RaceResult calm = race(noisy(1, 0.002), {noisy(1.01, 0.002)}, limits);
  EXPECT_EQ(calm.rounds, 3 * limits.min_rounds);
  EXPECT_NEAR(calm.ratios[0], 1.01, 0.003);
  const RaceResult close = race(noisy(1, 0.1), {noisy(1.02, 0.1), noisy(3, 0.1)}, limits);
  EXPECT_GT(close.rounds, 4 * limits.min_rounds);
  EXPECT_LT(close.rounds, limits.max_rounds);
  EXPECT_LT(close.errors[0], limits.precision);
  EXPECT_NEAR(close.ratios[0], 1.02, 4 * limits.precision);
  EXPECT_LT(race(noisy(1, 0.1), {noisy(3, 0.1)}, limits).rounds, 5 * limits.min_rounds);
  limits.seconds = 10;  // of calls: no more than these
  EXPECT_LE(race(noisy(1, 0.5), {noisy(1, 0.5)}, limits).rounds, 6);
  EXPECT_EQ(race(noisy(1, 0), {noisy(1, 0)}, limits, [] { return true; }).rounds, 0);
}

TEST(CostModel, ZerosThatCannotChangeTheChoiceAreNotCounted) {
  CostCurve curve{.dense = 1, .sparse = {2, 1.5, 1.2, 0.5, 0.2}};
  EXPECT_TRUE(curve.zeros_matter());
  curve.sparse = {2, 1.9, 1.8, 1.5, 0.98};
  EXPECT_FALSE(curve.zeros_matter());
  curve.sparse = {0.9, 0.8, 0.5, 0.3, 0.1};
  EXPECT_FALSE(curve.zeros_matter());
}

TEST(CostModel, CountingZerosTakesLittleOfTheCall) {
  EXPECT_EQ(lines_worth_sampling(1e-6).first, 32);  // fewer say too little
  EXPECT_EQ(lines_worth_sampling(1e-6).at_most, 32);
  EXPECT_NEAR(static_cast<double>(lines_worth_sampling(4e-3).first), 250, 1);
  EXPECT_EQ(lines_worth_sampling(4e-3).at_most, kMaxSampledLines);
  EXPECT_EQ(lines_worth_sampling(1).first, kMaxSampledLines);
}

// Only close to the crossover is a share that few lines gave too uncertain to choose by.
TEST(CostModel, ChoiceIsSureAwayFromTheCrossover) {
  const CostCurve curve{.dense = 1, .sparse = {2, 1.5, 1.2, 0.5, 0.2}};
  const double crossover = curve.crossover();
  const double error = sampling_error(crossover, 32);
  EXPECT_GT(error, 0.05);
  EXPECT_LT(error, 0.15);
  EXPECT_LT(sampling_error(crossover, 1024), 0.02);
  EXPECT_GT(sampling_error(0, 32), 0.01);  // no zeros among a few does not mean that there are none
  EXPECT_FALSE(curve.is_sure(crossover + 0.02, error));
  EXPECT_TRUE(curve.is_sure(crossover + 0.02 + error, error));
  EXPECT_TRUE(curve.is_sure(crossover - 0.02 - error, error));
}

TEST(CostModel, SampledZerosAreCloseToTheShare) {
  Random random(3);
  for (const double share : {0.0, 0.25, 0.5, 0.9, 1.0}) {
    std::vector<float> data(1 << 20);
    for (float& v : data) v = random.chance(share) ? 0.0F : 1.0F;
    EXPECT_NEAR(sample_zeros(data.data(), 1 << 20), share, 0.02);
    EXPECT_NEAR(sample_zeros(data.data(), 1 << 20, 16), share, 0.12);
    EXPECT_NEAR(count_zeros(data.data(), 1 << 20, 2), share, 0.002);
  }
}

// Every second row, column or channel of an activation is zero, in both layouts.
TEST(CostModel, SampledZerosSeeThroughPatterns) {
  struct Sizes {
    std::int64_t images, channels, height, width;
  };
  for (const auto& [images, channels, height, width] :
       {Sizes{16, 64, 32, 32}, Sizes{8, 16, 28, 28}, Sizes{16, 32, 14, 14}, Sizes{32, 64, 7, 7},
        Sizes{4, 32, 112, 112}}) {
    const std::int64_t count = images * channels * height * width;
    std::vector<float> first(static_cast<std::size_t>(count)), last(first);
    for (int pattern = 0; pattern < 3; ++pattern) {
      std::int64_t zeros = 0;
      for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t x = i % width, y = i / width % height, c = i / width / height % channels;
        const bool zero = (pattern == 0 ? y : pattern == 1 ? x : c) % 2 == 1;
        zeros += zero ? 1 : 0;
        const std::int64_t image = i / width / height / channels;
        first[static_cast<std::size_t>(i)] = zero ? 0.0F : 1.0F;
        last[static_cast<std::size_t>(((image * height + y) * width + x) * channels + c)] =
            zero ? 0.0F : 1.0F;
      }
      const double share = static_cast<double>(zeros) / static_cast<double>(count);
      for (const std::vector<float>* data : {&first, &last}) {
        EXPECT_NEAR(sample_zeros(data->data(), count), share, 0.06)
            << channels << " x " << height << " x " << width << ", pattern " << pattern;
      }
    }
  }
}

TEST(CostModel, CurveIsLinearBetweenMeasurements) {
  CostCurve curve;
  curve.dense = 10;
  curve.sparse = {14, 11, 8, 4, 1};
  EXPECT_DOUBLE_EQ(curve.sparse_at(0), 14);
  EXPECT_DOUBLE_EQ(curve.sparse_at(0.45), 9.5);
  EXPECT_DOUBLE_EQ(curve.sparse_at(1), 1);
  EXPECT_FALSE(curve.prefers_sparse(0.39));
  EXPECT_TRUE(curve.prefers_sparse(0.5));
}

// On a core that others use, or after a noisy measurement, skipping has to win by more.
TEST(CostModel, ContentionAndNoiseWidenTheMargin) {
  CostCurve curve{.dense = 1, .sparse = {2, 1.6, 1.2, 0.9, 0.2}};
  EXPECT_TRUE(curve.prefers_sparse(0.8));
  const double alone = curve.crossover();
  curve.contention = 0.1;  // clocks change by as much
  EXPECT_EQ(curve.crossover(), alone);
  curve.contention = 0.5;
  EXPECT_FALSE(curve.prefers_sparse(0.8));
  EXPECT_TRUE(curve.prefers_sparse(0.95));
  curve.contention = 0;
  curve.noise = 0.005;
  EXPECT_EQ(curve.crossover(), alone);
  curve.noise = 0.05;
  EXPECT_GT(curve.crossover(), alone + 0.02);
}

// A line with its checksum.
std::string sealed(const std::string& line) { return fmt::format("{}\t{:08x}\n", line, crc32(line)); }

// Measurements of long ago, of the future and without a date count as none.
TEST(CostModel, CacheForgets) {
  const auto folder = std::filesystem::temp_directory_path() / ("lacuna_old_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  const std::string path = (folder / "kernels.txt").string();
  const auto now = static_cast<std::int64_t>(std::time(nullptr));
  const std::string rest = "\t0.01\t0.2\t1\t5\t4\t3\t2\t1\tdirect";
  const auto dated = [&](const std::string& key, std::int64_t days) {
    return sealed(key + "\t" + std::to_string(now + days * 86400) + rest);
  };
  std::ofstream(path) << dated("old", -91) << dated("new", -1) << dated("future", 9)
                      << sealed("dateless\t" + rest);
  CostCache cache(path);
  EXPECT_TRUE(cache.find("new"));
  for (const char* key : {"old", "future", "dateless"}) EXPECT_FALSE(cache.find(key)) << key;
  std::filesystem::remove_all(folder);
}

// Processes that store at the same time lose nothing of each other.
TEST(CostModel, CacheOfSeveralProcesses) {
  const auto folder = std::filesystem::temp_directory_path() / ("lacuna_race_" + std::to_string(::getpid()));
  const std::string path = (folder / "kernels.txt").string();
  CostCurve curve;
  curve.dense = 1;
  curve.sparse = {5, 4, 3, 2, 1};
  constexpr int kProcesses = 4, kKeys = 6;
  std::vector<pid_t> children;
  for (int p = 0; p < kProcesses; ++p) {
    const pid_t child = ::fork();
    if (child == 0) {
      for (int k = 0; k < kKeys; ++k)
        CostCache(path).store(std::to_string(p) + " " + std::to_string(k), curve);
      ::_exit(0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) ::waitpid(child, nullptr, 0);
  EXPECT_EQ(CostCache(path).all().curves.size(), static_cast<std::size_t>(kProcesses * kKeys));
  std::filesystem::remove_all(folder);
}

TEST(CostModel, CacheKeepsWhatItIsGivenAndIgnoresDamage) {
  const auto folder = std::filesystem::temp_directory_path() / ("lacuna_cost_" + std::to_string(::getpid()));
  const std::string path = (folder / "deep" / "kernels.txt").string();
  CostCache cache(path);
  EXPECT_FALSE(cache.find("a"));
  CostCurve curve;
  curve.dense = 1.25;
  curve.sparse = {5, 4, 3, 2, 1};
  curve.contention = 0.25;
  cache.store("a", curve);
  std::ofstream(path, std::ios::app) << "broken line\nb\t1 2\n"
                                     << sealed("c\t-1\t1\t1\t1\t1\t1") << sealed("e") << sealed("f\t1")
                                     << "\t\n\n";
  ASSERT_TRUE(cache.find("a"));
  EXPECT_EQ(cache.find("a")->sparse, curve.sparse);
  EXPECT_EQ(cache.find("a")->contention, 0.25);
  EXPECT_FALSE(cache.find("b"));
  EXPECT_FALSE(cache.find("c"));
  cache.store("d", curve);
  EXPECT_TRUE(cache.find("a") && cache.find("d"));
  std::filesystem::remove_all(folder);
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A changed number would choose other kernels in silence; the line is named instead, and measured again.
TEST(CostModel, NoChangedCharacterOfTheCacheIsTaken) {
  const TemporaryFolder folder;
  const std::string path = folder.file("kernels.txt");
  const std::string key = machine_key() + " | shape";
  CostCurve curve;
  curve.dense = 1.25;
  curve.sparse = {5, 4, 3, 2, 1};
  CostCache(path).store(key, curve);
  const std::string good = text_of(path);
  for (std::size_t at = 0; at + 1 < good.size(); ++at)
    for (const char other : {'0', '9', '-', '\t', 'x'}) {
      if (good[at] == other) continue;
      std::string bad = good;
      bad[at] = other;
      std::ofstream(path) << bad;
      CostCache cache(path);
      ASSERT_FALSE(cache.find(key)) << bad;
      if (at > key.size()) {
        ASSERT_EQ(cache.all().dropped, std::vector<std::string>{key}) << bad;
      }
    }
}

TEST(CostModel, ALargeCacheIsReadInLinearTime) {
  const TemporaryFolder folder;
  const std::string path = folder.file("kernels.txt");
  const auto now = static_cast<std::int64_t>(std::time(nullptr));
  {
    std::ofstream file(path);
    for (int i = 0; i < 60'000; ++i)
      file << sealed(fmt::format("key {}\t{}\t0.01\t0.2\t1\t5\t4\t3\t2\t1\tdirect", i, now)) << i
           << std::string(150, '\t') << '\n';
  }
  CostCache cache(path);
  const double start = clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(cache.find(fmt::format("key {}", i)));
  EXPECT_LT(clock_seconds(CLOCK_PROCESS_CPUTIME_ID) - start, runs_sanitized() ? 10 : 1);
  EXPECT_EQ(cache.all().curves.size(), 60'000u);
}

// What a file says cannot make a plan compute in another precision, or with a kernel for other shapes or
// CPUs.
TEST(CostModel, OnlyKernelsThatTheOptionsAllowAreTakenFromTheCache) {
  const std::string folder = testing::TempDir() + "lacuna_kernels_cache";
  ASSERT_EQ(setenv("LACUNA_CACHE_DIR", folder.c_str(), 1), 0);
  CostCache& cache = CostCache::machine();
  if (cache.path().rfind(folder, 0) != 0) GTEST_SKIP() << "the cache of this process is the user's";
  const LayerShape shape = LayerShape::conv2d(2, 32, 48, {7, 5}, {3, 3}, {2, 2}, {1, 1});
  ConvOptions options;
  for (const ConvImplementation* one : conv_implementations()) {
    CostCurve curve;
    curve.dense = 1e-3;
    curve.sparse = {5e-3, 4e-3, 3e-3, 2e-3, 2e-4};
    curve.dense_impl = one->impl();
    cache.store(calibration_key(shape, options), curve);
    ConvPlan plan(shape, options);
    PlanTensors data(plan);
    data.fill(plan, 0.1, 4);
    const Impl used = plan.run(data.tensors(), 0).used;
    EXPECT_NE(used, Impl::kBfloat16) << one->name;
    EXPECT_FALSE(is_winograd(used)) << one->name;
    const ConvImplementation* ran = find_implementation(used);
    EXPECT_TRUE(used == Impl::kSparse || ran->may_choose(options)) << one->name;
  }
}

}  // namespace
}  // namespace lacuna::kernels
