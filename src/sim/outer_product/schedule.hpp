// Cycles of pairs put on PEs, with barriers: the time of an operation and where PEs wait.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/unit_record.hpp"

namespace lacuna::outer_product {

// In PE-cycles except `cycles` and `sent_again`. PEs x cycles = busy + fill + imbalance + idle_pe +
// broadcast_wait + drain_wait.
struct ScheduleResult {
  std::int64_t cycles = 0;
  std::int64_t busy = 0;  // cycles of pairs, without fill
  std::int64_t fill = 0;
  std::int64_t imbalance = 0;  // waiting at a barrier after doing some work
  std::int64_t idle_pe = 0;    // waiting without any work: there was not enough for all PEs
  std::int64_t barriers = 0;
  std::int64_t broadcast_wait = 0;  // for kernels on the bus
  std::int64_t drain_wait = 0;      // for accumulators that are not empty yet
  std::int64_t sent_again = 0;      // kernel vectors broadcast more than once
  bool operator==(const ScheduleResult&) const = default;
};

// Cycles that the sums of a phase take to leave the accumulators: while the phase runs, and after its
// barrier, where the other half of the accumulators can be in use.
struct PhaseDrain {
  std::int64_t during = 0;
  std::int64_t after = 0;
};

// Between two barriers lies a phase; phases run one after another. Phases are opened in batches, so that
// pairs may come in any order inside a batch.
class Schedule {
 public:
  Schedule(std::int64_t pes, std::int64_t fill, bool fill_each_pair)
      : pes_(static_cast<std::size_t>(pes)), fill_(fill), fill_each_pair_(fill_each_pair) {}

  // Adds each phase, and each time the pipe runs empty, to `record`.
  void record(UnitRecord* record) { record_ = record; }

  void open(std::int64_t phases) {
    load_.assign(static_cast<std::size_t>(phases) * pes_, Load{});
    limit_.assign(static_cast<std::size_t>(phases), Limit{});
  }

  // A phase with work takes at least this many cycles, the broadcasting of its kernels.
  void limit(std::int64_t phase, std::int64_t broadcast, std::int64_t sent_again) {
    limit_[static_cast<std::size_t>(phase)].broadcast = broadcast;
    limit_[static_cast<std::size_t>(phase)].sent_again = sent_again;
  }
  void set_drain(std::int64_t phase, const PhaseDrain& drain) {
    limit_[static_cast<std::size_t>(phase)].drain = drain;
  }

  void add(std::int64_t phase, std::int64_t pe, std::int64_t cycles) {
    add(phase, pe, cycles, 1, cycles > 0 ? 1 : 0);
  }
  // Adds several pairs, of which `filled` take cycles.
  void add(std::int64_t phase, std::int64_t pe, std::int64_t cycles, std::int64_t pairs,
           std::int64_t filled) {
    Load& load = load_[static_cast<std::size_t>(phase) * pes_ + static_cast<std::size_t>(pe)];
    load.cycles += cycles;
    load.pairs += pairs;
    load.filled_pairs += filled;
  }

  void close() {
    for (std::size_t first = 0; first < load_.size(); first += pes_) {
      std::int64_t longest = 0;
      for (std::size_t pe = 0; pe < pes_; ++pe) longest = std::max(longest, time(load_[first + pe]));
      if (longest == 0) continue;
      ++result_.barriers;
      // ASSUMPTION(O14): accumulators are double-buffered, so what a phase leaves is drained while the next
      // one runs, which cannot end before.
      const Limit& limit = limit_[first / pes_];
      const std::int64_t with_broadcast = std::max(longest, limit.broadcast);
      const std::int64_t span = std::max(with_broadcast, not_drained_ + limit.drain.during);
      result_.cycles += span;
      result_.broadcast_wait += (with_broadcast - longest) * static_cast<std::int64_t>(pes_);
      result_.drain_wait += (span - with_broadcast) * static_cast<std::int64_t>(pes_);
      result_.sent_again += limit.sent_again;
      not_drained_ = limit.drain.after;
      for (std::size_t pe = 0; pe < pes_; ++pe) {
        const Load& load = load_[first + pe];
        result_.busy += load.cycles;
        result_.fill += time(load) - load.cycles;
        (load.pairs > 0 ? result_.imbalance : result_.idle_pe) += longest - time(load);
      }
      if (record_ == nullptr) continue;
      UnitSpan unit_span{1, span, {}};
      for (std::size_t pe = 0; pe < pes_; ++pe) unit_span.busy.push_back(time(load_[first + pe]));
      record_->add(std::move(unit_span));
    }
    load_.clear();
  }

  // The next phase needs the results of the last one: the pipe runs empty, and the sums leave.
  void settle() {
    const std::int64_t before = result_.cycles;
    if (!fill_each_pair_ && result_.cycles > settled_) {
      result_.cycles += fill_;
      result_.fill += fill_ * static_cast<std::int64_t>(pes_);
    }
    result_.cycles += not_drained_;
    result_.drain_wait += not_drained_ * static_cast<std::int64_t>(pes_);
    not_drained_ = 0;
    if (record_ != nullptr && result_.cycles > before)
      record_->add(result_.cycles - before, std::vector<std::int64_t>(pes_, 0));
    settled_ = result_.cycles;
  }

  // ASSUMPTION(O2): the pipe is filled once per operation, on all PEs at the same time, unless each pair
  // pays; of a recurrent layer once per time step.
  ScheduleResult finish() {
    settle();
    return result_;
  }

 private:
  struct Load {
    std::int64_t cycles = 0;
    std::int64_t pairs = 0;
    std::int64_t filled_pairs = 0;
  };
  struct Limit {
    std::int64_t broadcast = 0;
    std::int64_t sent_again = 0;
    PhaseDrain drain;
  };
  std::int64_t time(const Load& load) const {
    return load.cycles + (fill_each_pair_ ? fill_ * load.filled_pairs : 0);
  }

  std::size_t pes_;
  std::int64_t fill_;
  bool fill_each_pair_;
  std::vector<Load> load_;
  std::vector<Limit> limit_;
  std::int64_t not_drained_ = 0;  // cycles that the phase before still needs
  ScheduleResult result_;
  UnitRecord* record_ = nullptr;
  std::int64_t settled_ = 0;  // cycles when the pipe was empty last
};

}  // namespace lacuna::outer_product
