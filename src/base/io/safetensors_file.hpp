// A safetensors file that may be compressed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/io/byte_source.hpp"
#include "base/io/safetensors.hpp"

namespace lacuna {

// The tensors of `source`, which becomes what they point into: itself, or what it decompresses to. Of a
// compressed file no more is decompressed than its header declares, and that only after the header has been
// checked; a file that decompresses to more than `limit` bytes is refused. Throws InputError; `where` starts
// the message.
Safetensors read_safetensors(std::unique_ptr<ByteSource>& source, const std::string& where,
                             std::uint64_t limit);

}  // namespace lacuna
