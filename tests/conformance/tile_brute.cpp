#include "conformance/tile_brute.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace lacuna::testing {
namespace {

using Count = std::int64_t;

// Streams on the rows and on the columns, and the steps of each.
struct Product {
  Count row_streams = 0, column_streams = 0, steps = 0;
  Count group = 0;  // of the convolution
};

Count chunks_of(Count size, Count chunk) {
  Count chunks = 0;
  for (Count first = 0; first < size; first += chunk) ++chunks;
  return chunks;
}

Count round_up(long double value) { return static_cast<Count>(std::ceil(value - 1e-9L)); }

// A*W: windows against filters. W*G: input positions of one phase of the stride against input channels, over
// the taps that meet an output there (A3). A*G: output channels against (tap, input channel), over samples
// and positions; over the rows of the batch if the layer is linear (A5). Forward and input gradient of a
// recurrent layer: each time step by itself.
std::vector<Product> products_of(const Layer& layer, Operation op, bool primary_on_rows, Count lanes) {
  const LayerShape& s = layer.shape;
  const Count cg = s.c / s.groups, kg = s.k / s.groups;
  std::vector<Product> products;
  Count group = 0;
  const auto add = [&](Count primary, Count secondary, Count steps) {
    if (primary == 0 || secondary == 0 || steps == 0) return;
    if (primary_on_rows) {
      products.push_back({primary, secondary, steps, group});
    } else {
      products.push_back({secondary, primary, steps, group});
    }
  };
  const Count times = op == Operation::kWeightGrad ? 1 : s.sequence, images = s.n / times;
  for (; group < s.groups * times; ++group) {
    if (op == Operation::kForward) {
      add(images * s.output.h * s.output.w, kg, s.kernel.h * s.kernel.w * chunks_of(cg, lanes));
    } else if (op == Operation::kWeightGrad) {
      const Count steps = s.kind != LayerKind::kConv2d ? chunks_of(s.n, lanes)
                                                       : s.n * chunks_of(s.output.h * s.output.w, lanes);
      add(kg, s.kernel.h * s.kernel.w * cg, steps);
    } else {
      // Input positions by the set of taps through which an output lies at a whole multiple of the stride.
      for (Count py = 0; py < s.stride.h; ++py)
        for (Count px = 0; px < s.stride.w; ++px) {
          Count taps = 0, positions = 0;
          for (Count ky = 0; ky < s.kernel.h; ++ky)
            for (Count kx = 0; kx < s.kernel.w; ++kx)
              if ((py + s.padding.h - ky * s.dilation.h) % s.stride.h == 0 &&
                  (px + s.padding.w - kx * s.dilation.w) % s.stride.w == 0)
                ++taps;
          for (Count y = 0; y < s.input.h; ++y)
            for (Count x = 0; x < s.input.w; ++x)
              if (y % s.stride.h == py && x % s.stride.w == px) ++positions;
          add(images * positions, cg, taps * chunks_of(kg, lanes));
        }
    }
  }
  return products;
}

// The streams of one operand, dealt to `tiles` in whole groups, contiguous blocks of them or interleaved: for
// each tile how many streams there are in each of its groups.
using Deal = std::vector<std::vector<Count>>;

Deal deal(Count streams, Count per_group, Count tiles, bool in_turns) {
  std::vector<Count> groups;
  for (Count left = streams; left > 0; left -= per_group) groups.push_back(std::min(left, per_group));
  const Count per_tile = chunks_of(static_cast<Count>(groups.size()), tiles);
  Deal dealt(static_cast<std::size_t>(tiles));
  for (std::size_t i = 0; i < groups.size(); ++i)
    dealt[in_turns ? i % dealt.size() : i / static_cast<std::size_t>(per_tile)].push_back(groups[i]);
  return dealt;
}

struct Dealt {
  Deal rows, columns;
};

Count slowest_tile(const Dealt& dealt, Count steps) {
  Count slowest = 0;
  for (const auto& rows : dealt.rows)
    for (const auto& columns : dealt.columns)
      slowest = std::max(slowest, static_cast<Count>(rows.size() * columns.size()) * steps);
  return slowest;
}

// A2: of all grids the fastest; of equally fast ones that with most tile rows, or the squarest.
Dealt on_tiles(const Product& product, const TileBruteConfig& config) {
  Dealt best;
  std::pair<Count, Count> best_cost;
  for (Count tile_rows = config.tiles; tile_rows >= 1; --tile_rows) {
    if (config.tiles % tile_rows != 0) continue;
    const Count tile_columns = config.tiles / tile_rows;
    Dealt dealt{deal(product.row_streams, config.rows, tile_rows, config.in_turns),
                deal(product.column_streams, config.columns, tile_columns, false)};
    const std::pair<Count, Count> cost{slowest_tile(dealt, product.steps),
                                       config.square_grid ? tile_rows + tile_columns : 0};
    if (best.rows.empty() || cost < best_cost) {
      best = std::move(dealt);
      best_cost = cost;
    }
  }
  return best;
}

// The groups of one tile in blocks of `groups_per_block`, as many as its scratchpads hold (A11): streams in
// each block.
std::vector<Count> blocks_of(const std::vector<Count>& groups, Count groups_per_block) {
  std::vector<Count> blocks;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (static_cast<Count>(i) % groups_per_block == 0) blocks.push_back(0);
    blocks.back() += groups[i];
  }
  return blocks;
}

// Rows read from SRAM for the streams of `mine`, which pass once for each block of `others`. Up to
// `multicast` neighbouring tiles make their n-th pass together and share what is read for it (A11).
Count sram_reads(const Deal& mine, const Deal& others, Count steps, Count groups_per_block, Count multicast) {
  Count reads = 0;
  for (const auto& groups : mine)
    for (const Count streams : groups) {
      std::set<std::pair<std::size_t, std::size_t>> passes;  // (tiles that share, number of the pass)
      for (std::size_t tile = 0; tile < others.size(); ++tile)
        for (std::size_t pass = 0; pass < blocks_of(others[tile], groups_per_block).size(); ++pass)
          passes.insert({tile / static_cast<std::size_t>(multicast), pass});
      reads += streams * steps * static_cast<Count>(passes.size());
    }
  return reads;
}

// A13: times that a transposer is filled for the streams of an operand, which pass as often as they are read:
// once for each step, tap and block of `lanes` channels, counted from the tensor's first one, in which there
// is a stream.
Count transposer_fills(const Layer& layer, Operand role, const Product& product, bool on_rows, Count reads,
                       Count lanes) {
  const LayerShape& s = layer.shape;
  const Count channels = role == Operand::kG ? s.k / s.groups : s.c / s.groups;
  const Count first = role == Operand::kW ? 0 : product.group * channels;
  const Count streams = on_rows ? product.row_streams : product.column_streams;
  std::set<std::pair<Count, Count>> fills;  // (tap, block)
  for (Count stream = 0; stream < streams; ++stream)
    fills.insert({stream / channels, (first + stream % channels) / lanes});
  const Count passes = reads / (streams * product.steps);
  return static_cast<Count>(fills.size()) * product.steps * passes;
}

// Scratchpads of all tiles: a pair of blocks is written once and each of its pairs of groups read once; every
// output puts its sum aside after each chunk of steps and takes it up again.
void visit_tiles(const Dealt& dealt, Count steps, Count groups_per_block, Count chunk_steps,
                 Activity& activity) {
  for (const auto& rows : dealt.rows)
    for (const auto& columns : dealt.columns) {
      for (const Count row_block : blocks_of(rows, groups_per_block))
        for (const Count column_block : blocks_of(columns, groups_per_block))
          activity.scratchpad_writes += (row_block + column_block) * steps;
      for (const Count row_group : rows)
        for (const Count column_group : columns) {
          activity.scratchpad_reads += (row_group + column_group) * steps;
          for (Count first = 0; first < steps; first += chunk_steps) {
            activity.psum_reads += row_group * column_group;
            activity.psum_writes += row_group * column_group;
          }
        }
    }
}

struct Tensor {
  Count elements = 0, nonzeros = 0;
};

Tensor count_tensor(const MaskView& mask) {
  Tensor tensor;
  for (Count row = 0; row < mask.rows; ++row)
    for (Count channel = 0; channel < mask.channels; ++channel) {
      ++tensor.elements;
      if (mask.bit(row, channel)) ++tensor.nonzeros;
    }
  return tensor;
}

Tensor operand_tensor(const Layer& layer, Operand role) {
  return count_tensor(role == Operand::kA ? layer.a.mask : role == Operand::kW ? layer.w.mask : layer.g.mask);
}

// A15.
Tensor result_tensor(const Layer& layer, Operation op) {
  const LayerShape& s = layer.shape;
  if (op == Operation::kForward)
    return {s.n * s.output.h * s.output.w * s.k, operand_tensor(layer, Operand::kG).nonzeros};
  if (op == Operation::kInputGrad)
    return {s.n * s.input.h * s.input.w * s.c, operand_tensor(layer, Operand::kA).nonzeros};
  const Count weights = s.k * s.kernel.h * s.kernel.w * (s.c / s.groups);
  if (s.kind == LayerKind::kMatmul) return {weights, operand_tensor(layer, Operand::kW).nonzeros};
  return {weights, weights};
}

std::pair<Operand, Operand> primary_and_secondary(Operation op) {
  if (op == Operation::kForward) return {Operand::kA, Operand::kW};
  if (op == Operation::kInputGrad) return {Operand::kG, Operand::kW};
  return {Operand::kG, Operand::kA};
}

// How often the fullest bank is accessed when as many neighbouring blocks are read at a stride as there are
// banks (A19).
Count fullest_bank(Count stride, Count banks) {
  std::map<Count, Count> accesses;
  Count fullest = 0;
  for (Count i = 0; i < banks; ++i) fullest = std::max(fullest, ++accesses[i * stride % banks]);
  return fullest;
}

// A tensor on its way through DRAM and SRAM.
struct Transfer {
  bool of_weights = false;
  Count bus_bytes = 0, activations = 0, sram_rows = 0;
};

Transfer transfer(const Tensor& tensor, bool of_weights, const TileBruteConfig& config) {
  Transfer moved{.of_weights = of_weights};
  moved.bus_bytes = tensor.elements * config.value_bytes;
  if (config.dram_compression)
    moved.bus_bytes = tensor.nonzeros * config.value_bytes + chunks_of(tensor.elements, 8);
  moved.activations = chunks_of(moved.bus_bytes, config.dram_page_bytes);
  moved.sram_rows = chunks_of(tensor.elements, config.lanes);
  return moved;
}

}  // namespace

Operand brute_sparser_operand(const Layer& layer, Operation op) {
  const auto [primary, secondary] = primary_and_secondary(op);
  const Tensor p = operand_tensor(layer, primary), s = operand_tensor(layer, secondary);
  return (s.elements - s.nonzeros) * p.elements > (p.elements - p.nonzeros) * s.elements ? secondary
                                                                                         : primary;
}

std::int64_t brute_dense_cycles(const Layer& layer, Operation op, Operand rows_operand,
                                const TileBruteConfig& config) {
  Count cycles = 0;
  const bool primary_on_rows = rows_operand == primary_and_secondary(op).first;
  for (const Product& product : products_of(layer, op, primary_on_rows, config.lanes))
    cycles += slowest_tile(on_tiles(product, config), product.steps);
  return cycles;
}

TileBruteResult brute_tile_memory(const Layer& layer, Operation op, Operand rows_operand, double batch_scale,
                                  std::int64_t compute_cycles, const TileBruteConfig& config) {
  const auto [primary, secondary] = primary_and_secondary(op);
  const Operand columns_operand = rows_operand == primary ? secondary : primary;
  const LayerShape& s = layer.shape;
  TileBruteResult result;
  Activity& activity = result.activity;
  activity.compute_cycles = compute_cycles;

  // The scheduled side is B (TensorDash §3.3). Half a scratchpad holds this many streams per line of PEs
  // (A11).
  const Count groups_per_block = config.scratchpad_banks * config.scratchpad_rows / 2 / config.chunk_steps;
  for (const Product& product : products_of(layer, op, rows_operand == primary, config.lanes)) {
    const Dealt dealt = on_tiles(product, config);
    visit_tiles(dealt, product.steps, groups_per_block, config.chunk_steps, activity);
    const Count row_reads =
        sram_reads(dealt.rows, dealt.columns, product.steps, groups_per_block, config.multicast);
    const Count column_reads =
        sram_reads(dealt.columns, dealt.rows, product.steps, groups_per_block, config.multicast);
    activity.bm_reads += row_reads;
    activity.am_reads += column_reads;
    // A13: W in W*G and G in A*G; A in A*G if asked for.
    const auto across = [&](Operand role) {
      if (op == Operation::kWeightGrad && role == Operand::kA) return config.transpose_a;
      return op == Operation::kWeightGrad || (op == Operation::kInputGrad && role == Operand::kW);
    };
    if (across(rows_operand))
      activity.transposed_groups +=
          transposer_fills(layer, rows_operand, product, true, row_reads, config.lanes);
    if (across(columns_operand))
      activity.transposed_groups +=
          transposer_fills(layer, columns_operand, product, false, column_reads, config.lanes);
  }
  const std::pair<Operand, Count> operands[] = {{rows_operand, activity.bm_reads},
                                                {columns_operand, activity.am_reads}};
  // All transposers fill together, and empty while they fill again: one round more than there are fills of
  // all of them. Each holds 16 x 16 values.
  if (activity.transposed_groups > 0)
    activity.transposer_cycles =
        config.transposer_cycles +
        config.transposer_cycles *
            chunks_of(activity.transposed_groups * config.lanes * config.lanes, config.transposers * 16 * 16);

  // A14: every tensor once; weights and their gradient once per batch, of which the samples bear their share.
  // Both factors of a matmul are a sample's own.
  const bool weights = s.kind != LayerKind::kMatmul;
  long double bus_reads = 0, opened = 0, read_bytes = 0;
  std::vector<long double> sram;
  const auto share = [&](const Transfer& moved, Count count) {
    return moved.of_weights ? static_cast<long double>(count) / batch_scale : static_cast<long double>(count);
  };
  const long double banks = static_cast<long double>(config.sram_banks * config.tiles);
  for (const auto& [role, reads] : operands) {
    const Transfer moved = transfer(operand_tensor(layer, role), weights && role == Operand::kW, config);
    TensorTraffic& traffic = moved.of_weights ? activity.weights : activity.samples;
    traffic.dram_read_bytes += moved.bus_bytes;
    traffic.dram_activations += moved.activations;
    traffic.fill_rows += moved.sram_rows;
    bus_reads += share(moved, moved.bus_bytes);
    opened += share(moved, moved.activations);
    read_bytes += static_cast<long double>(moved.bus_bytes);
    const bool strided = role == Operand::kA && op != Operation::kInputGrad;
    const Count turns = strided ? fullest_bank(s.stride.w, config.sram_banks * config.tiles) : 1;
    sram.push_back((static_cast<long double>(reads * turns) + share(moved, moved.sram_rows)) / banks);
    activity.sram_conflict_cycles += round_up(static_cast<long double>(reads * (turns - 1)) / banks);
  }
  const Transfer out = transfer(result_tensor(layer, op), weights && op == Operation::kWeightGrad, config);
  TensorTraffic& traffic = out.of_weights ? activity.weights : activity.samples;
  traffic.dram_write_bytes += out.bus_bytes;
  traffic.dram_activations += out.activations;
  traffic.output_rows += out.sram_rows;
  const long double bus_writes = share(out, out.bus_bytes);
  activity.dram_bytes = round_up(bus_reads + bus_writes);
  opened += share(out, out.activations);
  sram.push_back(2 * share(out, out.sram_rows) / banks);
  activity.sram_cycles = round_up(*std::max_element(sram.begin(), sram.end()));

  // A10: bytes over the bus, or rows opened in the banks of all parts of 16 bits.
  const long double seconds_per_byte =
      8.0L / static_cast<long double>(config.dram_channels * config.dram_channel_bits) /
      (static_cast<long double>(config.dram_mts) * 1e6L);
  const long double hertz = config.frequency_mhz * 1e6L;
  const Count parts = config.dram_channels * chunks_of(config.dram_channel_bits, 16);
  long double per_row = config.dram_row_ns * 1e-9L / static_cast<long double>(config.dram_banks);
  if (config.dram_controller) per_row = std::max(per_row, config.dram_activate_ns * 1e-9L);
  const long double opening = opened * per_row / static_cast<long double>(parts);
  long double seconds = std::max((bus_reads + bus_writes) * seconds_per_byte, opening);
  // A33: each turn of writes among the reads costs time, and refresh takes its share of all of it.
  if (config.dram_controller) {
    const long double turns =
        std::min(bus_reads, bus_writes) / (1024.0L * static_cast<long double>(config.dram_turn_kb));
    seconds += turns * config.dram_turnaround_ns * 1e-9L;
    seconds = seconds * 100 / (100 - config.dram_refresh_percent);
  }
  activity.dram_cycles = round_up(seconds * hertz);
  activity.scratchpad_cycles =
      chunks_of(brute_dense_cycles(layer, op, rows_operand, config), config.scratchpad_banks);

  // A12: the slowest stage; then what the scratchpads hold first goes in and what they hold last goes out,
  // neither more than there is.
  const Count held = config.tiles * groups_per_block;
  const Count first_bytes =
      held * (config.rows + config.columns) * config.chunk_steps * config.lanes * config.value_bytes;
  const Count last_bytes = held * groups_per_block * config.rows * config.columns * config.value_bytes;
  activity.fill_cycles = round_up((std::min(static_cast<long double>(first_bytes), read_bytes) +
                                   static_cast<long double>(std::min(last_bytes, out.bus_bytes))) *
                                  seconds_per_byte * hertz);
  result.total = compute_cycles;
  if (!config.modelled) return result;
  const std::pair<Count, Bound> stages[] = {{activity.dram_cycles, Bound::kDram},
                                            {activity.transposer_cycles, Bound::kTransposers},
                                            {activity.sram_cycles, Bound::kSram},
                                            {activity.scratchpad_cycles, Bound::kScratchpads}};
  for (const auto& [cycles, bound] : stages)
    if (cycles > result.total) {
      result.total = cycles;
      activity.bound = bound;
    }
  result.total += round_up(static_cast<long double>(activity.fill_cycles) / batch_scale);
  return result;
}

}  // namespace lacuna::testing
