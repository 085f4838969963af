#include "sim/outer_product/block_costs.hpp"

#include <algorithm>
#include <bit>
#include <fmt/format.h>
#include <memory>
#include <numeric>

#include "base/memory.hpp"
#include "base/text/quote.hpp"
#include "base/work_progress.hpp"
#include "sim/outer_product/image_sets.hpp"
#include "sim/outer_product/planes.hpp"

namespace lacuna::outer_product {
namespace {

constexpr std::int64_t kLanes = KernelBatch::kLanes;
using LaneCycles = ImageSets::LaneCycles;

bool kernels_meet_all_images(const ConvolutionWork& work) { return work.op == Operation::kWeightGrad; }

// Images of a column have their pairs with a kernel on the same PE: a tile's own, or every so many channels.
// The columns are those of a machine of up to 1,024 PEs, or 256 where the images of a column are counted
// together, so that designs of 1, 2, 4 ... PEs share their costs: on resnet50_top90 ANT's weight gradient
// takes as long with the columns of 256 PEs as with those of 64, and 1.1 to 1.4 times as long with those of
// 1,024.
std::int64_t image_columns(const ConvolutionWork& work) {
  if (work.tiled) return work.tiles();
  const std::int64_t sharing = kernels_meet_all_images(work) ? 256 : 1024;
  const std::int64_t pes = sharing % work.pes == 0 ? sharing : work.pes;
  return std::min(work.images, pes / std::gcd(work.kernels, pes));
}

// Non-zero positions of a block's planes, or of their tiles.
class ImagePlanes {
 public:
  void read(const MaskView& mask, const ConvolutionWork& work, std::int64_t block) {
    const std::int64_t tiles = work.tiles();
    // Without zeros one plane is like all.
    const std::int64_t channels = mask.no_zeros() ? 1 : work.images;
    first_.assign(static_cast<std::size_t>(channels * tiles) + 1, 0);
    each(mask, work, block, channels,
         [&](std::int64_t image, Position) { ++first_[static_cast<std::size_t>(image) + 1]; });
    std::partial_sum(first_.begin(), first_.end(), first_.begin());
    positions_.resize(first_.back());
    next_.assign(first_.begin(), first_.end() - 1);
    each(mask, work, block, channels,
         [&](std::int64_t image, Position at) { positions_[next_[static_cast<std::size_t>(image)]++] = at; });
  }
  std::span<const Position> of(std::int64_t image) const {
    const auto i = static_cast<std::size_t>(image);
    return {positions_.data() + first_[i], first_[i + 1] - first_[i]};
  }

 private:
  template <typename Visit>
  static void each(const MaskView& mask, const ConvolutionWork& work, std::int64_t block,
                   std::int64_t channels, const Visit& visit) {
    const std::int64_t tiles = work.tiles(), channel0 = block % work.groups * work.images;
    std::int64_t row = block / work.groups * work.map.y.image * work.map.x.image;
    for (std::int64_t y = 0; y < work.map.y.image; ++y) {
      for (std::int64_t x = 0; x < work.map.x.image; ++x, ++row) {
        const std::int64_t tile = work.tiled ? work.tile_of(y, x) : 0;
        const Position at{static_cast<std::uint32_t>(y), static_cast<std::uint32_t>(x)};
        for_each_bit(mask.row(row), channel0, channel0 + channels,
                     [&](std::int64_t channel) { visit(channel * tiles + tile, at); });
      }
    }
  }

  std::vector<std::size_t> first_, next_;
  std::vector<Position> positions_;
};

// Kernels of at most 64 positions as masks: bit r * columns + s.
void start_batch(KernelBatch& batch, const std::array<std::uint64_t, kLanes>& masks, bool with_starts) {
  for (std::size_t l = 0; l < kLanes; ++l) {
    batch.nonzeros[l] = std::popcount(masks[l]);
    batch.times[l] = batch.nonzeros[l] > 0 ? 1 : 0;
  }
  if (!with_starts) return;
  batch.starts.resize(static_cast<std::size_t>(batch.rows * (batch.cols + 1)));
  std::array<std::int32_t, kLanes> before{};
  std::size_t at = 0;
  std::int64_t bit = 0;
  for (std::int64_t r = 0; r < batch.rows; ++r) {
    for (std::int64_t s = 0; s < batch.cols; ++s, ++bit) {
      batch.starts[at++] = before;
      for (std::size_t l = 0; l < kLanes; ++l) before[l] += static_cast<std::int32_t>((masks[l] >> bit) & 1);
    }
    batch.starts[at++] = before;
  }
}

// Up to 16 planes of G next to each other.
void start_batch(KernelBatch& batch, const MaskView& mask, std::int64_t row, std::int64_t channel,
                 std::int64_t planes, bool with_starts) {
  batch.starts.resize(with_starts ? static_cast<std::size_t>(batch.rows * (batch.cols + 1)) : 0);
  std::array<std::int32_t, kLanes> before{};
  auto* start = batch.starts.data();
  for (std::int64_t r = 0; r < batch.rows; ++r) {
    for (std::int64_t s = 0; s < batch.cols; ++s, ++row) {
      const auto bits = static_cast<std::uint32_t>(mask.bits(row, channel, planes));
      if (with_starts) *start++ = before;
      for (std::size_t l = 0; l < kLanes; ++l) before[l] += static_cast<std::int32_t>((bits >> l) & 1);
    }
    if (with_starts) *start++ = before;
  }
  for (std::size_t l = 0; l < kLanes; ++l) {
    batch.nonzeros[l] = before[l];
    batch.times[l] = before[l] > 0 ? 1 : 0;
  }
}

// A kernel without zeros in the first lane.
KernelBatch full_batch(std::int64_t rows, std::int64_t cols, bool with_starts) {
  KernelBatch batch{.rows = rows, .cols = cols, .nonzeros = {}, .times = {}, .starts = {}};
  batch.nonzeros[0] = rows * cols;
  if (!with_starts) return batch;
  std::int32_t before = 0;
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t s = 0; s <= cols; ++s) {
      batch.starts.push_back({before});
      if (s < cols) ++before;
    }
  }
  return batch;
}

class SetCount {
 public:
  SetCount(const Layer& layer, const ConvolutionWork& work, const ProcessingElement& pe, bool each_image,
           std::unique_ptr<ImageSets> sets)
      : layer_(layer),
        work_(work),
        image_(layer.tensor(work.image_role).mask),
        kernel_(layer.tensor(work.kernel_role).mask),
        shared_(kernels_meet_all_images(work)),
        each_image_(each_image),
        starts_(pe.needs_starts()),
        columns_(image_columns(work)),
        sets_(std::move(sets)) {}

  // Returns the costs of a block, and adds its counts to `totals`.
  BlockCosts run(std::int64_t block, PairCounts& totals) {
    costs_ = {columns_, work_.kernels, {}};
    costs_.cells.assign(static_cast<std::size_t>(columns_ * work_.kernels), {});
    totals_ = &totals;
    planes_.read(image_, work_, block);
    sets_->clear();
    live_sets_.clear();
    if (shared_) {
      make_shared_sets();
      kernel_.no_zeros() ? count_full_kernel() : count_gradients(block);
    } else {
      make_channel_sets();
      if (kernel_.no_zeros()) {
        count_full_kernels();
      } else if (layer_.shape.taps() == 1) {
        count_single_weights(block);
      } else {
        count_weights(block);
      }
    }
    return std::move(costs_);
  }

 private:
  struct LiveSet {
    std::size_t set;
    std::int64_t channel, column;
    std::int64_t images;  // in it
    std::int64_t times;   // sets like it
  };

  void end_set(std::int64_t channel, std::int64_t column, std::int64_t images, std::int64_t times) {
    sets_->end_set();
    live_sets_.push_back({sets_made_++, channel, column, images, times});
  }
  std::int64_t images_of_column(std::int64_t column) const {
    return work_.tiled ? work_.images : (work_.images - column + columns_ - 1) / columns_;
  }

  // Weight gradient: all images meet all kernels. A column is a set, or each of its images is.
  void make_shared_sets() {
    sets_made_ = 0;
    const std::int64_t tiles = work_.tiles();
    for (std::int64_t column = 0; column < columns_; ++column) {
      const std::int64_t tile = work_.tiled ? column : 0, step = work_.tiled ? 1 : columns_;
      if (image_.no_zeros()) {
        if (planes_.of(tile).empty()) continue;
        if (column == 0 || work_.tiled) {
          sets_->start_set();
          sets_->add_image(planes_.of(tile));
          end_set(0, column, 1, images_of_column(column));
        } else {  // like the first column's
          live_sets_.push_back({live_sets_[0].set, 0, column, 1, images_of_column(column)});
        }
        continue;
      }
      std::int64_t images = 0;
      for (std::int64_t i = work_.tiled ? 0 : column; i < work_.images; i += step) {
        const std::span<const Position> plane = planes_.of(i * tiles + tile);
        if (plane.empty()) continue;
        if (images++ == 0) sets_->start_set();
        sets_->add_image(plane);
        if (!each_image_) continue;
        end_set(i, column, 1, 1);
        images = 0;
      }
      if (images > 0) end_set(0, column, images, 1);
    }
  }

  // Forward and input gradient: kernels meet one channel, so a set is a plane or one of its tiles.
  void make_channel_sets() {
    sets_made_ = 0;
    first_live_.assign(1, 0);
    const std::int64_t tiles = work_.tiles();
    for (std::int64_t channel = 0; channel < work_.images; ++channel) {
      const bool like_first = image_.no_zeros() && channel > 0;
      std::size_t first = 0;  // of the sets that are alike
      for (std::int64_t tile = 0; tile < tiles; ++tile) {
        const std::span<const Position> plane = planes_.of(like_first ? tile : channel * tiles + tile);
        if (plane.empty()) continue;
        const std::int64_t column = work_.tiled ? tile : channel % columns_;
        if (like_first) {
          live_sets_.push_back({live_sets_[first++].set, channel, column, 1, 1});
          continue;
        }
        sets_->start_set();
        sets_->add_image(plane);
        end_set(channel, column, 1, 1);
      }
      first_live_.push_back(live_sets_.size());
    }
  }
  std::span<const LiveSet> sets_of(std::int64_t channel) const {
    const auto c = static_cast<std::size_t>(channel);
    return {live_sets_.data() + first_live_[c], first_live_[c + 1] - first_live_[c]};
  }

  BlockCosts::Cell cost_of(const LiveSet& set, std::int64_t cycles) const {
    const bool filled = cycles > 0;
    return {cycles * set.times, set.images * set.times, filled ? set.images * set.times : 0};
  }
  static void add(BlockCosts::Cell& cell, const BlockCosts::Cell& more, std::int64_t times = 1) {
    cell.cycles += times * more.cycles;
    cell.pairs += times * more.pairs;
    cell.filled += times * more.filled;
  }
  // Lane l is kernel first + l.
  void count(const LiveSet& set, const KernelBatch& batch, std::int64_t first) {
    const LaneCycles cycles = sets_->count(set.set, batch, set.times, *totals_);
    for (std::size_t l = 0; l < kLanes; ++l) {
      if (batch.times[l] > 0)
        add(costs_.at(set.column, first + static_cast<std::int64_t>(l)), cost_of(set, cycles[l]));
    }
  }

  // Kernels without zeros are alike.
  void count_full_kernel() {
    KernelBatch batch = full_batch(work_.map.y.kernel, work_.map.x.kernel, starts_);
    batch.times[0] = work_.kernels;
    for (const LiveSet& set : live_sets_) {
      const BlockCosts::Cell cost = cost_of(set, sets_->count(set.set, batch, set.times, *totals_)[0]);
      for (std::int64_t kernel = 0; kernel < work_.kernels; ++kernel)
        add(costs_.at(set.column, kernel), cost);
    }
  }
  void count_full_kernels() {
    KernelBatch batch = full_batch(work_.map.y.kernel, work_.map.x.kernel, starts_);
    batch.times[0] = work_.kernels;
    std::vector<BlockCosts::Cell> of_column(static_cast<std::size_t>(columns_));
    if (image_.no_zeros()) {  // so are all channels
      for (const LiveSet& set : sets_of(0)) {
        const BlockCosts::Cell cost = cost_of(set, sets_->count(set.set, batch, work_.images, *totals_)[0]);
        if (work_.tiled) {
          add(of_column[static_cast<std::size_t>(set.column)], cost, work_.images);
        } else {
          for (std::int64_t column = 0; column < columns_; ++column)
            add(of_column[static_cast<std::size_t>(column)], cost, images_of_column(column));
        }
      }
    } else {
      for (const LiveSet& set : live_sets_) {
        add(of_column[static_cast<std::size_t>(set.column)],
            cost_of(set, sets_->count(set.set, batch, set.times, *totals_)[0]));
      }
    }
    for (std::int64_t column = 0; column < columns_; ++column) {
      for (std::int64_t kernel = 0; kernel < work_.kernels; ++kernel)
        costs_.at(column, kernel) = of_column[static_cast<std::size_t>(column)];
    }
  }

  // Weight gradient: planes of G.
  void count_gradients(std::int64_t block) {
    KernelBatch batch{
        .rows = work_.map.y.kernel, .cols = work_.map.x.kernel, .nonzeros = {}, .times = {}, .starts = {}};
    const std::int64_t row = block / work_.groups * batch.rows * batch.cols;
    const std::int64_t channel0 = block % work_.groups * work_.kernels;
    for (const std::int64_t i : in_steps((work_.kernels + kLanes - 1) / kLanes)) {
      const std::int64_t first = i * kLanes;
      start_batch(batch, kernel_, row, channel0 + first, std::min(kLanes, work_.kernels - first), starts_);
      for (const LiveSet& set : live_sets_) count(set, batch, first);
    }
  }

  // 1x1: a weight is a kernel without zeros or none.
  void count_single_weights(std::int64_t block) {
    KernelBatch batch = full_batch(1, 1, starts_);
    batch.times[0] = 1;
    PairCounts unused;
    std::vector<BlockCosts::Cell> of_set;
    of_set.reserve(live_sets_.size());
    for (const LiveSet& set : live_sets_)
      of_set.push_back(cost_of(set, sets_->count(set.set, batch, set.times, unused)[0]));
    const bool rotated = work_.op == Operation::kInputGrad;
    std::vector<std::int64_t> kernels(static_cast<std::size_t>(work_.images));  // of each channel
    for (const std::int64_t filter : in_steps(layer_.shape.k_per_group())) {
      for_each_bit(weight_row(block, filter, 0), 0, layer_.shape.c_per_group(), [&](std::int64_t c) {
        const auto channel = static_cast<std::size_t>(rotated ? filter : c);
        ++kernels[channel];
        for (std::size_t s = first_live_[channel]; s < first_live_[channel + 1]; ++s)
          add(costs_.at(live_sets_[s].column, rotated ? c : filter), of_set[s]);
      });
    }
    for (const LiveSet& set : live_sets_) {
      batch.times[0] = kernels[static_cast<std::size_t>(set.channel)];
      sets_->count(set.set, batch, set.times, *totals_);
    }
  }

  void count_weights(std::int64_t block) {
    const std::int64_t group = block % work_.groups;
    if (group != group_of_masks_) read_masks(block);
    group_of_masks_ = group;
    const bool rotated = work_.op == Operation::kInputGrad;
    const std::int64_t channels = layer_.shape.c_per_group();
    KernelBatch batch{
        .rows = work_.map.y.kernel, .cols = work_.map.x.kernel, .nonzeros = {}, .times = {}, .starts = {}};
    for (const std::int64_t channel : in_steps(work_.images)) {
      if (sets_of(channel).empty()) continue;
      for (std::int64_t first = 0; first < work_.kernels; first += kLanes) {
        std::array<std::uint64_t, kLanes> masks{};
        std::uint64_t any = 0;
        for (std::int64_t l = 0; l < std::min(kLanes, work_.kernels - first); ++l) {
          const std::int64_t filter = rotated ? channel : first + l, c = rotated ? first + l : channel;
          masks[static_cast<std::size_t>(l)] = masks_[static_cast<std::size_t>(filter * channels + c)];
          any |= masks[static_cast<std::size_t>(l)];
        }
        if (any == 0) continue;
        start_batch(batch, masks, starts_);
        for (const LiveSet& set : sets_of(channel)) count(set, batch, first);
      }
    }
  }
  // In the input gradient kernels are rotated by 180 degrees.
  void read_masks(std::int64_t block) {
    const std::int64_t channels = layer_.shape.c_per_group(), taps = layer_.shape.taps();
    masks_.assign(static_cast<std::size_t>(layer_.shape.k_per_group() * channels), 0);
    for (std::int64_t filter = 0; filter < layer_.shape.k_per_group(); ++filter) {
      std::uint64_t* masks = masks_.data() + filter * channels;
      for (std::int64_t tap = 0; tap < taps; ++tap) {
        const std::uint64_t bit = std::uint64_t{1}
                                  << (work_.op == Operation::kInputGrad ? taps - 1 - tap : tap);
        for_each_bit(weight_row(block, filter, tap), 0, channels, [&](std::int64_t c) { masks[c] |= bit; });
      }
    }
  }
  const std::uint8_t* weight_row(std::int64_t block, std::int64_t filter, std::int64_t tap) const {
    const std::int64_t k = block % work_.groups * layer_.shape.k_per_group() + filter;
    return kernel_.row(k * layer_.shape.taps() + tap);
  }

  const Layer& layer_;
  const ConvolutionWork& work_;
  const MaskView& image_;
  const MaskView& kernel_;
  bool shared_;
  bool each_image_;  // a set has one image, because pairs may take zero cycles
  bool starts_;
  std::int64_t columns_;
  std::unique_ptr<ImageSets> sets_;
  ImagePlanes planes_;
  std::size_t sets_made_ = 0;
  std::vector<LiveSet> live_sets_;
  std::vector<std::size_t> first_live_;  // of each channel
  std::vector<std::uint64_t> masks_;     // of a group: [filter][channel]
  std::int64_t group_of_masks_ = -1;
  BlockCosts costs_;
  PairCounts* totals_ = nullptr;
};

void put_on_pes(const BlockCosts& costs, std::int64_t block, const ConvolutionWork& work,
                const MachineConfig& config, Schedule& schedule) {
  if (work.tiled) open_phases(schedule, work, config);
  for (std::int64_t column = 0; column < costs.columns; ++column) {
    for (std::int64_t kernel = 0; kernel < costs.kernels; ++kernel) {
      const BlockCosts::Cell& cell = costs.at(column, kernel);
      if (cell.pairs == 0) continue;
      schedule.add(work.phase(kernel), work.pe(block, column, kernel, column), cell.cycles, cell.pairs,
                   cell.filled);
    }
  }
  if (work.tiled) schedule.close();
}

struct AllCosts {
  std::vector<BlockCosts> blocks;  // one if all are alike
  PairCounts totals;
};

void add_block(PairCounts& totals, const PairCounts& block, std::int64_t times) {
  for (std::int64_t i = 0; i < times; ++i) totals += block;
}

}  // namespace

std::optional<PairCounts> count_by_sets(const OperationWork& operation, const MachineConfig& config,
                                        const ProcessingElement& pe, const std::string& sharing_key,
                                        Schedule& schedule) {
  constexpr std::int64_t kMostTaps = 64, kMostKept = 1 << 20;  // 24 MB of cells
  const Layer& layer = operation.layer;
  const ConvolutionWork work = ConvolutionWork::of(layer.shape, operation.op, config);
  const bool weights = work.kernel_role == Operand::kW;
  if (work.packed > 1 || (work.tiled && config.sized) || (weights && layer.shape.taps() > kMostTaps))
    return {};
  if (pe.image_sets(work.map) == nullptr) return {};
  const bool no_zeros =
      layer.tensor(work.image_role).mask.no_zeros() && layer.tensor(work.kernel_role).mask.no_zeros();
  const std::int64_t columns = image_columns(work), kept = no_zeros ? 1 : work.blocks();
  const auto real = [](std::int64_t count) { return static_cast<double>(count); };
  const MemoryClaim claim(
      sizeof(Position) * real(layer.tensor(work.image_role).mask.no_zeros() ? 1 : work.images) *
              real(work.map.y.image) * real(work.map.x.image) +
          sizeof(BlockCosts::Cell) * real(columns) * real(work.kernels) +
          (weights && layer.shape.taps() > 1 ? 8.0 * real(work.images) * real(work.kernels) : 0),
      "layer " + quote_name(layer.name), "the engine of outer products");
  const bool each_image =
      config.fill_each_pair && !pe.every_pair_takes_cycles() && kernels_meet_all_images(work);
  SetCount count(layer, work, pe, each_image, pe.image_sets(work.map));
  if (!work.tiled) schedule.open(1);
  PairCounts totals;
  if (columns * work.kernels * kept <= kMostKept) {
    const std::string key = fmt::format("{} tiled:{} columns:{} tile:{}x{} each:{}", sharing_key, work.tiled,
                                        columns, work.tile.h, work.tile.w, each_image);
    const auto all = operation.remember<AllCosts>(key, [&] {
      AllCosts costs;
      for (const std::int64_t block : in_steps(kept)) costs.blocks.push_back(count.run(block, costs.totals));
      return costs;
    });
    add_block(totals, all->totals, no_zeros ? work.blocks() : 1);
    for (std::int64_t block = 0; block < work.blocks(); ++block)
      put_on_pes(all->blocks[static_cast<std::size_t>(no_zeros ? 0 : block)], block, work, config, schedule);
  } else {
    for (const std::int64_t block : in_steps(work.blocks()))
      put_on_pes(count.run(block, totals), block, work, config, schedule);
  }
  if (!work.tiled) schedule.close();
  return totals;
}

}  // namespace lacuna::outer_product
