#include "bench/torch/torch_process.hpp"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <fstream>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/io/embedded_file.hpp"
#include "base/io/output_file.hpp"
#include "base/text/quote.hpp"

namespace lacuna::bench {

std::span<const EmbeddedFile> embedded_torch_side();  // cmake/LacunaEmbed.cmake

namespace {

using nlohmann::json;

constexpr const char* kGetTorch =
    "install it (Debian: apt install python3-torch; elsewhere: pip install torch) or name a Python that has "
    "it with --python";
constexpr std::size_t kLongestAnswer = std::size_t{1} << 26;

std::string text_of(const json& value) {
  return one_line(value.is_string() ? value.get<std::string>() : value.dump(), 200);
}

double cpu_seconds(pid_t process) {
  clockid_t clock = CLOCK_PROCESS_CPUTIME_ID;
  return process != 0 && ::clock_getcpuclockid(process, &clock) != 0 ? 0 : clock_seconds(clock);
}

}  // namespace

ScratchFolder::ScratchFolder() {
  const char* chosen = std::getenv("TMPDIR");
  const std::string parent = chosen != nullptr && *chosen != '\0' ? chosen : "/tmp";
  std::string name = parent + "/lacuna-XXXXXX";
  if (::mkdtemp(name.data()) == nullptr)
    throw InputError(parent, fmt::format("no folder can be made there ({})", std::strerror(errno)),
                     "set TMPDIR to one where it can");
  path_ = name;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::vector<std::string> pythons_to_try(const std::string& named) {
  if (!named.empty()) return {named};
  const char* chosen = std::getenv("PYTHON");
  if (chosen != nullptr && *chosen != '\0') return {chosen};
  return {"python3", "/usr/bin/python3"};
}

TorchProcess::TorchProcess(const std::vector<std::string>& pythons, const ScratchFolder& folder, int threads,
                           std::vector<std::string> variables, const std::function<bool()>& stop)
    : errors_(folder.file("errors.txt")), threads_(threads), variables_(std::move(variables)), stop_(stop) {
  const EmbeddedFile& script = embedded_torch_side().front();
  write_file(folder.file("torch_side.py"), script.bytes);
  std::string problem;
  for (const std::string& python : pythons) {
    std::string found;
    try {
      found = start(python, folder.file("torch_side.py"));
    } catch (const InputError& error) {
      found = error.cause();
    }
    if (found.empty()) return;
    end();
    problem += fmt::format("{}{}: {}", problem.empty() ? "" : "; ", one_line(python), found);
  }
  throw InputError("bench torch", fmt::format("no Python with PyTorch 1.13 or later ({})", problem),
                   kGetTorch);
}

TorchProcess::~TorchProcess() { end(); }

std::string TorchProcess::start(const std::string& python, const std::filesystem::path& script) {
  int sockets[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0)
    throw InputError("bench torch", fmt::format("no sockets: {}", std::strerror(errno)), "free some");
  python_ = python;
  received_.clear();
  socket_ = sockets[0];
  std::vector<std::string> words = {python, script.string(), std::to_string(threads_)};
  words.insert(words.end(), variables_.begin(), variables_.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  id_ = ::fork();
  if (id_ == 0) {     // calls that are safe in a process that had threads, and no others
    ::setpgid(0, 0);  // Ctrl-C is for this program, which then ends the other
    for (const int signal : {SIGPIPE, SIGXFSZ, SIGBUS}) ::signal(signal, SIG_DFL);
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO}) ::dup2(sockets[1], stream);
    ::dup2(::open(errors_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), STDERR_FILENO);
    ::execvp(arguments.front(), arguments.data());
    ::dprintf(STDOUT_FILENO, "{\"not_started\": %d}\n", errno);
    ::_exit(127);
  }
  ::close(sockets[1]);
  if (id_ < 0) return std::strerror(errno);
  const std::optional<json> hello = read_answer();
  if (!hello) return "stopped";
  if (hello->contains("not_started")) return std::strerror(hello->value("not_started", 0));
  if (hello->contains("no_torch")) return text_of(hello->at("no_torch"));
  if (hello->contains("too_old")) return fmt::format("PyTorch {} is too old", text_of(hello->at("too_old")));
  if (!hello->contains("torch") || !hello->contains("python"))
    return "it is not the program that was started";
  torch_version_ = text_of(hello->at("torch"));
  python_version_ = text_of(hello->at("python"));
  blas_ = hello->contains("blas") ? text_of(hello->at("blas")) : "";
  return "";
}

void TorchProcess::end() {
  if (socket_ >= 0) ::close(socket_);
  socket_ = -1;
  if (id_ <= 0) return;
  ::kill(-id_, SIGKILL);  // with what it may have started
  ::waitpid(id_, nullptr, 0);
  id_ = -1;
}

std::string TorchProcess::last_words() const {
  std::ifstream file(errors_);
  std::string line, last;
  while (std::getline(file, line))
    if (line.find_first_not_of(" \t\r") != std::string::npos) last = line;
  return last.empty() ? "" : fmt::format(", saying {}", quote_name(last));
}

std::string TorchProcess::how_it_ended() {
  int status = 0;
  ::waitpid(id_, &status, 0);
  id_ = -1;
  const std::string how = WIFSIGNALED(status) ? fmt::format("was ended by signal {}{}", WTERMSIG(status),
                                                            WTERMSIG(status) == SIGKILL ? " (memory?)" : "")
                                              : fmt::format("ended with code {}", WEXITSTATUS(status));
  return how + last_words();
}

std::optional<std::string> TorchProcess::read_line() {
  while (true) {
    if (const auto end = received_.find('\n'); end != std::string::npos) {
      std::string line = received_.substr(0, end);
      received_.erase(0, end + 1);
      return line;
    }
    if (received_.size() > kLongestAnswer)
      throw InputError(python_, "the process of PyTorch writes without end", "run it again");
    pollfd waiting{socket_, POLLIN, 0};
    // The time limit is for a request to stop that came just before.
    if (::poll(&waiting, 1, 500) <= 0) {
      if (stop_()) return std::nullopt;
      continue;
    }
    char buffer[65536];
    const ssize_t got = ::recv(socket_, buffer, sizeof buffer, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0)
      throw InputError(python_, "the process of PyTorch " + how_it_ended(),
                       "try a smaller --batch or another Python with --python");
    received_.append(buffer, static_cast<std::size_t>(got));
  }
}

std::optional<json> TorchProcess::read_answer() {
  const std::optional<std::string> line = read_line();
  if (!line) return std::nullopt;
  json answer = json::parse(*line, nullptr, false);
  if (!answer.is_object())
    throw InputError(python_,
                     fmt::format("the process of PyTorch answered {}", quote_name(line->substr(0, 60))),
                     "name a Python with --python, not another program");
  if (answer.contains("failed"))
    throw InputError(python_, "PyTorch failed: " + text_of(answer["failed"]),
                     "try a smaller --batch, or another PyTorch with --python");
  return answer;
}

std::optional<json> TorchProcess::ask(const json& request) {
  const std::string text = request.dump() + "\n";
  for (std::size_t sent = 0; sent < text.size();) {
    const ssize_t count = ::send(socket_, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (count > 0) sent += static_cast<std::size_t>(count);
    if (count < 0 && errno == EINTR && stop_()) return std::nullopt;
    if (count < 0 && errno != EINTR) break;  // it has ended; reading says how
  }
  return read_answer();
}

void wait_until_asleep(pid_t process) {
  constexpr int kLooks = 200;
  for (int look = 0; look < kLooks; ++look) {
    const double before = cpu_seconds(process);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    if (cpu_seconds(process) - before < 0.5e-3) return;
  }
}

}  // namespace lacuna::bench
