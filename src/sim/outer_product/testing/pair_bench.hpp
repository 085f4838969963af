// Puts one (image, kernel) pair on a PE in every way the machine can, for tests.
#pragma once

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "sim/outer_product/processing_element.hpp"
#include "sim/outer_product/testing/oracle.hpp"

namespace lacuna::testing {

inline outer_product::CsrPlane csr_plane(const Matrix& m) {
  outer_product::CsrPlane plane;
  plane.start(static_cast<std::int64_t>(m.size()), static_cast<std::int64_t>(m[0].size()));
  for (const std::vector<int>& row : m) {
    for (std::size_t x = 0; x < row.size(); ++x) {
      if (row[x] != 0) plane.add(static_cast<std::int64_t>(x), static_cast<float>(row[x]));
    }
    plane.end_row();
  }
  return plane;
}

inline outer_product::IndexMap index_map(const OracleGeometry& g, const Matrix& image, const Matrix& kernel) {
  const auto axis = [](const OracleAxis& a, std::size_t image_size, std::size_t kernel_size) {
    return outer_product::AxisMap{
        a.e,  a.d, a.st, a.p, static_cast<std::int64_t>(image_size), static_cast<std::int64_t>(kernel_size),
        a.out};
  };
  return {outer_product::IndexMap::Kind::kConvolution, axis(g.y, image.size(), kernel.size()),
          axis(g.x, image[0].size(), kernel[0].size())};
}

struct PairRun {
  outer_product::PairCounts counts;
  std::vector<float> out;
};

inline PairRun execute_pair(const outer_product::ProcessingElement& pe, const Matrix& image,
                            const Matrix& kernel, const outer_product::IndexMap& map) {
  const Size2 size = map.outputs();
  PairRun run{{}, std::vector<float>(static_cast<std::size_t>(size.h * size.w), 0.0F)};
  run.counts = pe.execute(csr_plane(image), csr_plane(kernel), map, {run.out.data(), size.w, 1});
  return run;
}

// The fast engine's counts; `useful` is 0 there. `by_mask`: the kernel as a mask of at most 64 positions.
inline outer_product::PairCounts count_pair(const outer_product::ProcessingElement& pe, const Matrix& image,
                                            const Matrix& kernel, const outer_product::IndexMap& map,
                                            outer_product::KernelUse use, bool by_mask) {
  const std::unique_ptr<outer_product::PairCounter> counter = pe.counter(map, use);
  counter->start_images(1);
  for (std::size_t y = 0; y < image.size(); ++y) {
    for (std::size_t x = 0; x < image[y].size(); ++x) {
      if (image[y][x] != 0)
        counter->add_nonzero(0, static_cast<std::int64_t>(y), static_cast<std::int64_t>(x));
    }
  }
  counter->end_images();
  const outer_product::CsrPlane plane = csr_plane(kernel);
  if (by_mask) {
    std::uint64_t mask = 0;
    for (std::size_t i = 0; i < plane.row.size(); ++i) {
      mask |= std::uint64_t{1} << (plane.row[i] * static_cast<std::size_t>(plane.cols) + plane.col[i]);
    }
    counter->set_kernel_mask(mask);
  } else {
    counter->set_kernel(plane);
  }
  outer_product::PairCounts totals;
  const std::int64_t cycles = counter->count(0, totals);
  EXPECT_EQ(cycles, totals.cycles());
  return totals;
}

// All ways agree with each other and with the oracle; returns the functional engine's counts.
inline outer_product::PairCounts check_pair(const outer_product::ProcessingElement& pe, const Matrix& image,
                                            const Matrix& kernel, const OracleGeometry& geometry,
                                            const OracleCounts& expected) {
  const outer_product::IndexMap map = index_map(geometry, image, kernel);
  const PairRun run = execute_pair(pe, image, kernel, map);
  EXPECT_EQ(run.counts.executed, expected.executed);
  EXPECT_EQ(run.counts.steps, expected.steps);
  EXPECT_EQ(run.counts.bubbles, expected.bubbles);
  EXPECT_EQ(run.counts.cycles(), expected.cycles);  // the oracle without fill
  EXPECT_EQ(run.counts.useful, expected.valid);
  std::vector<float> out(run.out.size(), 0.0F);
  for (const auto& [at, value] : expected.out) {
    out[static_cast<std::size_t>(at.first * geometry.x.out + at.second)] = static_cast<float>(value);
  }
  EXPECT_EQ(run.out, out);

  outer_product::PairCounts fast = run.counts;
  fast.useful = 0;
  const bool small = kernel.size() * kernel[0].size() <= 64;
  for (const outer_product::KernelUse use :
       {outer_product::KernelUse::kOnce, outer_product::KernelUse::kShared}) {
    EXPECT_TRUE(count_pair(pe, image, kernel, map, use, false) == fast);
    if (small) {
      EXPECT_TRUE(count_pair(pe, image, kernel, map, use, true) == fast);
    }
  }
  return run.counts;
}

struct RandomPair {
  Matrix image, kernel;
  OracleGeometry geometry;
  std::size_t n_image, n_kernel;
  std::int64_t k, empty, banks;
};

// A pair of one of the three operations of a random layer; both axes drawn on their own.
inline RandomPair random_pair(std::uint64_t seed) {
  Random random(seed);
  const int op = static_cast<int>(random.integer(0, 2));
  struct Axis {
    std::int64_t image, kernel;
    OracleAxis map;
  };
  const auto axis = [&]() -> Axis {
    for (;;) {
      const std::int64_t h = random.integer(1, 12), r = random.integer(1, 4);
      const std::int64_t stride = random.chance(0.5) ? 1 : random.integer(2, 3);
      const std::int64_t dilation = random.chance(0.6) ? 1 : random.integer(2, 3);
      const std::int64_t pad = random.integer(0, 3);
      const std::int64_t room = h + 2 * pad - dilation * (r - 1) - 1;
      if (room < 0) continue;
      const std::int64_t out = room / stride + 1;
      if (op == 0) return {h, r, {1, dilation, stride, pad, out}};
      if (op == 1) return {out, r, {stride, dilation, 1, dilation * (r - 1) - pad, h}};
      return {h, out, {1, stride, dilation, pad, r}};
    }
  };
  const Axis y = axis(), x = axis();
  const double densities[] = {0.1, 0.3, 0.7, 1.0};
  const auto plane = [&](std::int64_t rows, std::int64_t columns) {
    const double density = densities[random.integer(0, 3)];
    Matrix m(static_cast<std::size_t>(rows), std::vector<int>(static_cast<std::size_t>(columns), 0));
    bool any = false;
    while (!any) {  // the machine never gives a PE a pair without products
      for (auto& row : m) {
        for (int& v : row) {
          v = random.chance(density) ? static_cast<int>(random.integer(1, 9)) : 0;
          any = any || v != 0;
        }
      }
    }
    return m;
  };
  RandomPair pair;
  pair.image = plane(y.image, x.image);
  pair.kernel = plane(y.kernel, x.kernel);
  pair.geometry = {y.map, x.map};
  const std::size_t lanes[] = {1, 2, 3, 4};
  pair.n_image = lanes[random.integer(0, 3)];
  pair.n_kernel = lanes[random.integer(0, 3)];
  const std::int64_t windows[] = {1, 2, 4, 5, 8, 16, 64};
  pair.k = windows[random.integer(0, 6)];
  pair.empty = random.chance(0.8) ? 1 : random.integer(0, 3);
  pair.banks = random.chance(0.4) ? random.integer(1, 32) : 0;
  return pair;
}

}  // namespace lacuna::testing
