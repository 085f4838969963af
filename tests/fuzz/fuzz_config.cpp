// Any text as the YAML description of a machine, against every model that is linked in.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/error.hpp"
#include "sim/catalog/arch_catalog.hpp"
#include "time_limit.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const lacuna::TimeLimit time;
  using namespace lacuna;
  static const ArchCatalog catalog;
  try {
    const Machine machine = catalog.parse({reinterpret_cast<const char*>(data), size}, "fuzz.yaml");
    // What was accepted is allowed: each resolved value can be set again and stays the same.
    Params again(machine.model->name, machine.model->params);
    for (const auto& [key, value] : machine.params.values()) again.set(key, value, "again");
    if (again.values() != machine.params.values()) std::abort();
    (void)machine.build();
  } catch (const InputError&) {
  }
  return 0;
}
