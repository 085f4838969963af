#include "kernels/ffn/feed_forward.hpp"

#include <fmt/format.h>

#include "kernels/plan/plan_checks.hpp"

namespace lacuna::kernels {
namespace {

void require(const void* pointer, std::string_view name) {
  if (pointer == nullptr)
    throw InputError("feed-forward block", fmt::format("{} is null", name), "give all tensors of the pass");
}

PackedPanels panels(AlignedFloats& memory, std::int64_t rows, std::int64_t columns) {
  const std::int64_t floats = PackedPanels::floats(rows, columns);
  if (memory.size() < floats) memory = AlignedFloats(floats);
  return {memory.data(), rows, columns};
}

}  // namespace

FeedForward::FeedForward(const FeedForwardOptions& options) : options_(options), isa_(pick_isa(options.isa)) {
  constexpr std::int64_t kMost = std::int64_t{1} << 24;
  for (const std::int64_t size : {options.in, options.hidden, options.out})
    if (size < 1 || size > kMost)
      throw InputError("feed-forward block", fmt::format("a layer of {} features", size),
                       fmt::format("give 1 to {} for in, hidden and out", kMost));
  if (options.threads < 1 || options.threads > 1024)
    throw InputError("feed-forward block", fmt::format("threads is {}", options.threads), "give 1 to 1024");
  if (!(options.threshold >= 0))
    throw InputError("feed-forward block", fmt::format("the threshold is {}", options.threshold),
                     "give 0 or more: below 0 the activation leaves few zeros");
}

void FeedForward::forward(std::int64_t tokens, const float* hidden, const float* down, const float* bias,
                          float* output, FeedForwardPass& pass) const {
  constexpr std::int64_t kMostTokens = std::int64_t{1} << 31;
  if (tokens < 1 || tokens > kMostTokens)
    throw InputError("feed-forward block", fmt::format("{} tokens", tokens), "give at least 1, at most 2^31");
  require(hidden, "hidden");
  require(down, "down");
  require(output, "output");
  const FeedForwardOptions& o = options_;
  const KeepRule rule{.positive = true,
                      .threshold = o.activation == Activation::kThresholded ? o.threshold : 0,
                      .squared = o.activation == Activation::kReluSquared,
                      .by_columns = true};
  pass.tokens = 0;
  pass.lists.build(hidden, tokens, o.hidden, rule, o.threads, tile_loops(isa_));
  PackedPanels weights = panels(pass.down, o.hidden, o.out);
  weights.pack(down, true, o.threads, isa_);
  gather_sum({.lists = pass.lists}, weights, {.data = output, .bias = bias}, o.threads, isa_);
  pass.tokens = tokens;
  pass.hidden = o.hidden;
  pass.out = o.out;
}

void FeedForward::backward(FeedForwardPass& pass, const FeedForwardGradients& g) {
  const FeedForwardOptions& o = options_;
  require(pass.tokens > 0 ? g.output_grad : nullptr, "output_grad or the pass");
  if (pass.hidden != o.hidden || pass.out != o.out)
    throw InputError(
        "feed-forward block",
        fmt::format("the pass is one of {} hidden features and {} outputs, the block has {} and {}",
                    pass.hidden, pass.out, o.hidden, o.out),
        "give the pass of this block's forward()");
  if (g.input_grad != nullptr) require(g.up, "up");
  if (g.up_grad != nullptr) require(g.input, "input");
  PackedPanels output_grad = panels(output_grad_, pass.tokens, o.out);
  output_grad.pack(g.output_grad, false, o.threads, isa_);
  if (g.down_grad != nullptr)
    gather_sum({.lists = pass.lists, .transposed = true}, output_grad,
               {.data = g.down_grad, .transposed = true}, o.threads, isa_);
  if (g.input_grad == nullptr && g.up_grad == nullptr && g.up_bias_grad == nullptr) return;
  sampled_dots(pass.lists, output_grad, panels(pass.down, o.hidden, o.out), o.threads, isa_);
  if (g.up_bias_grad != nullptr) pass.lists.second_column_sums(g.up_bias_grad, o.threads);
  if (g.input_grad != nullptr) {
    PackedPanels up = panels(operand_, o.hidden, o.in);
    up.pack(g.up, false, o.threads, isa_);
    gather_sum({.lists = pass.lists, .second = true}, up, {.data = g.input_grad}, o.threads, isa_);
  }
  if (g.up_grad != nullptr) {
    PackedPanels input = panels(operand_, pass.tokens, o.in);
    input.pack(g.input, false, o.threads, isa_);
    gather_sum({.lists = pass.lists, .transposed = true, .second = true}, input, {.data = g.up_grad},
               o.threads, isa_);
  }
}

}  // namespace lacuna::kernels
