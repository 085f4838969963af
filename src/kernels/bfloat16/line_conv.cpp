// forward and input_grad in bfloat16: sums over channels.
#include <algorithm>
#include <array>
#include <cstring>
#include <omp.h>
#include <vector>

#include "kernels/bfloat16/tile_conv.hpp"

namespace lacuna::kernels {
namespace {

constexpr std::int64_t kLine = kTileDepth;  // elements
constexpr std::int64_t kRowTiles = 2;

class LineConv final : public TileConv {
 public:
  LineConv(const KernelConfig& config, const TileKernels& kernels)
      : TileConv(config, kernels),
        threads_(options_.threads),
        backward_(options_.op == Operation::kInputGrad),
        taps_(shape_.taps()),
        output_step_(shape_.c * taps_),
        grid_(backward_ ? input_grad_grid(shape_) : forward_grid(shape_)),
        from_(backward_ ? dst_ : src_),
        to_(backward_ ? src_ : dst_),
        depth_((from_.channels + kLine - 1) / kLine),
        bias_(to_.blocks() * 16) {
    const auto planes = static_cast<std::int64_t>(grid_.inputs.size());
    const std::int64_t halo = grid_.last_row - grid_.first_row;
    unit_rows_ = kLinesAtOnce / (grid_.pitch * depth_ * planes) - halo;
    const std::int64_t share = (grid_.all_rows() + threads_ - 1) / threads_;
    unit_rows_ = std::clamp<std::int64_t>(unit_rows_, std::min<std::int64_t>(2, share), share);
    // As many units for each thread.
    const std::int64_t rounds = (share + unit_rows_ - 1) / unit_rows_;
    unit_rows_ = (share + rounds - 1) / rounds;
    // Taps read up to a row and two tiles beyond the rows of a unit.
    plane_lines_ =
        -grid_.first_column + (unit_rows_ + halo) * grid_.pitch + grid_.last_column + kRowTiles * kTileRows;
    for (const GridOutput& output : grid_.outputs) {
      Output part;
      part.weights = packed_;
      packed_ += column_pairs() * depth_ * static_cast<std::int64_t>(output.taps.size()) * 2 * kTileElements;
      for (std::int64_t d = 0; d < depth_; ++d)
        for (const GridTap& tap : output.taps)
          part.offsets.push_back(((d * planes + tap.plane) * plane_lines_ +
                                  (tap.row - grid_.first_row) * grid_.pitch + tap.column -
                                  grid_.first_column) *
                                 kLine);
      part.at.assign(static_cast<std::size_t>(grid_.rows * grid_.pitch), -1);
      for (std::int64_t y = 0; y < output.plane.rows; ++y)
        for (std::int64_t x = 0; x < output.plane.columns; ++x)
          part.at[static_cast<std::size_t>(y * grid_.pitch + x)] =
              (y * grid_.output_step.h + output.plane.row0) * to_.row_step +
              (x * grid_.output_step.w + output.plane.column0) * to_.pixel_step;
      parts_.push_back(std::move(part));
    }
    for (int t = 0; t < threads_; ++t) {
      lines_.emplace_back(depth_ * planes * plane_lines_ * kLine / 2);
      std::fill_n(lines_.back().data(), lines_.back().size(), 0.0F);
      scratch_.emplace_back(kTileElements * taps_);
      tiles_.emplace_back(static_cast<std::size_t>(taps_));
    }
    if (options_.weights != WeightLayout::kPacked) weights_ = AlignedFloats(packed_floats());
  }

  std::int64_t packed_floats() const override { return packed_ / 2; }
  void pack(const float* oihw, float* to) override {
    auto* packed = reinterpret_cast<Bfloat16*>(to);
#pragma omp parallel num_threads(threads_)
    {
      const auto thread = static_cast<std::size_t>(omp_get_thread_num());
      std::vector<Bfloat16*>& tiles = tiles_[thread];
      float* scratch = scratch_[thread].data();
#pragma omp for collapse(2) schedule(static)
      for (std::int64_t column = 0; column < 2 * column_pairs(); ++column)
        for (std::int64_t d = 0; d < depth_; ++d) {
          for (std::size_t i = 0; i < parts_.size(); ++i) {
            const std::vector<GridTap>& taps = grid_.outputs[i].taps;
            const auto count = static_cast<std::int64_t>(taps.size());
            for (std::int64_t t = 0; t < count; ++t)
              tiles[static_cast<std::size_t>(taps[static_cast<std::size_t>(t)].index)] =
                  packed + parts_[i].weights + ((column / 2 * depth_ + d) * count + t) * 2 * kTileElements +
                  column % 2 * kTileElements;
          }
          // Forward sums over inputs and has outputs side by side, input_grad the other way round.
          const std::int64_t output = backward_ ? d * kTileDepth : column * kTileRows;
          const std::int64_t input = backward_ ? column * kTileRows : d * kTileDepth;
          const WeightTiles weights{.weights = oihw + output * output_step_ + input * taps_,
                                    .output_step = output_step_,
                                    .outputs = std::clamp<std::int64_t>(shape_.k - output, 0, kTileDepth),
                                    .inputs = std::clamp<std::int64_t>(shape_.c - input, 0, kTileDepth),
                                    .taps = taps_,
                                    .tiles = tiles.data(),
                                    .scratch = scratch};
          backward_ ? kernels_.pack_backward(weights) : kernels_.pack_forward(weights);
        }
    }
  }
  void unpack(const float*, float*) override {}

  void run(const ConvTensors& t, const KernelMemory&) override {
    const float* weights = t.weights;
    if (weights_.size() > 0) {
      if (!same_weights(t)) pack(t.weights, weights_.data());
      weights = weights_.data();
    }
    if (options_.bias) std::copy_n(t.bias, shape_.k, bias_.data());
    const auto* tiles = reinterpret_cast<const Bfloat16*>(weights);
#pragma omp parallel num_threads(threads_)
    {
      auto* lines =
          reinterpret_cast<Bfloat16*>(lines_[static_cast<std::size_t>(omp_get_thread_num())].data());
      kernels_.begin();
#pragma omp for schedule(dynamic)
      for (std::int64_t row = 0; row < grid_.all_rows(); row += unit_rows_) {
        convert(backward_ ? t.diff_dst : t.src, row, lines);
        for (const Output& output : parts_)
          multiply(output, row, lines, tiles, backward_ ? t.diff_src : t.dst);
      }
      kernels_.end();
    }
  }

 private:
  // One of the planes that the result consists of.
  struct Output {
    std::vector<std::ptrdiff_t> offsets;  // of each step, in a thread's lines
    std::vector<std::int64_t> at;         // of each element of an image's grid in the result; negative: none
    std::int64_t weights = 0;             // of its first tile
  };
  std::int64_t column_pairs() const { return (to_.blocks() + 1) / 2; }

  // The rows that a unit from `row` on reads. Between rows everything is zero from the start.
  void convert(const float* from, std::int64_t row, Bfloat16* lines) const {
    const auto planes = static_cast<std::int64_t>(grid_.inputs.size());
    const std::int64_t rows = unit_rows_ + grid_.last_row - grid_.first_row;
    for (std::int64_t d = 0; d < depth_; ++d)
      for (std::int64_t p = 0; p < planes; ++p) {
        const GridPlane& plane = grid_.inputs[static_cast<std::size_t>(p)];
        for (std::int64_t r = 0; r < rows; ++r) {
          Bfloat16* to =
              lines + ((d * planes + p) * plane_lines_ + r * grid_.pitch - grid_.first_column) * kLine;
          const std::int64_t at = row + grid_.first_row + r;
          const std::int64_t y = at < 0 ? plane.rows : at % grid_.rows;
          if (at >= grid_.all_rows() || y >= plane.rows) {
            std::memset(to, 0, static_cast<std::size_t>(plane.columns * kLine) * sizeof(Bfloat16));
            continue;
          }
          const float* pixels = from + at / grid_.rows * from_.image_step + 2 * d * from_.block_step +
                                (y * grid_.input_step.h + plane.row0) * from_.row_step +
                                plane.column0 * from_.pixel_step;
          kernels_.to_lines(pixels, grid_.input_step.w * from_.pixel_step, from_.block_step,
                            2 * d + 1 < from_.blocks() ? 2 : 1, plane.columns, to);
        }
      }
  }

  void multiply(const Output& output, std::int64_t row, const Bfloat16* lines, const Bfloat16* weights,
                float* to) const {
    alignas(64) std::array<float, 4 * 256> sums;
    std::array<std::int64_t, kRowTiles * kTileRows> at;
    const std::int64_t image_size = grid_.rows * grid_.pitch;
    const std::int64_t count = std::min(unit_rows_, grid_.all_rows() - row) * grid_.pitch;
    const auto steps = static_cast<std::int64_t>(output.offsets.size());
    for (std::int64_t pair = 0; pair < column_pairs(); ++pair) {
      const int columns = 2 * pair + 1 < to_.blocks() ? 2 : 1;
      for (std::int64_t m = 0; m < count; m += kRowTiles * kTileRows) {
        std::int64_t image = (row * grid_.pitch + m) / image_size;
        std::int64_t inside = (row * grid_.pitch + m) % image_size;
        int rows = 0;  // tiles with any result
        for (int r = 0; r < kRowTiles * kTileRows; ++r) {
          const std::int64_t place = m + r < count ? output.at[static_cast<std::size_t>(inside)] : -1;
          at[static_cast<std::size_t>(r)] = place < 0 ? -1 : place + image * to_.image_step;
          if (place >= 0) rows = r / kTileRows + 1;
          if (++inside == image_size) inside = 0, ++image;
        }
        if (rows == 0) continue;
        kernels_.multiply({.lines = lines + m * kLine,
                           .offsets = output.offsets.data(),
                           .steps = steps,
                           .weights = weights + output.weights + pair * steps * 2 * kTileElements,
                           .row_tiles = rows,
                           .column_tiles = columns,
                           .sums = sums.data()});
        for (int r = 0; r < rows; ++r)
          for (int c = 0; c < columns; ++c)
            kernels_.store_rows(sums.data() + (2 * r + c) * 256, at.data() + r * kTileRows,
                                to + (2 * pair + c) * to_.block_step, bias_.data() + (2 * pair + c) * 16,
                                options_.relu);
      }
    }
  }

  int threads_;
  bool backward_;
  std::int64_t taps_, output_step_;  // of oihw weights
  Grid grid_;
  PixelView from_, to_;
  std::int64_t depth_;        // blocks of 32 channels of `from`
  std::int64_t unit_rows_;    // rows of the grid at a time
  std::int64_t plane_lines_;  // of a plane and 32 channels in a thread's lines
  std::int64_t packed_ = 0;   // elements
  std::vector<Output> parts_;
  AlignedFloats weights_, bias_;                // packed if they come plain; whole blocks
  std::vector<AlignedFloats> lines_, scratch_;  // of each thread
  std::vector<std::vector<Bfloat16*>> tiles_;
};

}  // namespace

std::unique_ptr<ConvKernel> make_line_conv(const KernelConfig& config, const TileKernels& kernels) {
  return std::make_unique<LineConv>(config, kernels);
}

}  // namespace lacuna::kernels
