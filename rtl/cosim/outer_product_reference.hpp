// The model's side of the outer-product PEs: what they issue, cycle by cycle, for a pair of compressed
// planes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/random.hpp"

namespace lacuna::rtl {

// A plane's non-zeros in CSR order.
struct PlaneInfo {
  int rows = 0, columns = 0;
  std::vector<std::uint32_t> pointers, row, column;
  std::vector<float> value;
};

// One axis of the index map, as the RTL is configured.
struct AxisInfo {
  int image_step = 1, kernel_log2 = 0, output_log2 = 0, offset = 0, offset_low = 0, kernel_last = 0,
      output_last = 0;
};

struct PairWork {
  std::string name;
  bool matrix = false;
  AxisInfo y, x;
  PlaneInfo image, kernel;
  // By the model: one entry per cycle that issues, image elements first..end-1 with the kernel's `hits`.
  struct Step {
    std::uint32_t first, end;
    std::vector<std::uint32_t> hits;
  };
  std::vector<Step> ant, scnn;
  std::int64_t ant_cycles = 0, scnn_cycles = 0;        // without filling the pipe
  std::int64_t ant_conflicts = 0, scnn_conflicts = 0;  // cycles more with 32 accumulator banks
  std::vector<float> output;                           // [y][x], exact: see the pairs' values
};

// A random convolution or matrix product that the RTL supports: steps 1, 2 and 4.
PairWork random_pair(Random& random);
// The same with planes as large as the RTL's positions, places and banks allow, and whole bfloat16 fractions.
PairWork large_pair(Random& random);
// A matrix product whose kernel has exactly `nonzeros` elements and whose image lies in the last row, so that
// the search ends with the kernel's last place.
PairWork last_place_pair(std::int64_t nonzeros, Random& random);
// Pairs of recorded layers: forward and weight gradient, `count` of them spread over the trace.
std::vector<PairWork> recorded_pairs(const std::string& model, int count);

}  // namespace lacuna::rtl
