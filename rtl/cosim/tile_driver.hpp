// Drives a verilated tb_tile and compares its accumulators after every cycle that moves the pipe.
#pragma once

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

template <typename Top>
class TileDriver {
 public:
  static constexpr int kLanes = 16, kDepth = 3;
  // Operand to accumulator: multipliers, four levels of the tree, accumulator.
  static constexpr int kLatency = 6;

  TileDriver(const TileShapeInfo& tile, std::uint64_t seed) : tile_(tile), random_(seed) {
    top_->bypass_i = 0;
    top_->offer_valid_i = 0;
    top_->result_ready_i = 1;
    reset(*top_);
  }

  // Bypassed outputs run densely. Call while nothing is in work.
  void set_bypass(bool bypass) {
    top_->bypass_i = bypass ? 1 : 0;
    tile_.skips = !bypass;
  }

  void push(StreamGroup b, StreamGroup a) {
    for (TileCycle& cycle : tile_cycles("paper", kDepth, tile_, b, a)) expected_.push_back(std::move(cycle));
    streams_.push_back({std::move(b), std::move(a)});
  }

  struct Counts {
    std::int64_t clocks = 0;  // from the first issue to the last
    std::int64_t issued = 0;
  };
  Counts run(const Stalls& stalls, std::int64_t limit) {
    Counts counts;
    for (std::int64_t n = 0; !expected_.empty(); ++n) {
      if (n > limit) {
        errors_.emplace_back("the tile did not finish");
        break;
      }
      offer(stalls);
      top_->result_ready_i = random_.chance(stalls.sink) ? 0 : 1;
      top_->eval();
      check_result();
      if (top_->issue_o != 0) ++counts.issued;
      if (counts.issued > 0 && !streams_.empty()) ++counts.clocks;
      const bool enabled = top_->enable_o != 0, issued = top_->issue_o != 0;
      taken_ += top_->offer_take_o;
      tick(*top_);
      while (!streams_.empty() && taken_ >= streams_.front().b.steps) {
        taken_ -= streams_.front().b.steps;
        streams_.pop_front();
      }
      if (enabled) {
        flight_.push_front(issued);
        if (flight_.size() == kLatency) {
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
  };

  void offer(const Stalls& stalls) {
    const int offered =
        random_.chance(stalls.source) ? static_cast<int>(random_.integer(0, kDepth - 1)) : kDepth;
    top_->offer_valid_i = 0;
    top_->offer_last_i = 0;
    std::size_t stream = 0;
    int step = static_cast<int>(taken_);
    const auto width = static_cast<std::size_t>(tile_.width);
    for (int s = 0; s < kDepth; ++s, ++step) {
      while (stream < streams_.size() && step >= streams_[stream].b.steps) {
        step -= streams_[stream].b.steps;
        ++stream;
      }
      if (stream >= streams_.size() || s >= offered) break;
      const Pair& pair = streams_[stream];
      set_bits(top_->offer_valid_i, static_cast<std::size_t>(s), 1, 1);
      set_bits(top_->offer_last_i, static_cast<std::size_t>(s), 1, step + 1 == pair.b.steps);
      for (int lane = 0; lane < kLanes; ++lane) {
        for (int r = 0; r < tile_.rows; ++r) {
          set_bits(top_->offer_b_i, static_cast<std::size_t>((r * kDepth + s) * kLanes + lane) * width, width,
                   pair.b.value(r, step, lane));
        }
        for (int c = 0; c < tile_.columns; ++c) {
          set_bits(top_->offer_a_i, static_cast<std::size_t>((c * kDepth + s) * kLanes + lane) * width, width,
                   pair.a.value(c, step, lane));
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
  Random random_;
  OwnedTop<Top> top_;
  std::deque<Pair> streams_;
  std::deque<TileCycle> expected_;
  std::deque<bool> flight_;  // which of the last enabled cycles issued
  std::int64_t taken_ = 0;
  bool due_ = false;  // a result must be on offer
  std::vector<std::string> errors_;
};

}  // namespace lacuna::rtl
