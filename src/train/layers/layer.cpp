#include "train/layers/layer.hpp"

#include <functional>
#include <numeric>
#include <utility>

namespace lacuna::train {
namespace {
std::int64_t product(const std::vector<std::int64_t>& dims) {
  return std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, std::multiplies<>());
}
}  // namespace

Parameter::Parameter(std::string name_, Kind kind_, std::vector<std::int64_t> dims_)
    : name(std::move(name_)), kind(kind_), dims(std::move(dims_)), value(product(dims)) {
  if (learnt()) grad = AlignedFloats(product(dims));
}

void execute(const dnnl::primitive& primitive, const std::unordered_map<int, memory>& args) {
  static dnnl::stream stream(kernels::cpu_engine());
  primitive.execute(stream, args);
  stream.wait();
}

void OneInputLayer::backward(GradientSum& sum) {
  float* diff_src = sum.begin(in_);
  if (diff_src == nullptr) return;
  input_gradient(diff_src);
  sum.end(in_);
}

float* GradientSum::begin(Activation& input) {
  if (input.grad == nullptr || input.pending == input.readers) return input.grad;
  if (late_ != nullptr) add(*std::exchange(late_, nullptr));
  return second_.data();
}

void GradientSum::end(Activation& input) {
  if (input.grad == nullptr) return;
  if (input.pending-- == input.readers) return;
  if (input.pending == 0 && input.adds_late)
    late_ = &input;
  else
    add(input);
}

void GradientSum::copy(const Activation& sum, Activation& part) {
  if (part.grad == nullptr) return;
  if (part.grad == sum.grad) {  // it is the same memory
    --part.pending;
    return;
  }
  float* to = begin(part);
  const float* from = sum.grad;
  const std::int64_t floats = sum.floats();
#pragma omp parallel for simd num_threads(threads_) schedule(static)
  for (std::int64_t i = 0; i < floats; ++i) to[i] = from[i];
  end(part);
}

const float* GradientSum::take_late(Activation& output) {
  if (late_ != &output) return nullptr;
  late_ = nullptr;
  return second_.data();
}

void GradientSum::add(Activation& input) {
  float* to = input.grad;
  const float* from = second_.data();
  const std::int64_t floats = input.floats();
#pragma omp parallel for simd num_threads(threads_) schedule(static)
  for (std::int64_t i = 0; i < floats; ++i) to[i] += from[i];
}

}  // namespace lacuna::train
