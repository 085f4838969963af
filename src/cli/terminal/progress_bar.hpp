// A line on standard error that shows how far a long job is: on a terminal only, and only once it has run for
// a while.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "base/text/text_table.hpp"

namespace lacuna::cli {

class ProgressBar {
 public:
  // With kAlways it is drawn between updates too, by a separate thread: for work in large pieces. A
  // benchmark would feel that thread.
  enum class Drawn { kOnUpdate, kAlways };

  explicit ProgressBar(Drawn drawn = Drawn::kOnUpdate);
  ~ProgressBar();  // the line disappears
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // `share` of the whole job, 0..1. From any thread.
  void update(double share, const std::string& what);
  // Removes the line until the next update.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  void draw();  // with the mutex held
  void draw_until_stopped(const std::stop_token& stop);

  bool enabled_;
  Clock::time_point start_;
  Clock::time_point last_;
  std::mutex mutex_;  // of what follows
  bool shown_ = false;
  bool wanted_ = false;  // since the last clear()
  double share_ = 0;
  std::string what_;
  std::condition_variable_any stopped_;
  std::jthread thread_;
};

// "[########------------]  40 %  12 s left  resnet50": at most `width` columns. Before the first share is
// done: "12 s so far".
std::string progress_line(double share, double elapsed_seconds, const std::string& what, int width);

}  // namespace lacuna::cli
