// Drives a verilated tb_tile and compares its accumulators after every cycle that moves the pipe.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <deque>
#include <fmt/format.h>
#include <optional>
#include <vector>

#include "base/random.hpp"
#include "bits.hpp"
#include "clocking.hpp"
#include "frontend_driver.hpp"
#include "tile_reference.hpp"

namespace lacuna::rtl {

// Movements of a single lane.
inline constexpr const char* kOneLane = "[[0,0],[1,0],[2,0]]";

template <typename Top, unsigned kLanes = 16>
class TileDriver {
 public:
  static constexpr int kDepth = 3;

  TileDriver(const TileShapeInfo& tile, std::uint64_t seed)
      : tile_(tile),
        // Operands, multipliers, the levels of the tree, accumulator, the levels of the tree over its sums.
        latency_(static_cast<std::size_t>(
            tile.operand_reg + 1 + tile.mul_regs +
            tile.sums() * (std::bit_width(kLanes) + std::bit_width(static_cast<unsigned>(tile.add_regs))))),
        random_(seed) {
    reset();
  }

  // Forgets everything that was pushed.
  void reset() {
    top_->bypass_i = 0;
    top_->offer_valid_i = 0;
    top_->result_ready_i = 1;
    rtl::reset(*top_);
    streams_.clear();
    expected_.clear();
    flight_.clear();
    taken_ = 0;
    shown_ = 0;
    due_ = false;
  }

  // `bypass`: the output is computed densely.
  void push(StreamGroup b, StreamGroup a, bool bypass = false) {
    TileShapeInfo tile = tile_;
    tile.skips = tile_.skips && !bypass;
    for (TileCycle& cycle : tile_cycles(kLanes == 1 ? kOneLane : "paper", kDepth, tile, b, a))
      expected_.push_back(std::move(cycle));
    streams_.push_back({std::move(b), std::move(a), bypass});
  }

  struct Counts {
    std::int64_t clocks = 0;  // from the first issue to the last
    std::int64_t issued = 0;
  };
  // `finish`: all that was pushed must be done within `limit` clocks.
  Counts run(const Stalls& stalls, std::int64_t limit, bool finish = true) {
    Counts counts;
    for (std::int64_t n = 0; !expected_.empty(); ++n) {
      if (n > limit) {
        if (finish) errors_.emplace_back("the tile did not finish");
        break;
      }
      offer(stalls);
      top_->result_ready_i = 0;
      top_->eval();
      const bool valid = top_->result_valid_o != 0;
      top_->result_ready_i = random_.chance(stalls.sink) ? 0 : 1;
      top_->eval();
      if (valid != (top_->result_valid_o != 0)) errors_.emplace_back("the result depends on its taker");
      check_result();
      if (top_->issue_o != 0) ++counts.issued;
      if (counts.issued > 0 && !streams_.empty()) ++counts.clocks;
      const bool enabled = top_->enable_o != 0, issued = top_->issue_o != 0;
      taken_ += top_->offer_take_o;
      shown_ -= top_->offer_take_o;
      tick(*top_);
      while (!streams_.empty() && taken_ >= streams_.front().b.steps) {
        taken_ -= streams_.front().b.steps;
        streams_.pop_front();
      }
      if (enabled) {
        flight_.push_front(issued);
        if (flight_.size() == latency_) {
          if (flight_.back()) check_accumulators();
          flight_.pop_back();
        }
      }
    }
    return counts;
  }

  const std::vector<std::string>& errors() const { return errors_; }
  // Accumulators at the outputs' ends, in order.
  std::vector<std::vector<std::uint32_t>> results;

 private:
  struct Pair {
    StreamGroup b, a;
    bool bypass;
  };

  void offer(const Stalls& stalls) {
    const int offered = std::max(
        random_.chance(stalls.source) ? static_cast<int>(random_.integer(0, kDepth - 1)) : kDepth, shown_);
    shown_ = 0;
    top_->offer_valid_i = 0;
    top_->offer_last_i = 0;
    std::size_t stream = 0;
    int step = static_cast<int>(taken_);
    // The mode counts only while the first row of a stream is on offer.
    top_->bypass_i = step == 0 && !streams_.empty() ? streams_.front().bypass : random_.chance(0.5);
    const auto width = static_cast<std::size_t>(tile_.width);
    for (int s = 0; s < kDepth; ++s, ++step) {
      while (stream < streams_.size() && step >= streams_[stream].b.steps) {
        step -= streams_[stream].b.steps;
        ++stream;
      }
      if (stream >= streams_.size() || s >= offered) break;
      const Pair& pair = streams_[stream];
      ++shown_;
      set_bits(top_->offer_valid_i, static_cast<std::size_t>(s), 1, 1);
      set_bits(top_->offer_last_i, static_cast<std::size_t>(s), 1, step + 1 == pair.b.steps);
      for (int lane = 0; lane < static_cast<int>(kLanes); ++lane) {
        for (int r = 0; r < tile_.rows; ++r) {
          set_bits(top_->offer_b_i,
                   static_cast<std::size_t>((r * kDepth + s) * static_cast<int>(kLanes) + lane) * width,
                   width, pair.b.value(r, step, lane));
        }
        for (int c = 0; c < tile_.columns; ++c) {
          set_bits(top_->offer_a_i,
                   static_cast<std::size_t>((c * kDepth + s) * static_cast<int>(kLanes) + lane) * width,
                   width, pair.a.value(c, step, lane));
        }
      }
    }
  }

  void check_result() {
    const bool valid = top_->result_valid_o != 0;
    if (valid != due_) errors_.push_back(fmt::format("result {}: valid is {}", results.size(), valid));
    if (valid && top_->result_ready_i != 0) due_ = false;
  }

  void check_accumulators() {
    if (expected_.empty()) {
      errors_.emplace_back("the tile issues after the model has ended");
      return;
    }
    const TileCycle want = std::move(expected_.front());
    expected_.pop_front();
    if (tile_.sums() > 1 && !want.last) return;  // the total is there when it is complete
    std::vector<std::uint32_t> got;
    for (std::size_t pe = 0; pe < want.accumulators.size(); ++pe) {
      const auto bits = static_cast<std::uint32_t>(get_bits(top_->result_o, pe * 32, 32));
      got.push_back(bits);
      const bool both_nan =
          std::isnan(std::bit_cast<float>(bits)) && std::isnan(std::bit_cast<float>(want.accumulators[pe]));
      if (bits != want.accumulators[pe] && !both_nan && errors_.size() < 100) {
        errors_.push_back(
            fmt::format("PE {}: {:08x}, the model has {:08x}", pe, bits, want.accumulators[pe]));
      }
    }
    if (want.last) {
      due_ = true;
      results.push_back(std::move(got));
    }
  }

  TileShapeInfo tile_;
  std::size_t latency_;  // cycles from operands to accumulator
  Random random_;
  OwnedTop<Top> top_;
  std::deque<Pair> streams_;
  std::deque<TileCycle> expected_;
  std::deque<bool> flight_;  // which of the last enabled cycles issued
  std::int64_t taken_ = 0;
  int shown_ = 0;     // rows on offer, which stay there until they are taken
  bool due_ = false;  // a result must be on offer
  std::vector<std::string> errors_;
};

}  // namespace lacuna::rtl
