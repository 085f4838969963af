// Cycles of pairs put on PEs, with barriers: the time of an operation and where PEs wait.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace lacuna::outer {

// In PE-cycles except `cycles`. PEs x cycles = busy + fill + imbalance + idle_pe.
struct ScheduleResult {
  std::int64_t cycles = 0;
  std::int64_t busy = 0;  // cycles of pairs, without fill
  std::int64_t fill = 0;
  std::int64_t imbalance = 0;  // waiting at a barrier after doing some work
  std::int64_t idle_pe = 0;    // waiting without any work: there was not enough for all PEs
  std::int64_t barriers = 0;
};

// Between two barriers lies a phase; phases run one after another. Phases are opened in batches, so that
// pairs may come in any order inside a batch.
class Schedule {
 public:
  Schedule(std::int64_t pes, std::int64_t fill, bool fill_each_pair)
      : pes_(static_cast<std::size_t>(pes)), fill_(fill), fill_each_pair_(fill_each_pair) {}

  void open(std::int64_t phases) { load_.assign(static_cast<std::size_t>(phases) * pes_, Load{}); }

  void add(std::int64_t phase, std::int64_t pe, std::int64_t cycles) {
    Load& load = load_[static_cast<std::size_t>(phase) * pes_ + static_cast<std::size_t>(pe)];
    load.cycles += cycles;
    load.pairs += 1;
    load.filled_pairs += cycles > 0 ? 1 : 0;
  }

  void close() {
    for (std::size_t first = 0; first < load_.size(); first += pes_) {
      std::int64_t longest = 0;
      for (std::size_t pe = 0; pe < pes_; ++pe) longest = std::max(longest, time(load_[first + pe]));
      if (longest == 0) continue;
      ++result_.barriers;
      result_.cycles += longest;
      for (std::size_t pe = 0; pe < pes_; ++pe) {
        const Load& load = load_[first + pe];
        result_.busy += load.cycles;
        result_.fill += time(load) - load.cycles;
        (load.pairs > 0 ? result_.imbalance : result_.idle_pe) += longest - time(load);
      }
    }
    load_.clear();
  }

  // ASSUMPTION(O2): the pipe is filled once per operation, on all PEs at the same time, unless each pair
  // pays.
  ScheduleResult finish() {
    if (!fill_each_pair_ && result_.cycles > 0) {
      result_.cycles += fill_;
      result_.fill += fill_ * static_cast<std::int64_t>(pes_);
    }
    return result_;
  }

 private:
  struct Load {
    std::int64_t cycles = 0;
    std::int64_t pairs = 0;
    std::int64_t filled_pairs = 0;
  };
  std::int64_t time(const Load& load) const {
    return load.cycles + (fill_each_pair_ ? fill_ * load.filled_pairs : 0);
  }

  std::size_t pes_;
  std::int64_t fill_;
  bool fill_each_pair_;
  std::vector<Load> load_;
  ScheduleResult result_;
};

}  // namespace lacuna::outer
