// Any text as an energy table and as a list of nodes: read as numbers that make sense, or refused in one
// line.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/error.hpp"
#include "energy/cost_table.hpp"
#include "energy/node_scaling.hpp"
#include "time_limit.hpp"

namespace {

template <typename Parse>
void refuse_or_check(const Parse& parse) {
  try {
    parse();
  } catch (const lacuna::InputError& error) {
    if (std::string_view(error.what()).find('\n') != std::string_view::npos) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const lacuna::TimeLimit time;
  using namespace lacuna;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  refuse_or_check([&] {
    const CostTable table = CostTable::parse(text, "fuzz");
    for (const PartCosts& part : table.parts) {
      for (const auto& [name, cost] : part.costs) {
        if (!std::isfinite(cost.si()) || cost.si() < 0) std::abort();
      }
    }
  });
  refuse_or_check([&] { NodeScale::parse_all(text, "fuzz"); });
  return 0;
}
