#include "train/layers/loss.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numeric>

#include "base/error.hpp"
#include "base/random.hpp"
#include "dataset/streams.hpp"

namespace lacuna::train {

using kernels::cpu_engine;
using kernels::ThreadScope;

constexpr std::uint64_t kSelected = 104;  // purpose of random numbers

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

// ASSUMPTION(T7): percentiles are taken over the losses of the batch; the authors take them over the most
// recent images, which would be a state.
std::int64_t Loss::choose(const std::vector<float>& losses, const Selection& selection) {
  const auto used = static_cast<std::int64_t>(losses.size());
  left_out_.clear();
  if (selection.share >= 1 || used == 0) return used;
  std::vector<std::size_t> order(losses.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return losses[a] < losses[b]; });
  left_out_.assign(static_cast<std::size_t>(logits_.n), false);
  Random random(dataset::stream_seed(selection.seed, kSelected, 0));
  std::int64_t kept = used;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const double percentile = (static_cast<double>(i) + 0.5) / static_cast<double>(used);
    const bool drawn = random.uniform() < std::pow(percentile, 1 / selection.share - 1);
    // The hardest one stays, so that there is something to learn from.
    left_out_[order[i]] = !drawn && i + 1 < order.size();
    kept -= left_out_[order[i]] ? 1 : 0;
  }
  return kept;
}

LossResult Loss::run(const std::int32_t* labels, std::int64_t used, const Selection& selection) {
  const ThreadScope scope(threads_);
  const memory::desc desc = logits_.desc();
  execute(forward_, {{DNNL_ARG_SRC, on(desc, logits_.data.data())},
                     {DNNL_ARG_DST, on(desc, log_probabilities_.data())}});
  for (std::int64_t n = 0; n < used; ++n)
    if (labels[n] < 0 || labels[n] >= logits_.shape.c)
      throw InputError("training",
                       fmt::format("image {} of the batch has label {}, the network has {} classes", n,
                                   labels[n], logits_.shape.c),
                       "check the labels of the data");
  const std::int64_t row = logits_.blocks() * 16;
  LossResult result;
  std::vector<float> losses;
  std::fill(diff_.data(), diff_.data() + diff_.size(), 0.0F);
  for (std::int64_t n = 0; n < used; ++n) {
    const float* values = log_probabilities_.data() + n * row;
    const std::int64_t best = std::max_element(values, values + logits_.shape.c) - values;
    result.loss -= static_cast<double>(values[labels[n]]) / static_cast<double>(used);
    if (best == labels[n]) ++result.correct;
    losses.push_back(-values[labels[n]]);
  }
  const std::int64_t kept = choose(losses, selection);
  for (std::int64_t n = 0; n < used; ++n)
    if (left_out_.empty() || !left_out_[static_cast<std::size_t>(n)])
      diff_[n * row + labels[n]] = -1.0F / static_cast<float>(kept);
  execute(backward_, {{DNNL_ARG_DST, on(desc, log_probabilities_.data())},
                      {DNNL_ARG_DIFF_DST, on(desc, diff_.data())},
                      {DNNL_ARG_DIFF_SRC, on(desc, logits_.grad)}});
  return result;
}

}  // namespace lacuna::train
