#include "network/onnx/shape_rules.hpp"

#include <algorithm>
#include <functional>
#include <set>

namespace lacuna::network {
namespace {

using Dims = std::vector<std::int64_t>;
using Inputs = std::vector<const OnnxTensor*>;

constexpr std::int64_t kLargest = std::int64_t{1} << 24;  // of a size that a layer may have

bool known(std::int64_t size) { return size >= 0 && size <= kLargest; }

// The product, or kOpen if a factor is open or the product is too large.
std::int64_t product(const std::int64_t* begin, const std::int64_t* end) {
  std::int64_t all = 1;
  for (; begin != end; ++begin) {
    if (*begin < 0 || (*begin > 0 && all > (std::int64_t{1} << 46) / *begin)) return kOpen;
    all *= *begin;
  }
  return all;
}
std::int64_t product(const Dims& dims) { return product(dims.data(), dims.data() + dims.size()); }

// An axis counted from the front; nothing if there is none.
std::optional<std::size_t> axis_of(std::int64_t axis, std::size_t rank) {
  const auto count = static_cast<std::int64_t>(rank);
  if (axis < -count || axis >= count) return std::nullopt;
  return static_cast<std::size_t>(axis < 0 ? axis + count : axis);
}

const OnnxTensor& input(const Inputs& inputs, std::size_t index) {
  static const OnnxTensor nothing;
  return index < inputs.size() && inputs[index] != nullptr ? *inputs[index] : nothing;
}

OnnxTensor shaped(std::optional<Dims> dims) { return {std::move(dims), std::nullopt, false}; }
OnnxTensor listed(Dims integers, bool scalar) {
  OnnxTensor tensor;
  tensor.dims = scalar ? Dims{} : Dims{static_cast<std::int64_t>(integers.size())};
  if (integers.size() <= kMostOnnxIntegers) tensor.integers = std::move(integers);
  return tensor;
}

// Sizes of the axes of an attribute or, in newer versions of an operator, of an input.
std::optional<Dims> list_of(const OnnxNode& node, std::string_view key, const Inputs& inputs,
                            std::size_t index) {
  if (node.attributes.contains(key)) return node.integers(key);
  return input(inputs, index).integers;
}

std::optional<Dims> broadcast(const Inputs& inputs) {
  Dims out;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto& dims = input(inputs, i).dims;
    if (!dims) return std::nullopt;
    if (dims->size() > out.size()) out.insert(out.begin(), dims->size() - out.size(), 1);
    for (std::size_t back = 1; back <= dims->size(); ++back) {
      std::int64_t& size = out[out.size() - back];
      const std::int64_t other = (*dims)[dims->size() - back];
      if (size == 1 || (size == kOpen && other > 1)) size = other;
    }
  }
  return out;
}

std::optional<Dims> conv(const OnnxNode& node, const Inputs& inputs) {
  const auto &a = input(inputs, 0).dims, &w = input(inputs, 1).dims;
  if (!a || !w || w->size() != a->size() || w->size() < 3) return std::nullopt;
  const auto plane = onnx_plane(*a), kernel = onnx_plane(*w);
  const auto window = kernel ? onnx_window(node, *a, kernel) : std::nullopt;
  if (!plane || !window) return std::nullopt;
  Size2 out = window->output(*plane);
  std::int64_t channels = (*w)[0];
  if (node.op == "ConvTranspose") {
    const Dims extra = node.integers("output_padding");
    const auto size = [&](std::int64_t in, std::int64_t stride, std::int64_t kernel_size,
                          std::int64_t dilation, std::int64_t pads, std::int64_t more) {
      return (in - 1) * stride + (kernel_size - 1) * dilation + 1 - pads + more;
    };
    const std::int64_t more_h = extra.size() == 2 ? extra[0] : 0, more_w = extra.empty() ? 0 : extra.back();
    if (!known(more_h) || !known(more_w)) return std::nullopt;
    out = {size(plane->h, window->stride.h, kernel->h, window->dilation.h, window->before.h + window->after.h,
                more_h),
           size(plane->w, window->stride.w, kernel->w, window->dilation.w, window->before.w + window->after.w,
                more_w)};
    const std::int64_t groups = node.integer("group", 1);
    if (!known(groups) || !known((*w)[1])) return std::nullopt;
    channels = (*w)[1] * groups;
  }
  if (!known(out.h) || !known(out.w)) return std::nullopt;
  return a->size() == 3 ? Dims{(*a)[0], channels, out.w} : Dims{(*a)[0], channels, out.h, out.w};
}

std::optional<Dims> pool(const OnnxNode& node, const Inputs& inputs) {
  const auto& a = input(inputs, 0).dims;
  if (!a || a->size() < 3) return std::nullopt;
  if (node.op.starts_with("Global")) {
    Dims out = *a;
    std::fill(out.begin() + 2, out.end(), 1);
    return out;
  }
  const auto plane = onnx_plane(*a);
  const auto window = onnx_window(node, *a, std::nullopt);
  if (!plane || !window) return std::nullopt;
  const Size2 out = window->output(*plane, node.integer("ceil_mode", 0) != 0);
  if (!known(out.h) || !known(out.w)) return std::nullopt;
  return a->size() == 3 ? Dims{(*a)[0], (*a)[1], out.w} : Dims{(*a)[0], (*a)[1], out.h, out.w};
}

std::optional<Dims> matmul(const Inputs& inputs) {
  const auto &a = input(inputs, 0).dims, &b = input(inputs, 1).dims;
  if (!a || !b || a->size() < 2 || b->size() < 2) return std::nullopt;
  const OnnxTensor left = shaped(Dims(a->begin(), a->end() - 2)),
                   right = shaped(Dims(b->begin(), b->end() - 2));
  auto out = broadcast({&left, &right});
  out->push_back((*a)[a->size() - 2]);
  out->push_back(b->back());
  return out;
}

std::optional<Dims> gemm(const OnnxNode& node, const Inputs& inputs) {
  const auto &a = input(inputs, 0).dims, &b = input(inputs, 1).dims;
  if (!a || !b || a->size() != 2 || b->size() != 2) return std::nullopt;
  return Dims{(*a)[node.integer("transA", 0) != 0 ? 1 : 0], (*b)[node.integer("transB", 0) != 0 ? 0 : 1]};
}

std::optional<Dims> reshape(const Inputs& inputs, bool zero_is_zero) {
  const auto& a = input(inputs, 0).dims;
  const auto& to = input(inputs, 1).integers;
  if (!to) return std::nullopt;
  Dims out = *to;
  std::int64_t* rest = nullptr;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i] == 0 && !zero_is_zero) out[i] = a && i < a->size() ? (*a)[i] : kOpen;
    if ((*to)[i] == -1) rest = &out[i];
  }
  if (rest == nullptr || !a) return out;
  // Resolves -1; an open size in the same place of both is left out on both sides.
  Dims from = *a, given;
  for (std::int64_t& size : out) {
    if (&size == rest) continue;
    const auto open = size == kOpen ? std::ranges::find(from, kOpen) : from.end();
    if (open != from.end())
      from.erase(open);
    else
      given.push_back(size);
  }
  const std::int64_t all = product(from), others = product(given);
  *rest = all >= 0 && others > 0 && all % others == 0 ? all / others : kOpen;
  return out;
}

std::optional<Dims> concat(const OnnxNode& node, const Inputs& inputs) {
  std::optional<Dims> out = input(inputs, 0).dims;
  const auto axis = out ? axis_of(node.integer("axis", 0), out->size()) : std::nullopt;
  if (!axis) return std::nullopt;
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    const auto& other = input(inputs, i).dims;
    if (!other || other->size() != out->size()) return std::nullopt;
    std::int64_t& size = (*out)[*axis];
    size = known(size) && known((*other)[*axis]) ? size + (*other)[*axis] : kOpen;
  }
  return out;
}

std::optional<Dims> transpose(const OnnxNode& node, const Inputs& inputs) {
  const auto& a = input(inputs, 0).dims;
  if (!a) return std::nullopt;
  Dims order = node.integers("perm"), out;
  if (order.empty())
    for (std::size_t i = a->size(); i > 0; --i) order.push_back(static_cast<std::int64_t>(i) - 1);
  for (const std::int64_t from : order) {
    const auto axis = axis_of(from, a->size());
    if (!axis) return std::nullopt;
    out.push_back((*a)[*axis]);
  }
  return out.size() == a->size() ? std::optional(out) : std::nullopt;
}

// Squeeze, Unsqueeze and the reductions: axes that go, come, or become 1.
std::optional<Dims> change_axes(const OnnxNode& node, const Inputs& inputs) {
  const auto& a = input(inputs, 0).dims;
  if (!a) return std::nullopt;
  const std::optional<Dims> axes = list_of(node, "axes", inputs, 1);
  const bool comes = node.op == "Unsqueeze", squeeze = node.op == "Squeeze";
  const bool kept = !comes && !squeeze && node.integer("keepdims", 1) != 0;
  if (comes && !axes) return std::nullopt;
  if (!comes && !axes && inputs.size() > 1 && inputs[1] != nullptr) return std::nullopt;  // not known
  const std::size_t rank = a->size() + (comes ? axes->size() : 0);
  std::set<std::size_t> named;
  for (const std::int64_t given : axes.value_or(Dims{})) {
    const auto axis = axis_of(given, rank);
    if (!axis) return std::nullopt;
    named.insert(*axis);
  }
  if (comes && named.size() != axes->size()) return std::nullopt;
  Dims out;
  std::size_t next = 0;
  for (std::size_t i = 0; i < rank; ++i) {
    if (comes) {
      out.push_back(named.contains(i) ? 1 : (*a)[next++]);
      continue;
    }
    const bool goes = axes ? named.contains(i) : squeeze ? (*a)[i] == 1 : true;
    if (!goes) out.push_back((*a)[i]);
    if (goes && kept) out.push_back(1);
  }
  return out;
}

std::optional<Dims> flatten(const OnnxNode& node, const Inputs& inputs) {
  const auto& a = input(inputs, 0).dims;
  if (!a) return std::nullopt;
  const std::int64_t axis =
      node.integer("axis", 1) + (node.integer("axis", 1) < 0 ? static_cast<std::int64_t>(a->size()) : 0);
  if (axis < 0 || axis > static_cast<std::int64_t>(a->size())) return std::nullopt;
  return Dims{product(a->data(), a->data() + axis), product(a->data() + axis, a->data() + a->size())};
}

std::optional<Dims> slice(const OnnxNode& node, const Inputs& inputs) {
  std::optional<Dims> out = input(inputs, 0).dims;
  const auto starts = list_of(node, "starts", inputs, 1), ends = list_of(node, "ends", inputs, 2);
  if (!out || !starts || !ends || starts->size() != ends->size()) return std::nullopt;
  auto axes = list_of(node, "axes", inputs, 3);
  const auto steps = input(inputs, 4).integers;
  if (!axes) {
    axes = Dims{};
    for (std::size_t i = 0; i < starts->size(); ++i) axes->push_back(static_cast<std::int64_t>(i));
  }
  if (axes->size() != starts->size() || (steps && steps->size() != starts->size())) return std::nullopt;
  for (std::size_t i = 0; i < axes->size(); ++i) {
    const auto axis = axis_of((*axes)[i], out->size());
    const std::int64_t step = steps ? (*steps)[i] : 1;
    if (!axis) return std::nullopt;
    std::int64_t& size = (*out)[*axis];
    if (!known(size) || step < 1) {
      size = kOpen;
      continue;
    }
    const auto place = [&](std::int64_t at) {
      return std::clamp<std::int64_t>(at < 0 ? std::max(at, -size) + size : at, 0, size);
    };
    const std::int64_t length = std::max<std::int64_t>(0, place((*ends)[i]) - place((*starts)[i]));
    size = (length + step - 1) / std::min(step, kLargest);
  }
  return out;
}

std::optional<Dims> gather(const OnnxNode& node, const Inputs& inputs) {
  const auto &a = input(inputs, 0).dims, &at = input(inputs, 1).dims;
  const auto axis = a ? axis_of(node.integer("axis", 0), a->size()) : std::nullopt;
  if (!axis || !at || a->size() + at->size() > 16) return std::nullopt;
  Dims out = *a;
  const auto place = out.erase(out.begin() + static_cast<std::ptrdiff_t>(*axis));
  out.insert(place, at->begin(), at->end());
  return out;
}

std::optional<Dims> pad(const OnnxNode& node, const Inputs& inputs) {
  std::optional<Dims> out = input(inputs, 0).dims;
  const auto pads = list_of(node, "pads", inputs, 1);
  if (!out || !pads || pads->size() != 2 * out->size()) return std::nullopt;
  for (std::size_t i = 0; i < out->size(); ++i) {
    const std::int64_t before = (*pads)[i], after = (*pads)[i + out->size()];
    if (before < -kLargest || after < -kLargest || before > kLargest || after > kLargest) return std::nullopt;
    if (known((*out)[i])) (*out)[i] += before + after;
  }
  return out;
}

std::optional<Dims> resize(const OnnxNode& node, const Inputs& inputs) {
  const auto& a = input(inputs, 0).dims;
  if (const auto& sizes = input(inputs, 3).integers) return *sizes;
  // Scales are floats, whose values are kept in attributes alone.
  const auto scales = node.attributes.find("scales");
  if (!a || scales == node.attributes.end() || scales->second.reals.size() != a->size()) return std::nullopt;
  Dims out = *a;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const double size = static_cast<double>(out[i]) * static_cast<double>(scales->second.reals[i]);
    if (out[i] >= 0)
      out[i] = size >= 0 && size <= static_cast<double>(kLargest) ? static_cast<std::int64_t>(size) : kOpen;
  }
  return out;
}

std::vector<OnnxTensor> split(const OnnxNode& node, const Inputs& inputs) {
  const auto& a = input(inputs, 0).dims;
  const auto axis = a ? axis_of(node.integer("axis", 0), a->size()) : std::nullopt;
  if (!axis) return {};
  const auto sizes = list_of(node, "split", inputs, 1);
  const auto parts = static_cast<std::int64_t>(node.outputs.size());
  std::vector<OnnxTensor> out;
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    Dims dims = *a;
    if (known(dims[*axis])) dims[*axis] = (dims[*axis] + parts - 1) / parts;
    if (sizes && i < sizes->size()) dims[*axis] = (*sizes)[i];
    out.push_back(shaped(std::move(dims)));
  }
  return out;
}

// Integers that models compute shapes with; nothing if a value is not known.
std::optional<OnnxTensor> compute_integers(const OnnxNode& node, const Inputs& inputs) {
  const auto &x = input(inputs, 0).integers, &y = input(inputs, 1).integers;
  if (node.op == "Shape") {
    const auto& dims = input(inputs, 0).dims;
    return dims ? std::optional(listed(*dims, false)) : std::nullopt;
  }
  if (!x) return std::nullopt;
  const auto& dims = input(inputs, 0).dims;
  const bool scalar = dims && dims->empty();
  if (node.op == "Gather" && y) {
    const auto& at_dims = input(inputs, 1).dims;
    Dims out;
    for (const std::int64_t at : *y) {
      const auto place = axis_of(at, x->size());
      if (!place) return std::nullopt;
      out.push_back((*x)[*place]);
    }
    return listed(std::move(out), at_dims && at_dims->empty());
  }
  if (node.op == "Concat") {
    Dims out;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const auto& part = input(inputs, i).integers;
      if (!part || out.size() + part->size() > kMostOnnxIntegers) return std::nullopt;
      out.insert(out.end(), part->begin(), part->end());
    }
    return listed(std::move(out), false);
  }
  if (node.op == "Slice") {
    const auto starts = list_of(node, "starts", inputs, 1), ends = list_of(node, "ends", inputs, 2);
    const auto steps = input(inputs, 4).integers;
    if (!starts || !ends || starts->size() != 1 || ends->size() != 1 || (steps && *steps != Dims{1}))
      return std::nullopt;
    const auto size = static_cast<std::int64_t>(x->size());
    const auto place = [&](std::int64_t at) {
      return std::clamp<std::int64_t>(at < 0 ? std::max(at, -size) + size : at, 0, size);
    };
    const std::int64_t begin = place((*starts)[0]), end = std::max(begin, place((*ends)[0]));
    return listed(Dims(x->begin() + begin, x->begin() + end), false);
  }
  if (node.op == "Unsqueeze" || node.op == "Squeeze")
    return listed(*x, node.op == "Squeeze" && x->size() == 1);
  if (node.op == "Cast" || node.op == "Identity") return listed(*x, scalar);
  if (node.op == "Reshape") return listed(*x, false);
  if (node.op == "ConstantOfShape" || node.op == "Expand") {
    const std::int64_t count = product(node.op == "Expand" && y ? *y : *x);
    if (count < 0 || count > static_cast<std::int64_t>(kMostOnnxIntegers)) return std::nullopt;
    std::int64_t value = 0;
    if (node.op == "Expand") {
      if (!y || x->size() != 1) return std::nullopt;
      value = x->front();
    } else if (const auto at = node.attributes.find("value"); at != node.attributes.end()) {
      const auto& given = at->second.tensor.integers;
      if (!given || given->size() != 1) return std::nullopt;
      value = given->front();
    }
    return listed(Dims(static_cast<std::size_t>(count), value), false);
  }
  const auto& z = input(inputs, 2).integers;
  const bool choice = node.op == "Where";
  if (!y || choice != (z && inputs.size() == 3)) return std::nullopt;
  const std::size_t count = std::max({x->size(), y->size(), choice ? z->size() : 0});
  Dims out;
  for (std::size_t i = 0; i < count; ++i) {
    const auto at = [&](const Dims& list) {
      return list.size() == 1 ? list[0] : i < list.size() ? list[i] : kOpen;
    };
    const std::int64_t a = at(*x), b = at(*y);
    const bool small = std::max(a, b) <= kLargest && std::min(a, b) >= -kLargest;
    if (choice)
      out.push_back(a != 0 ? b : at(*z));
    else if (node.op == "Equal")
      out.push_back(a == b ? 1 : 0);
    else if (node.op == "Mul" || node.op == "Add" || node.op == "Sub")
      out.push_back(!small ? kOpen : node.op == "Mul" ? a * b : node.op == "Add" ? a + b : a - b);
    else if (node.op == "Div")
      out.push_back(!small || b == 0 ? kOpen : a / b);
    else
      return std::nullopt;
  }
  return listed(std::move(out), scalar && count == 1);
}

OnnxTensor constant(const OnnxNode& node) {
  for (const std::string_view key : {"value", "value_int", "value_ints"}) {
    const auto at = node.attributes.find(key);
    if (at == node.attributes.end()) continue;
    OnnxTensor tensor =
        key == "value"
            ? at->second.tensor
            : listed(key == "value_int" ? Dims{at->second.integer} : at->second.integers, key == "value_int");
    tensor.constant = true;
    return tensor;
  }
  return {{}, {}, true};
}

using Rule = std::function<std::optional<Dims>(const OnnxNode&, const Inputs&)>;

const std::map<std::string_view, Rule>& rules() {
  static const auto table = [] {
    std::map<std::string_view, Rule> out;
    for (const char* op : {"Conv", "ConvTranspose"}) out[op] = conv;
    for (const char* op :
         {"MaxPool", "AveragePool", "LpPool", "GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"})
      out[op] = pool;
    for (const char* op : {"Squeeze", "Unsqueeze", "ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin",
                           "ReduceL2", "ReduceProd"})
      out[op] = change_axes;
    out["MatMul"] = [](const OnnxNode&, const Inputs& inputs) { return matmul(inputs); };
    out["Gemm"] = gemm;
    out["Reshape"] = [](const OnnxNode& node, const Inputs& inputs) {
      return reshape(inputs, node.integer("allowzero", 0) != 0);
    };
    out["Expand"] = [](const OnnxNode&, const Inputs& inputs) -> std::optional<Dims> {
      if (!input(inputs, 1).integers) return std::nullopt;
      const OnnxTensor to = shaped(input(inputs, 1).integers);
      return broadcast({&input(inputs, 0), &to});
    };
    out["ConstantOfShape"] = [](const OnnxNode&, const Inputs& inputs) { return input(inputs, 0).integers; };
    out["Concat"] = concat;
    out["Transpose"] = transpose;
    out["Flatten"] = flatten;
    out["Slice"] = slice;
    out["Gather"] = gather;
    out["Pad"] = pad;
    for (const char* op : {"Resize", "Upsample"}) out[op] = resize;
    for (const char* op : {"Add", "Sub", "Mul", "Div", "Pow", "Min", "Max", "Sum", "Mean", "Where", "PRelu",
                           "Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual", "And", "Or", "Mod"})
      out[op] = [](const OnnxNode&, const Inputs& inputs) { return broadcast(inputs); };
    // One input's shape.
    for (const char* op : {"Relu",
                           "LeakyRelu",
                           "Clip",
                           "Sigmoid",
                           "HardSigmoid",
                           "HardSwish",
                           "Tanh",
                           "Elu",
                           "Selu",
                           "Celu",
                           "Gelu",
                           "Mish",
                           "Softplus",
                           "Softsign",
                           "ThresholdedRelu",
                           "Erf",
                           "Exp",
                           "Log",
                           "Sqrt",
                           "Reciprocal",
                           "Neg",
                           "Abs",
                           "Floor",
                           "Ceil",
                           "Round",
                           "Sign",
                           "Not",
                           "Softmax",
                           "LogSoftmax",
                           "BatchNormalization",
                           "InstanceNormalization",
                           "LayerNormalization",
                           "GroupNormalization",
                           "LRN",
                           "LpNormalization",
                           "Dropout",
                           "Identity",
                           "Cast",
                           "Sin",
                           "Cos",
                           "CumSum",
                           "QuantizeLinear",
                           "DequantizeLinear"})
      out[op] = [](const OnnxNode&, const Inputs& inputs) { return input(inputs, 0).dims; };
    return out;
  }();
  return table;
}

}  // namespace

Size2 OnnxWindow::output(Size2 input, bool round_up) const {
  const auto size = [&](std::int64_t in, std::int64_t kernel_size, std::int64_t step, std::int64_t apart,
                        std::int64_t pads) {
    const std::int64_t room = in + pads - (kernel_size - 1) * apart - 1;
    return room < 0 ? kOpen : (room + (round_up ? step - 1 : 0)) / step + 1;
  };
  return {size(input.h, kernel.h, stride.h, dilation.h, before.h + after.h),
          size(input.w, kernel.w, stride.w, dilation.w, before.w + after.w)};
}

std::optional<Size2> onnx_plane(const Dims& dims) {
  if (dims.size() != 3 && dims.size() != 4) return std::nullopt;
  const Size2 plane{dims.size() == 3 ? 1 : dims[2], dims.back()};
  if (!known(plane.h) || !known(plane.w)) return std::nullopt;
  return plane;
}

std::optional<OnnxWindow> onnx_window(const OnnxNode& node, const Dims& dims, std::optional<Size2> kernel) {
  const std::size_t axes = dims.size() - 2;
  if (dims.size() < 3 || axes > 2) return std::nullopt;
  bool good = true;
  const auto pair = [&](std::string_view key, std::size_t from, std::size_t needed, std::int64_t least,
                        Size2 fallback) {
    const Dims list = node.integers(key);
    if (list.empty()) return fallback;
    if (list.size() != needed) {
      good = false;
      return fallback;
    }
    const Size2 size{axes == 1 ? fallback.h : list[from], list[from + axes - 1]};
    good = good && known(size.h) && known(size.w) && size.h >= least && size.w >= least;
    return size;
  };
  OnnxWindow window;
  if (!kernel && !node.attributes.contains("kernel_shape")) return std::nullopt;
  window.kernel = kernel ? *kernel : pair("kernel_shape", 0, axes, 0, {1, 1});
  window.stride = pair("strides", 0, axes, axes == 1 ? 0 : 1, {1, 1});
  window.dilation = pair("dilations", 0, axes, 1, {1, 1});
  window.before = pair("pads", 0, 2 * axes, 0, {0, 0});
  window.after = pair("pads", axes, 2 * axes, 0, {0, 0});
  if (!good || window.kernel.h < 1 || window.kernel.w < 1 || window.stride.h < 1 || window.stride.w < 1)
    return std::nullopt;
  const auto automatic = node.attributes.find("auto_pad");
  const auto plane = onnx_plane(dims);
  if (automatic != node.attributes.end() && automatic->second.text.starts_with("SAME") && plane) {
    const auto needed = [](std::int64_t in, std::int64_t size, std::int64_t step, std::int64_t apart) {
      return std::max<std::int64_t>(0, ((in + step - 1) / step - 1) * step + (size - 1) * apart + 1 - in);
    };
    const Size2 all{needed(plane->h, window.kernel.h, window.stride.h, window.dilation.h),
                    needed(plane->w, window.kernel.w, window.stride.w, window.dilation.w)};
    window.before = {all.h / 2, all.w / 2};
    window.after = {all.h - all.h / 2, all.w - all.w / 2};
  }
  return window;
}

std::vector<OnnxTensor> infer_outputs(const OnnxNode& node, const Inputs& inputs) {
  if (node.op == "Constant") return {constant(node)};
  if (node.op == "Split") return split(node, inputs);
  if (auto integers = compute_integers(node, inputs)) {
    integers->constant = true;
    return {*integers};
  }
  const auto rule = rules().find(node.op);
  if (rule == rules().end()) return {};
  OnnxTensor out = shaped(rule->second(node, inputs));
  // Weights that a model reshapes, casts or transposes stay weights.
  out.constant = !inputs.empty() && std::ranges::all_of(inputs, [](const OnnxTensor* tensor) {
    return tensor == nullptr || tensor->constant;
  });
  return {out};
}

}  // namespace lacuna::network
