#include "trace/format/trace_checksum.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "base/error.hpp"
#include "base/io/crc32.hpp"
#include "base/text/quote.hpp"

namespace lacuna {

TraceChecksum::TraceChecksum(const TextMap& metadata) {
  for (const auto& [key, value] : metadata)
    if (key != kChecksumKey) sum_ = crc32(fmt::format("{}={}\n", key, value), sum_);
}

void TraceChecksum::tensor(std::string_view name, std::string_view dtype,
                           const std::vector<std::int64_t>& shape) {
  sum_ = crc32(fmt::format("\n{} {} {}\n", name, dtype, fmt::join(shape, ",")), sum_);
}

void TraceChecksum::bytes(std::span<const std::uint8_t> piece) { sum_ = crc32(piece, sum_); }

std::string TraceChecksum::text() const { return fmt::format("crc32:{:08x}", sum_); }

void check_checksum(const Safetensors& file, const std::string& where) {
  const auto noted = file.metadata.find(kChecksumKey);
  if (noted == file.metadata.end()) return;
  constexpr std::string_view kRemedy =
      "copy or record the file again; if you edited it, remove 'checksum' from its metadata";
  if (!noted->second.starts_with("crc32:"))
    throw InputError(where, fmt::format("'checksum' is {}, not a CRC-32", quote_name(noted->second)),
                     kRemedy);
  std::vector<const SafetensorsEntry*> tensors;
  tensors.reserve(file.tensors.size());
  for (const SafetensorsEntry& entry : file.tensors) tensors.push_back(&entry);
  std::ranges::sort(tensors, {}, &SafetensorsEntry::name);
  TraceChecksum checksum(file.metadata);
  for (const SafetensorsEntry* entry : tensors) {
    checksum.tensor(entry->name, entry->dtype, entry->shape);
    checksum.bytes(entry->data);
  }
  if (const std::string found = checksum.text(); found != noted->second)
    throw InputError(
        where,
        fmt::format("the file is damaged: its content has the checksum {}, it was written with {}", found,
                    quote_name(noted->second)),
        kRemedy);
}

}  // namespace lacuna
