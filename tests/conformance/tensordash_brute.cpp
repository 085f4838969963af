#include "conformance/tensordash_brute.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>

namespace lacuna::testing {
namespace {

constexpr int kNoElement = -1;
using Step = std::vector<int>;  // a lane each: 0, 1 or kNoElement
using Stream = std::vector<Step>;
using Streams = std::vector<Stream>;

struct Pair {
  Streams primary, secondary;
  std::vector<std::vector<bool>> needed;  // input gradient: [primary][secondary], where A is not zero
};

int bit(const MaskView& mask, std::int64_t row, std::int64_t channel) {
  return mask.bit(row, channel) ? 1 : 0;
}

// Lanes of one step from a function of the lane's index in its axis; beyond `size` there is no element.
template <typename Value>
Step step_of(std::int64_t first, std::int64_t size, int lanes, const Value& value) {
  Step step;
  for (int lane = 0; lane < lanes; ++lane) {
    const std::int64_t i = first + lane;
    step.push_back(i < size ? value(i) : kNoElement);
  }
  return step;
}

std::vector<Pair> forward_streams(const Layer& layer, int lanes) {
  const LayerShape& s = layer.shape;
  const std::int64_t cg = s.c / s.groups, kg = s.k / s.groups;
  std::vector<Pair> products;
  for (std::int64_t g = 0; g < s.groups; ++g) {
    Pair pair;
    for (std::int64_t n = 0; n < s.n; ++n)
      for (std::int64_t oy = 0; oy < s.output.h; ++oy)
        for (std::int64_t ox = 0; ox < s.output.w; ++ox) {
          Stream stream;
          for (std::int64_t ky = 0; ky < s.kernel.h; ++ky)
            for (std::int64_t kx = 0; kx < s.kernel.w; ++kx)
              for (std::int64_t c0 = 0; c0 < cg; c0 += lanes) {
                const std::int64_t y = oy * s.stride.h - s.padding.h + ky * s.dilation.h;
                const std::int64_t x = ox * s.stride.w - s.padding.w + kx * s.dilation.w;
                const bool inside = y >= 0 && x >= 0 && y < s.input.h && x < s.input.w;
                stream.push_back(step_of(c0, cg, lanes, [&](std::int64_t c) {
                  return inside ? bit(layer.a.mask, (n * s.input.h + y) * s.input.w + x, g * cg + c) : 0;
                }));
              }
          pair.primary.push_back(stream);
        }
    for (std::int64_t k = 0; k < kg; ++k) {
      Stream stream;
      for (std::int64_t ky = 0; ky < s.kernel.h; ++ky)
        for (std::int64_t kx = 0; kx < s.kernel.w; ++kx)
          for (std::int64_t c0 = 0; c0 < cg; c0 += lanes)
            stream.push_back(step_of(c0, cg, lanes, [&](std::int64_t c) {
              return bit(layer.w.mask, ((g * kg + k) * s.kernel.h + ky) * s.kernel.w + kx, c);
            }));
      pair.secondary.push_back(stream);
    }
    products.push_back(pair);
  }
  return products;
}

std::vector<Pair> input_grad_streams(const Layer& layer, int lanes) {
  const LayerShape& s = layer.shape;
  const std::int64_t cg = s.c / s.groups, kg = s.k / s.groups;
  std::vector<Pair> products;
  for (std::int64_t g = 0; g < s.groups; ++g)
    for (std::int64_t py = 0; py < s.stride.h; ++py)
      for (std::int64_t px = 0; px < s.stride.w; ++px) {
        std::vector<std::pair<std::int64_t, std::int64_t>> taps;
        for (std::int64_t ky = 0; ky < s.kernel.h; ++ky)
          for (std::int64_t kx = 0; kx < s.kernel.w; ++kx)
            if ((py + s.padding.h - ky * s.dilation.h) % s.stride.h == 0 &&
                (px + s.padding.w - kx * s.dilation.w) % s.stride.w == 0)
              taps.emplace_back(ky, kx);
        if (taps.empty()) continue;
        Pair pair;
        for (std::int64_t n = 0; n < s.n; ++n)
          for (std::int64_t y = py; y < s.input.h; y += s.stride.h)
            for (std::int64_t x = px; x < s.input.w; x += s.stride.w) {
              Stream stream;
              for (const auto& [ky, kx] : taps)
                for (std::int64_t k0 = 0; k0 < kg; k0 += lanes) {
                  const std::int64_t ty = y + s.padding.h - ky * s.dilation.h;
                  const std::int64_t tx = x + s.padding.w - kx * s.dilation.w;
                  const bool inside =
                      ty >= 0 && tx >= 0 && ty / s.stride.h < s.output.h && tx / s.stride.w < s.output.w;
                  stream.push_back(step_of(k0, kg, lanes, [&, ty = ty, tx = tx](std::int64_t k) {
                    if (!inside) return 0;
                    return bit(layer.g.mask,
                               (n * s.output.h + ty / s.stride.h) * s.output.w + tx / s.stride.w, g * kg + k);
                  }));
                }
              pair.primary.push_back(stream);
              auto& needed = pair.needed.emplace_back();
              for (std::int64_t c = 0; c < cg; ++c)
                needed.push_back(bit(layer.a.mask, (n * s.input.h + y) * s.input.w + x, g * cg + c) == 1);
            }
        if (pair.primary.empty()) continue;  // the image is smaller than the phase
        for (std::int64_t c = 0; c < cg; ++c) {
          Stream stream;
          for (const auto& [ky, kx] : taps)
            for (std::int64_t k0 = 0; k0 < kg; k0 += lanes)
              stream.push_back(step_of(k0, kg, lanes, [&, ky = ky, kx = kx](std::int64_t k) {
                return bit(layer.w.mask, ((g * kg + k) * s.kernel.h + ky) * s.kernel.w + kx, c);
              }));
          pair.secondary.push_back(stream);
        }
        products.push_back(pair);
      }
  return products;
}

std::vector<Pair> weight_grad_streams(const Layer& layer, int lanes) {
  const LayerShape& s = layer.shape;
  const std::int64_t cg = s.c / s.groups, kg = s.k / s.groups;
  const bool linear = s.kind != LayerKind::kConv2d;
  const std::int64_t positions = s.output.h * s.output.w;
  std::vector<Pair> products;
  for (std::int64_t g = 0; g < s.groups; ++g) {
    // One stream from the bit at (sample, output position).
    const auto stream_of = [&](const auto& at) {
      Stream stream;
      if (linear) {
        for (std::int64_t n0 = 0; n0 < s.n; n0 += lanes)
          stream.push_back(step_of(n0, s.n, lanes, [&](std::int64_t n) { return at(n, 0); }));
        return stream;
      }
      for (std::int64_t n = 0; n < s.n; ++n)
        for (std::int64_t q0 = 0; q0 < positions; q0 += lanes)
          stream.push_back(step_of(q0, positions, lanes, [&](std::int64_t q) { return at(n, q); }));
      return stream;
    };
    Pair pair;
    for (std::int64_t k = 0; k < kg; ++k)
      pair.primary.push_back(stream_of(
          [&](std::int64_t n, std::int64_t q) { return bit(layer.g.mask, n * positions + q, g * kg + k); }));
    for (std::int64_t ky = 0; ky < s.kernel.h; ++ky)
      for (std::int64_t kx = 0; kx < s.kernel.w; ++kx)
        for (std::int64_t c = 0; c < cg; ++c)
          pair.secondary.push_back(stream_of([&](std::int64_t n, std::int64_t q) {
            const std::int64_t y = (q / s.output.w) * s.stride.h - s.padding.h + ky * s.dilation.h;
            const std::int64_t x = (q % s.output.w) * s.stride.w - s.padding.w + kx * s.dilation.w;
            if (y < 0 || x < 0 || y >= s.input.h || x >= s.input.w) return 0;
            return bit(layer.a.mask, (n * s.input.h + y) * s.input.w + x, g * cg + c);
          }));
    products.push_back(pair);
  }
  return products;
}

// Rows of a recurrent layer, one time step after another.
std::vector<Pair> in_time_steps(const std::vector<Pair>& products, std::int64_t steps) {
  std::vector<Pair> split;
  for (const Pair& pair : products) {
    const auto rows = static_cast<std::int64_t>(pair.primary.size()) / steps;
    for (std::int64_t t = 0; t < steps; ++t) {
      Pair step = pair;
      step.primary.assign(pair.primary.begin() + t * rows, pair.primary.begin() + (t + 1) * rows);
      if (!pair.needed.empty())
        step.needed.assign(pair.needed.begin() + t * rows, pair.needed.begin() + (t + 1) * rows);
      split.push_back(step);
    }
  }
  return split;
}

using Levels = std::vector<std::vector<int>>;

// Levels: lane after lane into the first level where nobody can reach a value that it can reach.
Levels levels_of(const BruteConfig& config) {
  const auto reach = [&](int lane) {
    std::set<std::pair<int, int>> values;
    for (const auto& [step, offset] : config.movements)
      values.insert({step, ((lane + offset) % config.lanes + config.lanes) % config.lanes});
    return values;
  };
  Levels levels;
  for (int lane = 0; lane < config.lanes; ++lane) {
    bool placed = false;
    for (auto& level : levels) {
      bool free = true;
      for (const int other : level)
        for (const auto& value : reach(other)) free = free && reach(lane).count(value) == 0;
      if (free) {
        level.push_back(lane);
        placed = true;
        break;
      }
    }
    if (!placed) levels.push_back({lane});
  }
  return levels;
}

// One processing element (or row of them) with its own window position.
struct Machine {
  std::vector<std::vector<bool>> left;  // pairs still to be multiplied, by step and lane
  std::size_t position = 0;
};

// One cycle: every lane takes at most one pair; returns how many steps have drained.
int cycle(Machine& machine, const BruteConfig& config, const Levels& levels, std::int64_t& taken) {
  for (const auto& level : levels)
    for (const int lane : level)
      for (const auto& [step, offset] : config.movements) {
        const std::size_t at = machine.position + static_cast<std::size_t>(step);
        const auto source =
            static_cast<std::size_t>(((lane + offset) % config.lanes + config.lanes) % config.lanes);
        if (at < machine.left.size() && machine.left[at][source]) {
          machine.left[at][source] = false;
          ++taken;
          break;
        }
      }
  int drained = 0;
  while (drained < config.depth) {
    const std::size_t at = machine.position + static_cast<std::size_t>(drained);
    if (at < machine.left.size() && std::ranges::find(machine.left[at], true) != machine.left[at].end())
      break;
    ++drained;
  }
  return drained;
}

std::int64_t run(std::vector<Machine> machines, std::size_t steps, const BruteConfig& config,
                 const Levels& levels, std::int64_t& taken) {
  std::int64_t cycles = 0;
  if (config.decoupled) {
    for (Machine& machine : machines) {
      std::int64_t own = 0;
      for (; machine.position < steps; ++own)
        machine.position += static_cast<std::size_t>(cycle(machine, config, levels, taken));
      cycles = std::max(cycles, own);
    }
    return cycles;
  }
  std::size_t position = 0;
  for (; position < steps; ++cycles) {
    int slide = config.depth;
    for (Machine& machine : machines) {
      machine.position = position;
      slide = std::min(slide, cycle(machine, config, levels, taken));
    }
    position += static_cast<std::size_t>(slide);
  }
  return cycles;
}

std::vector<bool> lanes_to_do(const Step& row, const Step* column) {
  std::vector<bool> lanes;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const auto set = [&](int value) { return value == 1; };
    lanes.push_back(set(row[i]) && (column == nullptr || set((*column)[i])));
  }
  return lanes;
}

// The group of streams [first, first + size) of `rows` (against those of `columns` if two-side).
std::int64_t group_cycles(const Streams& rows, std::int64_t first_row, const Streams& columns,
                          std::int64_t first_column, const BruteConfig& config, const Levels& levels,
                          std::int64_t& taken) {
  std::vector<Machine> machines;
  const std::int64_t row_end =
      std::min<std::int64_t>(first_row + config.rows, static_cast<std::int64_t>(rows.size()));
  const std::int64_t column_end =
      config.two_side
          ? std::min<std::int64_t>(first_column + config.columns, static_cast<std::int64_t>(columns.size()))
          : first_column + 1;
  for (std::int64_t r = first_row; r < row_end; ++r)
    for (std::int64_t c = first_column; c < column_end; ++c) {
      Machine machine;
      for (std::size_t step = 0; step < rows[0].size(); ++step)
        machine.left.push_back(
            lanes_to_do(rows[static_cast<std::size_t>(r)][step],
                        config.two_side ? &columns[static_cast<std::size_t>(c)][step] : nullptr));
      machines.push_back(std::move(machine));
    }
  if (config.piece == 0) return run(std::move(machines), rows[0].size(), config, levels, taken);
  std::int64_t slowest = 0;
  for (const Machine& machine : machines) {
    std::int64_t cycles = 0;
    for (std::size_t first = 0; first < machine.left.size();
         first += static_cast<std::size_t>(config.piece)) {
      Machine part;
      for (std::size_t i = 0; i < static_cast<std::size_t>(config.piece); ++i)
        part.left.push_back(machine.left[first + i]);
      cycles += run({part}, part.left.size(), config, levels, taken);
    }
    slowest = std::max(slowest, cycles);
  }
  return slowest;
}

std::int64_t groups(std::size_t streams, std::int64_t size) {
  return (static_cast<std::int64_t>(streams) + size - 1) / size;
}

}  // namespace

std::vector<std::pair<int, int>> brute_movements(const std::string& name, int lanes, int depth) {
  using Movements = std::vector<std::pair<int, int>>;
  Movements all;
  if (name == "paper") all = Movements{{0, 0}, {1, 0}, {2, 0}, {1, -1}, {1, 1}, {2, -2}, {2, 2}, {1, -3}};
  if (name == "tensordash-2019")
    all = Movements{{0, 0}, {1, -1}, {1, 0}, {1, 1}, {1, 3}, {2, -2}, {2, 0}, {2, 2}};
  if (name == "lookahead")
    for (int step = 0; step < depth; ++step) all.emplace_back(step, 0);
  if (name == "crossbar") {
    all.emplace_back(0, 0);
    for (int step = 1; step < depth; ++step) {
      all.emplace_back(step, 0);
      for (int away = 1; away <= lanes / 2; ++away) {
        all.emplace_back(step, -away);
        all.emplace_back(step, away);
      }
    }
  }
  std::erase_if(all, [&](const auto& movement) { return movement.first >= depth; });
  return all;
}

BruteResult brute_tensordash(const Layer& layer, Operation op, Operand rows_operand,
                             const BruteConfig& config) {
  std::vector<Pair> products = op == Operation::kForward     ? forward_streams(layer, config.lanes)
                               : op == Operation::kInputGrad ? input_grad_streams(layer, config.lanes)
                                                             : weight_grad_streams(layer, config.lanes);
  if (layer.shape.sequence > 1 && op != Operation::kWeightGrad)
    products = in_time_steps(products, layer.shape.sequence);
  const bool primary_on_rows = operands(op).primary == rows_operand;
  BruteResult result;
  const Levels levels = levels_of(config);
  for (const Pair& pair : products) {
    const Streams& rows = primary_on_rows ? pair.primary : pair.secondary;
    const Streams& columns = primary_on_rows ? pair.secondary : pair.primary;
    const auto steps = static_cast<std::int64_t>(rows[0].size());
    const auto is_needed = [&](std::size_t row, std::size_t column) {
      if (!config.needed || op != Operation::kInputGrad) return true;
      return primary_on_rows ? pair.needed[row][column] : pair.needed[column][row];
    };
    const std::int64_t row_groups = groups(rows.size(), config.rows);
    const std::int64_t column_groups = groups(columns.size(), config.columns);
    // The grid of tiles with the fewest dense cycles; of equals the squarest, or the one with most tile rows.
    std::int64_t best_rows = 1, best = -1;
    const auto edges = [&](std::int64_t tile_rows) { return tile_rows + config.tiles / tile_rows; };
    for (std::int64_t tile_rows = 1; tile_rows <= config.tiles; ++tile_rows) {
      if (config.tiles % tile_rows != 0) continue;
      const std::int64_t tile_columns = config.tiles / tile_rows;
      const std::int64_t cost =
          ((row_groups + tile_rows - 1) / tile_rows) * ((column_groups + tile_columns - 1) / tile_columns);
      const bool tie_won = !config.square_grid || edges(tile_rows) <= edges(best_rows);
      if (best < 0 || cost < best || (cost == best && tie_won)) {
        best = cost;
        best_rows = tile_rows;
      }
    }
    result.dense_cycles += steps * best;
    const std::int64_t rows_each = (row_groups + best_rows - 1) / best_rows;
    const std::int64_t best_columns = config.tiles / best_rows;
    const std::int64_t columns_each = (column_groups + best_columns - 1) / best_columns;

    // Cycles of every (row group, column group), then tile by tile.
    std::vector<std::vector<std::int64_t>> cost(static_cast<std::size_t>(row_groups));
    std::int64_t taken = 0;
    for (std::int64_t i = 0; i < row_groups; ++i)
      for (std::int64_t j = 0; j < (config.two_side ? column_groups : 1); ++j)
        cost[static_cast<std::size_t>(i)].push_back(
            group_cycles(rows, i * config.rows, columns, j * config.columns, config, levels, taken));
    std::int64_t slowest = 0;
    for (std::int64_t tj = 0; tj < best_columns; ++tj) {
      std::multimap<std::int64_t, std::int64_t> free_at;  // time, tile row
      std::vector<std::int64_t> busy(static_cast<std::size_t>(best_rows), 0);
      for (std::int64_t ti = 0; ti < best_rows; ++ti) free_at.emplace(0, ti);
      for (std::int64_t i = 0; i < row_groups; ++i) {
        std::int64_t sum = 0;
        for (std::int64_t j = tj * columns_each; j < std::min(column_groups, (tj + 1) * columns_each); ++j)
          sum += cost[static_cast<std::size_t>(i)][config.two_side ? static_cast<std::size_t>(j) : 0];
        if (config.needed) {
          std::size_t wanted = 0;  // columns of the tile
          for (std::int64_t j = tj * columns_each * config.columns;
               j < std::min<std::int64_t>(std::ssize(columns), (tj + 1) * columns_each * config.columns);
               ++j) {
            bool any = false;
            for (std::int64_t r = i * config.rows;
                 r < std::min<std::int64_t>(std::ssize(rows), (i + 1) * config.rows); ++r)
              any = any || is_needed(static_cast<std::size_t>(r), static_cast<std::size_t>(j));
            wanted += any ? 1 : 0;
          }
          sum = groups(wanted, config.columns) * cost[static_cast<std::size_t>(i)][0];
        }
        std::int64_t ti = i / rows_each;
        if (config.dealing == "turns") ti = i % best_rows;
        if (config.dealing == "queue") {
          ti = free_at.begin()->second;
          free_at.erase(free_at.begin());
        }
        busy[static_cast<std::size_t>(ti)] += sum;
        if (config.dealing == "queue") free_at.emplace(busy[static_cast<std::size_t>(ti)], ti);
        slowest = std::max(slowest, busy[static_cast<std::size_t>(ti)]);
      }
    }
    result.cycles += slowest;

    // Every effectual pair was taken exactly once.
    std::int64_t effectual = 0, scheduled = 0, of_columns = 0;
    for (std::size_t r = 0; r < rows.size(); ++r)
      for (std::size_t step = 0; step < rows[r].size(); ++step)
        for (std::size_t lane = 0; lane < rows[r][step].size(); ++lane) {
          if (rows[r][step][lane] != 1) continue;
          ++scheduled;
          for (std::size_t c = 0; c < columns.size(); ++c) {
            of_columns += is_needed(r, c) ? 1 : 0;
            effectual += columns[c][step][lane] == 1 && is_needed(r, c);
          }
        }
    if (taken != (config.two_side ? effectual : scheduled))
      throw std::logic_error("brute force: a pair was lost or taken twice");
    result.effectual_macs += effectual;
    result.scheduled_macs += config.two_side ? effectual : of_columns;
  }
  return result;
}

}  // namespace lacuna::testing
