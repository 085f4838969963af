// Progress of a long computation, and its end on request, without passing an object to every loop.
//
// The code that starts the work makes a WorkMeter and, around each job, a WorkPart that says which share of
// the whole the job is. Below that, parallel_for() and loops over in_steps() divide what they are part of:
// they credit the meter as they go, and throw Stopped once the meter is told to stop. Without a meter they
// cost nothing but a test.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <ranges>
#include <utility>

namespace lacuna {

// A computation that was asked to stop ends with this.
class Stopped : public std::exception {
 public:
  const char* what() const noexcept override { return "stopped"; }
};

class WorkMeter {
 public:
  // `progress` is called with the share of the whole that is done, 0..1, from any thread but never from two
  // at once, some hundred times in all; what it throws ends the computation. `stop` is asked very often, from
  // any thread: it should only look at a flag. Both outlive the meter; either may be empty.
  WorkMeter(const std::function<void(double)>& progress, const std::function<bool()>& stop)
      : progress_(progress), stop_(stop) {}
  WorkMeter(const WorkMeter&) = delete;
  WorkMeter& operator=(const WorkMeter&) = delete;

  // Throws nothing: parts credit when they are destroyed.
  void credit(double share) noexcept;
  // Throws Stopped, or what `progress` has thrown.
  void check() const {
    if (failed_.load(std::memory_order_acquire)) std::rethrow_exception(error_);
    if (stop_ && stop_()) throw Stopped();
  }
  // All is done, whatever was credited. Throws as check().
  void finish();

 private:
  const std::function<void(double)>& progress_;
  const std::function<bool()>& stop_;
  std::atomic<double> done_{0};
  std::atomic<double> next_{0};  // when to call again
  std::mutex mutex_;
  std::atomic<bool> failed_{false};
  std::exception_ptr error_;  // what `progress` threw; written before failed_ is set
};

// The part of the whole that this thread works on until it is destroyed. Parts nest: an inner one takes from
// the outer one. Lives on the stack of the thread that made it.
class WorkPart {
 public:
  WorkPart(WorkMeter& meter, double share);
  // This share, 0..1, of what is left of the part that this thread works on.
  explicit WorkPart(double of_what_is_left);
  ~WorkPart();  // credits what nobody inside did, unless an exception passes
  WorkPart(const WorkPart&) = delete;
  WorkPart& operator=(const WorkPart&) = delete;

  // The innermost part of this thread, or null.
  static WorkPart* current();

 private:
  friend class WorkSteps;
  friend class ParallelPart;
  WorkPart(WorkMeter* meter, double share);

  WorkMeter* meter_;
  double left_;  // not credited yet
  WorkPart* outer_;
  int exceptions_;
};

// A loop of `count` steps that are about equally long.
class WorkSteps {
 public:
  explicit WorkSteps(std::int64_t count);
  ~WorkSteps();
  WorkSteps(const WorkSteps&) = delete;
  WorkSteps& operator=(const WorkSteps&) = delete;
  // The end of a step. Throws Stopped.
  void next();

 private:
  WorkPart* outer_;
  double share_ = 0;    // of a step
  double pending_ = 0;  // done, not credited
  double rest_ = 0;     // of the steps to come
  WorkPart step_;
};

// The loop around a call of parallel_for(), for the threads that run its items.
class ParallelPart {
 public:
  explicit ParallelPart(std::size_t count);
  // Runs item(i) as its part. Throws Stopped.
  void run(std::size_t i, const std::function<void(std::size_t)>& item) const;

 private:
  // A part for each of a million items would cost more than some of them: one in `stride` stands for all.
  static constexpr std::size_t kMostParts = 1024;
  std::size_t count_;
  std::size_t stride_;
  WorkMeter* meter_ = nullptr;
  double share_ = 0;  // of an item
};

// for (const Item& item : in_steps(items)) ...
template <typename Range>  // a reference, or a CountRange
class StepRange {
 public:
  explicit StepRange(Range range) : range_(range), steps_(static_cast<std::int64_t>(std::size(range))) {}
  template <typename Inner>
  struct Iterator {
    Inner at;
    WorkSteps* steps;
    decltype(auto) operator*() const { return *at; }
    Iterator& operator++() {
      ++at;
      steps->next();
      return *this;
    }
    bool operator!=(const Iterator& other) const { return at != other.at; }
  };
  auto begin() { return Iterator<decltype(std::begin(range_))>{std::begin(range_), &steps_}; }
  auto end() { return Iterator<decltype(std::end(range_))>{std::end(range_), &steps_}; }

 private:
  Range range_;
  WorkSteps steps_;
};
template <std::ranges::range Range>
StepRange<const Range&> in_steps(const Range& range) {
  return StepRange<const Range&>(range);
}

// for (const std::int64_t i : in_steps(count)) ...
struct CountRange {
  struct Iterator {
    std::int64_t at;
    std::int64_t operator*() const { return at; }
    Iterator& operator++() {
      ++at;
      return *this;
    }
    bool operator!=(const Iterator& other) const { return at != other.at; }
  };
  std::int64_t count;
  std::size_t size() const { return static_cast<std::size_t>(count); }
  Iterator begin() const { return {0}; }
  Iterator end() const { return {count}; }
};
inline StepRange<CountRange> in_steps(std::int64_t count) { return StepRange<CountRange>({count}); }

}  // namespace lacuna
