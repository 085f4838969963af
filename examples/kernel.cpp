// Calls a zero-skipping kernel: plans the forward pass of a 1x1 convolution, two channels to two, over a row
// of three pixels, runs it and prints the outputs.
#include <cstdio>
#include <lacuna/kernels/conv.hpp>
#include <vector>

using namespace lacuna;

int main() try {
  const LayerShape shape = LayerShape::conv2d(1, 2, 2, {1, 3}, {1, 1});
  kernels::ConvOptions options;
  options.op = Operation::kForward;
  options.impl = kernels::Impl::kSparse;  // kAuto: skip zeros or compute densely, whichever is faster
  kernels::ConvPlan plan(shape, options);

  const std::vector<float> src = {0, 1, 2, 3, 0, 5};  // [channel][pixel]
  const std::vector<float> weights = {1, 10, 2, 20};  // [output channel][input channel]
  std::vector<float> dst(static_cast<std::size_t>(plan.dst_size()));
  const kernels::ConvRun run =
      plan.run({.src = src.data(), .weights = weights.data(), .dst = dst.data()});  // as often as you like

  std::printf("%s:", kernels::impl_name(run.used));
  for (const float value : dst) std::printf(" %g", value);
  std::printf("\n");
} catch (const kernels::ConvError& error) {  // a shape, an option or a pointer that cannot be
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
}
