#include "base/work_progress.hpp"

#include <algorithm>

namespace lacuna {
namespace {

// Innermost on top. Tasks of other jobs that a waiting thread takes in between put theirs on top and remove
// them again.
thread_local WorkPart* innermost = nullptr;

constexpr double kBetweenCalls = 1.0 / 512;
constexpr double kLeastCredit = 1.0 / 4096;  // of the whole: an atomic addition for less is not worth it

}  // namespace

void WorkMeter::credit(double share) noexcept {
  if (share <= 0) return;
  done_.fetch_add(share);
  if (!progress_) return;
  // The thread that reports also reports what others have credited meanwhile, so the last credit is not lost.
  while (done_.load() >= next_.load()) {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock || failed_.load(std::memory_order_relaxed)) return;
    const double now = std::min(done_.load(), 1.0);
    next_.store(now + kBetweenCalls);
    try {
      progress_(now);
    } catch (...) {
      error_ = std::current_exception();
      failed_.store(true, std::memory_order_release);
    }
  }
}

void WorkMeter::finish() {
  check();
  if (progress_) progress_(1);
}

WorkPart* WorkPart::current() { return innermost; }

WorkPart::WorkPart(WorkMeter* meter, double share)
    : meter_(meter), left_(share), outer_(innermost), exceptions_(std::uncaught_exceptions()) {
  innermost = this;
}

WorkPart::WorkPart(WorkMeter& meter, double share) : WorkPart(&meter, share) {}

WorkPart::WorkPart(double of_what_is_left) : WorkPart(innermost == nullptr ? nullptr : innermost->meter_, 0) {
  if (outer_ == nullptr) return;
  left_ = of_what_is_left * outer_->left_;
  outer_->left_ -= left_;
}

WorkPart::~WorkPart() {
  innermost = outer_;
  if (meter_ != nullptr && std::uncaught_exceptions() == exceptions_) meter_->credit(left_);
}

WorkSteps::WorkSteps(std::int64_t count)
    : outer_(innermost), step_(innermost == nullptr ? nullptr : innermost->meter_, 0) {
  if (outer_ == nullptr || count <= 0) return;
  rest_ = outer_->left_;
  outer_->left_ = 0;
  share_ = rest_ / static_cast<double>(count);
  step_.left_ = share_;
  rest_ -= share_;
}

void WorkSteps::next() {
  if (step_.meter_ == nullptr) return;
  pending_ += step_.left_;
  step_.left_ = std::min(share_, rest_);
  rest_ -= step_.left_;
  if (pending_ >= kLeastCredit) {
    step_.meter_->credit(pending_);
    pending_ = 0;
  }
  step_.meter_->check();
}

WorkSteps::~WorkSteps() {
  // Returns the rest of a loop that ended early and amounts too small to credit. Then step_ is removed.
  if (outer_ != nullptr) outer_->left_ += rest_ + pending_ + step_.left_;
  step_.left_ = 0;
}

ParallelPart::ParallelPart(std::size_t count)
    : count_(count), stride_(std::max<std::size_t>(1, count / kMostParts)) {
  if (innermost == nullptr || count == 0) return;
  meter_ = innermost->meter_;
  share_ = innermost->left_ / static_cast<double>(count);
  innermost->left_ = 0;
}

void ParallelPart::run(std::size_t i, const std::function<void(std::size_t)>& item) const {
  if (meter_ == nullptr) return item(i);
  meter_->check();
  const bool counted = i % stride_ == 0;
  const WorkPart part(meter_, counted ? share_ * static_cast<double>(std::min(stride_, count_ - i)) : 0);
  item(i);
}

}  // namespace lacuna
