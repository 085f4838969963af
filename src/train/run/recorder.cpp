#include "train/run/recorder.hpp"

#include <algorithm>

#include "trace/trace_builder.hpp"

namespace lacuna::train {
namespace {

// [n][c / 16][h w][16] or [n][c][h w] to rows of channels: [n, h, w, c].
std::vector<float> rows_of(const Activation& like, const float* data, std::int64_t samples) {
  const std::int64_t pixels = like.shape.h * like.shape.w;
  const std::int64_t channels = like.shape.c;
  std::vector<float> rows(static_cast<std::size_t>(samples * pixels * channels));
  for (std::int64_t n = 0; n < samples; ++n)
    for (std::int64_t c = 0; c < channels; ++c) {
      const float* from = like.blocked() ? data + (n * like.blocks() + c / 16) * pixels * 16 + c % 16
                                         : data + (n * channels + c) * pixels;
      const std::int64_t step = like.blocked() ? 16 : 1;
      for (std::int64_t p = 0; p < pixels; ++p)
        rows[static_cast<std::size_t>((n * pixels + p) * channels + c)] = from[p * step];
    }
  return rows;
}

// [k, c, kh, kw] to [k, kh, kw, c].
std::vector<float> filter_rows(const LayerShape& shape, const float* oihw) {
  const std::int64_t c = shape.c_per_group();
  const std::int64_t taps = shape.taps();
  std::vector<float> rows(static_cast<std::size_t>(shape.w_elements()));
  for (std::int64_t k = 0; k < shape.k; ++k)
    for (std::int64_t i = 0; i < c; ++i)
      for (std::int64_t t = 0; t < taps; ++t)
        rows[static_cast<std::size_t>((k * taps + t) * c + i)] = oihw[(k * c + i) * taps + t];
  return rows;
}

std::vector<bool> nonzeros(const std::vector<float>& values) {
  std::vector<bool> mask(values.size());
  std::transform(values.begin(), values.end(), mask.begin(), [](float v) { return v != 0; });
  return mask;
}

}  // namespace

Recorder::Recorder(const Network& network, const RecordOptions& options)
    : network_(network), options_(options), tensors_(network.conv_layers().size()) {
  options_.samples = std::clamp<std::int64_t>(options_.samples, 1, network.options().batch);
}

void Recorder::observe(const ConvLayer& layer) {
  const auto layers = network_.conv_layers();
  const auto index =
      static_cast<std::size_t>(std::find(layers.begin(), layers.end(), &layer) - layers.begin());
  const std::int64_t samples = layer.shape().kind == LayerKind::kLinear ? layer.shape().n : options_.samples;
  tensors_[index] = {rows_of(layer.input(), layer.multiplied_input(), samples),
                     filter_rows(layer.shape(), layer.multiplied_weights()),
                     rows_of(layer.output(), layer.multiplied_gradient(), samples),
                     layer.forward_input() == nullptr
                         ? std::vector<float>{}
                         : rows_of(layer.input(), layer.forward_input(), samples)};
}

Trace Recorder::finish(TraceInfo info) {
  TraceBuilder builder(network_.graph().model);
  info.model = network_.graph().model;
  info.batch = network_.options().batch;
  info.samples = options_.samples;
  builder.info() = info;
  const auto layers = network_.conv_layers();
  for (std::size_t i = 0; i < layers.size(); ++i) {
    LayerShape shape = layers[i]->shape();
    if (shape.kind != LayerKind::kLinear) shape.n = options_.samples;
    builder.add_layer(layers[i]->name(), shape);
    const Tensors& t = tensors_[i];
    const auto add = [&](TraceTensor which, const std::vector<float>& values) {
      if (values.empty()) return;
      if (options_.values)
        builder.values(which, values);
      else
        builder.mask(which, nonzeros(values));
    };
    add(Operand::kA, t.a);
    add(Operand::kW, t.w);
    add(Operand::kG, t.g);
    add(kAForward, t.a_forward);
  }
  tensors_.assign(layers.size(), {});
  return builder.build();
}

}  // namespace lacuna::train
