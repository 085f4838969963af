// Plays the trace of a configuration on Ramulator 2: ramulator2_run CONFIG. Prints the cycles of the bus
// until every request was taken; those in the queues at the end are some tens of cycles.
#include <cstdint>
#include <cstdio>

#include "ramulator/base/config.h"
#include "ramulator/base/factory.h"
#include "ramulator/frontend/i_frontend.h"
#include "ramulator/memory_system/i_memory_system.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const auto config = Ramulator::Config::parse_config_file(argv[1]);
  auto* frontend = Ramulator::Factory::create_frontend(config);
  auto* memory = Ramulator::Factory::create_memory_system(config);
  frontend->connect_memory_system(memory);
  memory->connect_frontend(frontend);
  const int per_cycle = frontend->get_clock_ratio() / memory->get_clock_ratio();
  std::uint64_t cycles = 0;
  while (!frontend->is_finished()) {
    for (int i = 0; i < per_cycle && !frontend->is_finished(); ++i) frontend->tick();
    memory->tick();
    ++cycles;
  }
  std::printf("%llu\n", static_cast<unsigned long long>(cycles));
  return 0;
}
