#include "models/tensordash/storage/tensor_groups.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "base/ceil_div.hpp"
#include "base/error.hpp"
#include "base/text/nearest.hpp"

namespace lacuna::tensordash {
namespace {

constexpr std::array<std::pair<Grouping, std::string_view>, 4> kNames{{{Grouping::kChannels, "channels"},
                                                                       {Grouping::kMerged, "merged"},
                                                                       {Grouping::kBlocks, "blocks"},
                                                                       {Grouping::kFilters, "filters"}}};

// A tensor for which a grouping has no separate meaning is grouped by channels.
Grouping effective(const LayerShape& shape, Operand role, Grouping grouping) {
  if (grouping == Grouping::kMerged && (role != Operand::kA || shape.stride == Size2{1, 1}))
    return Grouping::kChannels;
  if (grouping == Grouping::kFilters && role != Operand::kW) return Grouping::kChannels;
  return grouping;
}

}  // namespace

std::string_view grouping_name(Grouping grouping) {
  return std::ranges::find(kNames, grouping, [](const auto& entry) { return entry.first; })->second;
}

Grouping parse_grouping(std::string_view name, std::string_view origin) {
  std::vector<std::string> names;
  for (const auto& [grouping, text] : kNames) {
    if (text == name) return grouping;
    names.emplace_back(text);
  }
  throw InputError(origin, fmt::format("unknown grouping '{}'", name), suggest(name, names));
}

TensorGroups::TensorGroups(const LayerShape& shape, Operand role, Grouping grouping, int lanes)
    : grouping_(effective(shape, role, grouping)), lanes_(lanes) {
  const bool weights = role == Operand::kW;
  channels_ = weights ? shape.c_per_group() : role == Operand::kA ? shape.c : shape.k;
  channel_groups_ = ceil_div(channels_, lanes);
  const std::int64_t images = weights ? shape.k : shape.n;
  plane_ = weights ? shape.kernel : role == Operand::kA ? shape.input : shape.output;
  const std::int64_t positions = plane_.h * plane_.w;
  rows_ = images * positions;
  switch (grouping_) {
    case Grouping::kChannels:
      count_ = images * positions;
      longest_ = channel_groups_;
      break;
    case Grouping::kMerged:
      // Windows begin at multiples of the stride less the padding; no window begins inside a cell.
      cell_ = shape.stride;
      origin_ = {shape.padding.h % cell_.h, shape.padding.w % cell_.w};
      cells_ = {ceil_div(plane_.h + origin_.h, cell_.h), ceil_div(plane_.w + origin_.w, cell_.w)};
      count_ = images * cells_.h * cells_.w;
      // A stride may be far larger than the image.
      longest_ = std::min(cell_.h, plane_.h) * std::min(cell_.w, plane_.w) * channel_groups_;
      break;
    case Grouping::kBlocks: {
      // ASSUMPTION(A23): the layout's second dimension is x for images [TensorDash §3.4], and filters for
      // weights and samples for linear layers: what transposing brings together.
      std::int64_t runs = 0;
      if (weights) {
        runs = positions;
        run_length_ = images;
        pitch_ = positions;
      } else if (positions == 1) {
        runs = 1;
        run_length_ = images;
      } else {
        runs = images * plane_.h;
        run_length_ = plane_.w;
      }
      blocks_per_run_ = ceil_div(run_length_, lanes);
      count_ = runs * blocks_per_run_ * channel_groups_;
      longest_ = std::min<std::int64_t>(run_length_, lanes);
      break;
    }
    case Grouping::kFilters:
      count_ = images;
      run_length_ = positions;
      longest_ = positions * channel_groups_;
      break;
  }
}

void TensorGroups::add_channels(std::int64_t row, std::vector<GroupStep>& steps) const {
  for (std::int64_t channel = 0; channel < channels_; channel += lanes_) {
    steps.push_back(
        {row, channel, static_cast<std::int32_t>(std::min<std::int64_t>(lanes_, channels_ - channel))});
  }
}

void TensorGroups::steps(std::int64_t g, std::vector<GroupStep>& steps) const {
  steps.clear();
  switch (grouping_) {
    case Grouping::kChannels:
      add_channels(g, steps);
      return;
    case Grouping::kMerged: {
      const std::int64_t image = g / (cells_.h * cells_.w);
      const std::int64_t y0 = g / cells_.w % cells_.h * cell_.h - origin_.h;
      const std::int64_t x0 = g % cells_.w * cell_.w - origin_.w;
      for (std::int64_t y = std::max<std::int64_t>(y0, 0); y < std::min(y0 + cell_.h, plane_.h); ++y) {
        for (std::int64_t x = std::max<std::int64_t>(x0, 0); x < std::min(x0 + cell_.w, plane_.w); ++x)
          add_channels((image * plane_.h + y) * plane_.w + x, steps);
      }
      return;
    }
    case Grouping::kBlocks: {
      // In memory: channel groups fastest, then along the run, then the runs [TensorDash §3.4].
      const std::int64_t channel = g % channel_groups_ * lanes_;
      const std::int64_t block = g / channel_groups_ % blocks_per_run_;
      const std::int64_t run = g / channel_groups_ / blocks_per_run_;
      const std::int64_t first = pitch_ > 1 ? run : run * run_length_;
      const auto lanes = static_cast<std::int32_t>(std::min<std::int64_t>(lanes_, channels_ - channel));
      for (std::int64_t i = block * lanes_; i < std::min(run_length_, (block + 1) * lanes_); ++i)
        steps.push_back({first + i * pitch_, channel, lanes});
      return;
    }
    case Grouping::kFilters:
      for (std::int64_t tap = 0; tap < run_length_; ++tap) add_channels(g * run_length_ + tap, steps);
      return;
  }
}

}  // namespace lacuna::tensordash
