// How long the transposers between SRAM and scratchpads take [TensorDash §3.4]. A transposer takes up 16
// blocks, line by line, and gives them back column by column; it has two buffers, so that it fills one while
// it empties the other. ASSUMPTION(A13): each takes `cycles`.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "base/ceil_div.hpp"

namespace lacuna {

struct TransposerTiming {
  static constexpr std::int64_t kSide = 16;  // lines and columns of a transposer

  std::int64_t transposers = 15;
  std::int64_t cycles = 16;  // to fill a buffer, and to empty it
  // Of a group: lanes x lanes values. Wider ones are cut into parts for several transposers, of narrower ones
  // several share one.
  std::int64_t lanes = 16;

  // Until the last column is out, if the tiles never wait: all transposers fill and empty in step.
  std::int64_t total(std::int64_t groups) const {
    if (groups == 0) return 0;
    return (ceil_div(groups * lanes * lanes, transposers * kSide * kSide) + 1) * cycles;
  }
};

// The same, group by group: what the closed form above is tested against and the functional engine runs.
class TransposerBank {
 public:
  explicit TransposerBank(const TransposerTiming& timing)
      : timing_(timing), state_(static_cast<std::size_t>(timing.transposers)) {}

  void add_group() {
    constexpr std::int64_t kHolds = TransposerTiming::kSide * TransposerTiming::kSide;
    for (waiting_ += timing_.lanes * timing_.lanes; waiting_ >= kHolds; waiting_ -= kHolds) start_fill();
  }
  // All groups, once there are no more: the cycle in which the last column leaves.
  std::int64_t finish() {
    if (waiting_ > 0) start_fill();
    waiting_ = 0;
    return end_;
  }

 private:
  struct Transposer {
    std::int64_t filled = 0;                    // when its lines are free to take up the next group
    std::int64_t emptied = 0;                   // when its columns are
    std::array<std::int64_t, 2> buffer_free{};  // when each buffer is
    int next_buffer = 0;
  };

  void start_fill() {
    Transposer& t = state_[next_];
    next_ = (next_ + 1) % state_.size();
    std::int64_t& buffer_free = t.buffer_free[static_cast<std::size_t>(t.next_buffer)];
    t.next_buffer ^= 1;
    t.filled = std::max(t.filled, buffer_free) + timing_.cycles;
    t.emptied = std::max(t.filled, t.emptied) + timing_.cycles;
    buffer_free = t.emptied;
    end_ = std::max(end_, t.emptied);
  }

  TransposerTiming timing_;
  std::vector<Transposer> state_;
  std::size_t next_ = 0;
  std::int64_t waiting_ = 0;  // values of groups that do not fill a buffer yet
  std::int64_t end_ = 0;
};

}  // namespace lacuna
