// input_grad where the input is not zero: what a ReLU in front of the layer lets through. For each channel of
// a tile of pixels the list of those where the input is not zero, and for each of them a product of gradients
// and weights over all taps and output channels (a sampled dense product).
//
// Nothing is skipped but results: 0 x Inf is NaN as in dense kernels.
#include <algorithm>
#include <omp.h>

#include "kernels/needed/needed_loops.hpp"
#include "kernels/sparse/sparse_conv.hpp"

namespace lacuna::kernels {
namespace {

const NeededLoops& needed_loops(Isa isa) {
  return LACUNA_OF_ISA(isa, kPortableNeededLoops, kAvx2NeededLoops, kAvx512NeededLoops);
}

// Rows and columns of gradients that a tile reads besides its own.
Size2 halo_of(const LayerShape& s) {
  return {(s.kernel.h - 1) * s.dilation.h, (s.kernel.w - 1) * s.dilation.w};
}

bool supports(const KernelConfig& config) {
  const LayerShape& s = config.shape;
  // Slots of the smallest tile have 16 bits.
  constexpr std::int64_t kMostSlots = 1 << 15;
  const Size2 halo = halo_of(s);
  return config.options.op == Operation::kInputGrad && config.checked == Operand::kA && fills_blocks(s) &&
         s.stride == Size2{1, 1} && halo.h < kMostSlots && halo.w < kMostSlots &&
         (halo.h + 1) * (halo.w + 1) <= kMostSlots;
}

// Not by a call of memmove(), which took a fifth of the time of 1x1 256 -> 1024.
void copy_block(const float* from, float* to) { __builtin_memcpy(to, from, kLanes * sizeof(float)); }

class NeededConv final : public SparseConv {
 public:
  explicit NeededConv(const KernelConfig& config)
      : SparseConv(config, "needed"),
        loops_(needed_loops(config.isa)),
        result_(sides_.other),
        gradient_(sides_.checked) {
    halo_ = halo_of(shape_);
    flatten();
    // Channels that a sum takes at once: many for one tap, because the sum of the lanes of a vector costs as
    // much as three multiply-adds; fewer for 3x3, so that more pixels fit in the tile.
    std::vector<Part> parts = split_blocks(gradient_.blocks(), shape_.taps() == 1 ? 16 : 4);
    slot_floats_ = std::ranges::max(parts, {}, &Part::count).count * kLanes;
    weights_ = WeightOrder(shape_, true, ohwi_, kTurned, std::move(parts));
    size_tile();
    find_places();
  }

  std::int64_t workspace_floats() const override { return threads_ * thread_floats(); }

  void compute(const SparseRun& run) const override {
    const std::int64_t tiles = image_sets() * rows_of_tiles() * columns_of_tiles() * shape_.groups;
    const std::int64_t blocks = result_.blocks();
    const std::vector<Part> channels =
        split_blocks(blocks, tiles >= 2 * threads_ ? blocks : std::max<std::int64_t>(1, blocks / 4));
    const auto parts = static_cast<std::int64_t>(channels.size());
#pragma omp parallel for num_threads(threads_) schedule(dynamic)
    for (std::int64_t unit = 0; unit < tiles * parts; ++unit)
      run_tile(run, tile_at(unit / parts), channels[static_cast<std::size_t>(unit % parts)],
               run.workspace + omp_get_thread_num() * thread_floats());
  }

 private:
  struct Tile {
    std::int64_t group;
    Range images, rows, columns;  // of the result
  };
  // Memory of a thread.
  struct Room {
    float* gradients;      // [slot][slot_floats]
    float* block;          // results of 16 channels, [slot][16]
    float* sums;           // of a channel
    std::uint16_t* slots;  // [channel][stride]
    std::int32_t* counts;  // [channel]
  };

  // A kernel of one tap has no neighbours: an image is one row, and so are all images whose pixels are
  // equally far apart.
  void flatten() {
    if (shape_.taps() != 1 || shape_.padding != Size2{0, 0}) return;
    const auto equally_far = [](const BlockedShape& side) {
      return side.channels_last || side.blocks() == 1 || side.pixels() == 1;
    };
    const bool one_row = shape_.groups == 1 && equally_far(result_) && equally_far(gradient_);
    for (BlockedShape* side : {&result_, &gradient_}) {
      if (one_row && side->pixels() == 1)
        side->channels = side->blocks() * kLanes, side->channels_last = true;
      side->w = side->pixels() * (one_row ? side->n : 1);
      side->h = 1;
      if (one_row) side->n = 1;
    }
  }

  // Longer lists pay for the misses of L1 where A has many zeros: weights are read less often. Speedup over
  // direct of eight 1x1 layers
  // of ResNet-50 at 0 / 90 / 95 % zeros: 32 KB 0.39 / 1.12 / 1.31, 64 KB 0.26 / 1.24 / 1.54, 128 KB
  // 0.23 / 1.22 / 1.60 (Zen 5, other programs running).
  void size_tile() {
    constexpr std::int64_t kTileFloats = 16 * 1024;
    const std::int64_t most = std::clamp<std::int64_t>(kTileFloats / slot_floats_, 16, 1024);
    const auto slots = [&](std::int64_t h, std::int64_t w) { return (h + halo_.h) * (w + halo_.w); };
    columns_ = result_.w;
    while (columns_ > 1 && slots(std::min<std::int64_t>(result_.h, halo_.h + 1), columns_) > most)
      columns_ = (columns_ + 1) / 2;
    rows_ = 1;
    while (rows_ < result_.h && slots(rows_ + 1, columns_) <= most) ++rows_;
    rows_ = (result_.h + (result_.h + rows_ - 1) / rows_ - 1) / ((result_.h + rows_ - 1) / rows_);
    image_slots_ = slots(rows_, columns_);
    images_ = rows_ == result_.h && columns_ == result_.w
                  ? std::clamp<std::int64_t>(most / image_slots_, 1, result_.n)
                  : 1;
    stride_ = round_up(images_ * rows_ * columns_ + kLanes + kResultGroup, kLanes);
  }

  void find_places() {
    for (std::int64_t slot = 0; slot < tile_slots(); ++slot)
      places_.push_back(pixel_offset(slot / image_slots_, slot % image_slots_ / pitch(), slot % pitch()));
    for (const Part& part : weights_.parts())
      for (std::int64_t row = 0; row < shape_.kernel.h; ++row)
        for (std::int64_t column = 0; column < shape_.kernel.w; ++column)
          taps_.push_back((row * shape_.dilation.h * pitch() + column * shape_.dilation.w) * part.count *
                          kLanes);
  }

  static std::int64_t parts_of(std::int64_t size, std::int64_t each) { return (size + each - 1) / each; }
  std::int64_t image_sets() const { return parts_of(result_.n, images_); }
  std::int64_t rows_of_tiles() const { return parts_of(result_.h, rows_); }
  std::int64_t columns_of_tiles() const { return parts_of(result_.w, columns_); }
  std::int64_t pitch() const { return columns_ + halo_.w; }
  std::int64_t tile_slots() const { return images_ * image_slots_; }

  Tile tile_at(std::int64_t index) const {
    const auto part = [&index](std::int64_t size, std::int64_t each) {
      const std::int64_t first = index % parts_of(size, each) * each;
      index /= parts_of(size, each);
      return Range{first, std::min(size, first + each)};
    };
    Tile tile{};
    tile.columns = part(result_.w, columns_);
    tile.rows = part(result_.h, rows_);
    tile.images = part(result_.n, images_);
    tile.group = index;
    return tile;
  }

  std::int64_t gradient_floats() const { return tile_slots() * slot_floats_; }
  std::int64_t channels() const { return result_.blocks() * kLanes; }
  std::int64_t thread_floats() const {
    return gradient_floats() + tile_slots() * kLanes +
           round_up(stride_ + channels() + channels() * stride_ / 2, kLanes);
  }
  Room room_in(float* memory) const {
    float* const block = memory + gradient_floats();
    float* const sums = block + tile_slots() * kLanes;
    auto* const counts = reinterpret_cast<std::int32_t*>(sums + stride_);
    return {memory, block, sums, reinterpret_cast<std::uint16_t*>(counts + channels()), counts};
  }

  void run_tile(const SparseRun& run, const Tile& tile, const Part& channels, float* memory) const {
    const Room room = room_in(memory);
    const std::ptrdiff_t* taps = taps_.data();
    for (const Part& part : weights_.parts()) {
      const bool first = part.first == 0;
      pack_gradients(run, tile, part, room.gradients);
      const float* weights = run.other + weights_.offset({tile.group, part, 0, 0});
      for (std::int64_t block = channels.first; block < channels.first + channels.count; ++block) {
        if (first) {
          list_block(run, tile, block, room);
          std::fill_n(room.block, tile_slots() * kLanes, 0.0F);
        }
        float* const out = results(run, tile, block);
        for (std::int64_t lane = 0; lane < kLanes; ++lane) {
          const std::int64_t c = block * kLanes + lane;
          const std::int32_t count = room.counts[c];
          if (count == 0) continue;
          const std::uint16_t* const slots = room.slots + c * stride_;
          const std::int64_t floats = part.count * kLanes;
          loops_.dots({slots, count, room.gradients, floats, taps, shape_.taps(),
                       weights + c * shape_.taps() * floats, room.sums});
          if (first)
            for (std::int32_t i = 0; i < count; ++i) room.block[slots[i] * kLanes + lane] = room.sums[i];
          else
            for (std::int32_t i = 0; i < count; ++i) out[places_[slots[i]] + lane] += room.sums[i];
        }
        if (first) write_block(tile, room.block, out);
      }
      taps += shape_.taps();
    }
  }

  // Distance of a pixel of a tile from its first one.
  std::int64_t pixel_offset(std::int64_t image, std::int64_t y, std::int64_t x) const {
    return image * result_.image_floats() + (y * result_.w + x) * result_.pixel_floats();
  }
  // The first pixel of a tile in a block of channels.
  float* results(const SparseRun& run, const Tile& tile, std::int64_t block) const {
    return run.out + pixel_offset(tile.images.begin, tile.rows.begin, tile.columns.begin) +
           tile.group * result_.group_floats() + block * result_.block_floats();
  }

  // Calls use(image, row) for each row of pixels of a tile, counted from its first.
  template <typename Use>
  static void each_row(const Tile& tile, const Use& use) {
    for (std::int64_t image = 0; image < tile.images.end - tile.images.begin; ++image)
      for (std::int64_t y = 0; y < tile.rows.end - tile.rows.begin; ++y) use(image, y);
  }

  // Lists the results of 16 channels.
  void list_block(const SparseRun& run, const Tile& tile, std::int64_t block, const Room& room) const {
    std::int32_t* const counts = room.counts + block * kLanes;
    std::uint16_t* const slots = room.slots + block * kLanes * stride_;
    std::fill_n(counts, kLanes, 0);
    const float* const needed = run.needed + (results(run, tile, block) - run.out);
    each_row(tile, [&](std::int64_t image, std::int64_t y) {
      const std::int64_t at = pixel_offset(image, y, 0), width = tile.columns.end - tile.columns.begin;
      // Hardware does not see either coming: 1x1 256 -> 1024 @14x14 took 1.3 times as long.
      for (std::int64_t x = 0; x < width; ++x) {
        const std::int64_t pixel = at + x * result_.pixel_floats();
        __builtin_prefetch(needed + pixel + result_.block_floats());
        __builtin_prefetch(results(run, tile, block) + pixel, 1);
      }
      loops_.list({needed + at, result_.pixel_floats(), width,
                   static_cast<std::uint16_t>(image * image_slots_ + y * pitch()), slots, stride_, counts});
    });
    for (std::int64_t c = 0; c < kLanes; ++c)
      std::fill_n(slots + c * stride_ + counts[c], kResultGroup, std::uint16_t{0});
  }

  void write_block(const Tile& tile, const float* block, float* out) const {
    each_row(tile, [&](std::int64_t image, std::int64_t y) {
      const float* from = block + (image * image_slots_ + y * pitch()) * kLanes;
      float* to = out + pixel_offset(image, y, 0);
      for (std::int64_t x = tile.columns.begin; x < tile.columns.end; ++x, from += kLanes)
        copy_block(from, to), to += result_.pixel_floats();
    });
  }

  // Copies the gradients that the tile reads, with zeros around the image.
  void pack_gradients(const SparseRun& run, const Tile& tile, const Part& part, float* to) const {
    const std::int64_t floats = part.count * kLanes;
    const std::int64_t first_row = tile.rows.begin + shape_.padding.h - halo_.h;
    const std::int64_t first_column = tile.columns.begin + shape_.padding.w - halo_.w;
    for (std::int64_t image = tile.images.begin; image < tile.images.end; ++image) {
      const float* const from = run.checked + image * gradient_.image_floats() +
                                tile.group * gradient_.group_floats() + part.first * gradient_.block_floats();
      float* row = to + (image - tile.images.begin) * image_slots_ * floats;
      const std::int64_t width = tile.columns.end - tile.columns.begin + halo_.w;
      for (std::int64_t r = 0; r < tile.rows.end - tile.rows.begin + halo_.h; ++r, row += pitch() * floats) {
        const std::int64_t y = first_row + r;
        const bool inside = y >= 0 && y < gradient_.h;
        const std::int64_t begin = inside ? std::clamp<std::int64_t>(-first_column, 0, width) : width;
        const std::int64_t end = inside ? std::clamp(gradient_.w - first_column, begin, width) : width;
        std::fill_n(row, begin * floats, 0.0F);
        std::fill_n(row + end * floats, (width - end) * floats, 0.0F);
        const float* line = from + (y * gradient_.w + first_column) * gradient_.pixel_floats();
        for (std::int64_t b = 0; b < part.count; ++b)
          for (std::int64_t c = begin; c < end; ++c) {
            const float* pixel = line + c * gradient_.pixel_floats() + b * gradient_.block_floats();
            __builtin_prefetch(pixel + gradient_.block_floats());
            copy_block(pixel, row + c * floats + b * kLanes);
          }
      }
    }
  }

  const NeededLoops& loops_;
  BlockedShape result_, gradient_;
  Size2 halo_;
  std::int64_t slot_floats_ = 0;                      // most of a part
  std::int64_t images_ = 1, rows_ = 1, columns_ = 1;  // of a tile
  std::int64_t image_slots_ = 1;                      // with the halo
  std::int64_t stride_ = 0;                           // of the lists
  std::vector<std::ptrdiff_t> places_;                // of the results, by slot
  std::vector<std::ptrdiff_t> taps_;  // [part][tap] of the turned kernel, from the first slot a result reads
};

}  // namespace

const ConvImplementation kNeededConv{
    .name = "needed",
    .description = "input_grad where the input is not zero, any kernel of stride 1",
    .skips = Skips::kResults,
    .form = TensorForm::kBlockedOrChannelsLast,
    .supports = supports,
    .make = make_kernel<NeededConv>,
    .may_choose = always};

}  // namespace lacuna::kernels
