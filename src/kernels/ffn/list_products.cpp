#include "kernels/ffn/list_products.hpp"

#include <algorithm>
#include <array>

#include "base/parallel.hpp"

namespace lacuna::kernels {
namespace {

constexpr std::int64_t kStripFloats = std::int64_t{kPanelRows} * kPanelColumns;
// Strips of results that a panel serves before the next one: 245 KB of sums, which stay in L2.
constexpr std::int64_t kMostStrips = 10;
constexpr std::int64_t kTasksPerThread = 3;  // at least, so that all threads end at about the same time

// dst[column][row] = src[row][column].
void transpose(const float* src, std::ptrdiff_t src_step, std::int64_t rows, std::int64_t columns, float* dst,
               std::ptrdiff_t dst_step, Isa isa) {
  std::array<std::ptrdiff_t, kPanelRows> offsets{};
  for (std::size_t r = 0; r < offsets.size(); ++r) offsets[r] = static_cast<std::ptrdiff_t>(r) * src_step;
  const std::int64_t whole_rows = rows / kLanes * kLanes, whole_columns = columns / kLanes * kLanes;
  for (std::int64_t c = 0; c < whole_columns; c += kLanes)
    for (std::int64_t r = 0; r < whole_rows; r += 3 * kLanes)
      micro_kernels(isa).transpose(src + c + r * src_step, offsets.data(),
                                   static_cast<int>(std::min<std::int64_t>(3 * kLanes, whole_rows - r)),
                                   dst + c * dst_step + r, dst_step);
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = r < whole_rows ? whole_columns : 0; c < columns; ++c)
      dst[c * dst_step + r] = src[r * src_step + c];
}

std::int64_t strips_per_task(std::int64_t strips, std::int64_t others, int threads) {
  const std::int64_t tasks =
      std::max<std::int64_t>(1, kTasksPerThread * threads / std::max<std::int64_t>(1, others));
  const std::int64_t blocks = std::max((strips + kMostStrips - 1) / kMostStrips, std::min(strips, tasks));
  return std::max<std::int64_t>(1, (strips + blocks - 1) / blocks);
}

struct Part {
  std::int64_t outer, begin, end;  // strips
};

template <typename Work>
void in_parts(std::int64_t outer, std::int64_t strips, int threads, const Work& work) {
  if (outer == 0 || strips == 0) return;
  const std::int64_t step = strips_per_task(strips, outer, threads), blocks = (strips + step - 1) / step;
  with_threads(threads, [&] {
    parallel_for(static_cast<std::size_t>(outer * blocks), 1, [&](std::size_t task) {
      const std::int64_t first = static_cast<std::int64_t>(task) % blocks * step;
      work(Part{static_cast<std::int64_t>(task) / blocks, first, std::min(strips, first + step)});
    });
  });
}

float* sums_of_thread() {
  alignas(64) static thread_local std::array<float, kMostStrips * kStripFloats> sums;
  return sums.data();
}

void write_strip(const float* sums, std::int64_t first, std::int64_t rows, std::int64_t column,
                 std::int64_t columns, std::int64_t all_rows, std::int64_t all_columns,
                 const SumResult& result, Isa isa) {
  if (result.transposed)
    return transpose(sums, kPanelColumns, rows, columns, result.data + column * all_rows + first, all_rows,
                     isa);
  for (std::int64_t r = 0; r < rows; ++r) {
    const float* from = sums + r * kPanelColumns;
    float* to = result.data + (first + r) * all_columns + column;
    if (result.relu)
      for (std::int64_t c = 0; c < columns; ++c) to[c] = from[c] < 0 ? 0 : from[c];  // NaN stays NaN
    else
      std::copy_n(from, columns, to);
  }
}

}  // namespace

const TileLoops& tile_loops(Isa isa) {
  return LACUNA_OF_ISA(isa, kPortableTileLoops, kAvx2TileLoops, kAvx512TileLoops);
}

void PackedPanels::pack(const float* matrix, bool transposed, int threads, Isa isa) {
  const std::int64_t rows = rows_, columns = columns_, panels = panels_of(rows);
  const auto pack_panel = [&](std::size_t index) {
    const auto panel = static_cast<std::int64_t>(index);
    const std::int64_t first = panel * kPanelRows;
    const std::int64_t count = std::min<std::int64_t>(kPanelRows, rows - first);
    for (std::int64_t chunk = 0; chunk < chunks(); ++chunk) {
      float* to = data_ + (chunk * panels + panel) * kPanelFloats;
      const std::int64_t column = chunk * kPanelColumns;
      const std::int64_t width = std::min<std::int64_t>(kPanelColumns, columns - column);
      if (width < kPanelColumns) std::fill_n(to, kPanelFloats, 0.0F);
      std::fill_n(to + kZeroRow, kPanelColumns, 0.0F);
      if (transposed) transpose(matrix + column * rows + first, rows, width, count, to, kPanelColumns, isa);
    }
    if (transposed) return;
    for (std::int64_t r = 0; r < count; ++r)
      for (std::int64_t column = 0; column < columns; column += kPanelColumns)
        std::copy_n(matrix + (first + r) * columns + column,
                    std::min<std::int64_t>(kPanelColumns, columns - column),
                    data_ + (column / kPanelColumns * panels + panel) * kPanelFloats + r * kPanelColumns);
  };
  with_threads(threads, [&] { parallel_for(static_cast<std::size_t>(panels), 1, pack_panel); });
}

void gather_sum(const SparseFactor& factor, const PackedPanels& dense, const SumResult& result, int threads,
                Isa isa) {
  const TileLoops& loops = tile_loops(isa);
  const std::int64_t rows = factor.rows(), columns = dense.columns(), panels = panels_of(dense.rows());
  in_parts(dense.chunks(), panels_of(rows), threads, [&](const Part& part) {
    const std::int64_t column = part.outer * kPanelColumns;
    const std::int64_t width = std::min<std::int64_t>(kPanelColumns, columns - column);
    float* sums = sums_of_thread();
    std::fill_n(sums, (part.end - part.begin) * kStripFloats, 0.0F);
    if (result.bias != nullptr)
      for (std::int64_t r = 0; r < (part.end - part.begin) * kPanelRows; ++r)
        std::copy_n(result.bias + column, width, sums + r * kPanelColumns);
    for (std::int64_t panel = 0; panel < panels; ++panel)
      for (std::int64_t strip = part.begin; strip < part.end; ++strip)
        loops.gather(factor.tile(strip, panel), dense.at(part.outer, panel),
                     sums + (strip - part.begin) * kStripFloats);
    for (std::int64_t strip = part.begin; strip < part.end; ++strip) {
      const std::int64_t first = strip * kPanelRows;
      write_strip(sums + (strip - part.begin) * kStripFloats, first,
                  std::min<std::int64_t>(kPanelRows, rows - first), column, width, rows, columns, result,
                  isa);
    }
  });
}

void sampled_dots(NonzeroLists& lists, const PackedPanels& rows, const PackedPanels& columns, int threads,
                  Isa isa) {
  const TileLoops& loops = tile_loops(isa);
  lists.begin_second(threads);
  in_parts(panels_of(lists.columns()), panels_of(lists.rows()), threads, [&](const Part& part) {
    for (std::int64_t chunk = 0; chunk < rows.chunks(); ++chunk)
      for (std::int64_t strip = part.begin; strip < part.end; ++strip)
        loops.dots(lists.by_rows(strip, part.outer, false), columns.at(chunk, part.outer),
                   rows.at(chunk, strip), lists.second_values(strip, part.outer));
  });
  lists.end_second(threads);
}

}  // namespace lacuna::kernels
