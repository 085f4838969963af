// Shares of zeros, counted or estimated from a sample.
#pragma once

#include <cstdint>

namespace lacuna::kernels {

// Returns the share of zeros of `count` floats, estimated from at most `lines` runs of 16 floats spread over
// all of them.
inline constexpr std::int64_t kMaxSampledLines = 1024;  // estimate the share to within 2 %
double sample_zeros(const float* data, std::int64_t count, std::int64_t lines = kMaxSampledLines);
// Runs of 16 to sample for a call that takes `seconds`: in any case, and where these leave the choice open.
struct SampledLines {
  std::int64_t first = kMaxSampledLines, at_most = kMaxSampledLines;
};
SampledLines lines_worth_sampling(double seconds);
// Returns twice the standard error of a share of zeros estimated from `lines`, allowing for zeros in groups.
double sampling_error(double share, std::int64_t lines);
double count_zeros(const float* data, std::int64_t count, int threads);

}  // namespace lacuna::kernels
