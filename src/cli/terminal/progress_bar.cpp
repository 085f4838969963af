#include "cli/terminal/progress_bar.hpp"

#include <algorithm>
#include <cstdio>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <system_error>
#include <unistd.h>

#include "base/text/text_table.hpp"

namespace lacuna::cli {
namespace {

// Shorter work needs no bar; work of more than two seconds has one by then.
constexpr std::chrono::milliseconds kQuiet{1000};
constexpr std::chrono::milliseconds kBetween{100};

int error_width() {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

}  // namespace

std::string progress_line(double share, double elapsed_seconds, const std::string& what, int width) {
  constexpr int kCells = 24;
  share = std::clamp(share, 0.0, 1.0);
  const int filled = static_cast<int>(share * kCells);
  std::string line = fmt::format("[{}{}] {:3.0f} %", std::string(static_cast<std::size_t>(filled), '#'),
                                 std::string(static_cast<std::size_t>(kCells - filled), '-'), share * 100);
  // The first percent, in which pages are read and caches filled, says little about the rest.
  line += share >= 0.01 ? fmt::format("  {} left", duration_text(elapsed_seconds * (1 - share) / share))
                        : fmt::format("  {} so far", duration_text(elapsed_seconds));
  line += "  " + printable(what);
  if (width > 1 && line.size() >= static_cast<std::size_t>(width))
    line.resize(static_cast<std::size_t>(width) - 1);
  return line;
}

ProgressBar::ProgressBar(Drawn drawn)
    : enabled_(::isatty(STDERR_FILENO) == 1), start_(Clock::now()), last_(start_) {
  if (!enabled_ || drawn == Drawn::kOnUpdate) return;
  try {
    thread_ = std::jthread([this](const std::stop_token& stop) { draw_until_stopped(stop); });
  } catch (const std::system_error&) {  // no room for another thread: drawn on updates only
  }
}

ProgressBar::~ProgressBar() {
  thread_ = {};  // stopped and joined
  clear();
}

void ProgressBar::draw_until_stopped(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    stopped_.wait_for(lock, stop, 2 * kBetween, [] { return false; });
    if (wanted_ && !stop.stop_requested()) draw();
  }
}

void ProgressBar::update(double share, const std::string& what) {
  if (!enabled_) return;
  const std::scoped_lock lock(mutex_);
  share_ = share;
  what_ = what;
  wanted_ = true;
  draw();
}

void ProgressBar::draw() {
  const Clock::time_point now = Clock::now();
  if (now - start_ < kQuiet || now - last_ < kBetween) return;
  last_ = now;
  shown_ = true;
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  std::fprintf(stderr, "\r\x1b[K%s", progress_line(share_, elapsed, what_, error_width()).c_str());
  std::fflush(stderr);
}

void ProgressBar::clear() {
  const std::scoped_lock lock(mutex_);
  wanted_ = false;
  if (!shown_) return;
  std::fputs("\r\x1b[K", stderr);
  std::fflush(stderr);
  shown_ = false;
}

}  // namespace lacuna::cli
