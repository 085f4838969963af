#include "cli/thread_waiting.hpp"

#include <cstdlib>
#include <string_view>
#include <unistd.h>

namespace lacuna::cli {
namespace {

// Rounds of GCC's spin, some microseconds: longer than a thread takes to end its part of a loop after the
// others on a free machine, shorter than it takes to notice on a busy one.
constexpr const char* kSpins = "1000";

bool trains(std::string_view command) { return command == "train" || command == "demo"; }

}  // namespace

void wait_briefly(int argc, char** argv) {
  if (argc < 2 || !trains(argv[1])) return;
  if (std::getenv("OMP_WAIT_POLICY") != nullptr || std::getenv("GOMP_SPINCOUNT") != nullptr) return;
  if (::setenv("GOMP_SPINCOUNT", kSpins, 0) != 0) return;
  ::execv("/proc/self/exe", argv);  // comes back only if it cannot: then threads wait as they do by default
}

}  // namespace lacuna::cli
