// The first-n-in-range search over a whole range in closed form: how many cycles it takes to issue every
// kernel non-zero in rows r0..r1 and columns s0..s1, without looking at columns one by one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/outer_product/planes.hpp"

namespace lacuna::ant {

// What one image vector costs.
struct RangeWalk {
  std::int64_t steps = 0;                              // cycles that issue
  std::int64_t bubbles = 0;                            // cycles that see indices but none in range
  std::int64_t hits = 0;                               // kernel non-zeros issued
  std::int64_t seen = 0;                               // kernel indices read
  bool empty() const { return steps + bubbles == 0; }  // not one index to look at
};

// Where each column begins in a kernel's CSR order: at(r, x) is the number of non-zeros before (r, x). The
// in-range non-zeros of row r are then the CSR positions at(r, s0) .. at(r, s1 + 1) - 1.
class ColumnStarts {
 public:
  void build(const outer_product::CsrPlane& kernel) {
    width_ = static_cast<std::size_t>(kernel.cols) + 1;
    starts_.resize(static_cast<std::size_t>(kernel.rows) * width_);
    std::uint32_t* out = starts_.data();
    for (std::size_t r = 0; r < static_cast<std::size_t>(kernel.rows); ++r) {
      std::uint32_t position = kernel.ptr[r];
      std::uint32_t x = 0;
      for (; position < kernel.ptr[r + 1]; ++position) {
        while (x <= kernel.col[position]) out[x++] = position;
      }
      while (x < width_) out[x++] = position;
      out += width_;
    }
  }
  const std::uint32_t* row(std::int64_t r) const {
    return starts_.data() + static_cast<std::size_t>(r) * width_;
  }
  std::size_t columns() const { return width_ - 1; }

 private:
  std::size_t width_ = 1;
  std::vector<std::uint32_t> starts_;
};

// All positions first..end-1 are in range (matrix multiplication, or a range over all columns): each cycle
// issues min(n, window) of them.
inline RangeWalk walk_all(std::int64_t count, std::int64_t n, std::int64_t window) {
  RangeWalk walk;
  if (count == 0) return walk;
  const std::int64_t stride = std::min(n, window);
  walk.steps = (count + stride - 1) / stride;
  walk.hits = count;
  // Cycle i sees min(window, count - i*stride) indices; the first `whole` cycles see a full window.
  const std::int64_t whole = count >= window ? (count - window) / stride + 1 : 0;
  const std::int64_t rest = walk.steps - whole;
  walk.seen = whole * window + rest * count - stride * (whole + walk.steps - 1) * rest / 2;
  return walk;
}

// The rule of step 4 (docs/models/ant.md) on intervals of hits: a cycle looks at `window` positions from p
// and issues the first n hits; p moves to the (n+1)-th if the window has one, else by `window`.
inline RangeWalk walk_range(const ColumnStarts& starts, std::int64_t r0, std::int64_t r1, std::size_t s0,
                            std::size_t s1, std::int64_t n, std::int64_t window) {
  RangeWalk walk;
  std::int64_t p = starts.row(r0)[0];
  const std::int64_t end = starts.row(r1)[starts.columns()];
  const std::int64_t length = end - p;
  if (length == 0) return walk;
  if (length <= window) {  // one window sees all: the common case of a sparse kernel
    std::int64_t hits = 0;
    for (std::int64_t r = r0; r <= r1; ++r) hits += starts.row(r)[s1 + 1] - starts.row(r)[s0];
    if (hits <= n) return {hits > 0 ? 1 : 0, hits > 0 ? 0 : 1, hits, length};
  }
  std::int64_t held = 0;  // hits issued from the window at p
  for (std::int64_t r = r0; r <= r1; ++r) {
    std::int64_t a = starts.row(r)[s0];
    const std::int64_t b = starts.row(r)[s1 + 1];
    walk.hits += b - a;
    while (a < b) {
      if (a >= p + window) {  // the window ends before the next hit
        ++(held > 0 ? walk.steps : walk.bubbles);
        walk.seen += window;
        p += window;
        held = 0;
        if (a >= p + window) {
          const std::int64_t skipped = (a - p) / window;
          walk.bubbles += skipped;
          walk.seen += skipped * window;
          p += skipped * window;
        }
      } else if (held == n) {  // a is the (n+1)-th
        ++walk.steps;
        walk.seen += std::min(window, end - p);
        p = a;
        held = 0;
      }
      const std::int64_t taken = std::min(n - held, std::min(b, p + window) - a);
      held += taken;
      a += taken;
    }
  }
  if (held > 0) {
    ++walk.steps;
    walk.seen += std::min(window, end - p);
    p += window;
  }
  if (p < end) {
    walk.bubbles += (end - p + window - 1) / window;
    walk.seen += end - p;
  }
  return walk;
}

}  // namespace lacuna::ant
