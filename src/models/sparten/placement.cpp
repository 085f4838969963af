#include "models/sparten/placement.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

namespace lacuna::sparten {
namespace {

// Calls visit(segment, first element, step of 64 lanes) along the reduction.
template <typename Visit>
void for_each_step(const ChunkLayout& layout, const Visit& visit) {
  std::int64_t step = 0;
  for (std::int64_t segment = 0; segment < layout.segments; ++segment) {
    for (std::int64_t first = 0; first < layout.segment; first += kLanes) visit(segment, first, step++);
  }
}

// Puts the bits of a step where they belong in the masks of the chunks.
void place_bits(const ChunkLayout& layout, std::int64_t segment, std::int64_t first, std::uint64_t bits,
                std::uint64_t* out, std::int64_t pitch) {
  // A word of lanes may span words and chunks of the mask.
  while (bits != 0) {
    const auto at = layout.place(segment, first);
    const std::int64_t room = std::min(64 - at.bit % 64, layout.chunk - at.bit);
    out[(at.chunk * layout.words() + at.bit / 64) * pitch] |=
        (room < 64 ? bits & ((std::uint64_t{1} << room) - 1) : bits) << (at.bit % 64);
    bits = room < 64 ? bits >> room : 0;
    first += room;
  }
}

constexpr std::int64_t kNobody = -1;

// Densest first; equals in the order in which they come.
void sort_by_density(std::vector<std::int64_t>& streams, const std::vector<std::int64_t>& nonzeros) {
  std::ranges::stable_sort(streams, [&](std::int64_t a, std::int64_t b) {
    return nonzeros[static_cast<std::size_t>(a)] > nonzeros[static_cast<std::size_t>(b)];
  });
}

void add_unit(HeldGroup& group, std::int64_t first, std::int64_t second) {
  if (second != kNobody) {
    group.pairs.insert(group.pairs.end(), {first, second});
  } else if (first != kNobody) {
    group.singles.push_back(first);
  }
}

// The first of `slots` with the last, the second with the last but one. Slots past the streams count as the
// sparsest of all: where there are fewer streams than slots, each of the densest has a unit to itself.
std::vector<std::pair<std::int64_t, std::int64_t>> fold(std::vector<std::int64_t> sorted,
                                                        std::int64_t slots) {
  sorted.resize(static_cast<std::size_t>(slots), kNobody);
  std::vector<std::pair<std::int64_t, std::int64_t>> units;
  for (std::size_t i = 0; i < sorted.size() / 2; ++i) {
    units.emplace_back(sorted[i], sorted[sorted.size() - 1 - i]);
  }
  return units;
}

}  // namespace

ChunkLayout chunk_layout(const OperandStreams& streams, const Config& config) {
  ChunkLayout layout;
  layout.segment = streams.axis_elements();
  layout.segments = streams.steps() / streams.axis_steps();
  layout.chunk = config.chunk;
  layout.aligned = config.packing == ChunkPacking::kAligned;
  return layout;
}

std::int64_t read_masks(const OperandStreams& streams, std::int64_t stream, const ChunkLayout& layout,
                        std::uint64_t* out, std::int64_t pitch) {
  std::int64_t nonzeros = 0;
  for_each_step(layout, [&](std::int64_t segment, std::int64_t first, std::int64_t step) {
    const std::uint64_t bits = streams.word(stream, step);
    nonzeros += std::popcount(bits);
    place_bits(layout, segment, first, bits, out, pitch);
  });
  return nonzeros;
}

SparseMap read_sparse_map(const OperandStreams& streams, std::int64_t stream, const ChunkLayout& layout,
                          const TensorValues& values) {
  SparseMap map;
  map.masks.resize(static_cast<std::size_t>(layout.chunks() * layout.words()));
  map.values.resize(static_cast<std::size_t>(layout.chunks()));
  float lanes[kLanes];
  for_each_step(layout, [&](std::int64_t segment, std::int64_t first, std::int64_t step) {
    const std::uint64_t bits = streams.values(stream, step, values, lanes);
    place_bits(layout, segment, first, bits, map.masks.data(), 1);
    for (std::uint64_t rest = bits; rest != 0; rest &= rest - 1) {
      const int lane = std::countr_zero(rest);
      map.values[static_cast<std::size_t>(layout.place(segment, first + lane).chunk)].push_back(lanes[lane]);
    }
  });
  return map;
}

std::vector<HeldGroup> group_streams(const std::vector<std::int64_t>& nonzeros, const Config& config) {
  const auto streams = static_cast<std::int64_t>(nonzeros.size());
  const std::int64_t per_group = config.streams_per_cluster();
  std::vector<HeldGroup> groups(static_cast<std::size_t>(ceil_div(streams, per_group)));
  std::vector<std::int64_t> order(nonzeros.size());
  std::iota(order.begin(), order.end(), 0);
  if (config.balancing == Balancing::kNone) {
    for (const std::int64_t stream : order) {
      add_unit(groups[static_cast<std::size_t>(stream / per_group)], stream, kNobody);
    }
    return groups;
  }
  const bool sorts = config.balancing != Balancing::kUnsorted;
  if (sorts) sort_by_density(order, nonzeros);
  if (sorts && config.pair_scope == PairScope::kLayer) {
    const auto units = fold(order, static_cast<std::int64_t>(groups.size()) * per_group);
    for (std::size_t i = 0; i < units.size(); ++i) {
      add_unit(groups[i / static_cast<std::size_t>(config.cluster_units)], units[i].first, units[i].second);
    }
    return groups;
  }
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const auto first = order.begin() + static_cast<std::int64_t>(g) * per_group;
    const auto last = order.begin() + std::min(streams, static_cast<std::int64_t>(g + 1) * per_group);
    std::vector<std::int64_t> members(first, last);
    if (sorts) {
      for (const auto& [dense, sparse] : fold(std::move(members), per_group))
        add_unit(groups[g], dense, sparse);
      continue;
    }
    // Neighbours share a unit once every unit has one.
    const auto count = static_cast<std::int64_t>(members.size());
    const std::int64_t doubled = std::max<std::int64_t>(0, count - config.cluster_units);
    for (std::int64_t i = 0; i < count; ++i) {
      const auto at = static_cast<std::size_t>(i);
      if (i < 2 * doubled) {
        if (i % 2 == 0) add_unit(groups[g], members[at], members[at + 1]);
      } else {
        add_unit(groups[g], members[at], kNobody);
      }
    }
  }
  return groups;
}

HeldGroup pair_for_chunk(const HeldGroup& group, const std::vector<std::int64_t>& nonzeros,
                         const Config& config) {
  std::vector<std::int64_t> members = group.pairs;
  members.insert(members.end(), group.singles.begin(), group.singles.end());
  std::ranges::sort(members);
  sort_by_density(members, nonzeros);
  HeldGroup paired;
  for (const auto& [dense, sparse] : fold(std::move(members), config.streams_per_cluster())) {
    add_unit(paired, dense, sparse);
  }
  return paired;
}

PlacedProduct place_product(const LaneProduct& product, Operation op, const Config& config) {
  const Operand held = config.held(op);
  PlacedProduct placed;
  placed.product = &product;
  placed.held = product.primary.role == held ? &product.primary : &product.secondary;
  placed.broadcast = product.primary.role == held ? &product.secondary : &product.primary;
  placed.config = config;
  placed.layout = chunk_layout(*placed.held, config);
  // ASSUMPTION(P6): the clusters form the grid that would finish first if nothing were zero, as the tiles do
  // (A2): blocks of broadcast streams (or one after another) and of groups of held streams.
  const auto grid_of = [&](const Config& as) {
    const TileShape clusters{.rows = 1,
                             .columns = as.streams_per_cluster(),
                             .lanes = 1,
                             .tiles = as.clusters(),
                             .ties = GridTies::kRows,
                             .dealing = as.dealing};
    return choose_grid(placed.broadcast->count(), placed.held->count(), clusters);
  };
  placed.grid = grid_of(config);
  if (config.balancing == Balancing::kNone) return placed;
  // ASSUMPTION(P4): streams share a unit only if that costs no time where nothing is zero; a small product
  // would leave clusters without work.
  Config alone = config;
  alone.balancing = Balancing::kNone;
  const TileGrid grid = grid_of(alone);
  if (grid.dense_cycles(1) < placed.grid.dense_cycles(config.streams_per_unit())) {
    placed.config = alone;
    placed.grid = grid;
  }
  return placed;
}

}  // namespace lacuna::sparten
