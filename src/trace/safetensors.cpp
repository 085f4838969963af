#include "trace/safetensors.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "base/nearest.hpp"
#include "base/quote.hpp"

namespace lacuna {
namespace {

using nlohmann::json;

constexpr std::uint64_t kLengthBytes = 8;
constexpr std::uint64_t kLargestHeader = 100'000'000;  // the limit of the safetensors format
constexpr int kDeepestNesting = 8;
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

// A tensor and the range of bytes that the header claims for it.
struct Claim {
  SafetensorsEntry entry;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

Claim read_claim(const std::string& name, const json& value, std::int64_t data_bytes,
                 const std::string& where) {
  const std::string place = where + ": tensor " + quote_name(name);
  const auto fail = [&](const std::string& cause) { throw InputError(place, cause, kRemedy); };
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
  claim.entry.name = name;
  claim.entry.dtype = dtype->get<std::string>();
  const std::int64_t element = safetensors_element_bytes(claim.entry.dtype);
  if (element == 0) {
    throw InputError(place, "unknown type " + quote_name(claim.entry.dtype),
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
  if (!begin || !end || *begin > *end || *end > data_bytes) {
    fail(fmt::format("data_offsets {} lie outside the {} bytes of data", offsets->dump(), data_bytes));
  }
  if (*end - *begin != bytes) {
    fail(fmt::format("shape {} of {} needs {} bytes, data_offsets span {}", shape_text(claim.entry.shape),
                     claim.entry.dtype, bytes, *end - *begin));
  }
  claim.begin = *begin;
  claim.end = *end;
  return claim;
}

void check_coverage(const std::vector<Claim>& claims, std::int64_t data_bytes, const std::string& where) {
  std::int64_t covered = 0;
  const Claim* previous = nullptr;
  for (const Claim& claim : claims) {
    if (claim.begin < covered) {
      throw InputError(where,
                       fmt::format("tensors {} and {} overlap", quote_name(previous->entry.name),
                                   quote_name(claim.entry.name)),
                       kRemedy);
    }
    if (claim.begin > covered) {
      throw InputError(where,
                       fmt::format("{} bytes before tensor {} belong to none", claim.begin - covered,
                                   quote_name(claim.entry.name)),
                       kRemedy);
    }
    covered = claim.end;
    previous = &claim;
  }
  if (covered != data_bytes) {
    throw InputError(where, fmt::format("the last {} bytes belong to no tensor", data_bytes - covered),
                     kRemedy);
  }
}

}  // namespace

std::int64_t safetensors_element_bytes(std::string_view dtype) {
  for (const auto& [name, bytes] : kTypes) {
    if (name == dtype) return bytes;
  }
  return 0;
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

json parse_untrusted_json(std::string_view text, const std::string& where, std::string_view what) {
  // The library silently takes a zero byte for the end and ignores what follows, keeps the last of two equal
  // keys, and does not limit the depth.
  if (const std::size_t zero = text.find('\0'); zero != text.npos) {
    throw InputError(where, fmt::format("{} is not JSON from byte {} on", what, zero + 1), kRemedy);
  }
  std::vector<std::set<std::string>> keys;
  const auto check = [&](int depth, json::parse_event_t event, json& parsed) {
    if (event == json::parse_event_t::object_start) {
      if (depth >= kDeepestNesting) {
        throw InputError(where, fmt::format("{} is nested too deep", what), kRemedy);
      }
      keys.emplace_back();
    } else if (event == json::parse_event_t::array_start) {
      if (depth >= kDeepestNesting) {
        throw InputError(where, fmt::format("{} is nested too deep", what), kRemedy);
      }
    } else if (event == json::parse_event_t::object_end) {
      keys.pop_back();
    } else if (event == json::parse_event_t::key) {
      const auto& key = parsed.get_ref<const std::string&>();
      if (!keys.back().insert(key).second) {
        throw InputError(where, fmt::format("{} has the key {} twice", what, quote_name(key)), kRemedy);
      }
    }
    return true;
  };
  try {
    return json::parse(text.begin(), text.end(), check);
  } catch (const json::parse_error& error) {
    throw InputError(where, fmt::format("{} is not JSON from byte {} on", what, error.byte), kRemedy);
  } catch (const json::exception&) {
    throw InputError(where, fmt::format("{} holds a number that is out of range", what), kRemedy);
  }
}

Safetensors Safetensors::parse(std::span<const std::uint8_t> bytes, const std::string& where) {
  if (bytes.empty()) throw InputError(where, "the file is empty", kRemedy);
  if (bytes.size() < kLengthBytes) {
    throw InputError(where,
                     fmt::format("the file ends after {} bytes, inside the header's length", bytes.size()),
                     kRemedy);
  }
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), kLengthBytes);
  const std::uint64_t rest = bytes.size() - kLengthBytes;
  if (length > kLargestHeader) {
    throw InputError(where,
                     fmt::format("the header claims {} bytes, a safetensors header has at most {}", length,
                                 kLargestHeader),
                     "is this a safetensors file? if so, copy or record it again");
  }
  if (length > rest) {
    throw InputError(where, fmt::format("the header claims {} bytes, the file has {} left", length, rest),
                     kRemedy);
  }
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + kLengthBytes, length);
  if (text.empty() || text.front() != '{') {
    throw InputError(where, "the header does not start with '{'",
                     "is this a safetensors file? if so, copy or record it again");
  }
  const json header = parse_untrusted_json(text, where, "the header");
  const auto data = bytes.subspan(kLengthBytes + length);
  const auto data_bytes = static_cast<std::int64_t>(data.size());

  Safetensors file;
  std::vector<Claim> claims;
  for (const auto& [key, value] : header.items()) {
    if (key != "__metadata__") {
      claims.push_back(read_claim(key, value, data_bytes, where));
      continue;
    }
    if (!value.is_object()) throw InputError(where, "__metadata__ is not an object", kRemedy);
    for (const auto& [name, text_value] : value.items()) {
      if (!text_value.is_string()) {
        throw InputError(where, fmt::format("__metadata__ {} is not a string", quote_name(name)), kRemedy);
      }
      file.metadata.emplace(name, text_value.get<std::string>());
    }
  }
  std::ranges::sort(claims, {}, [](const Claim& claim) { return std::pair(claim.begin, claim.end); });
  check_coverage(claims, data_bytes, where);
  file.tensors.reserve(claims.size());
  for (Claim& claim : claims) {
    claim.entry.data = data.subspan(static_cast<std::size_t>(claim.begin),
                                    static_cast<std::size_t>(claim.end - claim.begin));
    file.tensors.push_back(std::move(claim.entry));
  }
  return file;
}

}  // namespace lacuna
