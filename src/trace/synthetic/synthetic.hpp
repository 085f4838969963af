// Synthetic traces: any geometry, with zeros of a known share and pattern. The same spec gives the same bytes
// on every machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trace/synthetic/clustering.hpp"
#include "trace/trace.hpp"

namespace lacuna {

enum class ZeroPattern {
  kUniform,    // every element is zero with the same probability, independently
  kByChannel,  // zeros cluster: each channel has its own share of zeros, from dead to busy
  kClustered,  // zeros cluster as `clustering` says
  kRecorded,   // the zeros of `mask`
  kAllZero,
  kDense,
};

// The zeros of one tensor.
struct ZeroSpec {
  ZeroPattern pattern = ZeroPattern::kUniform;
  double share = 0.5;  // of zeros; for kUniform, kByChannel and kClustered
  Clustering clustering = {};
  MaskView mask = {};  // of kRecorded; must outlive the call of make_synthetic()

  static ZeroSpec uniform(double share) { return {ZeroPattern::kUniform, share}; }
  static ZeroSpec clustered(double share, const Clustering& how) {
    return {ZeroPattern::kClustered, share, how};
  }
  static ZeroSpec recorded(const MaskView& mask) {
    return mask.no_zeros() ? dense() : ZeroSpec{ZeroPattern::kRecorded, 0, {}, mask};
  }
  static ZeroSpec by_channel(double share) { return {ZeroPattern::kByChannel, share}; }
  static ZeroSpec all_zero() { return {ZeroPattern::kAllZero, 1}; }
  static ZeroSpec dense() { return {ZeroPattern::kDense, 0}; }
};

enum class SyntheticContent {
  kMasks,
  kValues,  // small integers other than 0 at the non-zeros, exact in FP32 and bfloat16
  kBoth,
};

struct SyntheticLayer {
  std::string name;
  LayerShape shape;
  std::int64_t steps = 1;
  ZeroSpec a, w, g;

  ZeroSpec& zeros(Operand role) { return role == Operand::kA ? a : role == Operand::kW ? w : g; }
};

struct SyntheticSpec {
  std::string name = "synthetic";
  std::optional<std::int64_t> batch;   // of the training, as in the metadata of a trace
  std::optional<TraceInfo> info = {};  // all of the metadata, instead of `batch`
  std::vector<SyntheticLayer> layers;
  SyntheticContent content = SyntheticContent::kMasks;
  DataType type = DataType::kFp32;
  std::uint64_t seed = 1;
};

// Throws InputError for an impossible shape or share.
Trace make_synthetic(const SyntheticSpec& spec);

}  // namespace lacuna
