#include "cli/run_program.hpp"

#include <algorithm>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <poll.h>
#include <pty.h>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>

namespace lacuna::testing {
namespace {

[[noreturn]] void execute(const std::vector<std::string>& command) {
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  ::setenv("LACUNA", LACUNA_PROGRAM, 1);
  ::execvp(arguments[0], arguments.data());
  ::_exit(127);
}

int wait_for(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

// Appends what can be read; false at the end.
bool read_some(int descriptor, std::string& text) {
  char buffer[4096];
  const ssize_t got = ::read(descriptor, buffer, sizeof buffer);
  if (got <= 0) return false;
  text.append(buffer, static_cast<std::size_t>(got));
  return true;
}

ProgramResult run(const std::vector<std::string>& command) {
  int out[2];
  int err[2];
  if (::pipe2(out, O_CLOEXEC) != 0 || ::pipe2(err, O_CLOEXEC) != 0) throw std::runtime_error("pipe2");
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(::open("/dev/null", O_RDONLY), STDIN_FILENO);
    ::dup2(out[1], STDOUT_FILENO);
    ::dup2(err[1], STDERR_FILENO);
    ::setenv("LC_ALL", "C", 1);
    execute(command);
  }
  ::close(out[1]);
  ::close(err[1]);
  ProgramResult result;
  pollfd open[2] = {{out[0], POLLIN, 0}, {err[0], POLLIN, 0}};
  std::string* texts[2] = {&result.out, &result.err};
  while (open[0].fd >= 0 || open[1].fd >= 0) {
    ::poll(open, 2, -1);
    for (int i = 0; i < 2; ++i) {
      if (open[i].fd < 0 || open[i].revents == 0 || read_some(open[i].fd, *texts[i])) continue;
      ::close(open[i].fd);
      open[i].fd = -1;
    }
  }
  result.exit_code = wait_for(child);
  return result;
}

std::vector<std::string> lacuna_command(const std::vector<std::string>& arguments) {
  std::vector<std::string> command{LACUNA_PROGRAM};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

}  // namespace

ProgramResult run_lacuna(const std::vector<std::string>& arguments) { return run(lacuna_command(arguments)); }

ProgramResult run_shell(const std::string& line) { return run({"bash", "-c", line}); }

bool has_terminals() {
  int terminal = -1;
  int program = -1;
  if (::openpty(&terminal, &program, nullptr, nullptr, nullptr) != 0) return false;
  ::close(terminal);
  ::close(program);
  return true;
}

ProgramResult run_on_terminal(const std::vector<std::string>& arguments,
                              const std::vector<std::string>& environment) {
  int terminal = -1;
  winsize size{};
  size.ws_row = 40;
  size.ws_col = 100;
  const pid_t child = ::forkpty(&terminal, nullptr, nullptr, &size);
  if (child < 0) throw std::runtime_error("forkpty");
  if (child == 0) {
    ::setenv("TERM", "xterm", 1);
    ::unsetenv("NO_COLOR");
    ::setenv("LC_ALL", "C", 1);
    for (const std::string& assignment : environment) ::putenv(const_cast<char*>(assignment.c_str()));
    execute(lacuna_command(arguments));
  }
  ProgramResult result;
  while (read_some(terminal, result.out)) {
  }
  ::close(terminal);
  result.exit_code = wait_for(child);
  return result;
}

void expect_error(const ProgramResult& result, const std::string& part) {
  EXPECT_EQ(result.exit_code, 2) << result.err;
  EXPECT_EQ(result.out, "");
  EXPECT_TRUE(result.err.starts_with("lacuna: error: ")) << result.err;
  EXPECT_EQ(std::ranges::count(result.err, '\n'), 1) << result.err;
  EXPECT_NE(result.err.find(part), std::string::npos) << result.err;
}

std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace lacuna::testing
