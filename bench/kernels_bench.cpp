// Every implementation of the list on the layers it supports, alone: `kernels_bench
// --benchmark_filter=window`. GFLOPS counts the dense convolution, useful_GFLOPS only the products that were
// computed.
#include <benchmark/benchmark.h>
#include <string>

#include "kernels/conv_kernel.hpp"
#include "kernels/measure/plan_tensors.hpp"

namespace lacuna::kernels {
namespace {

void run_plan(benchmark::State& state, const LayerShape& shape, const ConvOptions& options, double zeros) {
  ConvPlan plan(shape, options);
  PlanTensors data(plan);
  data.fill(plan, zeros, 1);
  const ConvTensors tensors = data.tensors();
  for (auto _ : state) plan.run(tensors);
  const double operations = 2e-9 * static_cast<double>(shape.macs());
  state.counters["GFLOPS"] = benchmark::Counter(operations, benchmark::Counter::kIsIterationInvariantRate);
  state.counters["useful_GFLOPS"] =
      benchmark::Counter(operations * (1 - zeros), benchmark::Counter::kIsIterationInvariantRate);
}

void register_all() {
  const LayerShape shapes[] = {LayerShape::conv2d(4, 256, 256, {28, 28}, {3, 3}, {1, 1}, {1, 1}),
                               LayerShape::conv2d(4, 128, 128, {28, 28}, {3, 3}, {2, 2}, {1, 1}),
                               LayerShape::conv2d(4, 256, 256, {28, 28}, {1, 1})};
  for (const ConvImplementation* one : conv_implementations())
    for (const LayerShape& shape : shapes)
      for (const Operation op : kOperations) {
        ConvOptions options;
        options.op = op;
        options.impl = one->impl();
        options.layout = Layout::kBlocked;
        if (one->skips == Skips::kWeights) options.checked = Operand::kW;
        if (one->skips == Skips::kResults && op == Operation::kInputGrad) options.checked = Operand::kA;
        if (one->impl() == Impl::kReference) continue;  // would take minutes
        if (try_make(*one, KernelConfig(shape, options)) == nullptr) continue;
        options.weights = op != Operation::kWeightGrad ? WeightLayout::kPacked : WeightLayout::kOihw;
        for (const double zeros : {0.0, 0.5, 0.7, 0.9}) {
          if (one->skips == Skips::kNothing && zeros > 0) break;
          benchmark::RegisterBenchmark(
              (std::string(one->name) + "/" + std::string(operation_name(op)) + "/" + shape.describe() + "/" +
               std::to_string(static_cast<int>(100 * zeros)))
                  .c_str(),
              [=](benchmark::State& state) { run_plan(state, shape, options, zeros); })
              ->Unit(benchmark::kMillisecond);
        }
      }
}

}  // namespace
}  // namespace lacuna::kernels

int main(int argc, char** argv) {
  lacuna::kernels::register_all();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
