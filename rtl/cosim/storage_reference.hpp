// The model's scheduled form of a group, for the compressor, the backside scheduler and the decompressor.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lacuna::rtl {

// A group: rows of at most 16 values; row s has lanes[s] of them.
struct ValueGroup {
  std::vector<int> lanes;
  std::vector<std::vector<std::uint32_t>> rows;  // FP32 bits, 16 per row; 0 in lanes without an element
};

struct ScheduledRow {
  std::vector<std::uint32_t> values;  // 16, 0 where idle or absent
  std::vector<int> moves;
  int slots = 0;
  int advance = 0;
  bool operator==(const ScheduledRow&) const = default;
};

// By the storage codec.
std::vector<ScheduledRow> scheduled_rows(const std::string& spec, int depth, const ValueGroup& group);
// Cycles that the model's backside scheduler takes for a group whose blocks are all there from the start.
std::int64_t backside_cycles(const std::string& spec, int depth, const ValueGroup& group);

}  // namespace lacuna::rtl
