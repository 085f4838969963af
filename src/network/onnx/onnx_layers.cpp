#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <set>

#include "base/error.hpp"
#include "base/text/quote.hpp"
#include "network/layer_file.hpp"
#include "network/onnx/shape_rules.hpp"

namespace lacuna::network {
namespace {

using Dims = std::vector<std::int64_t>;

constexpr std::int64_t kLargestSize = std::int64_t{1} << 24;
bool is_size(std::int64_t size) { return size >= 1 && size <= kLargestSize; }

// Operators that multiply and that a trace has no layer for.
const std::set<std::string_view> kLeftOut{"ConvTranspose",
                                          "Einsum",
                                          "LSTM",
                                          "GRU",
                                          "RNN",
                                          "Attention",
                                          "MultiHeadAttention",
                                          "ConvInteger",
                                          "MatMulInteger",
                                          "QLinearConv",
                                          "QLinearMatMul",
                                          "DeformConv",
                                          "If",
                                          "Loop",
                                          "Scan"};

class GraphReader {
 public:
  GraphReader(const OnnxGraph& graph, const std::string& file, const ZeroTexts& zeros)
      : graph_(graph), file_(file), tensors_(graph.tensors) {
    zeros_a_ = parse_zeros(zeros.a, "--A");
    zeros_w_ = parse_zeros(zeros.w, "--W");
    zeros_g_ = parse_zeros(zeros.g, "--G");
  }

  LayerList read() {
    list_.name = graph_.name.empty() ? std::filesystem::path(file_).stem().string() : one_line(graph_.name);
    for (const OnnxNode& node : graph_.nodes) {
      std::vector<const OnnxTensor*> inputs;
      for (const std::string_view name : node.inputs) inputs.push_back(find(name));
      add(node, inputs);
      infer(node, inputs);
    }
    if (list_.layers.empty())
      throw InputError(file_, "no node of the graph is a convolution or a matrix product",
                       "give the model of a network; quantized operators and control flow are not read");
    return std::move(list_);
  }

 private:
  const OnnxTensor* find(std::string_view name) const {
    const auto at = name.empty() ? tensors_.end() : tensors_.find(name);
    return at == tensors_.end() ? nullptr : &at->second;
  }

  // The shape that the file states for an output wins where our rule leaves it open.
  void infer(const OnnxNode& node, const std::vector<const OnnxTensor*>& inputs) {
    std::vector<OnnxTensor> outputs = infer_outputs(node, inputs);
    for (std::size_t i = 0; i < std::min(outputs.size(), node.outputs.size()); ++i) {
      if (node.outputs[i].empty()) continue;
      const auto stated = graph_.tensors.find(node.outputs[i]);
      OnnxTensor& inferred = outputs[i];
      if (inferred.dims && inferred.dims->size() > kMostDims) inferred.dims.reset();
      if (stated != graph_.tensors.end() && stated->second.dims &&
          open_dims(inferred.dims) > open_dims(stated->second.dims))
        inferred.dims = stated->second.dims;
      tensors_.insert_or_assign(node.outputs[i], std::move(inferred));
    }
  }
  static std::size_t open_dims(const std::optional<Dims>& dims) {
    return dims ? static_cast<std::size_t>(std::ranges::count(*dims, kOpen)) : 1000;
  }

  void add(const OnnxNode& node, const std::vector<const OnnxTensor*>& inputs) {
    if (kLeftOut.contains(node.op)) return leave_out(node);
    if (node.op != "Conv" && node.op != "Gemm" && node.op != "MatMul") return;
    const std::string name = name_of(node);
    const std::string where = fmt::format("{}: node {}", file_, quote_name(name));
    if (inputs.size() < 2) throw InputError(where, "it has no second input", "check the model");
    const Dims a = dims_of(inputs[0], node.inputs[0], where), b = dims_of(inputs[1], node.inputs[1], where);
    if (node.op == "Conv") return add_convolution(node, name, where, a, b);
    if (node.op == "Gemm" && (a.size() != 2 || b.size() != 2))
      throw InputError(where, "a factor of Gemm is not a matrix", "check the model");
    if (a.size() < 2 || b.size() < 2) return leave_out(node);
    const auto factor = [&](const Dims& dims, const char* transposed) {
      Dims matrix = dims;
      if (node.integer(transposed, 0) != 0) std::swap(matrix[matrix.size() - 1], matrix[matrix.size() - 2]);
      return matrix;
    };
    add_product(name, where, factor(a, "transA"), factor(b, "transB"), inputs[0]->constant,
                inputs[1]->constant);
  }

  static Dims dims_of(const OnnxTensor* tensor, std::string_view name, const std::string& where) {
    if (tensor == nullptr || !tensor->dims)
      throw InputError(
          where, fmt::format("the shape of its input {} does not follow from the model", quote_name(name)),
          "store the shapes with onnx.shape_inference.infer_shapes(), or export with fixed sizes");
    return *tensor->dims;
  }
  // An open batch is one sample.
  static std::int64_t samples(std::int64_t size) { return size == kOpen ? 1 : size; }

  void add_convolution(const OnnxNode& node, const std::string& name, const std::string& where, const Dims& a,
                       const Dims& w) {
    if (a.size() == 5) return leave_out(node);
    const auto plane = onnx_plane(a), kernel = a.size() == w.size() ? onnx_plane(w) : std::nullopt;
    const auto window = kernel ? onnx_window(node, a, kernel) : std::nullopt;
    const std::int64_t groups = node.integer("group", 1);
    if (!plane || !window || !is_size(w[0]) || !is_size(w[1]) || !is_size(groups) || a[0] > kLargestSize ||
        a[1] > kLargestSize)
      throw InputError(where, "the sizes of its image or of its window are open or impossible",
                       "export the model for images of a fixed size");
    // A layer pads both ends alike: what one end has more counts as a part of the image.
    const Size2 padding{std::min(window->before.h, window->after.h),
                        std::min(window->before.w, window->after.w)};
    const Size2 image{plane->h + window->before.h + window->after.h - 2 * padding.h,
                      plane->w + window->before.w + window->after.w - 2 * padding.w};
    push(name, where,
         LayerShape::conv2d(samples(a[0]), a[1] == kOpen ? w[1] * groups : a[1], w[0], image, *kernel,
                            window->stride, padding, window->dilation, groups));
  }

  // a x b, both at least matrices. A constant factor makes it a linear layer.
  void add_product(const std::string& name, const std::string& where, Dims a, Dims b, bool a_constant,
                   bool b_constant) {
    if (a_constant && b_constant) return;                // computed once, before any step
    if (a_constant && a.size() == 2 && b.size() == 2) {  // W x X is the transpose of X^T x W^T
      std::swap(a, b);
      std::swap(a[0], a[1]);
      std::swap(b[0], b[1]);
      b_constant = true;
    }
    const std::int64_t inner = a.back(), out = b.back();
    if (!is_size(inner) || !is_size(out) || (b[b.size() - 2] != inner && b[b.size() - 2] != kOpen))
      throw InputError(
          where, fmt::format("factors of {} and {} columns and rows do not fit", inner, b[b.size() - 2]),
          "check the model, or export it with fixed sizes");
    // Leading axes of both, as they are broadcast; the first one is the batch.
    Dims lead(a.begin(), a.end() - 2);
    const Dims other(b.begin(), b.end() - 2);
    if (other.size() > lead.size()) lead.insert(lead.begin(), other.size() - lead.size(), 1);
    for (std::size_t back = 1; back <= other.size(); ++back) {
      std::int64_t& size = lead[lead.size() - back];
      if (size == 1) size = other[other.size() - back];
    }
    std::int64_t products = 1;
    for (const std::int64_t size : lead) products = limited(products, samples(size), where);
    const std::int64_t rows = samples(a[a.size() - 2]);
    const std::int64_t batch = lead.empty() ? 1 : std::max<std::int64_t>(1, samples(lead[0]));
    if (b_constant && b.size() == 2) {
      const std::int64_t steps = lead.empty() ? 1 : limited(products, rows, where) / batch;
      push(name, where, LayerShape::linear(limited(products, rows, where), inner, out), steps);
    } else {
      push(name, where, LayerShape::matmul(products, rows, inner, out), products / batch);
    }
  }

  static std::int64_t limited(std::int64_t a, std::int64_t b, const std::string& where) {
    if (!is_size(a) || !is_size(b) || a > kLargestSize / b)
      throw InputError(where, "a factor has no rows, or more than 16777216",
                       "export the model with other sizes");
    return a * b;
  }

  void push(const std::string& name, const std::string& where, const LayerShape& shape,
            std::int64_t steps = 1) {
    shape.validate(where);
    if (list_.layers.size() == kMostLayers)
      throw InputError(file_, fmt::format("the model has more than {} layers", kMostLayers), "split it");
    list_.layers.push_back({name, shape, std::max<std::int64_t>(1, steps), zeros_a_, zeros_w_, zeros_g_});
  }

  void leave_out(const OnnxNode& node) {
    if (list_.left_out.size() < kMostLayers)
      list_.left_out.push_back({name_of(node), one_line(node.op), std::nullopt});
  }

  // The node's name, else its output's, with a number where it comes again.
  std::string name_of(const OnnxNode& node) {
    const std::string_view given = !node.name.empty()     ? node.name
                                   : node.outputs.empty() ? node.op
                                                          : node.outputs[0];
    const std::string plain = one_line(given, 200);
    std::string name = plain;
    for (int& copy = names_[plain]; !taken_.insert(name).second;)
      name = fmt::format("{}_{}", plain, copy = std::max(copy, 1) + 1);
    return name;
  }

  const OnnxGraph& graph_;
  const std::string& file_;
  std::map<std::string_view, OnnxTensor> tensors_;
  ZeroSpec zeros_a_, zeros_w_, zeros_g_;
  std::map<std::string, int> names_;  // the last number given to one that comes again
  std::set<std::string> taken_;
  LayerList list_;
};

}  // namespace

LayerList parse_onnx_layers(std::span<const std::uint8_t> bytes, const std::string& file,
                            const ZeroTexts& zeros) {
  return GraphReader(parse_onnx_graph(bytes, file), file, zeros).read();
}

}  // namespace lacuna::network
