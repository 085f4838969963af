// lacuna_conv_*: the CPU kernels.
#include <array>
#include <fmt/format.h>

#include "base/error.hpp"
#include "capi/handles.hpp"
#include "kernels/choice/sampled_zeros.hpp"

namespace lacuna::capi {
namespace {

using kernels::ConvOptions;
using kernels::Impl;

template <typename Enum, std::size_t N>
Enum choose(int given, const std::array<Enum, N>& values, std::string_view name) {
  return capi::choose(given, values, "convolution", name);
}

constexpr std::array kImpls{Impl::kAuto,      Impl::kSparse,    Impl::kDenseDirect,
                            Impl::kDenseAuto, Impl::kReference, Impl::kBfloat16};

Size2 pair_of(const int64_t (&pair)[2], std::int64_t when_zero = 0) {
  return {pair[0] == 0 ? when_zero : pair[0], pair[1] == 0 ? when_zero : pair[1]};
}

LayerShape shape_of(const lacuna_conv_options& given) {
  const LayerShape shape =
      given.linear != 0
          ? LayerShape::linear(given.batch, given.in_channels, given.out_channels)
          : LayerShape::conv2d(given.batch, given.in_channels, given.out_channels, pair_of(given.input_hw),
                               pair_of(given.kernel), pair_of(given.stride, 1), pair_of(given.padding),
                               pair_of(given.dilation, 1), given.groups == 0 ? 1 : given.groups);
  shape.validate("convolution");
  return shape;
}

ConvOptions options_of(const lacuna_conv_options& given) {
  ConvOptions options;
  options.op = choose(given.op, kOperations, "operation");
  options.impl = choose(given.impl, kImpls, "implementation");
  options.layout =
      choose(given.layout,
             std::array{kernels::Layout::kNchw, kernels::Layout::kNhwc, kernels::Layout::kBlocked}, "layout");
  options.checked = choose(given.skipped,
                           std::array{std::optional<Operand>(), std::optional(Operand::kA),
                                      std::optional(Operand::kG), std::optional(Operand::kW)},
                           "operand to skip");
  options.weights = given.ohwi_weights != 0 ? kernels::WeightLayout::kOhwi : kernels::WeightLayout::kOihw;
  options.threads = given.threads == 0 ? 1 : given.threads;
  options.bias = given.bias != 0;
  options.relu = given.relu != 0;
  options.strict = given.strict != 0;
  options.allow_winograd = given.allow_winograd != 0;
  options.borrow_workspace = given.borrow_workspace != 0;
  return options;
}

}  // namespace
}  // namespace lacuna::capi

using namespace lacuna;
using namespace lacuna::capi;

lacuna_status lacuna_conv_plan(const lacuna_conv_options* options, lacuna_conv** conv) {
  return guarded_parallel([&] {
    const lacuna_conv_options given = sized_copy(options, "options");
    require(conv, "conv");
    *conv = new lacuna_conv{kernels::ConvPlan(shape_of(given), options_of(given))};
  });
}

void lacuna_conv_free(lacuna_conv* conv) { delete conv; }

lacuna_status lacuna_conv_sizes(const lacuna_conv* conv, int64_t* src, int64_t* dst, int64_t* weights) {
  return guarded([&] {
    require(conv, "conv");
    if (src != nullptr) *src = conv->plan.src_size();
    if (dst != nullptr) *dst = conv->plan.dst_size();
    if (weights != nullptr) *weights = conv->plan.weights_size();
  });
}

size_t lacuna_conv_workspace(const lacuna_conv* conv) {
  return conv == nullptr ? 0 : conv->plan.workspace_bytes();
}

const char* lacuna_conv_kernel(const lacuna_conv* conv) {
  return conv == nullptr ? nullptr : conv->plan.kernel();
}

lacuna_status lacuna_conv_run(lacuna_conv* conv, const lacuna_conv_tensors* tensors, double zeros,
                              lacuna_conv_report* report) {
  return guarded_parallel([&] {
    require(conv, "conv");
    const lacuna_conv_tensors given = sized_copy(tensors, "tensors");
    if (report != nullptr && report->struct_size < sizeof(lacuna_conv_report)) refuse_missing("report");
    kernels::ConvTensors all{given.src, given.weights,  given.bias,        given.diff_dst,
                             given.dst, given.diff_src, given.diff_weights};
    all.workspace = given.workspace;
    const kernels::ConvRun run = zeros < 0 ? conv->plan.run(all) : conv->plan.run(all, zeros);
    if (report == nullptr) return;
    report->zeros = run.zeros;
    const auto* used = std::ranges::find(kImpls, run.used);
    // Among auto's choices are dense ones that cannot be asked for by name.
    report->used = used == kImpls.end() ? LACUNA_IMPL_DENSE : static_cast<lacuna_impl>(used - kImpls.begin());
  });
}

lacuna_status lacuna_sample_zeros(const float* data, int64_t count, double* share) {
  return guarded([&] {
    require_all("data, share", {data, share});
    if (count < 0)
      throw InputError("liblacuna", fmt::format("'count' is {}", count), "give the number of floats");
    *share = kernels::sample_zeros(data, count);
  });
}
