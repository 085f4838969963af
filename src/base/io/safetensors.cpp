#include "base/io/safetensors.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "base/io/name_index.hpp"
#include "base/io/untrusted_json.hpp"
#include "base/io/zstd_reader.hpp"
#include "base/text/nearest.hpp"
#include "base/text/quote.hpp"

namespace lacuna {
namespace {

using nlohmann::json;

constexpr std::uint64_t kLengthBytes = 8;
constexpr std::size_t kStart = 9;                      // bytes by which a file of another kind is recognised
constexpr std::uint64_t kLargestHeader = 100'000'000;  // the limit of the safetensors format
constexpr std::string_view kRemedy = "copy or record the file again";

constexpr std::array<std::pair<std::string_view, std::int64_t>, 15> kTypes{{{"BOOL", 1},
                                                                            {"U8", 1},
                                                                            {"I8", 1},
                                                                            {"F8_E5M2", 1},
                                                                            {"F8_E4M3", 1},
                                                                            {"I16", 2},
                                                                            {"U16", 2},
                                                                            {"F16", 2},
                                                                            {"BF16", 2},
                                                                            {"I32", 4},
                                                                            {"U32", 4},
                                                                            {"F32", 4},
                                                                            {"I64", 8},
                                                                            {"U64", 8},
                                                                            {"F64", 8}}};

std::vector<std::string> type_names() {
  std::vector<std::string> names;
  names.reserve(kTypes.size());
  for (const auto& [name, bytes] : kTypes) names.emplace_back(name);
  return names;
}

// A non-negative integer that fits 63 bits.
std::optional<std::int64_t> natural(const json& value) {
  if (!value.is_number_integer()) return std::nullopt;
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX) return std::nullopt;
  const auto number = value.get<std::int64_t>();
  if (number < 0) return std::nullopt;
  return number;
}

const json* member(const json& object, const char* key) {
  const auto at = object.find(key);
  return at == object.end() ? nullptr : &*at;
}

// Returns how many bytes the header takes together with its length. `start` is the file's first kStart bytes,
// or all of a shorter file; a length that the format does not allow, or one beyond `file_bytes` where that is
// known, is refused.
std::uint64_t header_size(std::span<const std::uint8_t> start, std::optional<std::uint64_t> file_bytes,
                          const std::string& where) {
  constexpr std::string_view kIsIt = "is this a safetensors file? if so, copy or record it again";
  if (start.empty()) throw InputError(where, "the file is empty", kRemedy);
  if (start.size() < kLengthBytes) {
    throw InputError(where,
                     fmt::format("the file ends after {} bytes, inside the header's length", start.size()),
                     kRemedy);
  }
  std::uint64_t length = 0;
  std::memcpy(&length, start.data(), kLengthBytes);
  const auto is_text = [](std::uint8_t byte) { return (byte >= ' ' && byte < 0x7f) || byte == '\n'; };
  if (length > kLargestHeader && std::ranges::all_of(start.first(kLengthBytes), is_text)) {
    throw InputError(where, "this is a text, not a safetensors file",
                     where.ends_with(".yaml")
                         ? "give a trace; files of machines and networks follow --config and --model"
                         : "give a trace");
  }
  if (length > kLargestHeader) {
    throw InputError(where,
                     fmt::format("the header claims {} bytes, a safetensors header has at most {}", length,
                                 kLargestHeader),
                     kIsIt);
  }
  if (file_bytes && length > *file_bytes - kLengthBytes) {
    throw InputError(
        where,
        fmt::format("the header claims {} bytes, the file has {} left", length, *file_bytes - kLengthBytes),
        kRemedy);
  }
  if (length == 0 || (start.size() > kLengthBytes && start[kLengthBytes] != '{')) {
    throw InputError(where, "the header does not start with '{'", kIsIt);
  }
  return kLengthBytes + length;
}

// A checked header, whose tensors follow each other without holes. The rest of the file may be missing still.
class Header {
 public:
  // `bytes` are as many as header_size() said, or fewer if the file ends before.
  Header(std::span<const std::uint8_t> bytes, std::optional<std::uint64_t> file_bytes,
         const std::string& where)
      : where_(where), header_bytes_(header_size(bytes, file_bytes, where)) {
    if (bytes.size() < header_bytes_) header_size(bytes, bytes.size(), where);  // throws
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + kLengthBytes,
                                header_bytes_ - kLengthBytes);
    std::optional<std::uint64_t> data_bytes;
    if (file_bytes) data_bytes = *file_bytes - header_bytes_;
    bool has_metadata = false;
    parse_untrusted_members(text, where, "the header", [&](std::string key, const json& value) {
      if (key != "__metadata__") {
        claims_.push_back(read_claim(std::move(key), value, data_bytes));
        return;
      }
      if (std::exchange(has_metadata, true)) fail("the header has the key '__metadata__' twice");
      if (!value.is_object()) fail("__metadata__ is not an object");
      for (const auto& [name, text_value] : value.items()) {
        if (!text_value.is_string()) fail(fmt::format("__metadata__ {} is not a string", quote_name(name)));
        metadata_.emplace(name, text_value.get<std::string>());
      }
    });
    const NameIndex names(claims_.size(),
                          [&](std::size_t i) { return std::string_view(claims_[i].entry.name); });
    if (const auto name = names.repeated())
      fail(fmt::format("the header has the key {} twice", quote_name(*name)));
    if (data_bytes) check_outside(*data_bytes);
    std::ranges::stable_sort(claims_, {},
                             [](const Claim& claim) { return std::pair(claim.begin, claim.end); });
    check_coverage();
    if (!claims_.empty()) data_bytes_ = claims_.back().end;
    if (data_bytes && *data_bytes > data_bytes_)
      fail(fmt::format("the last {} bytes belong to no tensor", *data_bytes - data_bytes_));
  }

  // The size of the file according to its header.
  std::uint64_t file_bytes() const { return header_bytes_ + data_bytes_; }

  // Returns the tensors in the whole file, which must have the size that the header declares. Once.
  Safetensors in(std::span<const std::uint8_t> file) {
    check_outside(file.size() - header_bytes_);
    const auto data = file.subspan(header_bytes_);
    Safetensors result;
    result.metadata = std::move(metadata_);
    result.tensors.reserve(claims_.size());
    for (Claim& claim : claims_) {
      claim.entry.data = data.subspan(claim.begin, claim.end - claim.begin);
      result.tensors.push_back(std::move(claim.entry));
    }
    return result;
  }

 private:
  // A tensor and the range of bytes that the header claims for it.
  struct Claim {
    SafetensorsEntry entry;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
  };

  [[noreturn]] void fail(const std::string& cause) const { throw InputError(where_, cause, kRemedy); }
  std::string place_of(std::string_view name) const { return where_ + ": tensor " + quote_name(name); }

  Claim read_claim(std::string name, const json& value, std::optional<std::uint64_t> data_bytes) const {
    const auto fail = [&](const std::string& cause) { throw InputError(place_of(name), cause, kRemedy); };
    if (!value.is_object()) fail("its header entry is not an object");
    const json* dtype = member(value, "dtype");
    const json* shape = member(value, "shape");
    const json* offsets = member(value, "data_offsets");
    if (dtype == nullptr || !dtype->is_string()) fail("'dtype' is missing or not a string");
    if (shape == nullptr || !shape->is_array()) fail("'shape' is missing or not a list");
    if (offsets == nullptr || !offsets->is_array() || offsets->size() != 2) {
      fail("'data_offsets' is missing or not a list of two");
    }

    Claim claim;
    claim.entry.dtype = dtype->get<std::string>();
    const std::int64_t element = safetensors_element_bytes(claim.entry.dtype);
    if (element == 0) {
      throw InputError(place_of(name), "unknown type " + quote_name(claim.entry.dtype),
                       suggest(claim.entry.dtype, type_names()));
    }
    std::int64_t bytes = element;
    for (const json& dimension : *shape) {
      const auto size = natural(dimension);
      if (!size) fail("a dimension of its shape is not a natural number");
      if (__builtin_mul_overflow(bytes, *size, &bytes)) fail("its shape multiplies to more than 2^63 bytes");
      claim.entry.shape.push_back(*size);
    }
    const auto begin = natural((*offsets)[0]);
    const auto end = natural((*offsets)[1]);
    if (!begin || !end || *begin > *end) {
      fail(fmt::format("data_offsets {} {}", offsets->dump(),
                       data_bytes ? fmt::format("lie outside the {} bytes of data", *data_bytes)
                                  : "are not a range of bytes"));
    }
    if (*end - *begin != bytes) {
      fail(fmt::format("shape {} of {} needs {} bytes, data_offsets span {}", shape_text(claim.entry.shape),
                       claim.entry.dtype, bytes, *end - *begin));
    }
    claim.begin = static_cast<std::uint64_t>(*begin);
    claim.end = static_cast<std::uint64_t>(*end);
    claim.entry.name = std::move(name);
    return claim;
  }

  void check_outside(std::uint64_t data_bytes) const {
    for (const Claim& claim : claims_) {
      if (claim.end <= data_bytes) continue;
      throw InputError(place_of(claim.entry.name),
                       fmt::format("data_offsets [{},{}] lie outside the {} bytes of data", claim.begin,
                                   claim.end, data_bytes),
                       kRemedy);
    }
  }

  void check_coverage() const {
    std::uint64_t covered = 0;
    const Claim* previous = nullptr;
    for (const Claim& claim : claims_) {
      if (claim.begin < covered)
        fail(fmt::format("tensors {} and {} overlap", quote_name(previous->entry.name),
                         quote_name(claim.entry.name)));
      if (claim.begin > covered)
        fail(fmt::format("{} bytes before tensor {} belong to none", claim.begin - covered,
                         quote_name(claim.entry.name)));
      covered = claim.end;
      previous = &claim;
    }
  }

  std::string where_;
  std::uint64_t header_bytes_ = 0;
  std::uint64_t data_bytes_ = 0;
  std::map<std::string, std::string> metadata_;
  std::vector<Claim> claims_;  // in the order of their bytes
};

}  // namespace

std::string safetensors_start(const nlohmann::ordered_json& metadata,
                              const std::vector<SafetensorsItem>& items) {
  nlohmann::ordered_json header{{"__metadata__", metadata}};
  // Appended: header[name] would look through all names before.
  auto& members = header.get_ref<nlohmann::ordered_json::object_t&>();
  members.reserve(items.size() + 1);
  std::uint64_t begin = 0;
  for (const SafetensorsItem& item : items) {
    members.emplace_back(item.name, nlohmann::ordered_json{{"dtype", item.dtype},
                                                           {"shape", item.shape},
                                                           {"data_offsets", {begin, begin + item.bytes}}});
    begin += item.bytes;
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  const std::uint64_t length = text.size();
  std::string start(sizeof(length), '\0');
  std::memcpy(start.data(), &length, sizeof(length));
  return start + text;
}

std::int64_t safetensors_element_bytes(std::string_view dtype) {
  for (const auto& [name, bytes] : kTypes) {
    if (name == dtype) return bytes;
  }
  return 0;
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

Safetensors Safetensors::parse(std::span<const std::uint8_t> bytes, const std::string& where) {
  return Header(bytes.first(header_size(bytes, bytes.size(), where)), bytes.size(), where).in(bytes);
}

Safetensors read_safetensors(std::unique_ptr<ByteSource>& source, const std::string& where,
                             std::uint64_t limit) {
  if (!is_zstd(source->bytes())) return Safetensors::parse(source->bytes(), where);
  ZstdReader reader(source->bytes(), where, limit);
  const std::uint64_t header_bytes = header_size(reader.read(kStart), reader.declared(), where);
  const auto start = reader.read(header_bytes);
  Header header(start.first(std::min<std::uint64_t>(start.size(), header_bytes)), reader.declared(), where);
  auto whole = reader.take(header.file_bytes());
  source = std::move(whole);
  return header.in(source->bytes());
}

}  // namespace lacuna
