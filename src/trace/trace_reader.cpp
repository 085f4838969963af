// Trace::open and Trace::parse: from a safetensors file to layers. docs/trace-format.md
#include <array>
#include <fmt/format.h>
#include <unordered_map>
#include <utility>

#include "base/error.hpp"
#include "base/memory.hpp"
#include "base/nearest.hpp"
#include "base/quote.hpp"
#include "trace/byte_source.hpp"
#include "trace/layer_list.hpp"
#include "trace/npy_folder.hpp"
#include "trace/safetensors.hpp"
#include "trace/trace.hpp"
#include "trace/trace_info.hpp"
#include "trace/trace_storage.hpp"

namespace lacuna {
namespace {

constexpr std::string_view kRecord = "record the trace again";

void expect_metadata(const TextMap& metadata, const char* key, std::string_view wanted,
                     const std::string& where) {
  const std::string& value = required_metadata(metadata, key, where);
  if (value == wanted) return;
  throw InputError(where, fmt::format("'{}' is {}, this program reads '{}'", key, quote_name(value), wanted),
                   kRecord);
}

// Finds the tensors of a layer by name, and knows which were never asked for.
class TensorIndex {
 public:
  TensorIndex(const std::vector<SafetensorsEntry>& entries, const std::string& where) : where_(where) {
    for (const SafetensorsEntry& entry : entries) by_name_.emplace(entry.name, Slot{&entry, false});
  }

  const SafetensorsEntry* take(const std::string& name) {
    const auto at = by_name_.find(name);
    if (at == by_name_.end()) return nullptr;
    at->second.taken = true;
    return at->second.entry;
  }

  // A tensor that no layer asked for is ignored, unless it was clearly meant for one: taking that tensor as
  // absent would silently turn its zeros into non-zeros.
  void check_rest(const std::vector<SafetensorsEntry>& entries, const std::vector<LayerEntry>& layers) const {
    std::unordered_map<std::string_view, const LayerEntry*> by_layer;
    for (const LayerEntry& layer : layers) by_layer.emplace(layer.name, &layer);
    for (const SafetensorsEntry& entry : entries) {
      if (by_name_.at(entry.name).taken) continue;
      const std::size_t slash = entry.name.rfind('/');
      if (slash == std::string::npos) continue;
      const std::string_view layer = std::string_view(entry.name).substr(0, slash);
      const std::string_view tail = std::string_view(entry.name).substr(slash + 1);
      if (!by_layer.contains(layer) && !looks_like_tensor(tail)) continue;
      std::vector<std::string> candidates;
      for (const LayerEntry& known : layers) {
        for (const char* name : kNames) candidates.push_back(known.name + "/" + name);
      }
      std::string near = entry.name.size() > 200 ? "" : nearest_name(entry.name, candidates);
      throw InputError(where_, "tensor " + quote_name(entry.name) + " belongs to no layer",
                       near.empty() ? "list its layer in the metadata or leave the tensor out"
                                    : "did you mean " + quote_name(near) + "?");
    }
  }

 private:
  static constexpr std::array<const char*, 6> kNames{"A", "A.mask", "W", "W.mask", "G", "G.mask"};

  static bool looks_like_tensor(std::string_view tail) {
    if (tail.size() > 10) return false;
    for (const char* name : kNames) {
      const std::string_view known = name;
      if (tail == known || (known.size() > 1 && edit_distance(tail, known) <= 2)) return true;
    }
    return false;
  }

  struct Slot {
    const SafetensorsEntry* entry;
    bool taken;
  };
  std::unordered_map<std::string, Slot> by_name_;
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

LayerTensor read_tensor(const LayerEntry& layer, TensorRole role, TensorIndex& index, TraceStorage& storage,
                        const std::string& where) {
  const std::string place = where + ": layer " + quote_name(layer.name);
  const std::string name = role_name(role);
  const TensorExtent extent = TensorExtent::of(layer.shape, role);
  const SafetensorsEntry* mask = index.take(layer.name + "/" + name + ".mask");
  const SafetensorsEntry* stored = index.take(layer.name + "/" + name);
  if (mask != nullptr) {
    if (mask->dtype != "U8") {
      throw InputError(place, fmt::format("{}.mask is {}, a mask is U8", name, mask->dtype), kRecord);
    }
    check_shape(*mask, tensor_shape(layer.shape, role, (extent.channels + 7) / 8), place, name + ".mask");
  }
  ValueView values;
  if (stored != nullptr) {
    if (stored->dtype != "F32" && stored->dtype != "BF16") {
      throw InputError(place, fmt::format("{} is {}, values are F32 or BF16", name, stored->dtype), kRecord);
    }
    check_shape(*stored, tensor_shape(layer.shape, role, extent.channels), place, name);
    values = {stored->data.data(), stored->dtype == "F32" ? DataType::kFp32 : DataType::kBfloat16,
              extent.rows, extent.channels};
  }
  if (mask == nullptr && stored == nullptr && layer.noted_zeros(role) > 0) {
    throw InputError(place,
                     fmt::format("{} has neither mask nor values, but 'sparsity' says {} of it is zero", name,
                                 layer.noted_zeros(role)),
                     "the tensor was lost; record the trace again");
  }
  return make_layer_tensor(extent, role, mask == nullptr ? nullptr : mask->data.data(), values, storage,
                           place);
}

Trace read_trace(std::string name, std::unique_ptr<ByteSource> source) {
  if (is_zstd(source->bytes())) source = decompress_zstd(source->bytes(), name, usable_memory());
  const Safetensors file = Safetensors::parse(source->bytes(), name);
  expect_metadata(file.metadata, "format", "training-trace", name);
  expect_metadata(file.metadata, "version", "1", name);
  TraceInfo info = read_trace_info(file.metadata, name);
  const std::string& list = required_metadata(file.metadata, "layers", name);
  const std::vector<LayerEntry> entries = parse_layer_list(list, name);

  auto storage = std::make_shared<TraceStorage>();
  storage->sources.push_back(std::move(source));
  TensorIndex index(file.tensors, name);
  std::vector<Layer> layers;
  layers.reserve(entries.size());
  for (const LayerEntry& entry : entries) {
    Layer layer{.name = entry.name, .shape = entry.shape, .steps = entry.steps, .a = {}, .w = {}, .g = {}};
    layer.a = read_tensor(entry, TensorRole::kA, index, *storage, name);
    layer.w = read_tensor(entry, TensorRole::kW, index, *storage, name);
    layer.g = read_tensor(entry, TensorRole::kG, index, *storage, name);
    layers.push_back(std::move(layer));
  }
  index.check_rest(file.tensors, entries);
  return {std::move(name), std::move(info), std::move(layers), std::move(storage)};
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
