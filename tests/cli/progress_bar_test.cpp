// Is the progress bar there on a terminal, and only there?
#include "cli/terminal/progress_bar.hpp"

#include <chrono>
#include <gtest/gtest.h>
#include <pty.h>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "cli/run_program.hpp"

namespace lacuna::cli {
namespace {

TEST(ProgressLine, SharesTimeLeftAndWidth) {
  EXPECT_EQ(progress_line(0.5, 10, "net", 80), "[############------------]  50 %  10 s left  net");
  EXPECT_EQ(progress_line(0.25, 100, "net", 80), "[######------------------]  25 %  5:00 min left  net");
  EXPECT_EQ(progress_line(0.01, 100, "a\x1b", 80), "[------------------------]   1 %  2:45 h left  a?");
  EXPECT_EQ(progress_line(0, 1, "net", 80), "[------------------------]   0 %  1 s so far  net");
  EXPECT_EQ(progress_line(1e-6, 9, "net", 80), "[------------------------]   0 %  9 s so far  net");
  EXPECT_EQ(progress_line(2, 1, "net", 80), "[########################] 100 %  0 s left  net");
  EXPECT_EQ(progress_line(0.5, 10, "a long name", 40).size(), 39u);
}

// What a job of 1.6 s leaves on standard error; 15 updates a second.
[[noreturn]] void job() {
  {
    ProgressBar bar;
    for (int i = 0; i <= 24; ++i) {
      bar.update(i / 24.0, "net");
      std::this_thread::sleep_for(std::chrono::milliseconds(66));
    }
  }
  ::_exit(0);
}

// One that says nothing between its start and its end.
[[noreturn]] void silent_job() {
  {
    ProgressBar bar(ProgressBar::Drawn::kAlways);
    bar.update(0, "net");
    std::this_thread::sleep_for(std::chrono::milliseconds(1600));
  }
  ::_exit(0);
}

std::string read_all(int descriptor, pid_t child) {
  std::string text;
  char buffer[1024];
  for (ssize_t got = 0; (got = ::read(descriptor, buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(got));
  ::close(descriptor);
  ::waitpid(child, nullptr, 0);
  return text;
}

TEST(ProgressBar, AppearsOnATerminalAndIsRemoved) {
  if (!testing::has_terminals()) GTEST_SKIP() << "no pseudo-terminals here";
  int terminal = -1;
  const pid_t child = ::forkpty(&terminal, nullptr, nullptr, nullptr);
  ASSERT_GE(child, 0);
  if (child == 0) job();
  const std::string text = read_all(terminal, child);
  EXPECT_NE(text.find("s left  net"), std::string::npos) << text;
  EXPECT_EQ(text.find('\n'), std::string::npos);
  EXPECT_TRUE(text.ends_with("\r\x1b[K")) << text;
}

TEST(ProgressBar, GoesOnWithoutUpdates) {
  if (!testing::has_terminals()) GTEST_SKIP() << "no pseudo-terminals here";
  int terminal = -1;
  const pid_t child = ::forkpty(&terminal, nullptr, nullptr, nullptr);
  ASSERT_GE(child, 0);
  if (child == 0) silent_job();
  const std::string text = read_all(terminal, child);
  EXPECT_NE(text.find("0 %  2 s so far  net"), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with("\r\x1b[K")) << text;
}

TEST(ProgressBar, NeverInAPipe) {
  int pipe[2];
  ASSERT_EQ(::pipe(pipe), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::dup2(pipe[1], STDERR_FILENO);
    job();
  }
  ::close(pipe[1]);
  EXPECT_EQ(read_all(pipe[0], child), "");
}

}  // namespace
}  // namespace lacuna::cli
