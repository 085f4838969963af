#include "trace/format/trace_writer.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/io/output_file.hpp"
#include "base/io/safetensors.hpp"
#include "base/io/zstd_writer.hpp"
#include "base/text/quote.hpp"
#include "trace/format/layer_list.hpp"
#include "trace/format/product_order.hpp"
#include "trace/format/trace_checksum.hpp"
#include "trace/format/trace_info.hpp"
#include "trace/format/trace_storage.hpp"

namespace lacuna {
namespace {

using Sink = std::function<void(const void*, std::size_t)>;

// One tensor to be written.
struct Item {
  const Layer* layer = nullptr;
  TraceTensor which = Operand::kA;
  bool is_mask = false;
  DataType type = DataType::kFp32;  // of values

  const LayerTensor& tensor() const { return *which.of(*layer); }
  std::string name() const { return layer->name + "/" + which.name() + (is_mask ? ".mask" : ""); }
  std::string_view dtype() const { return is_mask ? "U8" : facts_of(type).dtype; }
  std::int64_t width() const { return is_mask ? 1 : bytes_of(type); }  // bytes of an element
  TensorExtent extent() const { return TensorExtent::of(layer->shape, which.operand); }
  std::int64_t last_dimension() const { return is_mask ? (extent().channels + 7) / 8 : extent().channels; }
  std::vector<std::int64_t> shape() const {
    return tensor_shape(layer->shape, which.operand, last_dimension());
  }
  std::int64_t bytes() const { return extent().rows * last_dimension() * width(); }
};

// Widest elements first, so that every tensor is aligned to its element.
std::vector<Item> items_of(const Trace& trace, const TraceWriteOptions& options) {
  std::vector<Item> items;
  for (const Layer& layer : trace.layers()) {
    for (const TraceTensor which : kTraceTensors) {
      const LayerTensor* tensor = which.of(layer);
      if (tensor == nullptr) continue;
      const bool values = options.values && tensor->values;
      if (values) items.push_back({&layer, which, false, options.type.value_or(tensor->values.type)});
      // A tensor without zeros and without values needs no bytes, but without A_forward the forward product
      // multiplies A.
      if (values ? options.masks : tensor->zeros() > 0 || which.forward)
        items.push_back({&layer, which, true, {}});
    }
  }
  std::ranges::stable_sort(items, std::ranges::greater{}, &Item::width);
  return items;
}

TextMap metadata_of(const Trace& trace) {
  const TraceInfo& info = trace.info();
  TextMap metadata{{"format", "training-trace"},
                   {"version", std::to_string(needed_version(trace.layers()))},
                   {"model", info.model}};
  const auto put = [&](const char* key, const auto& value) {
    if (value) metadata[key] = fmt::format("{}", *value);
  };
  if (!info.dataset.empty()) metadata["dataset"] = info.dataset;
  put("progress", info.progress);
  put("epoch", info.epoch);
  put("batch", info.batch);
  put("samples", info.samples);
  put("accuracy", info.accuracy);
  put("loss", info.loss);
  if (!info.left_out.empty()) metadata["left_out"] = left_out_json(info.left_out);
  metadata["layers"] = layer_list_json(trace.layers());
  return metadata;
}

void write_mask(const MaskView& mask, const Sink& sink) {
  if (mask.row_bytes == mask.readable_bytes()) {
    sink(mask.data, static_cast<std::size_t>(mask.rows * mask.row_bytes));
    return;
  }
  for (std::int64_t r = 0; r < mask.rows; ++r) {
    sink(mask.row(r), static_cast<std::size_t>(mask.readable_bytes()));
  }
}

// A value that the narrower type cannot hold would change the zeros or make the file unreadable.
void check_rounding(const Item& item, std::int64_t element, float value, float rounded,
                    const std::string& where) {
  if (std::isfinite(rounded) && (rounded != 0) == (value != 0)) return;
  throw InputError(where + ": layer " + quote_name(item.layer->name),
                   fmt::format("{} element {} is {}, which {} turns into {}", item.which.name(), element,
                               value, item.dtype(), rounded),
                   "write the values as F32");
}

void write_values(const Item& item, const ValueView& values, const std::string& where, const Sink& sink) {
  if (values.type == item.type) {
    sink(values.data, static_cast<std::size_t>(item.bytes()));
    return;
  }
  std::vector<std::uint8_t> row(static_cast<std::size_t>(values.channels * item.width()));
  for (std::int64_t r = 0; r < values.rows; ++r) {
    for (std::int64_t c = 0; c < values.channels; ++c) {
      const float value = values.at(r, c);
      std::uint8_t* at = row.data() + c * item.width();
      store_value(item.type, value, at);
      if (item.type != DataType::kFp32)
        check_rounding(item, r * values.channels + c, value, load_value(item.type, at), where);
    }
    sink(row.data(), row.size());
  }
}

void write_item(const Item& item, const std::string& where, const Sink& sink) {
  TraceStorage reordered;
  const LayerShape& shape = item.layer->shape;
  const LayerTensor tensor = in_product_order(shape, item.which.operand)
                                 ? products_first(item.tensor(), shape.groups, reordered)
                                 : item.tensor();
  if (item.is_mask) {
    write_mask(tensor.mask, sink);
  } else {
    write_values(item, tensor.values, where, sink);
  }
}

// The tensors are gone through once for the checksum, which comes before them in the file.
std::string checksum_of(const TextMap& metadata, const std::vector<Item>& items, const std::string& where) {
  std::vector<std::pair<std::string, const Item*>> by_name;
  by_name.reserve(items.size());
  for (const Item& item : items) by_name.emplace_back(item.name(), &item);
  std::ranges::sort(by_name, {}, &std::pair<std::string, const Item*>::first);
  TraceChecksum checksum(metadata);
  for (const auto& [name, item] : by_name) {
    checksum.tensor(name, item->dtype(), item->shape());
    write_item(*item, where, [&](const void* data, std::size_t bytes) {
      checksum.bytes({static_cast<const std::uint8_t*>(data), bytes});
    });
  }
  return checksum.text();
}

std::string start_of(const Trace& trace, const std::vector<Item>& items, const std::string& where) {
  std::vector<SafetensorsItem> tensors;
  tensors.reserve(items.size());
  for (const Item& item : items)
    tensors.push_back({item.name(), item.dtype(), item.shape(), static_cast<std::uint64_t>(item.bytes())});
  try {
    TextMap metadata = metadata_of(trace);
    metadata[kChecksumKey] = checksum_of(metadata, items, where);
    return safetensors_start(metadata, tensors);
  } catch (const nlohmann::json::exception&) {
    throw InputError(where, "a name in the trace is not UTF-8", "rename the model or its layers");
  }
}

struct Layout {
  std::vector<Item> items;
  std::string start;
  std::uint64_t total_bytes = 0;
};

Layout layout_of(const Trace& trace, const TraceWriteOptions& options, const std::string& where) {
  Layout layout;
  layout.items = items_of(trace, options);
  layout.start = start_of(trace, layout.items, where);
  layout.total_bytes = layout.start.size();
  for (const Item& item : layout.items) layout.total_bytes += static_cast<std::uint64_t>(item.bytes());
  return layout;
}

void write_layout(const Layout& layout, const std::string& where, const Sink& sink) {
  sink(layout.start.data(), layout.start.size());
  for (const Item& item : layout.items) write_item(item, where, sink);
}

}  // namespace

void write_trace(const Trace& trace, const std::filesystem::path& path, const TraceWriteOptions& options,
                 OutputFile::Links links) {
  const std::string where = path.string();
  const Layout layout = layout_of(trace, options, where);
  OutputFile file(path, links);
  if (path.extension() == ".zst") {
    ZstdWriter encoder(file, options.level, layout.total_bytes);
    write_layout(layout, where, [&](const void* data, std::size_t bytes) { encoder.write(data, bytes); });
    encoder.finish();
  } else {
    write_layout(layout, where, [&](const void* data, std::size_t bytes) { file.write(data, bytes); });
  }
  file.commit();
}

std::vector<std::uint8_t> serialize_trace(const Trace& trace, const TraceWriteOptions& options) {
  const Layout layout = layout_of(trace, options, trace.path());
  std::vector<std::uint8_t> bytes(layout.total_bytes);
  std::size_t at = 0;
  write_layout(layout, trace.path(), [&](const void* data, std::size_t size) {
    std::memcpy(bytes.data() + at, data, size);
    at += size;
  });
  return bytes;
}

}  // namespace lacuna
