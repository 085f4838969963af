// Cycles of whole operations of recorded layers: the RTL's front end, fed with their effectual bits, takes as
// many as the fast engine says. LACUNA_RTL_FULL=1 takes larger operations too.
#include <cstdlib>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "Vfe_masks.h"
#include "bits.hpp"
#include "clocking.hpp"
#include "layer_reference.hpp"
#include "top.hpp"

namespace lacuna::rtl {
namespace {

constexpr int kDepth = 3, kRows = 4;

// Effectual bits as values of two bits each: 01 for every set bit.
std::uint32_t spread(std::uint32_t bits) {
  bits = (bits | bits << 8) & 0x00ff00ffU;
  bits = (bits | bits << 4) & 0x0f0f0f0fU;
  bits = (bits | bits << 2) & 0x33333333U;
  return (bits | bits << 1) & 0x55555555U;
}

// Cycles of one product without stalls, column groups one after another like the tile's: the front end sees
// the same streams for each, so they are run once.
std::int64_t cycles_of(const MaskedProduct& product, std::int64_t& clocks) {
  OwnedTop<Vfe_masks> owned;
  Vfe_masks& top = *owned;
  reset_frontend(top);
  std::size_t group = 0, ended = 0;
  int step = 0;
  std::int64_t issued = 0;
  while (ended < product.groups.size()) {
    std::size_t g = group;
    int at = step;
    unsigned valid = 0, last = 0;
    for (int s = 0; s < kDepth && g < product.groups.size(); ++s) {
      for (int r = 0; r < kRows; ++r) {
        top.offer_b_i[static_cast<std::size_t>(r * kDepth + s)] =
            spread(static_cast<std::uint32_t>(product.groups[g][static_cast<std::size_t>(at * kRows + r)]));
      }
      valid |= 1U << s;
      if (++at == product.steps) {
        last |= 1U << s;
        at = 0;
        ++g;
      }
    }
    top.offer_valid_i = static_cast<std::uint8_t>(valid);
    top.offer_last_i = static_cast<std::uint8_t>(last);
    top.eval();
    issued += top.issue_o;
    ended += top.issue_o != 0 && top.last_o != 0 ? 1 : 0;
    for (int taken = top.offer_take_o; taken > 0; --taken) {
      if (++step == product.steps) {
        step = 0;
        ++group;
      }
    }
    tick(top);
    ++clocks;
  }
  return issued;
}

void check_model(const std::string& model) {
  const bool full = std::getenv("LACUNA_RTL_FULL") != nullptr;
  const Trace trace = recorded_trace(model);
  int checked = 0;
  std::int64_t clocks = 0;
  for (const MaskedOperation& op : masked_operations(trace, full ? 10'000'000 : 300'000)) {
    SCOPED_TRACE(op.name);
    std::int64_t cycles = 0;
    for (const MaskedProduct& product : op.products) {
      std::int64_t here = 0;
      const std::int64_t issued = cycles_of(product, here);
      EXPECT_EQ(here, issued + 1) << "one cycle to fill the window, none lost after it";
      cycles += issued * product.column_groups;
      clocks += here;
    }
    EXPECT_EQ(cycles, op.cycles) << "cycles of the fast engine";
    EXPECT_LE(cycles, op.dense_cycles);
    ++checked;
  }
  EXPECT_GT(checked, 0);
  std::cout << fmt::format("{}: {} operations, {} clocks of the RTL\n", model, checked, clocks);
}

TEST(Layers, Alexnet) { check_model("alexnet"); }
TEST(Layers, Squeezenet) { check_model("squeezenet"); }

}  // namespace
}  // namespace lacuna::rtl
