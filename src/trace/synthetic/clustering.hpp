// Measures how the zeros of a tensor cluster, and draws masks that cluster alike with any share of zeros.
//
// A mask is drawn by cutting a field of correlated normal numbers at the level that leaves the wanted share
// (a Gaussian copula). The field of image s, position r and channel c is
//   sqrt(channel) U(s,c) + sqrt(position) V(s,r) + sqrt(neighbour) L(s,r,c) + a rest that is independent,
// where L follows itself along the positions of a row with the correlation `decay`. U makes some feature maps
// dense and others sparse [TensorDash §4.4], V some places of an image, L spots inside a map.
#pragma once

#include <cstdint>

#include "base/random.hpp"
#include "trace/trace.hpp"

namespace lacuna {

// Shares of the field's variance, each 0..1 and together below 1; all 0: zeros are independent.
struct Clustering {
  double channel = 0;    // common to the positions of one channel of an image
  double position = 0;   // common to the channels of one position
  double neighbour = 0;  // common to nearby positions of one channel
  double decay = 0;      // correlation of that part from one position to the next

  bool operator==(const Clustering&) const = default;
};

// Rows of a mask that belong to one image: the positions of a convolution's image, all rows otherwise.
std::int64_t rows_of_image(const LayerShape& shape, Operand role);

// Measures how the zeros of `mask` cluster. A tensor with next to no zeros, or next to nothing else, has
// none.
Clustering measure_clustering(const MaskView& mask, std::int64_t image_rows);

// Draws a mask with a share of zeros, rows x ceil(channels/8) bytes at `out`.
void draw_clustered_mask(double share, const Clustering& clustering, std::int64_t rows, std::int64_t channels,
                         std::int64_t image_rows, Random& random, std::uint8_t* out);

}  // namespace lacuna
