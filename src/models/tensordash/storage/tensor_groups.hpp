// Division of a layer's tensor into groups that are scheduled, and so read, by themselves.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "trace/trace.hpp"

namespace lacuna::tensordash {

enum class Grouping {
  kChannels,  // all channels of a position: values that are always used together [TensorDash §3.6.2]
  kMerged,    // the same, with the stride x stride positions between two windows' origins of A in one group
  kBlocks,    // lanes x lanes values: the 16x16 groups of the memory layout [TensorDash §3.4, §3.6.3]
  kFilters,  // the weights of a filter in the order a PE takes them [TensorDash §3.6.1]; A and G by channels
};
std::string_view grouping_name(Grouping grouping);
Grouping parse_grouping(std::string_view name, std::string_view origin);  // throws InputError

// One step of a group: `lanes` elements of a row of the tensor, from a channel on.
struct GroupStep {
  std::int64_t row = 0;
  std::int64_t channel = 0;
  std::int32_t lanes = 0;
};

// The groups of a tensor. Each element of it belongs to exactly one.
class TensorGroups {
 public:
  TensorGroups(const LayerShape& shape, Operand role, Grouping grouping, int lanes);

  std::int64_t count() const { return count_; }
  int lanes() const { return lanes_; }
  // The steps of group g, into `steps` (cleared first).
  void steps(std::int64_t g, std::vector<GroupStep>& steps) const;
  // Steps of all groups together: each row of the tensor is cut at the same channels, whatever its group.
  std::int64_t all_steps() const { return rows_ * channel_groups_; }
  // Steps of the longest group.
  std::int64_t longest() const { return longest_; }

 private:
  void add_channels(std::int64_t row, std::vector<GroupStep>& steps) const;

  // The tensor as [outer, planes] blocks: rows of a group lie `pitch_` apart.
  Grouping grouping_;
  int lanes_;
  std::int64_t rows_ = 1;
  std::int64_t channels_ = 1;
  std::int64_t channel_groups_ = 1;
  std::int64_t count_ = 0;
  std::int64_t longest_ = 0;
  // kMerged: images of `plane_`, cut into cells of `cell_` positions that begin at -origin_.
  Size2 plane_, cell_, origin_{0, 0}, cells_;
  // kBlocks: `runs_` runs of `run_length_` rows, `pitch_` rows apart; kFilters: runs are filters.
  std::int64_t run_length_ = 1, pitch_ = 1, blocks_per_run_ = 1;
};

}  // namespace lacuna::tensordash
