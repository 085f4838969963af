#include "base/io/safetensors_file.hpp"

#include <algorithm>
#include <utility>

#include "base/io/zstd_reader.hpp"

namespace lacuna {

Safetensors read_safetensors(std::unique_ptr<ByteSource>& source, const std::string& where,
                             std::uint64_t limit) {
  if (!is_zstd(source->bytes())) return Safetensors::parse(source->bytes(), where);
  ZstdReader reader(source->bytes(), where, limit);
  const std::uint64_t header_bytes =
      safetensors_header_bytes(reader.read(kSafetensorsStart), reader.declared(), where);
  const auto start = reader.read(header_bytes);
  SafetensorsHeader header(start.first(std::min<std::uint64_t>(start.size(), header_bytes)),
                           reader.declared(), where);
  auto whole = reader.take(header.file_bytes());
  source = std::move(whole);
  return std::move(header).in(source->bytes());
}

}  // namespace lacuna
