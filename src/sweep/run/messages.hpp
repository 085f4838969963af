// Chunks and results as MessagePack, for processes of the same program.
#pragma once

#include <string>
#include <string_view>

#include "sweep/run/runner.hpp"

namespace lacuna::sweep {

std::string to_bytes(const Chunk& chunk);
Chunk chunk_from(std::string_view bytes);
std::string to_bytes(const ChunkResult& result);
ChunkResult result_from(std::string_view bytes);

// Equal if two processes see the same plan and traces.
std::string fingerprint(const Sweep& sweep);

}  // namespace lacuna::sweep
