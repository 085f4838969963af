#include "outer_product_reference.hpp"

#include <bit>
#include <cmath>
#include <fmt/format.h>
#include <optional>

#include "layer_reference.hpp"
#include "models/ant/ant_pe.hpp"
#include "models/ant/ant_steps.hpp"
#include "models/scnn/scnn_pe.hpp"

namespace lacuna::rtl {
namespace {

using outer_product::CsrPlane;
using outer_product::IndexMap;

PlaneInfo info_of(const CsrPlane& plane) {
  return {static_cast<int>(plane.rows),
          static_cast<int>(plane.cols),
          plane.ptr,
          plane.row,
          plane.col,
          plane.value};
}

int log2_of(std::int64_t value) { return std::countr_zero(static_cast<std::uint64_t>(value)); }

AxisInfo info_of(const outer_product::AxisMap& axis) {
  return {static_cast<int>(axis.image_step),
          log2_of(axis.kernel_step),
          log2_of(axis.output_step),
          static_cast<int>(axis.offset),
          static_cast<int>(axis.offset - axis.output_step * (axis.outputs - 1)),
          static_cast<int>(axis.kernel - 1),
          static_cast<int>(axis.outputs - 1)};
}

PairWork work_of(std::string name, const CsrPlane& image, const CsrPlane& kernel, const IndexMap& map) {
  PairWork work;
  work.name = std::move(name);
  work.matrix = map.kind == IndexMap::Kind::kMatrix;
  if (!work.matrix) {
    work.y = info_of(map.y);
    work.x = info_of(map.x);
  }
  work.image = info_of(image);
  work.kernel = info_of(kernel);
  const auto position = [&](std::size_t i) { return outer_product::Position{image.row[i], image.col[i]}; };
  const auto issue = [&](std::size_t first, std::size_t end, std::span<const std::uint32_t> hits) {
    work.ant.push_back(
        {static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(end), {hits.begin(), hits.end()}});
  };
  work.ant_cycles = ant::run_ant_pair(ant::AntPeConfig{}, map, static_cast<std::size_t>(image.nonzeros()),
                                      position, kernel, issue)
                        .cycles();
  const Size2 outputs = map.outputs();
  const std::int64_t width = work.matrix ? map.x.kernel : outputs.w;
  const std::int64_t height = work.matrix ? map.x.image : outputs.h;
  work.output.assign(static_cast<std::size_t>(width * height), 0.0F);
  work.scnn_cycles =
      scnn::ScnnPe(scnn::PeConfig{}).execute(image, kernel, map, {work.output.data(), width, 1}).cycles();
  std::vector<float> again(work.output.size(), 0.0F);
  const outer_product::OutputPlane ignored{again.data(), width, 1};
  work.scnn_conflicts = scnn::ScnnPe({.banks = 32}).execute(image, kernel, map, ignored).conflict_stalls;
  work.ant_conflicts = ant::AntPe({{.banks = 32}}).execute(image, kernel, map, ignored).conflict_stalls;
  const auto nonzeros = [](const CsrPlane& plane) { return static_cast<std::uint32_t>(plane.nonzeros()); };
  for (std::uint32_t a = 0; a < nonzeros(image); a += 4) {
    for (std::uint32_t b = 0; b < nonzeros(kernel); b += 4) {
      PairWork::Step step{a, std::min(a + 4, nonzeros(image)), {}};
      for (std::uint32_t j = b; j < std::min(b + 4, nonzeros(kernel)); ++j) step.hits.push_back(j);
      work.scnn.push_back(std::move(step));
    }
  }
  return work;
}

float small_integer(Random& random) {
  const std::int64_t value = random.integer(1, 3);
  return static_cast<float>(random.chance(0.5) ? value : -value);
}

template <typename Bit, typename Value>
CsrPlane plane(std::int64_t rows, std::int64_t columns, const Bit& bit, const Value& value) {
  CsrPlane made;
  made.start(rows, columns);
  for (std::int64_t y = 0; y < rows; ++y) {
    for (std::int64_t x = 0; x < columns; ++x) {
      if (bit(y, x)) made.add(x, value());
    }
    made.end_row();
  }
  return made;
}

template <typename Bit>
CsrPlane plane(std::int64_t rows, std::int64_t columns, Random& random, const Bit& bit) {
  return plane(rows, columns, bit, [&] { return small_integer(random); });
}

CsrPlane random_plane(std::int64_t rows, std::int64_t columns, Random& random) {
  const double density = random.uniform();
  return plane(rows, columns, random, [&](std::int64_t, std::int64_t) { return random.chance(density); });
}

// About `nonzeros` of them, spread evenly; every fraction of a bfloat16 that is an integer below 256, times
// one power of two for the whole plane: sums of up to 256 products are exact.
CsrPlane wide_plane(std::int64_t rows, std::int64_t columns, std::int64_t nonzeros, Random& random) {
  const double density = static_cast<double>(nonzeros) / static_cast<double>(rows * columns);
  const auto exponent = static_cast<int>(random.integer(-50, 50));
  return plane(
      rows, columns, [&](std::int64_t, std::int64_t) { return random.chance(density); },
      [&] {
        const auto value = static_cast<float>(random.integer(1, 255));
        return std::ldexp(random.chance(0.5) ? value : -value, exponent);
      });
}

// One of the three convolutions of a random layer with axes up to these; nothing if it has no outputs.
std::optional<IndexMap> random_convolution(Random& random, std::int64_t input, std::int64_t kernel,
                                           std::int64_t padding) {
  const std::int64_t steps[]{1, 2, 4};
  const auto step = [&] { return random.chance(0.5) ? 1 : steps[random.integer(0, 2)]; };
  const LayerShape shape =
      LayerShape::conv2d(1, 1, 1, {random.integer(1, input), random.integer(1, input)},
                         {random.integer(1, kernel), random.integer(1, kernel)}, {step(), step()},
                         {random.integer(0, padding), random.integer(0, padding)}, {step(), step()}, 1);
  if (shape.output.h < 1 || shape.output.w < 1) return {};
  return IndexMap::convolution(shape, kOperations[static_cast<std::size_t>(random.integer(0, 2))]);
}

}  // namespace

PairWork random_pair(Random& random) {
  for (;;) {
    std::optional<IndexMap> map;
    if (random.chance(0.2)) {
      map = IndexMap::matrix(random.integer(1, 20), random.integer(1, 20), random.integer(1, 20));
    } else {
      map = random_convolution(random, 24, 6, 3);
    }
    if (!map) continue;
    const CsrPlane image = random_plane(map->y.image, map->x.image, random);
    const CsrPlane kernel = random_plane(map->y.kernel, map->x.kernel, random);
    if (image.nonzeros() == 0 || kernel.nonzeros() == 0) continue;
    return work_of("random", image, kernel, *map);
  }
}

PairWork large_pair(Random& random) {
  // Bounds of the RTL's ports, and what keeps a pair quick and its sums exact.
  constexpr std::int64_t kPositions = 511, kAccumulators = 1 << 16, kPlaces = 1 << 16, kProducts = 60'000;
  for (;;) {
    std::optional<IndexMap> map;
    if (random.chance(0.2)) {
      map = IndexMap::matrix(random.integer(256, kPositions), random.integer(1, kPositions),
                             random.integer(1, kPositions));
    } else {
      map = random_convolution(random, kPositions, kPositions, 7);
    }
    if (!map) continue;
    const IndexMap& m = *map;
    if (m.y.image > kPositions || m.x.image > kPositions || m.y.kernel > kPositions ||
        m.x.kernel > kPositions)
      continue;
    if (m.y.outputs > kPositions || m.x.outputs > kPositions || m.y.outputs * m.x.outputs > kAccumulators)
      continue;
    // Few non-zeros meet many: either side may be the full one.
    const std::int64_t many = std::int64_t{1} << random.integer(6, 16), few = kProducts / many + 4;
    const bool full_kernel = random.chance(0.7);
    const CsrPlane image = wide_plane(m.y.image, m.x.image, full_kernel ? few : many, random);
    const CsrPlane kernel = wide_plane(m.y.kernel, m.x.kernel, full_kernel ? many : few, random);
    if (image.nonzeros() == 0 || kernel.nonzeros() == 0 || kernel.nonzeros() >= kPlaces) continue;
    return work_of("large", image, kernel, m);
  }
}

PairWork last_place_pair(std::int64_t nonzeros, Random& random) {
  constexpr std::int64_t kRows = 256, kColumns = 511;
  const IndexMap map = IndexMap::matrix(kRows, 8, kColumns);
  std::int64_t wanted = nonzeros, places = kRows * kColumns;
  const CsrPlane kernel = plane(kRows, kColumns, random, [&](std::int64_t, std::int64_t) {
    const bool there = random.integer(1, places--) <= wanted;
    wanted -= there ? 1 : 0;
    return there;
  });
  const CsrPlane image =
      plane(kRows, 8, random, [&](std::int64_t y, std::int64_t) { return y == kRows - 1; });
  return work_of(fmt::format("{} kernel elements", nonzeros), image, kernel, map);
}

std::vector<PairWork> recorded_pairs(const std::string& model, int count) {
  const Trace trace = recorded_trace(model);
  Random random(11);
  std::vector<PairWork> pairs;
  for (int tries = 0; static_cast<int>(pairs.size()) < count && tries < 50 * count; ++tries) {
    const Layer& layer = trace.layers()[static_cast<std::size_t>(
        random.integer(0, static_cast<std::int64_t>(trace.layers().size()) - 1))];
    const LayerShape& s = layer.shape;
    if (s.kind != LayerKind::kConv2d || s.groups != 1) continue;
    const std::int64_t n = random.integer(0, s.n - 1), c = random.integer(0, s.c - 1),
                       k = random.integer(0, s.k - 1);
    const bool forward = random.chance(0.5);
    const Operation op = forward ? Operation::kForward : Operation::kWeightGrad;
    const CsrPlane image = plane(s.input.h, s.input.w, random, [&](std::int64_t y, std::int64_t x) {
      return layer.a.mask.bit((n * s.input.h + y) * s.input.w + x, c);
    });
    const CsrPlane kernel = forward
                                ? plane(s.kernel.h, s.kernel.w, random,
                                        [&](std::int64_t y, std::int64_t x) {
                                          return layer.w.mask.bit((k * s.kernel.h + y) * s.kernel.w + x, c);
                                        })
                                : plane(s.output.h, s.output.w, random, [&](std::int64_t y, std::int64_t x) {
                                    return layer.g.mask.bit((n * s.output.h + y) * s.output.w + x, k);
                                  });
    if (image.nonzeros() == 0 || kernel.nonzeros() == 0) continue;
    pairs.push_back(
        work_of(fmt::format("{} {} {} n{} c{} k{}", model, layer.name, operation_name(op), n, c, k), image,
                kernel, IndexMap::convolution(s, op)));
  }
  return pairs;
}

}  // namespace lacuna::rtl
