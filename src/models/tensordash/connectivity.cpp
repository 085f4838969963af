#include "models/tensordash/connectivity.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <optional>

#include "base/error.hpp"
#include "base/text/nearest.hpp"

namespace lacuna::tensordash {
namespace {

using Movements = std::vector<Movement>;

// [TensorDash §3.2]: the dense value, lookahead 1 and 2, then the lookaside movements, in this order.
const Movements kPaper{{0, 0}, {1, 0}, {2, 0}, {1, -1}, {1, 1}, {2, -2}, {2, 2}, {1, -3}};

// The authors' early simulator: sorted by step, then lane, and (+1, i+3) where the paper has (+1, i-3).
const Movements kEarly{{0, 0}, {1, -1}, {1, 0}, {1, 1}, {1, 3}, {2, -2}, {2, 0}, {2, 2}};

Movements within_depth(const Movements& movements, int depth) {
  Movements kept;
  std::ranges::copy_if(movements, std::back_inserter(kept),
                       [&](const Movement& m) { return m.step < depth; });
  return kept;
}

Movements lookahead_only(int depth) {
  Movements movements;
  for (int step = 0; step < depth; ++step) movements.push_back({step, 0});
  return movements;
}

// Any value of the window: an upper bound no real PE would pay for. Nearer steps first, then nearer lanes.
Movements full_crossbar(int lanes, int depth) {
  Movements movements{{0, 0}};
  for (int step = 1; step < depth; ++step) {
    movements.push_back({step, 0});
    for (int away = 1; away <= lanes / 2; ++away) {
      movements.push_back({step, -away});
      movements.push_back({step, away});
    }
  }
  return movements;
}

// "[[0,0],[1,-1]]" -> movements; nothing if it is not such a list.
std::optional<Movements> parse_list(std::string_view text) {
  std::vector<int> numbers;
  std::string shape;  // the text without numbers and blanks
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == '-' || c == '+' || (c >= '0' && c <= '9')) {
      const char* begin = text.data() + i + (c == '+' ? 1 : 0);
      int value = 0;
      const auto [stop, error] = std::from_chars(begin, text.data() + text.size(), value);
      if (error != std::errc{}) return std::nullopt;
      numbers.push_back(value);
      shape += 'n';
      i = static_cast<std::size_t>(stop - text.data());
    } else {
      if (c != ' ' && c != '\n' && c != '\t') shape += c;
      ++i;
    }
  }
  std::string expected = "[";
  for (std::size_t i = 0; i + 1 < numbers.size(); i += 2) expected += (i > 0 ? ",[n,n]" : "[n,n]");
  expected += "]";
  if (numbers.empty() || numbers.size() % 2 != 0 || shape != expected) return std::nullopt;
  Movements movements;
  for (std::size_t i = 0; i < numbers.size(); i += 2) movements.push_back({numbers[i], numbers[i + 1]});
  return movements;
}

int ring(int lane, int lanes) { return ((lane % lanes) + lanes) % lanes; }

}  // namespace

std::vector<std::string> Connectivity::names() {
  return {"paper", "tensordash-2019", "lookahead", "crossbar"};
}

Connectivity Connectivity::parse(std::string_view spec, int lanes, int depth, std::string_view origin) {
  if (spec == "paper" || spec == "tensordash-2019") {
    if (depth > 3) {
      throw InputError(origin,
                       fmt::format("connectivity '{}' is defined for depths 1 to 3, not {}", spec, depth),
                       "set depth=3, or give the movements as a list like [[0,0],[1,0],[1,-1]]");
    }
    return {within_depth(spec == "paper" ? kPaper : kEarly, depth), lanes, depth};
  }
  if (spec == "lookahead") return {lookahead_only(depth), lanes, depth};
  if (spec == "crossbar") return {full_crossbar(lanes, depth), lanes, depth};
  const std::optional<Movements> list = parse_list(spec);
  if (!list) {
    throw InputError(origin, fmt::format("'{}' is not a connectivity", spec),
                     suggest(spec, names()) + ", or a list like [[0,0],[1,0],[1,-1]]");
  }
  if (list->front() != Movement{0, 0}) {
    throw InputError(origin, "a connectivity must begin with the dense movement [0,0]",
                     "without it a step would never drain; put [0,0] first");
  }
  for (const Movement& movement : *list) {
    if (movement.step < 0 || movement.step >= depth) {
      throw InputError(
          origin, fmt::format("movement [{},{}] leaves the staging buffer", movement.step, movement.offset),
          fmt::format("steps go from 0 to depth-1 = {}", depth - 1));
    }
    if (movement.step == 0 && movement.offset != 0) {
      throw InputError(
          origin, fmt::format("movement [0,{}] takes another lane's value of the same step", movement.offset),
          "only [0,0] may have step 0: each value of the first row belongs to its own lane");
    }
    if (std::abs(movement.offset) > kMaxLanes) {
      throw InputError(
          origin, fmt::format("movement [{},{}] is far outside the ring", movement.step, movement.offset),
          fmt::format("offsets go from -{} to {}", kMaxLanes, kMaxLanes));
    }
  }
  return {*list, lanes, depth};
}

Connectivity::Connectivity(const std::vector<Movement>& movements, int lanes, int depth)
    : lanes_(lanes), depth_(depth) {
  for (Movement movement : movements) {
    movement.offset = ring(movement.offset, lanes);
    if (std::ranges::find(movements_, movement) == movements_.end()) movements_.push_back(movement);
  }
  // Greedy colouring in lane order; for the paper's movements it gives the paper's six levels [TensorDash
  // §3.2, Fig. 10]. Step 0 never conflicts: a value of the first row is reachable from its own lane alone.
  const auto conflict = [&](int a, int b) {
    for (const Movement& from_a : movements_) {
      for (const Movement& from_b : movements_) {
        if (from_a.step == from_b.step && ring(a + from_a.offset, lanes) == ring(b + from_b.offset, lanes))
          return true;
      }
    }
    return false;
  };
  for (int lane = 0; lane < lanes; ++lane) {
    const auto level = std::ranges::find_if(levels_, [&](const std::vector<int>& members) {
      return std::ranges::none_of(members, [&](int member) { return conflict(lane, member); });
    });
    if (level == levels_.end()) {
      levels_.push_back({lane});
    } else {
      level->push_back(lane);
    }
  }
  for (const std::vector<int>& level : levels_) {
    std::uint64_t mask = 0;
    for (const int lane : level) mask |= std::uint64_t{1} << lane;
    level_masks_.push_back(mask);
  }
}

}  // namespace lacuna::tensordash
