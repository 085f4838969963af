// weight_grad, 3x3, stride 1, padding 1: all nine taps at once from per-channel lists of the non-zeros of a
// tile.
#include <algorithm>
#include <cstring>
#include <omp.h>

#include "kernels/choice/sampled_zeros.hpp"
#include "kernels/sparse/sparse_conv.hpp"
#include "kernels/sparse/weights.hpp"

namespace lacuna::kernels {
namespace {

constexpr std::int64_t kSlotFloats = kListVectors * kLanes;
// The sums of a chunk of channels, which are read and written for every tile: in L2, with the lists.
constexpr std::int64_t kSumBytes = 1280 * 1024;

// With fewer zeros, non-zeros of neighbouring pixels are listed as pairs, which read the dense tile once for
// both: 24 vectors for 36 multiply-adds. On Zen 5 that is 1.08 times as fast at half zeros where neighbours
// are alike, as in trainings, and 1.04 times where zeros are random; at 70 % 1.04 and 0.99, at 90 % 0.96 and
// 0.91, since lists take longer to build.
constexpr double kMostZerosOfPairs = 0.65;
constexpr std::int64_t kSampledLines = 128;  // 1,024 took 1 % of small calls

class ListWeightGrad final : public SparseConv {
 public:
  explicit ListWeightGrad(const KernelConfig& config) : SparseConv(config, "list") {
    const std::int64_t h = shape_.input.h;
    const std::int64_t w = shape_.input.w;
    pitch_ = w <= 7 ? 9 : 16;
    tile_w_ = even_part(w, pitch_ - 2);
    // The padded dense tile (128 bytes per slot) shares L1 with the lists.
    const std::int64_t slots = config.l1_bytes / (kSlotFloats * static_cast<std::int64_t>(sizeof(float)));
    const std::int64_t rows = std::clamp<std::int64_t>(slots / pitch_ - 2, 1, kMaxRows);
    tile_h_ = even_part(h, rows);
    images_ =
        tile_h_ == h && tile_w_ == w
            ? std::clamp<std::int64_t>((rows + 2) / (h + 2), 1, std::min<std::int64_t>(shape_.n, kMaxImages))
            : 1;
    stride_ = round_up(images_ * tile_h_ * tile_w_ + kLanes, 32);
    tiles_y_ = (h + tile_h_ - 1) / tile_h_;
    tiles_x_ = (w + tile_w_ - 1) / tile_w_;
    tiles_ = (shape_.n + images_ - 1) / images_ * tiles_y_ * tiles_x_;
    out_parts_ = (sides_.other.blocks() + kListVectors - 1) / kListVectors;
    std::vector<Part> parts;  // the last one whole, too
    for (std::int64_t part = 0; part < out_parts_; ++part)
      parts.push_back({part * kListVectors, kListVectors});
    // Checked activations meet the gradient opposite to the tap.
    order_weights(sides_.checks_src ? kTurned : WeightOrder::Layout{}, std::move(parts));
    // A unit is a chunk of channels and its lists: threads share nothing and never wait for each other.
    const std::int64_t block_bytes = out_parts_ * kLanes * 9 * kSlotFloats * 4;
    chunks_ = thread_chunks(sides_.checked.blocks(), shape_.groups, threads_,
                            tiles_ == 1 ? 16 : std::min<std::int64_t>(16, kSumBytes / block_bytes));
    slices_ = sum_slices(shape_.groups * static_cast<std::int64_t>(chunks_.size()), tiles_, packed_floats(),
                         threads_);
  }

  std::int64_t workspace_floats() const override {
    return threads_ * thread_floats() + (slices_ - 1) * packed_floats();
  }
  bool takes_plain() const override { return slices_ == 1; }

  void compute(const SparseRun& run) const override {
    const auto chunks = static_cast<std::int64_t>(chunks_.size());
    const std::int64_t units = shape_.groups * chunks;
    const bool pairs = sample_zeros(run.checked, sides_.checked.floats(), kSampledLines) < kMostZerosOfPairs;
    float* sums = run.workspace + threads_ * thread_floats();
#pragma omp parallel for num_threads(threads_) schedule(dynamic)
    for (std::int64_t job = 0; job < units * slices_; ++job) {
      const std::int64_t slice = job / units;
      const std::int64_t unit = job % units;
      float* out = slice == 0 ? run.out : sums + (slice - 1) * packed_floats();
      run_unit(run, unit / chunks, chunks_[static_cast<std::size_t>(unit % chunks)],
               {slice * tiles_ / slices_, (slice + 1) * tiles_ / slices_}, pairs, out);
    }
    if (slices_ == 1) return;
    add_slices(run.out, sums, packed_floats(), slices_, threads_);
  }

 private:
  static constexpr std::int64_t kMaxImages = 16;
  static constexpr std::int64_t kMaxRows = 128;

  struct Tile {
    std::int64_t n, images, y, rows, x, cols;
  };

  static std::int64_t even_part(std::int64_t size, std::int64_t most) {
    const std::int64_t parts = (size + most - 1) / most;
    return (size + parts - 1) / parts;
  }
  std::int64_t dense_floats() const {
    return round_up(images_ * (tile_h_ + 2) * pitch_ * kSlotFloats + 2 * kSlotFloats, kLanes);
  }
  // The lists of a chunk in the workspace: values, slots (two per float), counts.
  std::int64_t chunk_channels() const { return chunks_.front().count * kLanes; }
  std::int64_t slots_offset() const { return chunk_channels() * stride_; }
  std::int64_t counts_offset() const { return slots_offset() + chunk_channels() * stride_ / 2; }
  std::int64_t list_floats() const { return counts_offset() + chunk_channels(); }
  // Sums of a chunk, if they leave as plain weights.
  std::int64_t own_floats() const {
    return takes_plain() ? out_parts_ * chunk_channels() * 9 * kSlotFloats : 0;
  }
  // Memory of a thread: lists, the dense tile, sums, and the lists of pairs.
  std::int64_t pairs_at() const { return list_floats() + dense_floats() + own_floats(); }
  std::int64_t thread_floats() const { return pairs_at() + list_floats(); }

  Tile tile_at(std::int64_t index) const {
    const std::int64_t x = index % tiles_x_ * tile_w_;
    const std::int64_t y = index / tiles_x_ % tiles_y_ * tile_h_;
    const std::int64_t n = index / tiles_x_ / tiles_y_ * images_;
    return {n, std::min(images_, shape_.n - n),      y, std::min(tile_h_, shape_.input.h - y),
            x, std::min(tile_w_, shape_.input.w - x)};
  }

  void build(const SparseRun& run, std::int64_t g, const Tile& tile, std::int64_t first_block,
             std::int64_t block, float* base, bool pairs) const {
    const BlockedShape& in = sides_.checked;
    std::ptrdiff_t rows[kMaxImages * kMaxRows];
    std::int32_t row_slots[kMaxImages * kMaxRows];
    ListBuild job{};
    for (std::int64_t i = 0; i < tile.images; ++i)
      for (std::int64_t y = 0; y < tile.rows; ++y) {
        rows[job.row_count] = i * in.image_floats() + ((tile.y + y) * in.w + tile.x) * in.pixel_floats();
        row_slots[job.row_count++] = static_cast<std::int32_t>((i * (tile_h_ + 2) + y) * pitch_);
      }
    job.src = run.checked + tile.n * in.image_floats() + g * in.group_floats() +
              (first_block + block) * in.block_floats();
    job.src_step = in.pixel_floats();
    job.rows = rows;
    job.row_slots = row_slots;
    job.width = static_cast<int>(tile.cols);
    job.values = base + block * kLanes * stride_;
    job.slots = reinterpret_cast<std::uint16_t*>(base + slots_offset()) + block * kLanes * stride_;
    job.counts = reinterpret_cast<std::int32_t*>(base + counts_offset()) + block * kLanes;
    job.stride = stride_;
    if (pairs) {
      float* of_pairs = base + pairs_at();
      job.pair_values = of_pairs + block * kLanes * stride_;
      job.pair_slots = reinterpret_cast<std::uint16_t*>(of_pairs + slots_offset()) + block * kLanes * stride_;
      job.pair_counts = reinterpret_cast<std::int32_t*>(of_pairs + counts_offset()) + block * kLanes;
    }
    kernels_.build_lists(job);
  }

  // The tile of the dense operand with one pixel around it; zero outside the image and past the last block.
  // `zeroed`: what is outside the image is zero already.
  void copy_dense(const SparseRun& run, std::int64_t g, const Tile& tile, std::int64_t part, float* dense,
                  bool zeroed) const {
    const BlockedShape& other = sides_.other;
    const std::int64_t blocks = std::min<std::int64_t>(kListVectors, other.blocks() - part * kListVectors);
    for (std::int64_t i = 0; i < tile.images; ++i) {
      const float* plane = run.other + (tile.n + i) * other.image_floats() + g * other.group_floats() +
                           part * kListVectors * other.block_floats();
      const std::int64_t x0 = std::max<std::int64_t>(0, tile.x - 1);
      const std::int64_t x1 = std::min(other.w, tile.x + tile.cols + 1);
      for (std::int64_t y = 0; y < tile.rows + 2; ++y) {
        float* row = dense + (i * (tile_h_ + 2) + y) * pitch_ * kSlotFloats;
        const std::int64_t h = tile.y + y - 1;
        const bool inside = h >= 0 && h < other.h;
        if (blocks < kListVectors || (!zeroed && (!inside || x1 - x0 < tile.cols + 2)))
          std::memset(row, 0, static_cast<std::size_t>((tile.cols + 2) * kSlotFloats) * sizeof(float));
        if (!inside) continue;
        float* to = row + (x0 - (tile.x - 1)) * kSlotFloats;
        const float* from = plane + (h * other.w + x0) * other.pixel_floats();
        if (blocks == kListVectors) {
          kernels_.copy_pixels(from, other.pixel_floats(), other.block_floats(), x1 - x0, to);
          continue;
        }
        for (std::int64_t x = 0; x < x1 - x0; ++x)  // the last block has no neighbour
          std::memcpy(to + x * kSlotFloats, from + x * other.pixel_floats(), kLanes * sizeof(float));
      }
    }
  }

  // The sums over some of the tiles, in `out`.
  void run_unit(const SparseRun& run, std::int64_t g, const Part& chunk, const Range& tiles, bool pairs,
                float* out) const {
    float* base = run.workspace + omp_get_thread_num() * thread_floats();
    float* dense = base + list_floats();
    float* own = dense + dense_floats();
    ListTile job{};
    job.values = base;
    job.slots = reinterpret_cast<const std::uint16_t*>(base + slots_offset());
    job.counts = reinterpret_cast<const std::int32_t*>(base + counts_offset());
    job.stride = stride_;
    job.channels = chunk.count * kLanes;
    job.dense = dense;
    if (pairs) {
      const float* of_pairs = base + pairs_at();
      job.pair_values = of_pairs;
      job.pair_slots = reinterpret_cast<const std::uint16_t*>(of_pairs + slots_offset());
      job.pair_counts = reinterpret_cast<const std::int32_t*>(of_pairs + counts_offset());
    }
    const auto piece = [&](std::int64_t part) {
      return WeightPiece{g, weights_.parts()[static_cast<std::size_t>(part)], chunk.first * kLanes,
                         job.channels};
    };
    const auto result = [&](std::int64_t part) {
      return run.plain_out != nullptr ? own + part * job.channels * 9 * kSlotFloats
                                      : out + weights_.offset(piece(part));
    };
    for (std::int64_t part = 0; part < out_parts_; ++part)
      std::memset(result(part), 0, static_cast<std::size_t>(job.channels * 9 * kSlotFloats) * sizeof(float));
    // Tiles of whole images have the same zeros around them.
    const bool whole = tiles_y_ == 1 && tiles_x_ == 1;
    if (whole) std::memset(dense, 0, static_cast<std::size_t>(dense_floats()) * sizeof(float));
    for (std::int64_t index = tiles.begin; index < tiles.end; ++index) {
      const Tile tile = tile_at(index);
      for (std::int64_t block = 0; block < chunk.count; ++block)
        build(run, g, tile, chunk.first, block, base, pairs);
      for (std::int64_t part = 0; part < out_parts_; ++part) {
        copy_dense(run, g, tile, part, dense, whole);
        job.dw = result(part);
        (pitch_ == 9 ? kernels_.list_pitch9 : kernels_.list_pitch16)(job);
      }
    }
    if (run.plain_out == nullptr) return;
    for (std::int64_t part = 0; part < out_parts_; ++part)
      weights_.unpack_piece(result(part), piece(part), run.plain_out);
  }

  std::int64_t pitch_ = 16;
  std::int64_t tile_w_ = 1;
  std::int64_t tile_h_ = 1;
  std::int64_t images_ = 1;
  std::int64_t stride_ = 0;  // of the list of a channel
  std::int64_t tiles_y_ = 1;
  std::int64_t tiles_x_ = 1;
  std::int64_t tiles_ = 1;
  std::int64_t out_parts_ = 1;
  std::int64_t slices_ = 1;
  std::vector<Part> chunks_;
};

bool supports(const KernelConfig& config) {
  return config.options.op == Operation::kWeightGrad && micro_kernels(config.isa).list_pitch16 != nullptr &&
         is_3x3_same(config.shape);
}

}  // namespace

constinit const ConvImplementation kListWeightGrad = sparse_implementation<ListWeightGrad>(
    "list", "weight_grad, 3x3, stride 1, padding 1: lists of the non-zeros of each channel (AVX-512)",
    supports);

}  // namespace lacuna::kernels
