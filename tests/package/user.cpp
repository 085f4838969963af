// y = x * w for a 1x1 convolution of two channels, by the installed library; a wrong answer is a failed test.
#include <cstdio>
#include <vector>

#include "kernels/conv.hpp"

int main() {
  using namespace lacuna;
  const LayerShape shape = LayerShape::conv2d(1, 2, 2, {1, 3}, {1, 1});
  kernels::ConvOptions options;
  options.impl = kernels::Impl::kSparse;
  kernels::ConvPlan plan(shape, options);
  const std::vector<float> x = {0, 1, 2, 3, 0, 5};  // [channel][column]
  const std::vector<float> w = {1, 10, 2, 20};      // [output][input]
  std::vector<float> y(6);
  kernels::ConvTensors tensors;
  tensors.src = x.data();
  tensors.weights = w.data();
  tensors.dst = y.data();
  plan.run(tensors);
  const std::vector<float> expected = {30, 1, 52, 60, 2, 104};
  if (y != expected) {
    std::fprintf(stderr, "wrong result\n");
    return 1;
  }
  try {
    tensors.src = nullptr;
    plan.run(tensors);
  } catch (const kernels::ConvError& error) {
    std::printf("%s\n", error.what());
    return error.code() == kernels::ConvError::Code::kNullPointer ? 0 : 1;
  }
  return 1;
}
