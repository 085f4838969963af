#include "train/loss.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "base/error.hpp"
#include "train/layers/primitive.hpp"

namespace lacuna::train {

using kernels::cpu_engine;
using kernels::ThreadScope;

Loss::Loss(Activation& logits, int threads)
    : logits_(logits), threads_(threads), log_probabilities_(logits.floats()), diff_(logits.floats()) {
  const ThreadScope scope(threads_);
  const memory::desc desc = logits.desc();
  const dnnl::logsoftmax_forward::primitive_desc forward({dnnl::prop_kind::forward_training, desc, 1},
                                                         cpu_engine());
  forward_ = dnnl::logsoftmax_forward(forward);
  backward_ = dnnl::logsoftmax_backward(
      dnnl::logsoftmax_backward::primitive_desc({desc, desc, 1}, cpu_engine(), forward));
}

LossResult Loss::run(const std::int32_t* labels, std::int64_t used) {
  const ThreadScope scope(threads_);
  const memory::desc desc = logits_.desc();
  forward_.execute(cpu_stream(), {{DNNL_ARG_SRC, on(desc, logits_.data.data())},
                                  {DNNL_ARG_DST, on(desc, log_probabilities_.data())}});
  cpu_stream().wait();
  for (std::int64_t n = 0; n < used; ++n)
    if (labels[n] < 0 || labels[n] >= logits_.shape.c)
      throw InputError("training",
                       fmt::format("image {} of the batch has label {}, the network has {} classes", n,
                                   labels[n], logits_.shape.c),
                       "check the labels of the data");
  const std::int64_t row = logits_.blocks() * 16;
  LossResult result;
  std::fill(diff_.data(), diff_.data() + diff_.size(), 0.0F);
  for (std::int64_t n = 0; n < used; ++n) {
    const float* values = log_probabilities_.data() + n * row;
    const std::int64_t best = std::max_element(values, values + logits_.shape.c) - values;
    result.loss -= static_cast<double>(values[labels[n]]) / static_cast<double>(used);
    if (best == labels[n]) ++result.correct;
    diff_[n * row + labels[n]] = -1.0F / static_cast<float>(used);
  }
  backward_.execute(cpu_stream(), {{DNNL_ARG_DST, on(desc, log_probabilities_.data())},
                                   {DNNL_ARG_DIFF_DST, on(desc, diff_.data())},
                                   {DNNL_ARG_DIFF_SRC, on(desc, logits_.grad)}});
  cpu_stream().wait();
  return result;
}

}  // namespace lacuna::train
