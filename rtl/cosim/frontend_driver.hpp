// Drives a verilated tb_frontend: offers streams with random stalls and shows every issuing cycle to the
// reference.
#pragma once

#include <algorithm>
#include <deque>

#include "base/random.hpp"
#include "bits.hpp"
#include "clocking.hpp"
#include "tensordash_reference.hpp"
#include "top.hpp"

namespace lacuna::rtl {

struct Stalls {
  double source = 0;  // chance that the source offers fewer rows than the window could take
  double sink = 0;    // chance that the pipe behind the window does not move
};

template <typename Top>
class FrontendDriver {
 public:
  FrontendDriver(FrontendReference& reference, int rows, int width, std::uint64_t seed)
      : reference_(reference), rows_(rows), width_(width), random_(seed) {
    reset_frontend(*top_);
  }

  Top& top() { return *top_; }
  // `bypass`: the stream runs densely.
  void push(StreamGroup group, bool bypass = false) {
    reference_.push(group, bypass);
    streams_.push_back({std::move(group), bypass});
  }

  // Forgets everything that was pushed.
  void reset() {
    reset_frontend(*top_);
    reference_.reset();
    streams_.clear();
    taken_ = 0;
    shown_ = 0;
  }

  struct Counts {
    std::int64_t clocks = 0;  // from the first issue to the last
    std::int64_t issued = 0;
  };
  // Until everything pushed was issued. Gives up (`clocks` is -1) after `limit` clocks, or if the window
  // issues although it is told to wait.
  Counts run(const Stalls& stalls, std::int64_t limit) {
    Counts counts;
    const ConnectivityInfo& info = reference_.connectivity();
    for (std::int64_t clock_count = 0; !reference_.idle(); ++clock_count) {
      if (clock_count > limit) return {-1, counts.issued};
      offer(info, stalls);
      top_->stall_i = random_.chance(stalls.sink) ? 1 : 0;
      top_->eval();
      if (top_->issue_o != 0 && top_->stall_i != 0) return {-1, counts.issued};
      if (top_->issue_o != 0) {
        reference_.step(observe(info));
        ++counts.issued;
      }
      if (counts.issued > 0) ++counts.clocks;
      taken_ += top_->offer_take_o;
      shown_ -= top_->offer_take_o;
      tick(*top_);
      retire();
    }
    return counts;
  }

 private:
  struct Stream {
    StreamGroup group;
    bool bypass;
  };

  void offer(const ConnectivityInfo& info, const Stalls& stalls) {
    const int offered = std::max(
        random_.chance(stalls.source) ? static_cast<int>(random_.integer(0, info.depth - 1)) : info.depth,
        shown_);
    shown_ = 0;
    top_->offer_valid_i = 0;
    top_->offer_last_i = 0;
    std::size_t stream = 0;
    int step = static_cast<int>(taken_);
    // The mode counts only while the first row of a stream is on offer.
    top_->bypass_i = step == 0 && !streams_.empty() ? streams_.front().bypass : random_.chance(0.5);
    for (int s = 0; s < info.depth; ++s, ++step) {
      while (stream < streams_.size() && step >= streams_[stream].group.steps) {
        step -= streams_[stream].group.steps;
        ++stream;
      }
      const bool there = stream < streams_.size() && s < offered;
      if (there) {
        ++shown_;
        set_bits(top_->offer_valid_i, static_cast<std::size_t>(s), 1, 1);
        set_bits(top_->offer_last_i, static_cast<std::size_t>(s), 1,
                 step + 1 == streams_[stream].group.steps);
      }
      for (int r = 0; r < rows_; ++r) {
        for (int lane = 0; lane < info.lanes; ++lane) {
          // Rows not on offer may hold anything.
          const std::uint64_t value = there ? streams_[stream].group.value(r, step, lane) : random_.bits();
          set_bits(top_->offer_b_i,
                   static_cast<std::size_t>(((r * info.depth + s) * info.lanes + lane) * width_),
                   static_cast<std::size_t>(width_), value);
        }
      }
    }
  }

  void retire() {
    while (!streams_.empty() && taken_ >= streams_.front().group.steps) {
      taken_ -= streams_.front().group.steps;
      streams_.pop_front();
    }
  }

  FrontendCycle observe(const ConnectivityInfo& info) {
    const auto lanes = static_cast<std::size_t>(info.lanes), depth = static_cast<std::size_t>(info.depth);
    const auto width = static_cast<std::size_t>(width_);
    std::size_t select = 1;
    while ((std::size_t{1} << select) < info.moves.size()) ++select;
    FrontendCycle cycle;
    cycle.first = top_->first_o != 0;
    cycle.last = top_->last_o != 0;
    cycle.slide = top_->slide_o;
    for (std::size_t r = 0; r < static_cast<std::size_t>(rows_); ++r) {
      FrontendCycle::Row row;
      for (std::size_t l = 0; l < lanes; ++l) {
        const bool valid = get_bits(top_->valid_o, r * lanes + l, 1) != 0;
        row.selection.push_back(
            valid ? static_cast<int>(get_bits(top_->sel_o, (r * lanes + l) * select, select)) : -1);
        row.operands.push_back(
            static_cast<std::uint32_t>(get_bits(top_->operands_o, (r * lanes + l) * width, width)));
      }
      for (std::size_t s = 0; s < depth; ++s) {
        row.pending.push_back(get_bits(top_->pending_o, (r * depth + s) * lanes, lanes));
        for (std::size_t l = 0; l < lanes; ++l) {
          row.staged.push_back(static_cast<std::uint32_t>(
              get_bits(top_->staged_o, ((r * depth + s) * lanes + l) * width, width)));
        }
      }
      cycle.rows.push_back(std::move(row));
    }
    return cycle;
  }

  FrontendReference& reference_;
  int rows_, width_;
  Random random_;
  OwnedTop<Top> top_;
  std::deque<Stream> streams_;
  std::int64_t taken_ = 0;  // rows of the first stream that the window has taken
  int shown_ = 0;           // rows on offer, which stay there until they are taken
};

}  // namespace lacuna::rtl
