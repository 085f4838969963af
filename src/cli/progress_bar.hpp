// A line on standard error that shows how far a long job is: on a terminal only, and only once it has run for
// a while.
#pragma once

#include <chrono>
#include <string>

namespace lacuna::cli {

class ProgressBar {
 public:
  ProgressBar();
  ~ProgressBar() { clear(); }  // the line disappears
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // `share` of the whole job, 0..1. Not from two threads at once.
  void update(double share, const std::string& what);
  void clear();

 private:
  using Clock = std::chrono::steady_clock;

  bool enabled_;
  bool shown_ = false;
  Clock::time_point start_;
  Clock::time_point last_;
};

// "[########------------]  40 %  12 s left  resnet50": at most `width` columns.
std::string progress_line(double share, double elapsed_seconds, const std::string& what, int width);

// "12 s", "3:05 min", "2:10 h"
std::string duration_text(double seconds);

}  // namespace lacuna::cli
