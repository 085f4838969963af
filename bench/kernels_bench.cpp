// Every kernel of the list on the layers it supports, alone: `kernels_bench --benchmark_filter=window`.
// GFLOPS counts the dense convolution, useful_GFLOPS only the products that were computed.
#include <benchmark/benchmark.h>
#include <string>

#include "kernels/dispatch/tensors.hpp"
#include "kernels/sparse/sparse_conv.hpp"

namespace lacuna::kernels {
namespace {

void run_kernel(benchmark::State& state, const SparseKernel& kernel, const SparseConfig& config,
                double zeros) {
  const auto conv = kernel.make(config);
  ConvOptions options;
  options.op = config.op;
  options.impl = Impl::kSparse;
  options.layout = Layout::kBlocked;
  ConvPlan plan(config.shape, options);
  PlanTensors data(plan);
  data.fill(plan, zeros, 1);
  const ConvTensors t = data.tensors();
  const Sides sides(config);
  AlignedFloats packed(conv->packed_floats());
  AlignedFloats workspace(conv->workspace_floats());
  const AlignedFloats bias(sides.other.groups * sides.other.blocks() * kLanes);
  SparseRun job{};
  job.bias = bias.data();
  job.workspace = workspace.data();
  if (config.op == Operation::kWeightGrad) {
    job.checked = t.src;
    job.other = t.diff_dst;
    job.out = packed.data();
  } else {
    conv->pack(t.weights, packed.data());
    job.checked = config.op == Operation::kForward ? t.src : t.diff_dst;
    job.other = packed.data();
    job.out = config.op == Operation::kForward ? t.dst : t.diff_src;
  }
  for (auto _ : state) conv->run(job);
  const double operations = 2e-9 * static_cast<double>(config.shape.macs());
  state.counters["GFLOPS"] = benchmark::Counter(operations, benchmark::Counter::kIsIterationInvariantRate);
  state.counters["useful_GFLOPS"] =
      benchmark::Counter(operations * (1 - zeros), benchmark::Counter::kIsIterationInvariantRate);
}

void register_all() {
  const LayerShape shapes[] = {LayerShape::conv2d(4, 256, 256, {28, 28}, {3, 3}, {1, 1}, {1, 1}),
                               LayerShape::conv2d(4, 128, 128, {28, 28}, {3, 3}, {2, 2}, {1, 1}),
                               LayerShape::conv2d(4, 256, 256, {28, 28}, {1, 1})};
  for (const SparseKernel& kernel : sparse_kernels())
    for (const LayerShape& shape : shapes)
      for (const Operation op : kOperations) {
        const Operand checked = op == Operation::kInputGrad ? Operand::kG : Operand::kA;
        const SparseConfig config{shape, op, checked, best_isa(), 1, l1_data_bytes()};
        if (!kernel.supports(config)) continue;
        for (const double zeros : {0.0, 0.5, 0.7, 0.9})
          benchmark::RegisterBenchmark(
              (std::string(kernel.name) + "/" + std::string(operation_name(op)) + "/" + shape.describe() +
               "/" + std::to_string(static_cast<int>(100 * zeros)))
                  .c_str(),
              [=](benchmark::State& state) { run_kernel(state, kernel, config, zeros); })
              ->Unit(benchmark::kMillisecond);
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
