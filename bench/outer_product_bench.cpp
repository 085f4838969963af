// Speed of the outer-product machines' fast engines on one thread, on traces of data/.
#include <benchmark/benchmark.h>
#include <filesystem>
#include <string>

#include "sim/simulation.hpp"
#include "sim/testing/machines.hpp"

namespace lacuna {
namespace {

void simulate_whole_trace(benchmark::State& state, const std::string& arch,
                          const std::filesystem::path& path) {
  const Trace trace = Trace::open(path);
  const std::unique_ptr<Accelerator> model = testing::make_machine(arch);
  double cycles = 0;
  for (auto _ : state) cycles = simulate_trace(trace, *model, arch, {}, 1).total().all.cycles;
  state.counters["cycles"] = cycles;
}

// One layer of ResNet-50's middle, 90 % zeros everywhere.
void simulate_layer(benchmark::State& state, const std::string& arch, Operation op) {
  const ZeroSpec zeros = ZeroSpec::uniform(0.9);
  const Trace trace = testing::one_layer_trace(
      LayerShape::conv2d(1, 128, 128, {28, 28}, {3, 3}, {1, 1}, {1, 1}), zeros, zeros, zeros);
  const std::unique_ptr<Accelerator> model = testing::make_machine(arch);
  for (auto _ : state) benchmark::DoNotOptimize(model->simulate(trace.layers()[0], op, {}));
}

void register_all() {
  const std::filesystem::path folder = LACUNA_SOURCE_DIR "/data";
  for (const std::string arch : {"scnn", "ant"}) {
    for (const Operation op : kOperations) {
      benchmark::RegisterBenchmark((arch + "/3x3_128_28x28_90/" + std::string(operation_name(op))).c_str(),
                                   [=](benchmark::State& state) { simulate_layer(state, arch, op); })
          ->Unit(benchmark::kMillisecond);
    }
    for (const std::string trace : {"resnet50_top90_p100", "densenet121_top90_p100", "resnet18_top90_p100",
                                    "resnet50_p100", "vgg16_p100"}) {
      const std::filesystem::path path = folder / (trace + ".safetensors.zst");
      benchmark::RegisterBenchmark((arch + "/" + trace).c_str(),
                                   [=](benchmark::State& state) { simulate_whole_trace(state, arch, path); })
          ->Unit(benchmark::kMillisecond)
          ->Iterations(1);
    }
  }
}

}  // namespace
}  // namespace lacuna

int main(int argc, char** argv) {
  lacuna::register_all();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
