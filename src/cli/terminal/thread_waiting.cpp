#include "cli/terminal/thread_waiting.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>
#include <unistd.h>

namespace lacuna::cli {
namespace {

// Rounds of GCC's spin. Two threads on two cores, vgg-small, images per second: on a free machine 1,030
// without spinning, 1,150 with 1,000 rounds, 1,230 with 10,000 and 1,270 with GCC's 300,000; next to a dozen
// busy programs 240, 170, 120 and 70 to 200.
constexpr const char* kOnAFreeMachine = "10000";
constexpr const char* kOnABusyMachine = "300";

bool trains(int argc, char** argv) {
  const std::string_view command = argc < 2 ? "" : argv[1];
  if (command == "bench") return argc > 2 && std::string_view(argv[2]) == "torch";
  return command == "train" || command == "demo";
}

// Returns whether other threads run as well, in most of a few looks. /proc/loadavg: "0.1 0.1 0.1 RUNNING/ALL
// ID".
bool busy() {
  std::array<int, 9> running{};
  for (int& count : running) {
    std::string skipped;
    std::ifstream("/proc/loadavg") >> skipped >> skipped >> skipped >> count;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  std::ranges::nth_element(running, running.begin() + running.size() / 2);
  return running[running.size() / 2] > 1;
}

}  // namespace

void wait_briefly(int argc, char** argv) {
  if (!trains(argc, argv)) return;
  if (std::getenv("OMP_WAIT_POLICY") != nullptr || std::getenv("GOMP_SPINCOUNT") != nullptr) return;
  if (::setenv("GOMP_SPINCOUNT", busy() ? kOnABusyMachine : kOnAFreeMachine, 0) != 0) return;
  ::execv("/proc/self/exe", argv);  // comes back only if it cannot: then threads wait as they do by default
}

std::vector<std::string> set_by_wait_briefly() {
  std::vector<std::string> variables;
  for (const char* rounds : {kOnAFreeMachine, kOnABusyMachine})
    variables.push_back(std::string("GOMP_SPINCOUNT=") + rounds);
  return variables;
}

}  // namespace lacuna::cli
