// One group of rows of a tile working through its streams, in plain code: the meaning of a cycle. The
// functional engine watches it to move values; the fast engine is tested against it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "models/tensordash/scheduler.hpp"

namespace lacuna::tensordash {

// The effectual words of a group: word(row, step); `depth` zero steps follow each row, so that a window never
// reads past the end.
class GroupWords {
 public:
  GroupWords(std::int64_t rows, std::int64_t steps, int depth)
      : rows_(rows),
        steps_(steps),
        pitch_(steps + depth),
        words_(static_cast<std::size_t>(rows * pitch_), 0) {}

  std::int64_t rows() const { return rows_; }
  std::int64_t steps() const { return steps_; }
  std::uint64_t* row(std::int64_t r) { return words_.data() + r * pitch_; }
  void clear() { std::ranges::fill(words_, 0); }

 private:
  std::int64_t rows_, steps_, pitch_;
  std::vector<std::uint64_t> words_;
};

struct NoWatcher {
  void operator()(std::int64_t, std::int64_t, const Selection&) const {}
};

// Rows in lock-step: they share the A staging buffers of the columns [TensorDash §3.3, Fig. 11], so all see
// the same window and the group slides by the smallest number of drained rows. ASSUMPTION(A4): the paper does
// not spell this out. A row that is ahead keeps its cleared bits and continues inside the window. `watch(row,
// position, selection)` is called for each row and cycle. Consumes the words; returns the cycles.
template <typename Watcher = NoWatcher>
std::int64_t run_lockstep(const Scheduler& scheduler, GroupWords& words, const Watcher& watch = {}) {
  std::int64_t cycles = 0;
  Selection selection;
  for (std::int64_t position = 0; position < words.steps(); ++cycles) {
    int slide = scheduler.connectivity().depth();
    for (std::int64_t r = 0; r < words.rows(); ++r) {
      std::uint64_t* window = words.row(r) + position;
      scheduler.select(window, selection);
      watch(r, position, selection);
      slide = std::min(slide, scheduler.drained(window));
    }
    position += slide;
  }
  return cycles;
}

// Rows that meet only at the end of an output: each slides by itself, the group takes as long as its slowest
// row.
template <typename Watcher = NoWatcher>
std::int64_t run_decoupled(const Scheduler& scheduler, GroupWords& words, const Watcher& watch = {}) {
  std::int64_t slowest = 0;
  Selection selection;
  for (std::int64_t r = 0; r < words.rows(); ++r) {
    std::int64_t cycles = 0;
    for (std::int64_t position = 0; position < words.steps(); ++cycles) {
      std::uint64_t* window = words.row(r) + position;
      scheduler.select(window, selection);
      watch(r, position, selection);
      position += scheduler.drained(window);
    }
    slowest = std::max(slowest, cycles);
  }
  return slowest;
}

// The authors' early simulator (`tensordash-2019`): lines are scheduled one after another over the whole
// length, except that up to depth-1 lines in a row that are empty in all rows are passed over (the next empty
// one is scheduled, and so may draw later work into it). Returns which lines hold nothing in the end.
template <typename Watcher = NoWatcher>
std::vector<bool> schedule_lines(const Scheduler& scheduler, GroupWords& words, const Watcher& watch = {}) {
  std::vector<bool> empty(static_cast<std::size_t>(words.steps()), true);
  Selection selection;
  int passed = 0;
  for (std::int64_t line = 0; line < words.steps(); ++line) {
    bool any = false;
    for (std::int64_t r = 0; r < words.rows(); ++r) any |= words.row(r)[line] != 0;
    if (!any && passed < scheduler.connectivity().depth() - 1) {
      ++passed;
      continue;
    }
    passed = 0;
    for (std::int64_t r = 0; r < words.rows(); ++r) {
      scheduler.select(words.row(r) + line, selection);
      watch(r, line, selection);
      if (std::ranges::any_of(selection, [](std::int16_t s) { return s != kIdle; })) {
        empty[static_cast<std::size_t>(line)] = false;
      }
    }
  }
  return empty;
}

// Counts the lines of one pass that take a cycle: an empty line is left out, at most depth-1 in a row. That
// count runs on from pass to pass (column groups inside, sets of rows outside) of a sample, so it is the
// caller's.
inline std::int64_t count_lines(const std::vector<bool>& empty, int most_skipped, int& skipped) {
  std::int64_t cycles = 0;
  for (const bool is_empty : empty) {
    if (is_empty && skipped < most_skipped) {
      ++skipped;
    } else {
      ++cycles;
      skipped = 0;
    }
  }
  return cycles;
}

}  // namespace lacuna::tensordash
