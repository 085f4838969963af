#include "trace/import/npy_folder.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <fmt/format.h>
#include <optional>
#include <set>
#include <tuple>

#include "base/error.hpp"
#include "base/io/byte_source.hpp"
#include "base/io/safetensors.hpp"
#include "base/text/csv.hpp"
#include "base/text/nearest.hpp"
#include "base/text/parse_number.hpp"
#include "base/text/quote.hpp"
#include "trace/format/layer_list.hpp"
#include "trace/format/trace_info.hpp"
#include "trace/import/npy.hpp"
#include "trace/trace_builder.hpp"

namespace lacuna {
namespace {

namespace fs = std::filesystem;

constexpr const char* kListName = "layers.csv";
constexpr std::int64_t kLargest = std::int64_t{1} << 24;  // no size of a layer is larger

const std::vector<std::string> kColumns{
    "name",  "type",        "stride",       "padding", "dilation", "groups", "steps", "layout",
    "batch", "in_channels", "out_channels", "kernel",  "input_hw", "A",      "W",     "G"};

// One line of layers.csv.
class RowReader {
 public:
  RowReader(const std::vector<std::string>& columns, const CsvTable::Row& row, const std::string& where)
      : columns_(columns), row_(row), place_(fmt::format("{}: line {}", where, row.line)) {}

  const std::string& place() const { return place_; }

  // Empty if the column is absent.
  std::string text(std::string_view column) const {
    const auto at = std::find(columns_.begin(), columns_.end(), column);
    if (at == columns_.end()) return {};
    return row_.cells[static_cast<std::size_t>(at - columns_.begin())];
  }

  std::optional<std::int64_t> integer(const char* column) const {
    const std::string cell = text(column);
    if (cell.empty()) return std::nullopt;
    const auto value = parse_number<std::int64_t>(cell);
    if (!value || *value < 0 || *value > kLargest) refuse(column);
    return value;
  }

  // "2" for both axes or "2x1" (height, width).
  std::optional<Size2> size(const char* column) const {
    const std::string cell = text(column);
    if (cell.empty()) return std::nullopt;
    const auto size = parse_size(cell, kLargest);
    if (!size) refuse(column);
    return size;
  }

 private:
  [[noreturn]] void refuse(const char* column) const {
    throw InputError(
        place_,
        fmt::format("'{}' is {}, not a number from 0 to {}", column, quote_name(text(column)), kLargest),
        "write 3, or 3x2 for height and width");
  }

  const std::vector<std::string>& columns_;
  const CsvTable::Row& row_;
  std::string place_;
};

// A size of the layer, which several arrays and columns may give.
struct SizeFacts {
  const char* name;
  const char* column;
};
enum SizeIndex { kBatch, kInputs, kOutputs, kKernelH, kKernelW, kInputH, kInputW };
constexpr std::array<SizeFacts, 7> kSizes = {{{"the batch", "batch"},
                                              {"the number of input channels", "in_channels"},
                                              {"the number of output channels", "out_channels"},
                                              {"the kernel's height", "kernel"},
                                              {"the kernel's width", "kernel"},
                                              {"the input's height", "input_hw"},
                                              {"the input's width", "input_hw"}}};

// The sizes of a layer as they become known; all that give one must agree.
class Sizes {
 public:
  explicit Sizes(const std::string& place) : place_(place) {}

  void tell(SizeIndex which, std::int64_t value, const std::string& source) {
    Known& known = known_[which];
    if (known.value && *known.value != value)
      throw InputError(place_,
                       fmt::format("{} is {} according to {} but {} according to {}", kSizes[which].name,
                                   *known.value, known.source, value, source),
                       "correct the line or save the arrays again");
    known = {value, source};
  }
  void tell_column(SizeIndex which, const std::optional<std::int64_t>& value) {
    if (value) tell(which, *value, fmt::format("'{}'", kSizes[which].column));
  }

  std::int64_t get(SizeIndex which) const {
    if (!known_[which].value)
      throw InputError(place_,
                       fmt::format("{} is unknown: no array of the layer gives it", kSizes[which].name),
                       fmt::format("give the column '{}'", kSizes[which].column));
    return *known_[which].value;
  }

 private:
  struct Known {
    std::optional<std::int64_t> value;
    std::string source;
  };
  const std::string& place_;
  std::array<Known, kSizes.size()> known_;
};

// An array with its axes in the order of a trace: outer (n or k), inner h, inner w, channels.
struct Tensor {
  std::unique_ptr<ByteSource> source;
  NpyArray array;
  std::string file;  // as in messages
  bool channels_last = false;

  bool present() const { return source != nullptr; }
  std::int64_t outer() const { return array.shape[0]; }
  std::int64_t height() const { return array.shape.size() == 2 ? 1 : array.shape[channels_last ? 1 : 2]; }
  std::int64_t width() const { return array.shape.size() == 2 ? 1 : array.shape[channels_last ? 2 : 3]; }
  std::int64_t channels() const { return channels_last ? array.shape.back() : array.shape[1]; }
};

// The path of a tensor's file, which must be inside the folder.
fs::path inside(const fs::path& folder, const std::string& name, const std::string& place) {
  const fs::path file(name);
  const bool escapes =
      std::any_of(file.begin(), file.end(), [](const fs::path& part) { return part == ".."; });
  if (file.is_absolute() || escapes) {
    throw InputError(place, quote_name(name) + " is outside the folder", "name a file inside the folder");
  }
  return folder / file;
}

class FolderReader {
 public:
  explicit FolderReader(const fs::path& folder) : folder_(folder), list_((folder / kListName).string()) {}

  Trace read() {
    if (!fs::exists(list_)) {
      const bool traces =
          std::ranges::any_of(fs::directory_iterator(folder_), [](const fs::directory_entry& entry) {
            return entry.path().filename().string().find(".safetensors") != std::string::npos;
          });
      throw InputError(folder_.string(), fmt::format("the folder has no {}", kListName),
                       traces ? "name the traces in it one by one"
                              : "docs/trace-format.md says what a folder of arrays needs");
    }
    const CsvTable table = CsvTable::parse(ByteSource::open(list_)->text(), list_);
    check_columns(table);
    TraceBuilder builder(folder_.string());
    builder.info() = info(table);
    for (const CsvTable::Row& row : table.rows) add_layer(RowReader(table.columns, row, list_), builder);
    if (table.rows.empty()) throw InputError(list_, "there are no layers", "add a line for each");
    check_files_left_over();
    return builder.build();
  }

 private:
  void check_columns(const CsvTable& table) const {
    std::set<std::string> seen;
    for (const std::string& column : table.columns) {
      if (std::find(kColumns.begin(), kColumns.end(), column) == kColumns.end()) {
        throw InputError(list_, "unknown column " + quote_name(column), suggest(column, kColumns));
      }
      if (!seen.insert(column).second) {
        throw InputError(list_, "the column " + quote_name(column) + " is there twice", "remove one");
      }
    }
    for (const char* needed : {"name", "type"}) {
      if (!seen.contains(needed)) {
        throw InputError(list_, fmt::format("the column '{}' is missing", needed),
                         "the first line names the columns; docs/trace-format.md lists them");
      }
    }
  }

  TraceInfo info(const CsvTable& table) const {
    TextMap values;
    const std::vector<std::string> known{"model",   "dataset",  "progress", "epoch",   "batch",
                                         "samples", "accuracy", "loss",     "left_out"};
    for (const auto& [key, value] : table.notes) {
      if (std::find(known.begin(), known.end(), key) == known.end()) {
        throw InputError(list_, "unknown key " + quote_name(key) + " in a '# key = value' line",
                         suggest(key, known));
      }
      if (!values.emplace(key, value).second) {
        throw InputError(list_, "the key " + quote_name(key) + " is there twice", "remove one");
      }
    }
    // "runs/resnet/" and "." end in no name.
    fs::path named = fs::absolute(folder_).lexically_normal();
    if (!named.has_filename()) named = named.parent_path();
    values.emplace("model", named.filename().string());
    return read_trace_info(values, list_);
  }

  Tensor load(const RowReader& row, const std::string& layer, Operand role, bool linear) {
    Tensor tensor;
    const std::string named = row.text(TraceTensor(role).name());
    const std::string file_name = named.empty() ? layer + "." + TraceTensor(role).name() + ".npy" : named;
    const fs::path path = inside(folder_, file_name, row.place());
    std::error_code ignored;
    if (named.empty() && !fs::exists(path, ignored)) return tensor;
    used_.insert(path.lexically_normal().string());
    tensor.file = path.string();
    tensor.source = ByteSource::open(path);
    tensor.array = NpyArray::parse(tensor.source->bytes(), tensor.file);
    const std::size_t axes = linear ? 2 : 4;
    if (tensor.array.shape.size() != axes) {
      throw InputError(tensor.file,
                       fmt::format("the array has the shape {}, {} of a {} layer has {} axes",
                                   shape_text(tensor.array.shape), TraceTensor(role).name(),
                                   linear ? "linear" : "conv2d", axes),
                       "save it again in that shape");
    }
    for (const std::int64_t size : tensor.array.shape) {
      if (size < 1 || size > kLargest) {
        throw InputError(tensor.file,
                         fmt::format("the array has the shape {}, each axis must be 1 to {}",
                                     shape_text(tensor.array.shape), kLargest),
                         "save it again");
      }
    }
    return tensor;
  }

  void add_layer(const RowReader& row, TraceBuilder& builder) {
    const std::string name = row.text("name");
    if (name.empty()) throw InputError(row.place(), "the layer has no name", "fill the column 'name'");
    const std::string type = row.text("type");
    if (type != "conv2d" && type != "linear") {
      throw InputError(row.place(), "unknown type " + quote_name(type), suggest(type, {"conv2d", "linear"}));
    }
    const bool linear = type == "linear";
    const std::string layout = row.text("layout");
    if (!layout.empty() && layout != "nchw" && layout != "nhwc") {
      throw InputError(row.place(), "unknown layout " + quote_name(layout),
                       suggest(layout, {"nchw", "nhwc"}));
    }
    PerOperand<Tensor> tensors;
    for (const Operand role : kOperands) {
      Tensor& tensor = tensors[role];
      tensor = load(row, name, role, linear);
      tensor.channels_last = linear || layout == "nhwc";
    }
    const LayerShape shape = linear ? linear_shape(row, tensors) : conv_shape(row, tensors);
    shape.validate(row.place());
    builder.add_layer(name, shape, row.integer("steps").value_or(1));
    for (const Operand role : kOperands) {
      Tensor& tensor = tensors[role];
      if (tensor.present()) add_tensor(std::move(tensor), role, builder);
    }
  }

  static void forbid(const RowReader& row, std::initializer_list<const char*> columns, const char* type) {
    for (const char* column : columns) {
      if (!row.text(column).empty()) {
        throw InputError(row.place(), fmt::format("a {} layer has no '{}'", type, column),
                         "leave the cell empty");
      }
    }
  }

  // The sizes that A, W and G share.
  static Sizes common_sizes(const RowReader& row, const PerOperand<Tensor>& tensors, std::int64_t groups) {
    const auto& [a, w, g] = tensors.values;
    Sizes sizes(row.place());
    for (const SizeIndex which : {kBatch, kInputs, kOutputs})
      sizes.tell_column(which, row.integer(kSizes[which].column));
    if (a.present()) {
      sizes.tell(kBatch, a.outer(), a.file);
      sizes.tell(kInputs, a.channels(), a.file);
    }
    if (w.present()) {
      sizes.tell(kOutputs, w.outer(), w.file);
      sizes.tell(kInputs, w.channels() * groups, w.file);
    }
    if (g.present()) {
      sizes.tell(kBatch, g.outer(), g.file);
      sizes.tell(kOutputs, g.channels(), g.file);
    }
    return sizes;
  }

  static LayerShape linear_shape(const RowReader& row, const PerOperand<Tensor>& tensors) {
    forbid(row, {"stride", "padding", "dilation", "groups", "kernel", "input_hw"}, "linear");
    const Sizes sizes = common_sizes(row, tensors, 1);
    const std::int64_t n = sizes.get(kBatch), c = sizes.get(kInputs), k = sizes.get(kOutputs);
    return LayerShape::linear(n, c, k);
  }

  static LayerShape conv_shape(const RowReader& row, const PerOperand<Tensor>& tensors) {
    forbid(row, {"steps"}, "conv2d");
    const std::string& place = row.place();
    const auto& [a, w, g] = tensors.values;
    const std::int64_t groups = row.integer("groups").value_or(1);
    const Size2 stride = row.size("stride").value_or(Size2{1, 1});
    const Size2 dilation = row.size("dilation").value_or(Size2{1, 1});
    if (groups < 1) throw InputError(place, "'groups' is 0", "give a number from 1 up");
    if (stride.h < 1 || stride.w < 1 || dilation.h < 1 || dilation.w < 1)
      throw InputError(place, "a stride or dilation is 0", "give a number from 1 up");
    Sizes sizes = common_sizes(row, tensors, groups);
    for (const auto& [h, width, tensor] :
         {std::tuple{kKernelH, kKernelW, &w}, std::tuple{kInputH, kInputW, &a}}) {
      if (const auto size = row.size(kSizes[h].column)) {
        sizes.tell_column(h, size->h);
        sizes.tell_column(width, size->w);
      }
      if (!tensor->present()) continue;
      sizes.tell(h, tensor->height(), tensor->file);
      sizes.tell(width, tensor->width(), tensor->file);
    }
    const std::int64_t n = sizes.get(kBatch), c = sizes.get(kInputs), k = sizes.get(kOutputs);
    const Size2 kernel{sizes.get(kKernelH), sizes.get(kKernelW)};
    const Size2 input{sizes.get(kInputH), sizes.get(kInputW)};
    LayerShape shape = LayerShape::conv2d(n, c, k, input, kernel, stride,
                                          row.size("padding").value_or(Size2{0, 0}), dilation, groups);
    if (g.present()) shape.output = {g.height(), g.width()};
    return shape;
  }

  // Channels go last, as in a trace.
  static void add_tensor(Tensor tensor, Operand role, TraceBuilder& builder) {
    const std::int64_t channels = tensor.channels();
    const std::int64_t positions = tensor.height() * tensor.width();
    if (tensor.channels_last || positions == 1) {
      const std::uint8_t* data = tensor.array.data.data();
      builder.keep(std::move(tensor.source));
      builder.adopt_values(role, data, DataType::kFp32);
      return;
    }
    std::uint8_t* out = builder.allocate(static_cast<std::int64_t>(tensor.array.data.size()));
    const std::int64_t plane = positions * channels * 4;
    constexpr std::int64_t kBlock = 16;  // a cache line of floats in both directions
    for (std::int64_t n = 0; n < tensor.outer(); ++n) {
      const std::uint8_t* from = tensor.array.data.data() + n * plane;
      std::uint8_t* to = out + n * plane;
      for (std::int64_t p0 = 0; p0 < positions; p0 += kBlock) {
        const std::int64_t p1 = std::min(p0 + kBlock, positions);
        for (std::int64_t c = 0; c < channels; ++c) {
          for (std::int64_t p = p0; p < p1; ++p) {
            std::memcpy(to + (p * channels + c) * 4, from + (c * positions + p) * 4, 4);
          }
        }
      }
    }
    builder.adopt_values(role, out, DataType::kFp32);
  }

  // An array that no layer uses was meant for one, whose tensor would count as free of zeros.
  void check_files_left_over() const {
    std::set<std::string> left;  // ordered, so that the message does not depend on the file system
    for (const auto& entry : fs::directory_iterator(folder_)) {
      if (entry.path().extension() != ".npy") continue;
      if (!used_.contains(entry.path().lexically_normal().string())) {
        left.insert(entry.path().filename().string());
      }
    }
    if (left.empty()) return;
    throw InputError(folder_.string(), quote_name(*left.begin()) + " belongs to no layer of layers.csv",
                     "call it NAME.A.npy, NAME.W.npy or NAME.G.npy, name it in the list, or remove it");
  }

  fs::path folder_;
  std::string list_;
  std::set<std::string> used_;
};

}  // namespace

Trace open_npy_folder(const fs::path& folder) { return FolderReader(folder).read(); }

}  // namespace lacuna
