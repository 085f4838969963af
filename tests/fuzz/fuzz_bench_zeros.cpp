// Any text as a table of zeros: shares of 0 to 1 by row and epoch, or refused in one line.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/error.hpp"
#include "bench/inputs/zero_table.hpp"
#include "time_limit.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const lacuna::TimeLimit time;
  using namespace lacuna;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const bench::ZeroTable table = bench::parse_zero_table(text, "fuzz");
    if (table.rows.empty() || table.epochs.empty()) std::abort();
    for (const bench::ZeroTable::Row& row : table.rows) {
      if (row.name.empty() || row.shares.size() != table.epochs.size()) std::abort();
      for (const double share : row.shares)
        if (!(share >= 0 && share <= 1)) std::abort();
    }
  } catch (const InputError& error) {
    if (std::string_view(error.what()).find('\n') != std::string_view::npos) std::abort();
  }
  return 0;
}
