// SparTen as docs/models/sparten.md defines it, written plainly from the definition of the convolution: bits
// one by one, no code of the model or of the streams.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "trace/trace.hpp"

namespace lacuna::testing {

struct BruteMachine {
  std::size_t units = 4096, cluster_units = 32, chunk = 128;
  std::string balancing = "filters", pair_scope = "layer", empty_join = "cycle", packing = "aligned",
              dealing = "blocks";
  bool hold_g = true;
  bool needed = false;  // of the input gradient only where A is not zero
};

struct BruteCounts {
  std::int64_t cycles = 0, matches = 0, joins = 0, left_out = 0, empty = 0, empty_cycles = 0, barrier = 0,
               idle = 0;
};

class BruteForce {
 public:
  BruteForce(const Layer& layer, const BruteMachine& machine)
      : layer_(layer), s_(layer.shape), machine_(machine) {}

  BruteCounts run(Operation op) {
    total_ = {};
    for (std::int64_t g = 0; g < s_.groups; ++g) {
      if (op == Operation::kForward) forward(g);
      if (op == Operation::kInputGrad) input_grad(g);
      if (op == Operation::kWeightGrad) weight_grad(g);
    }
    return total_;
  }

 private:
  using Bits = std::vector<bool>;
  using Segments = std::vector<Bits>;     // of one stream
  using Streams = std::vector<Segments>;  // later: of one stream, its chunks

  bool a(std::int64_t n, std::int64_t y, std::int64_t x, std::int64_t c) const {
    if (y < 0 || y >= s_.input.h || x < 0 || x >= s_.input.w) return false;
    return layer_.a.mask.bit((n * s_.input.h + y) * s_.input.w + x, c);
  }
  bool g(std::int64_t n, std::int64_t y, std::int64_t x, std::int64_t k) const {
    if (y < 0 || y >= s_.output.h || x < 0 || x >= s_.output.w) return false;
    return layer_.g.mask.bit((n * s_.output.h + y) * s_.output.w + x, k);
  }
  bool w(std::int64_t k, std::int64_t ky, std::int64_t kx, std::int64_t c) const {
    return layer_.w.mask.bit((k * s_.kernel.h + ky) * s_.kernel.w + kx, c);
  }
  std::int64_t source_y(std::int64_t oy, std::int64_t ky) const {
    return oy * s_.stride.h - s_.padding.h + ky * s_.dilation.h;
  }
  std::int64_t source_x(std::int64_t ox, std::int64_t kx) const {
    return ox * s_.stride.w - s_.padding.w + kx * s_.dilation.w;
  }

  void forward(std::int64_t group) {
    const std::int64_t cg = s_.c / s_.groups, kg = s_.k / s_.groups;
    Streams windows, filters;
    for (std::int64_t n = 0; n < s_.n; ++n)
      for (std::int64_t oy = 0; oy < s_.output.h; ++oy)
        for (std::int64_t ox = 0; ox < s_.output.w; ++ox) {
          Segments stream;
          for (std::int64_t ky = 0; ky < s_.kernel.h; ++ky)
            for (std::int64_t kx = 0; kx < s_.kernel.w; ++kx) {
              Bits bits;
              for (std::int64_t c = 0; c < cg; ++c)
                bits.push_back(a(n, source_y(oy, ky), source_x(ox, kx), group * cg + c));
              stream.push_back(bits);
            }
          windows.push_back(stream);
        }
    for (std::int64_t k = 0; k < kg; ++k) {
      Segments stream;
      for (std::int64_t ky = 0; ky < s_.kernel.h; ++ky)
        for (std::int64_t kx = 0; kx < s_.kernel.w; ++kx) {
          Bits bits;
          for (std::int64_t c = 0; c < cg; ++c) bits.push_back(w(group * kg + k, ky, kx, c));
          stream.push_back(bits);
        }
      filters.push_back(stream);
    }
    product(windows, filters);
  }

  // Input positions whose rows and columns leave the same remainder by the stride use the same taps.
  void input_grad(std::int64_t group) {
    for (std::int64_t py = 0; py < s_.stride.h; ++py)
      for (std::int64_t px = 0; px < s_.stride.w; ++px) input_grad(group, py, px);
  }
  void input_grad(std::int64_t group, std::int64_t py, std::int64_t px) {
    const std::int64_t cg = s_.c / s_.groups, kg = s_.k / s_.groups;
    const auto divides = [](std::int64_t value, std::int64_t by) { return value % by == 0; };
    Streams windows, channels;
    std::vector<std::vector<bool>> needed;
    bool any_tap = false;
    for (std::int64_t n = 0; n < s_.n; ++n)
      for (std::int64_t y = py; y < s_.input.h; y += s_.stride.h)
        for (std::int64_t x = px; x < s_.input.w; x += s_.stride.w) {
          Segments stream;
          for (std::int64_t ky = 0; ky < s_.kernel.h; ++ky)
            for (std::int64_t kx = 0; kx < s_.kernel.w; ++kx) {
              const std::int64_t uy = y + s_.padding.h - ky * s_.dilation.h;
              const std::int64_t ux = x + s_.padding.w - kx * s_.dilation.w;
              if (!divides(uy, s_.stride.h) || !divides(ux, s_.stride.w)) continue;
              any_tap = true;
              Bits bits;
              for (std::int64_t k = 0; k < kg; ++k)
                bits.push_back(g(n, uy / s_.stride.h, ux / s_.stride.w, group * kg + k));
              stream.push_back(bits);
            }
          windows.push_back(stream);
          needed.emplace_back();
          for (std::int64_t c = 0; c < cg; ++c) needed.back().push_back(a(n, y, x, group * cg + c));
        }
    if (!any_tap) return;
    for (std::int64_t c = 0; c < cg; ++c) {
      Segments stream;
      for (std::int64_t ky = 0; ky < s_.kernel.h; ++ky)
        for (std::int64_t kx = 0; kx < s_.kernel.w; ++kx) {
          if (!divides(py + s_.padding.h - ky * s_.dilation.h, s_.stride.h)) continue;
          if (!divides(px + s_.padding.w - kx * s_.dilation.w, s_.stride.w)) continue;
          Bits bits;
          for (std::int64_t k = 0; k < kg; ++k) bits.push_back(w(group * kg + k, ky, kx, c));
          stream.push_back(bits);
        }
      channels.push_back(stream);
    }
    product(windows, channels, machine_.needed ? &needed : nullptr);
  }

  void weight_grad(std::int64_t group) {
    const std::int64_t cg = s_.c / s_.groups, kg = s_.k / s_.groups;
    const bool linear = s_.kind != LayerKind::kConv2d;  // one segment: the rows of the batch
    Streams gradients, activations;
    for (std::int64_t k = 0; k < kg; ++k) {
      Segments stream(linear ? 1 : static_cast<std::size_t>(s_.n));
      for (std::int64_t n = 0; n < s_.n; ++n)
        for (std::int64_t oy = 0; oy < s_.output.h; ++oy)
          for (std::int64_t ox = 0; ox < s_.output.w; ++ox)
            stream[linear ? 0 : static_cast<std::size_t>(n)].push_back(g(n, oy, ox, group * kg + k));
      gradients.push_back(stream);
    }
    for (std::int64_t ky = 0; ky < s_.kernel.h; ++ky)
      for (std::int64_t kx = 0; kx < s_.kernel.w; ++kx)
        for (std::int64_t c = 0; c < cg; ++c) {
          Segments stream(linear ? 1 : static_cast<std::size_t>(s_.n));
          for (std::int64_t n = 0; n < s_.n; ++n)
            for (std::int64_t oy = 0; oy < s_.output.h; ++oy)
              for (std::int64_t ox = 0; ox < s_.output.w; ++ox)
                stream[linear ? 0 : static_cast<std::size_t>(n)].push_back(
                    a(n, source_y(oy, ky), source_x(ox, kx), group * cg + c));
          activations.push_back(stream);
        }
    if (machine_.hold_g) {
      product(activations, gradients);
    } else {
      product(gradients, activations);
    }
  }

  Segments chunks_of(const Segments& stream) const {
    Segments chunks;
    bool open = false;
    for (const Bits& segment : stream) {
      if (machine_.packing == "aligned") open = false;
      for (const bool bit : segment) {
        if (!open || chunks.back().size() == machine_.chunk) chunks.emplace_back();
        open = true;
        chunks.back().push_back(bit);
      }
    }
    return chunks;
  }
  static std::size_t ones(const Bits& bits) {
    return static_cast<std::size_t>(std::count(bits.begin(), bits.end(), true));
  }

  // Units of one cluster: the streams that each holds.
  using Units = std::vector<std::vector<std::size_t>>;

  // Sorted streams to `slots` places, the i-th place with the i-th from the end.
  static Units folded(const std::vector<std::size_t>& sorted, std::size_t slots) {
    Units units(slots / 2);
    for (std::size_t i = 0; i < sorted.size(); ++i)
      units[i < slots / 2 ? i : slots - 1 - i].push_back(sorted[i]);
    return units;
  }
  template <typename Density>
  static void sort_densest_first(std::vector<std::size_t>& streams, const Density& density) {
    std::vector<std::pair<std::size_t, std::size_t>> keys;
    for (const std::size_t s : streams) keys.emplace_back(1'000'000'000 - density(s), s);
    std::sort(keys.begin(), keys.end());
    for (std::size_t i = 0; i < keys.size(); ++i) streams[i] = keys[i].second;
  }

  std::vector<Units> clusters_of(const Streams& held, bool pairs) const {
    const std::size_t per_group = machine_.cluster_units * (pairs ? 2 : 1);
    const std::size_t groups = (held.size() + per_group - 1) / per_group;
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < held.size(); ++i) order.push_back(i);
    std::vector<Units> result;
    const auto part = [&](std::size_t g) {
      return std::vector<std::size_t>(
          order.begin() + static_cast<std::ptrdiff_t>(g * per_group),
          order.begin() + static_cast<std::ptrdiff_t>(std::min(held.size(), (g + 1) * per_group)));
    };
    if (!pairs) {
      for (std::size_t g = 0; g < groups; ++g) {
        result.emplace_back();
        for (const std::size_t stream : part(g)) result.back().push_back({stream});
      }
      return result;
    }
    if (machine_.balancing == "unsorted") {
      for (std::size_t g = 0; g < groups; ++g) {
        result.emplace_back();
        std::vector<std::size_t> rest = part(g);
        while (!rest.empty()) {
          // As many to come as units are left: each has its own from here on.
          const bool alone = rest.size() <= machine_.cluster_units - result.back().size();
          const std::ptrdiff_t take = alone ? 1 : 2;
          result.back().emplace_back(rest.begin(), rest.begin() + take);
          rest.erase(rest.begin(), rest.begin() + take);
        }
      }
      return result;
    }
    sort_densest_first(order, [&](std::size_t h) {
      std::size_t count = 0;
      for (const Bits& chunk : held[h]) count += ones(chunk);
      return count;
    });
    if (machine_.pair_scope == "layer") {
      const Units all = folded(order, groups * per_group);
      for (std::size_t i = 0; i < all.size(); ++i) {
        if (i % machine_.cluster_units == 0) result.emplace_back();
        result.back().push_back(all[i]);
      }
    } else {
      for (std::size_t g = 0; g < groups; ++g) result.push_back(folded(part(g), per_group));
    }
    return result;
  }

  // Least rows x columns of work per cluster, most cluster rows among equals.
  struct Grid {
    std::size_t rows, columns, cost;
  };
  Grid grid(std::size_t streams, std::size_t groups) const {
    const std::size_t clusters = machine_.units / machine_.cluster_units;
    Grid best{0, 0, 0};
    for (std::size_t rows = 1; rows <= clusters; ++rows) {
      if (clusters % rows != 0) continue;
      const std::size_t columns = clusters / rows;
      const std::size_t per_row = (streams + rows - 1) / rows, per_column = (groups + columns - 1) / columns;
      if (best.rows == 0 || per_row * per_column <= best.cost) best = {rows, columns, per_row * per_column};
    }
    return best;
  }

  // `needed`: the outputs to compute, [broadcast][held].
  void product(const Streams& broadcast_segments, const Streams& held_segments,
               const std::vector<std::vector<bool>>* needed = nullptr) {
    Streams broadcast, held;
    for (const Segments& stream : broadcast_segments) broadcast.push_back(chunks_of(stream));
    for (const Segments& stream : held_segments) held.push_back(chunks_of(stream));
    const auto groups_with = [&](std::size_t each) {
      const std::size_t per_group = machine_.cluster_units * each;
      return (held.size() + per_group - 1) / per_group;
    };
    const Grid alone = grid(broadcast.size(), groups_with(1)), two = grid(broadcast.size(), groups_with(2));
    const bool pairs = machine_.balancing != "none" && 2 * two.cost <= alone.cost;
    const Grid at = pairs ? two : alone;
    std::vector<Units> groups = clusters_of(held, pairs);
    const std::size_t per_row = (broadcast.size() + at.rows - 1) / at.rows;
    const std::size_t per_column = (groups.size() + at.columns - 1) / at.columns;
    std::vector<std::int64_t> time(at.rows * at.columns, 0);
    std::int64_t busy = 0, occupied = 0;
    for (std::size_t b = 0; b < broadcast.size(); ++b)
      for (std::size_t g = 0; g < groups.size(); ++g)
        for (std::size_t c = 0; c < broadcast[b].size(); ++c) {
          Units units = groups[g];
          if (pairs && machine_.balancing == "chunks") {
            std::vector<std::size_t> members;
            for (const auto& unit : units) members.insert(members.end(), unit.begin(), unit.end());
            sort_densest_first(members, [&](std::size_t h) { return ones(held[h][c]); });
            units = folded(members, 2 * machine_.cluster_units);
          }
          const bool nothing = ones(broadcast[b][c]) == 0;
          std::int64_t slowest = 0, with_stream = 0;
          for (const auto& unit : units) {
            std::int64_t mine = 0;
            for (const std::size_t h : unit) {
              if (needed != nullptr && !(*needed)[b][h]) continue;
              std::int64_t matches = 0;
              for (std::size_t i = 0; i < broadcast[b][c].size(); ++i)
                matches += broadcast[b][c][i] && held[h][c][i] ? 1 : 0;
              total_.matches += matches;
              const bool left_out = nothing && machine_.empty_join == "broadcast";
              ++(left_out ? total_.left_out : total_.joins);
              if (matches == 0 && !left_out) {
                ++total_.empty;
                if (machine_.empty_join != "free") {
                  ++total_.empty_cycles;
                  ++mine;
                }
              }
              mine += matches;
            }
            if (!unit.empty()) ++with_stream;
            busy += mine;
            slowest = std::max(slowest, mine);
          }
          occupied += slowest * with_stream;
          time[(machine_.dealing == "blocks" ? b / per_row : b % at.rows) * at.columns + g / per_column] +=
              slowest;
        }
    const std::int64_t cycles = *std::max_element(time.begin(), time.end());
    total_.cycles += cycles;
    total_.barrier += occupied - busy;
    total_.idle += cycles * static_cast<std::int64_t>(machine_.units) - occupied;
  }

  const Layer& layer_;
  const LayerShape& s_;
  BruteMachine machine_;
  BruteCounts total_;
};

}  // namespace lacuna::testing
