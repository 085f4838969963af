// Gradients of the weights: sums over all tiles of products of transformed inputs and gradients, which are
// transformed once more at the end.
#include <algorithm>

#include "kernels/winograd/winograd_conv.hpp"

namespace lacuna::kernels {
namespace {

constexpr std::int64_t kFewTiles = 112;

class WinogradWeightGrad final : public WinogradBase {
 public:
  explicit WinogradWeightGrad(const KernelConfig& config);
  std::int64_t elements_floats() const override {
    return weight_elements_.floats() + left_.elements.floats() + right_.elements.floats();
  }
  void compute(const SparseRun& run) const override;

 private:
  // One of the two factors: the input or the gradient of the result.
  struct Factor {
    Factor(const BlockedShape& shape, bool is_input, const LayerShape& layer, const WinogradLoops& loops)
        : tensor(shape, is_input ? layer.padding : Size2{0, 0}, is_input ? kWindowSize : kTileSize),
          read(is_input ? loops.read_input : loops.read_gradient) {}
    TileTensor tensor;
    void (*read)(const TileRead&);
    TileElements elements;
  };
  void add_products(const float* left, const float* right, float* sums, std::int64_t tiles, bool add) const;

  TileGrid grid_;
  Factor left_, right_;
  std::int64_t at_once_;
};

WinogradWeightGrad::WinogradWeightGrad(const KernelConfig& config)
    : WinogradBase(config, false),
      grid_(config.dst),
      left_(sides_.checked, sides_.checks_src, shape_, loops_),
      right_(sides_.other, !sides_.checks_src, shape_, loops_) {
  const std::int64_t blocks = left_.tensor.blocks() + right_.tensor.blocks();
  at_once_ = std::min(grid_.count(), threads_ * tiles_at_once(kFewTiles, weight_elements_.floats(),
                                                              kElements * kLanes * blocks, threads_));
  left_.elements = TileElements(left_.tensor.blocks(), at_once_);
  right_.elements = TileElements(right_.tensor.blocks(), at_once_);
}

// Threads share tiles and split the sums, so the bits do not depend on their number.
void WinogradWeightGrad::compute(const SparseRun& run) const {
  float* const sums = elements();
  float* const left = sums + weight_elements_.floats();
  float* const right = left + left_.elements.floats();
#pragma omp parallel num_threads(threads_)
  {
    for (std::int64_t begin = 0; begin < grid_.count(); begin += at_once_) {
      const TileRange some{begin, std::min(begin + at_once_, grid_.count())};
#pragma omp for schedule(static)
      for (int thread = 0; thread < threads_; ++thread) {
        const TileRange mine = even_range(some, thread, threads_);
        read_tiles(left_.read, grid_, left_.tensor, run.checked, mine, left_.elements, begin, left);
        read_tiles(right_.read, grid_, right_.tensor, run.other, mine, right_.elements, begin, right);
      }
      add_products(left, right, sums, some.count(), begin > 0);
    }
    each_tap(loops_.gather_weights, run.out, sums);
  }
}

void WinogradWeightGrad::add_products(const float* left, const float* right, float* sums, std::int64_t tiles,
                                      bool add) const {
  const std::vector<Part>& parts = weights_.parts();
#pragma omp for collapse(3) schedule(static)
  for (std::int64_t element = 0; element < kElements; ++element)
    for (std::size_t p = 0; p < parts.size(); ++p)
      for (std::int64_t block = 0; block < left_.tensor.blocks(); ++block)
        for (std::int64_t lane = 0; lane < kLanes; lane += loops_.outer_channels) {
          const Part& part = parts[p];
          loops_.outer[part.count - 1](
              {.left = left + element * left_.elements.element + block * left_.elements.block + lane,
               .right = right + element * right_.elements.element + part.first * right_.elements.block,
               .right_block = right_.elements.block,
               .tiles = tiles,
               .sums = sums + element * weight_elements_.element + part_offset(part) +
                       (block * kLanes + lane) * part.count * kLanes,
               .add = add});
        }
}

}  // namespace

std::unique_ptr<WinogradBase> make_winograd_weight_grad(const KernelConfig& config) {
  return std::make_unique<WinogradWeightGrad>(config);
}

}  // namespace lacuna::kernels
