// The missing points of a plan in chunks, which threads and processes take one after another.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "sweep/plan/design.hpp"

namespace lacuna::sweep {

// Some designs on one trace, which share most of their work if possible.
struct Chunk {
  std::uint32_t trace = 0;  // index of the plan's traces
  std::vector<Choice> designs;
};

struct WorkList {
  std::vector<Chunk> chunks;
  std::uint64_t points = 0;  // in them
  std::uint64_t stored = 0;  // points that the file has already
};

// `bytes`: sizes of the traces, the largest come first. `workers`: threads of all processes.
WorkList make_chunks(const DesignList& designs, const std::vector<std::string>& trace_sha256,
                     const std::vector<std::uint64_t>& bytes,
                     const std::unordered_map<std::string, Measures>& stored, Measures measures, int workers);

}  // namespace lacuna::sweep
