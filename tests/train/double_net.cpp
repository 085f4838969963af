#include "train/double_net.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "base/ceil_div.hpp"

namespace lacuna::train::twin {
namespace {

constexpr double kEpsilon = 1e-5;  // of batch norm's variance
constexpr double kNewest = 0.1;    // weight of the newest batch in the running statistics

double largest(const Doubles& values) {
  double most = 0;
  for (const double v : values) most = std::max(most, std::fabs(v));
  return most;
}

void decide(std::uint64_t& decisions, std::uint64_t what) {
  decisions = (decisions ^ what) * 0x100000001b3ULL;
}

Doubles relu(const Doubles& in, Outcome& outcome) {
  Doubles out(in.size());
  double nearest = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < in.size(); ++i) {
    out[i] = in[i] > 0 ? in[i] : 0;
    decide(outcome.decisions.back(), in[i] > 0 ? 1 : 2);
    if (in[i] != 0) nearest = std::min(nearest, std::fabs(in[i]));
  }
  outcome.margins.back() = nearest / largest(in);
  return out;
}

Doubles product(const Doubles& a, const Doubles& b) {
  Doubles out;
  for (std::size_t i = 0; i < a.size(); ++i) out.push_back(a[i] * b[i]);
  return out;
}

}  // namespace

double Outcome::margin() const {
  double least = std::numeric_limits<double>::infinity();
  for (const double m : margins) least = std::min(least, m);
  return least;
}

double cross_entropy(const Doubles& logits, const std::vector<std::int32_t>& labels) {
  const std::size_t classes = logits.size() / labels.size();
  double loss = 0;
  for (std::size_t n = 0; n < labels.size(); ++n) {
    const double* row = logits.data() + n * classes;
    const double most = *std::max_element(row, row + classes);
    double sum = 0;
    for (std::size_t c = 0; c < classes; ++c) sum += std::exp(row[c] - most);
    loss += most + std::log(sum) - row[labels[n]];
  }
  return loss / static_cast<double>(labels.size());
}

Outcome DoubleNet::run(const Batch& batch, const Outcome* base, int changed, const Doubles* added) const {
  Outcome outcome;
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
    const Node& node = graph_.nodes[i];
    outcome.decisions.push_back(0xcbf29ce484222325ULL);
    outcome.margins.push_back(std::numeric_limits<double>::infinity());
    const bool this_one = base != nullptr && static_cast<int>(i) == changed;
    const bool depends = std::any_of(node.inputs.begin(), node.inputs.end(), [&](int input) {
      const auto at = static_cast<std::size_t>(input);
      return base != nullptr && outcome.outputs[at] != base->outputs[at];
    });
    if (base != nullptr && !this_one && !depends) {
      outcome.outputs.push_back(base->outputs[i]);
      outcome.decisions.back() = base->decisions[i];
      outcome.margins.back() = base->margins[i];
      continue;
    }
    auto out = std::make_shared<Doubles>(evaluate(node, batch, outcome));
    if (this_one && added != nullptr)
      for (std::size_t j = 0; j < out->size(); ++j) (*out)[j] += (*added)[j];
    outcome.outputs.push_back(std::move(out));
  }
  outcome.loss = cross_entropy(*outcome.outputs.back(), batch.labels);
  return outcome;
}

Doubles DoubleNet::evaluate(const Node& node, const Batch& batch, Outcome& outcome) const {
  if (node.kind == NodeKind::kInput) return batch.images;
  const Doubles& in = outcome.output(node.inputs[0]);
  switch (node.kind) {
    case NodeKind::kConv:
      return conv(node, in, batch.n);
    case NodeKind::kLinear:
      return linear(node, in, batch.n);
    case NodeKind::kBatchNorm:
      return batch_norm(node, in, batch, outcome);
    case NodeKind::kRelu: {
      const auto passed = batch.passed.find(node.name);
      return passed == batch.passed.end() ? relu(in, outcome) : product(in, passed->second);
    }
    case NodeKind::kMaxPool:
    case NodeKind::kAveragePool:
      return pool(node, in, batch.n, outcome);
    case NodeKind::kConcat:
      return concat(node, batch.n, outcome);
    case NodeKind::kFlatten:
      return in;
    default:
      break;
  }
  Doubles out = in;
  if (node.kind == NodeKind::kAdd) {
    const Doubles& other = outcome.output(node.inputs[1]);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] += other[i];
  } else if (node.kind == NodeKind::kDropout) {
    const auto factors = batch.dropout.find(node.name);
    if (factors != batch.dropout.end()) return product(in, factors->second);
  } else if (node.kind == NodeKind::kScalarBias) {
    for (double& v : out) v += parameters.at(node.name + ".bias")[0];
  } else if (node.kind == NodeKind::kScalarScale) {
    for (double& v : out) v *= parameters.at(node.name + ".scale")[0];
  } else {
    throw std::logic_error("the twin does not implement this layer");
  }
  return out;
}

Doubles DoubleNet::conv(const Node& node, const Doubles& in, std::int64_t n) const {
  const SampleShape& is = in_shape(node);
  const SampleShape& os = node.out;
  const Doubles& weights = parameters.at(node.name + ".weight");
  const std::int64_t c_group = is.c / node.groups;
  const std::int64_t k_group = os.c / node.groups;
  Doubles out(static_cast<std::size_t>(n * os.size()));
  for (std::int64_t image = 0; image < n; ++image)
    for (std::int64_t k = 0; k < os.c; ++k) {
      double* plane = out.data() + (image * os.c + k) * os.h * os.w;
      if (node.bias)
        std::fill(plane, plane + os.h * os.w,
                  parameters.at(node.name + ".bias")[static_cast<std::size_t>(k)]);
      for (std::int64_t c = 0; c < c_group; ++c) {
        const double* source = in.data() + (image * is.c + k / k_group * c_group + c) * is.h * is.w;
        for (std::int64_t ky = 0; ky < node.kernel.h; ++ky)
          for (std::int64_t kx = 0; kx < node.kernel.w; ++kx) {
            const double weight = weights[static_cast<std::size_t>(
                ((k * c_group + c) * node.kernel.h + ky) * node.kernel.w + kx)];
            const std::int64_t stride = node.stride.w;
            const std::int64_t offset = kx * node.dilation.w - node.padding.w;
            // The outputs whose input lies in the image: no test inside the loop, which takes most of the
            // time.
            const std::int64_t first = offset < 0 ? ceil_div(-offset, stride) : 0;
            const std::int64_t end = offset < is.w ? std::min(os.w, ceil_div(is.w - offset, stride)) : 0;
            for (std::int64_t y = 0; y < os.h; ++y) {
              const std::int64_t iy = y * node.stride.h - node.padding.h + ky * node.dilation.h;
              if (iy < 0 || iy >= is.h) continue;
              double* row = plane + y * os.w;
              const double* line = source + iy * is.w + offset;
              for (std::int64_t x = first; x < end; ++x) row[x] += weight * line[x * stride];
            }
          }
      }
    }
  return out;
}

Doubles DoubleNet::linear(const Node& node, const Doubles& in, std::int64_t n) const {
  const std::int64_t features = in_shape(node).size();
  const Doubles& weights = parameters.at(node.name + ".weight");
  Doubles out;
  for (std::int64_t image = 0; image < n; ++image)
    for (std::int64_t k = 0; k < node.out.c; ++k) {
      double sum = node.bias ? parameters.at(node.name + ".bias")[static_cast<std::size_t>(k)] : 0;
      for (std::int64_t f = 0; f < features; ++f)
        sum += weights[static_cast<std::size_t>(k * features + f)] *
               in[static_cast<std::size_t>(image * features + f)];
      out.push_back(sum);
    }
  return out;
}

Doubles DoubleNet::batch_norm(const Node& node, const Doubles& in, const Batch& batch,
                              Outcome& outcome) const {
  const SampleShape& s = node.out;
  const std::int64_t pixels = s.h * s.w;
  const auto count = static_cast<double>(batch.n * pixels);
  Doubles out(in.size());
  Doubles running_mean = parameters.at(node.name + ".running_mean");
  Doubles running_variance = parameters.at(node.name + ".running_var");
  for (std::int64_t c = 0; c < s.c; ++c) {
    const auto channel = static_cast<std::size_t>(c);
    const auto each = [&](const auto& action) {
      for (std::int64_t image = 0; image < batch.n; ++image)
        for (std::int64_t p = 0; p < pixels; ++p)
          action(static_cast<std::size_t>((image * s.c + c) * pixels + p));
    };
    double mean = running_mean[channel];
    double variance = running_variance[channel];
    if (batch.training) {
      mean = variance = 0;
      each([&](std::size_t i) { mean += in[i] / count; });
      each([&](std::size_t i) { variance += (in[i] - mean) * (in[i] - mean) / count; });
      const double unbiased = count > 1 ? variance * count / (count - 1) : variance;
      running_mean[channel] = (1 - kNewest) * running_mean[channel] + kNewest * mean;
      running_variance[channel] = (1 - kNewest) * running_variance[channel] + kNewest * unbiased;
    }
    double most = std::fabs(mean);
    each([&](std::size_t i) { most = std::max(most, std::fabs(in[i])); });
    outcome.amplification = std::max(outcome.amplification, most / std::sqrt(variance + kEpsilon));
    const double scale = parameters.at(node.name + ".weight")[channel] / std::sqrt(variance + kEpsilon);
    const double shift = parameters.at(node.name + ".bias")[channel];
    each([&](std::size_t i) { out[i] = (in[i] - mean) * scale + shift; });
  }
  outcome.running[node.name + ".running_mean"] = running_mean;
  outcome.running[node.name + ".running_var"] = running_variance;
  return out;
}

Doubles DoubleNet::pool(const Node& node, const Doubles& in, std::int64_t n, Outcome& outcome) const {
  const SampleShape& is = in_shape(node);
  const SampleShape& os = node.out;
  constexpr double kNothing = -std::numeric_limits<double>::infinity();
  Doubles out;
  double nearest = std::numeric_limits<double>::infinity();
  for (std::int64_t plane = 0; plane < n * is.c; ++plane)
    for (std::int64_t y = 0; y < os.h; ++y)
      for (std::int64_t x = 0; x < os.w; ++x) {
        double sum = 0, best = kNothing, second = kNothing;
        std::int64_t inside = 0, taken = -1;
        for (std::int64_t ky = 0; ky < node.kernel.h; ++ky)
          for (std::int64_t kx = 0; kx < node.kernel.w; ++kx) {
            const std::int64_t iy = y * node.stride.h - node.padding.h + ky;
            const std::int64_t ix = x * node.stride.w - node.padding.w + kx;
            if (iy < 0 || iy >= is.h || ix < 0 || ix >= is.w) continue;
            const double v = in[static_cast<std::size_t>((plane * is.h + iy) * is.w + ix)];
            ++inside;
            sum += v;
            if (v > best) {
              second = best;
              best = v;
              taken = iy * is.w + ix;
            } else if (v < best) {
              second = std::max(second, v);
            }
          }
        if (inside == 0) throw std::logic_error("a window of the pool lies outside");
        out.push_back(node.kind == NodeKind::kMaxPool ? best : sum / static_cast<double>(inside));
        decide(outcome.decisions.back(),
               node.kind == NodeKind::kMaxPool ? static_cast<std::uint64_t>(taken) : 0);
        nearest = std::min(nearest, best - second);
      }
  if (node.kind == NodeKind::kMaxPool) outcome.margins.back() = nearest / largest(in);
  return out;
}

Doubles DoubleNet::concat(const Node& node, std::int64_t n, const Outcome& outcome) const {
  Doubles out;
  for (std::int64_t image = 0; image < n; ++image)
    for (const int input : node.inputs) {
      const std::int64_t floats = graph_.nodes[static_cast<std::size_t>(input)].out.size();
      const auto from = outcome.output(input).begin() + image * floats;
      out.insert(out.end(), from, from + floats);
    }
  return out;
}

}  // namespace lacuna::train::twin
