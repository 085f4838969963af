// Plays a trace on DRAMsim3: dramsim3_run CONFIG.ini TRACE FOLDER. Requests enter as soon as they are
// accepted, whatever their cycle. Prints the requests and the cycle of the bus in which the last one was
// served.
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <fstream>

#include "common.h"
#include "memory_system.h"

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  std::uint64_t clock = 0, sent = 0, served = 0, last = 0;
  const auto done = [&](std::uint64_t) {
    ++served;
    last = clock;
  };
  dramsim3::MemorySystem memory(argv[1], argv[3], done, done);
  std::ifstream trace(argv[2]);
  dramsim3::Transaction request;
  bool waiting = static_cast<bool>(trace >> request);
  constexpr int kPerCycle = 8;  // more than four channels serve
  while (waiting || served < sent) {
    for (int i = 0; waiting && i < kPerCycle; ++i) {
      if (!memory.WillAcceptTransaction(request.addr, request.is_write)) break;
      memory.AddTransaction(request.addr, request.is_write);
      ++sent;
      waiting = static_cast<bool>(trace >> request);
    }
    memory.ClockTick();
    ++clock;
  }
  std::printf("%" PRIu64 " %" PRIu64 "\n", sent, last);
  return 0;
}
