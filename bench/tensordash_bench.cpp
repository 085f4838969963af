// Speed of the TensorDash engines. First a summary of paired, interleaved measurements in one process
// (medians of ratios, since absolute times on shared machines are noisy), then the same pieces as Google
// Benchmark entries.
//
//   build/release/bench/tensordash_bench            # the summary, then all entries
//   build/release/bench/tensordash_bench --benchmark_filter=Fast
#include <algorithm>
#include <benchmark/benchmark.h>
#include <filesystem>
#include <fmt/format.h>
#include <functional>
#include <optional>
#include <vector>

#include "base/clock.hpp"
#include "base/parallel.hpp"
#include "models/tensordash/engine/engine.hpp"
#include "models/tensordash/engine/fast_kernels.hpp"
#include "sim/simulation.hpp"
#include "sim/testing/machines.hpp"
#include "sim/tile/tile_placement.hpp"
#include "trace/synthetic/synthetic.hpp"

namespace lacuna {
namespace {

const std::string kData = std::string(LACUNA_SOURCE_DIR) + "/tests/data/authors_simulator/";
const std::string kResnet = std::string(LACUNA_SOURCE_DIR) + "/data/resnet50_p100.safetensors.zst";

Machine one_tile() { return testing::configure_machine("tensordash", {{"tiles", "1"}}); }

// All three operations of every layer, the first layer's input gradient included.
std::int64_t run_all(const Trace& trace, const Accelerator& machine, Engine engine, int threads) {
  std::int64_t cycles = 0;
  with_threads(threads, [&] {
    std::vector<std::int64_t> parts(trace.layers().size() * 3);
    parallel_for(parts.size(), 1, [&](std::size_t i) {
      parts[i] = machine.simulate(trace.layers()[i / 3], kOperations[i % 3], {engine, 1}).cycles;
    });
    for (const std::int64_t part : parts) cycles += part;
  });
  return cycles;
}

// The plain scalar implementation, `ref`: one group at a time, lane by lane.
std::int64_t run_plain(const Trace& trace) {
  const tensordash::Config config = tensordash::Config::from(one_tile().params);
  std::int64_t cycles = 0;
  for (const Layer& layer : trace.layers()) {
    for (const Operation op : kOperations) {
      const Placement placement = place_operation(layer, op, TilePlan::from(one_tile().params));
      for (const PlacedProduct& placed : placement.placed) {
        cycles += tensordash::plain_product_cycles(config, placed);
      }
      benchmark::DoNotOptimize(count_macs(layer, op));
    }
  }
  return cycles;
}

double all_macs(const Trace& trace) {
  double macs = 0;
  for (const Layer& layer : trace.layers()) macs += 3.0 * static_cast<double>(layer.shape.macs());
  return macs;
}

double cpu_seconds() { return clock_seconds(CLOCK_PROCESS_CPUTIME_ID); }
double wall_seconds() { return seconds_now(); }
double timed(double (*clock)(), const std::function<void()>& work) {
  const double begin = clock();
  work();
  return clock() - begin;
}
double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

// Multiply-adds that never leave the registers: what a second thread can give on this machine at best.
void fma_loop(std::int64_t rounds) {
  float sums[64];
  for (int i = 0; i < 64; ++i) sums[i] = static_cast<float>(i);
  for (std::int64_t r = 0; r < rounds; ++r) {
    for (float& sum : sums) sum = sum * 0.999F + 0.5F;
  }
  benchmark::DoNotOptimize(sums);
}

void print_summary() {
  const Trace b8 = Trace::open(kData + "B8.safetensors.zst");
  const auto machine = one_tile().build();
  std::vector<double> fast, plain_ratio, functional;
  run_all(b8, *machine, Engine::kFast, 1);
  for (int i = 0; i < 5; ++i) {
    // The fast engine ends within 2 ms; repeat it to time it as well as the others.
    const double fast_s = timed(cpu_seconds,
                                [&] {
                                  for (int n = 0; n < 20; ++n) run_all(b8, *machine, Engine::kFast, 1);
                                }) /
                          20;
    const double plain_s = timed(cpu_seconds, [&] { benchmark::DoNotOptimize(run_plain(b8)); });
    fast.push_back(fast_s);
    plain_ratio.push_back(plain_s / fast_s);
    functional.push_back(timed(cpu_seconds, [&] { run_all(b8, *machine, Engine::kFunctional, 1); }));
  }
  const double macs = all_macs(b8);
  fmt::print("B8, three operations, one thread, from a loaded trace to all counters:\n");
  fmt::print("  fast        {:8.0f} GMAC/s of dense MACs\n", macs / median(fast) * 1e-9);
  fmt::print("  functional  {:8.2f} GMAC/s, values checked against the reference convolution\n",
             macs / median(functional) * 1e-9);
  fmt::print("  fast over plain scalar `ref`: {:.0f}x\n", median(plain_ratio));

  std::vector<double> scaling, fma_scaling;
  for (int i = 0; i < 15; ++i) {
    const auto repeat = [&](int threads) {
      return timed(wall_seconds, [&] {
        for (int n = 0; n < 20; ++n) run_all(b8, *machine, Engine::kFast, threads);
      });
    };
    scaling.push_back(repeat(1) / repeat(2));
    // By the engine's own threads: those of another pool would share the cores with these, which wait busily.
    const auto fma = [&](int threads) {
      return timed(wall_seconds, [&] {
#pragma omp parallel num_threads(threads)
        fma_loop(4'000'000 / threads);
      });
    };
    fma_scaling.push_back(fma(1) / fma(2));
  }
  fmt::print("  two threads: {:.2f}x by wall clock; a plain FMA loop {:.2f}x; that is {:.0f} % of it\n",
             median(scaling), median(fma_scaling), 100 * median(scaling) / median(fma_scaling));

  if (std::filesystem::exists(kResnet)) {
    const Trace resnet = Trace::open(kResnet);
    std::vector<double> seconds(9);
    for (double& second : seconds) {
      second = timed(cpu_seconds, [&] { simulate_trace(resnet, *machine, "tensordash", {}, 1); });
    }
    fmt::print("resnet50_p100 whole, three operations, one thread: {:.1f} ms without loading\n",
               1e3 * median(seconds));
  }
  fmt::print("\n");
}

void bench_engine(benchmark::State& state, const std::string& file, Engine engine) {
  const Trace trace = Trace::open(kData + file + ".safetensors.zst");
  const auto machine = one_tile().build();
  for (auto _ : state) benchmark::DoNotOptimize(run_all(trace, *machine, engine, 1));
  state.counters["MAC/s"] =
      benchmark::Counter(all_macs(trace), benchmark::Counter::kIsIterationInvariantRate);
}

// The scheduling loops alone, on streams that are already in place: 256 groups of 4 rows, 144 steps, 60 %
// zeros.
using Kernel =
    std::function<bool(const tensordash::Connectivity&, const tensordash::StreamBlock&, std::uint32_t*)>;

void bench_kernel(benchmark::State& state, const Kernel& kernel) {
  SyntheticSpec spec;
  spec.layers.push_back({"layer", LayerShape::conv2d(1, 256, 16, {34, 34}, {3, 3}), 1, ZeroSpec::uniform(0.6),
                         ZeroSpec::dense(), ZeroSpec::dense()});
  const Trace trace = make_synthetic(spec);
  const auto products = lane_products(trace.layers()[0], Operation::kForward, 16);
  tensordash::StreamBlock block(4, products[0].steps());
  block.load(products[0].primary, 0, 256);
  const auto paper = tensordash::Connectivity::parse("paper", 16, 3, "bench");
  std::vector<std::uint32_t> cycles(256);
  std::int64_t tile_steps = 0;
  for (auto _ : state) {
    if (!kernel(paper, block, cycles.data())) {
      state.SkipWithError("not on this CPU");
      break;
    }
    for (const std::uint32_t c : cycles) tile_steps += c;
  }
  state.counters["tile-steps/s"] =
      benchmark::Counter(static_cast<double>(tile_steps), benchmark::Counter::kIsRate);
}

void bench_plain(benchmark::State& state, const std::string& file) {
  const Trace trace = Trace::open(kData + file + ".safetensors.zst");
  for (auto _ : state) benchmark::DoNotOptimize(run_plain(trace));
  state.counters["MAC/s"] =
      benchmark::Counter(all_macs(trace), benchmark::Counter::kIsIterationInvariantRate);
}

}  // namespace
}  // namespace lacuna

int main(int argc, char** argv) {
  using lacuna::Engine;
  const bool filtered = argc > 1;  // a filter asks for entries, not for the summary
  if (!filtered) lacuna::print_summary();
  for (const char* file : {"M", "A", "B", "B8"}) {
    benchmark::RegisterBenchmark((std::string("Fast/") + file).c_str(), lacuna::bench_engine, file,
                                 Engine::kFast);
    benchmark::RegisterBenchmark((std::string("Functional/") + file).c_str(), lacuna::bench_engine, file,
                                 Engine::kFunctional);
    benchmark::RegisterBenchmark((std::string("Plain/") + file).c_str(), lacuna::bench_plain, file);
  }
  namespace td = lacuna::tensordash;
  benchmark::RegisterBenchmark("Kernel/avx512", lacuna::bench_kernel,
                               lacuna::Kernel(td::lockstep_cycles_avx512));
  benchmark::RegisterBenchmark(
      "Kernel/generic", lacuna::bench_kernel,
      lacuna::Kernel([](const auto& connectivity, const auto& block, std::uint32_t* cycles) {
        td::lockstep_cycles_generic(connectivity, block, cycles);
        return true;
      }));
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
