// Traces to files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "base/io/output_file.hpp"
#include "trace/trace.hpp"

namespace lacuna {

struct TraceWriteOptions {
  bool masks =
      true;  // false: values only; a tensor without values keeps its mask, or its zeros would be lost
  bool values = true;                           // false: masks only
  std::optional<DataType> type = std::nullopt;  // of the values; unchanged if absent
  int level = 12;                               // of zstd, for a name that ends in .zst
};

// Writes a `.safetensors`, or a `.safetensors.zst` if the name ends in `.zst`. The file appears whole or not
// at all. Throws InputError: the disk is full, the folder cannot be written, a value does not fit the type.
void write_trace(const Trace& trace, const std::filesystem::path& path, const TraceWriteOptions& options = {},
                 OutputFile::Links links = OutputFile::Links::kFollow);

// The same bytes as the uncompressed file's.
std::vector<std::uint8_t> serialize_trace(const Trace& trace, const TraceWriteOptions& options = {});

}  // namespace lacuna
