// Trace::open and Trace::parse: from a safetensors file to layers. docs/trace-format.md
#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <utility>

#include "base/error.hpp"
#include "base/io/byte_source.hpp"
#include "base/io/name_index.hpp"
#include "base/io/safetensors.hpp"
#include "base/memory.hpp"
#include "base/text/nearest.hpp"
#include "base/text/quote.hpp"
#include "trace/format/layer_list.hpp"
#include "trace/format/trace_checksum.hpp"
#include "trace/format/trace_info.hpp"
#include "trace/format/trace_storage.hpp"
#include "trace/import/npy_folder.hpp"
#include "trace/trace.hpp"

namespace lacuna {
namespace {

constexpr std::string_view kRecord = "record the trace again";

void expect_format(const TextMap& metadata, const std::string& where) {
  const std::string& value = required_metadata(metadata, "format", where);
  if (value == "training-trace") return;
  throw InputError(
      where, fmt::format("'format' is {}, this program reads 'training-trace'", quote_name(value)), kRecord);
}

int expect_version(const TextMap& metadata, const std::string& where) {
  const std::string& value = required_metadata(metadata, "version", where);
  for (int version = 1; version <= kTraceVersion; ++version)
    if (value == std::to_string(version)) return version;
  throw InputError(
      where, fmt::format("'version' is {}, this program reads '1' to '{}'", quote_name(value), kTraceVersion),
      kRecord);
}

// Finds the tensors of a layer by name, and knows which were never asked for.
class TensorIndex {
 public:
  TensorIndex(const std::vector<SafetensorsEntry>& entries, const std::string& where)
      : entries_(entries),
        by_name_(entries.size(), [&](std::size_t i) { return std::string_view(entries[i].name); }),
        taken_(entries.size()),
        where_(where) {}

  const SafetensorsEntry* take(const std::string& name) {
    const auto at = by_name_.find(name);
    if (!at) return nullptr;
    taken_[*at] = true;
    return &entries_[*at];
  }

  // A tensor that no layer asked for is ignored, unless it was clearly meant for one: taking that tensor as
  // absent would silently turn its zeros into non-zeros.
  void check_rest(const std::vector<LayerEntry>& layers) const {
    const NameIndex by_layer(layers.size(), [&](std::size_t i) { return std::string_view(layers[i].name); });
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      if (taken_[i]) continue;
      const SafetensorsEntry& entry = entries_[i];
      const std::size_t slash = entry.name.rfind('/');
      if (slash == std::string::npos) continue;
      const std::string_view layer = std::string_view(entry.name).substr(0, slash);
      const std::string_view tail = std::string_view(entry.name).substr(slash + 1);
      if (!by_layer.find(layer) && !looks_like_tensor(tail)) continue;
      const std::string near = entry.name.size() > 200 ? "" : nearest_name(entry.name, candidates(layers));
      throw InputError(where_, "tensor " + quote_name(entry.name) + " belongs to no layer",
                       near.empty() ? "list its layer in the metadata or leave the tensor out"
                                    : "did you mean " + quote_name(near) + "?");
    }
  }

 private:
  static constexpr std::array<const char*, 8> kNames{"A", "A.mask", "A_forward", "A_forward.mask",
                                                     "W", "W.mask", "G",         "G.mask"};

  // Names to suggest; those of the first layers suffice, where a file has very many.
  static std::vector<std::string> candidates(const std::vector<LayerEntry>& layers) {
    constexpr std::size_t kMost = 1000;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < std::min(layers.size(), kMost); ++i) {
      for (const char* name : kNames) names.push_back(layers[i].name + "/" + name);
    }
    return names;
  }

  static bool looks_like_tensor(std::string_view tail) {
    if (tail.size() > 18) return false;
    for (const char* name : kNames) {
      const std::string_view known = name;
      if (tail == known || (known.size() > 1 && edit_distance(tail, known) <= 2)) return true;
    }
    return false;
  }

  const std::vector<SafetensorsEntry>& entries_;
  NameIndex by_name_;
  std::vector<bool> taken_;
  const std::string& where_;
};

void check_shape(const SafetensorsEntry& entry, const std::vector<std::int64_t>& needed,
                 const std::string& place, const std::string& name) {
  if (entry.shape == needed) return;
  throw InputError(place,
                   fmt::format("{} has the shape {}, the layer needs {}", name, shape_text(entry.shape),
                               shape_text(needed)),
                   "correct the layer's description or record the trace again");
}

// Refuses a tensor whose zeros are not those that its recorder noted, within the digits of the notes: all
// that shows damage to a file without a checksum.
void check_noted_zeros(const LayerTensor& tensor, double noted, int digits, const std::string& place,
                       const char* name) {
  constexpr int kFewest = 2;  // a network without zeros is noted as 0, whatever the digits
  const double rounding = 0.5 * std::pow(10.0, -std::max(digits, kFewest));
  constexpr double kSingle = 1e-7;  // shares that were computed in single precision
  if (noted < 0 || std::abs(tensor.zero_share() - noted) <= rounding + kSingle) return;
  throw InputError(
      place,
      fmt::format("{} has a share of {} of zeros, but 'sparsity' says {}", name, tensor.zero_share(), noted),
      "the tensor was damaged or exchanged; record the trace again or correct 'sparsity'");
}

// Nothing if the file has neither A_forward nor its mask: the forward product then multiplies A.
std::optional<LayerTensor> read_tensor(const LayerEntry& layer, TraceTensor which, TensorIndex& index,
                                       int digits, TraceStorage& storage, const std::string& where) {
  const std::string place = where + ": layer " + quote_name(layer.name);
  const std::string name = which.name();
  const TensorExtent extent = TensorExtent::of(layer.shape, which.operand);
  const SafetensorsEntry* mask = index.take(layer.name + "/" + name + ".mask");
  const SafetensorsEntry* stored = index.take(layer.name + "/" + name);
  if (mask != nullptr) {
    if (mask->dtype != "U8") {
      throw InputError(place, fmt::format("{}.mask is {}, a mask is U8", name, mask->dtype), kRecord);
    }
    check_shape(*mask, tensor_shape(layer.shape, which.operand, (extent.channels + 7) / 8), place,
                name + ".mask");
  }
  ValueView values;
  if (stored != nullptr) {
    const auto type = std::ranges::find(kRecordedTypes, std::string_view(stored->dtype),
                                        [](DataType known) { return facts_of(known).dtype; });
    if (type == kRecordedTypes.end()) {
      std::vector<std::string_view> known;
      for (const DataType one : kRecordedTypes) known.push_back(facts_of(one).dtype);
      throw InputError(place,
                       fmt::format("{} is {}, values are {}", name, stored->dtype, fmt::join(known, " or ")),
                       kRecord);
    }
    check_shape(*stored, tensor_shape(layer.shape, which.operand, extent.channels), place, name);
    values = {stored->data.data(), *type, extent.rows, extent.channels};
  }
  if (mask == nullptr && stored == nullptr && layer.noted_zeros(which) > 0) {
    throw InputError(place,
                     fmt::format("{} has neither mask nor values, but 'sparsity' says {} of it is zero", name,
                                 layer.noted_zeros(which)),
                     "the tensor was lost; record the trace again");
  }
  if (which.forward && mask == nullptr && stored == nullptr) return std::nullopt;
  LayerTensor tensor = make_layer_tensor(layer.shape, which, mask == nullptr ? nullptr : mask->data.data(),
                                         values, storage, place);
  check_noted_zeros(tensor, layer.noted_zeros(which), digits, place, which.name());
  return tensor;
}

Trace read_trace(std::string name, std::unique_ptr<ByteSource> source) {
  const auto stored_bytes = static_cast<std::int64_t>(source->bytes().size());
  // Leaves room for what is made of the tensors.
  const Safetensors file = read_safetensors(source, name, memory_budget() / 3 * 2);
  expect_format(file.metadata, name);
  const int version = expect_version(file.metadata, name);
  check_checksum(file, name);
  TraceInfo info = read_trace_info(file.metadata, name);
  const std::string& list = required_metadata(file.metadata, "layers", name);
  const std::vector<LayerEntry> entries = parse_layer_list(list, name, version);

  const int digits = noted_digits(entries);

  auto storage = std::make_shared<TraceStorage>();
  storage->sources.push_back(std::move(source));
  TensorIndex index(file.tensors, name);
  std::vector<Layer> layers;
  layers.reserve(entries.size());
  for (const LayerEntry& entry : entries) {
    const auto read = [&](TraceTensor which) {
      return read_tensor(entry, which, index, digits, *storage, name);
    };
    layers.push_back({.name = entry.name,
                      .shape = entry.shape,
                      .steps = entry.steps,
                      .a = *read(Operand::kA),
                      .w = *read(Operand::kW),
                      .g = *read(Operand::kG),
                      .a_forward = read(kAForward),
                      .operations = entry.operations});
    if (layers.back().a_forward && version < 3)
      throw InputError(name + ": layer " + quote_name(entry.name),
                       fmt::format("A_forward needs format version 3, the file says {}", version),
                       "write \"version\": \"3\" in the metadata");
  }
  index.check_rest(entries);
  return {std::move(name), std::move(info), std::move(layers), std::move(storage), stored_bytes};
}

}  // namespace

Trace Trace::open(const std::filesystem::path& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return open_npy_folder(path);
  return read_trace(path.string(), ByteSource::open(path));
}

Trace Trace::parse(std::string name, std::vector<std::uint8_t> bytes) {
  return read_trace(std::move(name), ByteSource::own(std::move(bytes)));
}

}  // namespace lacuna
