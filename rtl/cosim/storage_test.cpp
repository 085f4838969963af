// Scheduled form, transposing and counting zeros: the RTL against the model's codec and against plain code.
#include <algorithm>
#include <deque>
#include <gtest/gtest.h>

#include "Vbackside.h"
#include "Vcompressor.h"
#include "Vdecompressor.h"
#include "Vtransposer.h"
#include "Vtransposer_one.h"
#include "Vzero_counter.h"
#include "base/random.hpp"
#include "bits.hpp"
#include "clocking.hpp"
#include "storage_reference.hpp"
#include "top.hpp"

namespace lacuna::rtl {
namespace {

constexpr int kLanes = 16, kDepth = 3;

ValueGroup random_group(Random& random) {
  ValueGroup group;
  const auto steps = static_cast<int>(random.integer(1, 20));
  const double zeros = random.uniform();
  for (int s = 0; s < steps; ++s) {
    group.lanes.push_back(random.chance(0.2) ? static_cast<int>(random.integer(1, kLanes)) : kLanes);
    std::vector<std::uint32_t> row(kLanes, 0);
    for (int lane = 0; lane < group.lanes.back(); ++lane) {
      if (!random.chance(zeros))
        row[static_cast<std::size_t>(lane)] = static_cast<std::uint32_t>(random.bits()) | 1U;
    }
    group.rows.push_back(std::move(row));
  }
  // A value may not have a place outside its own row: a short row is followed by rows that are not longer, as
  // tails are.
  for (std::size_t s = 1; s < group.rows.size(); ++s) {
    group.lanes[s] = std::min(group.lanes[s], group.lanes[s - 1]);
    for (int lane = group.lanes[s]; lane < kLanes; ++lane) group.rows[s][static_cast<std::size_t>(lane)] = 0;
  }
  return group;
}

// Groups one after another through a compressor; returns the clocks from the first row that enters to the
// last that leaves.
template <typename Top>
std::int64_t compress(Top& top, std::deque<ValueGroup> groups, Random& random, double stalls, bool waits,
                      std::vector<std::vector<ScheduledRow>>& out) {
  out.assign(1, {});
  const std::size_t count = groups.size();
  std::size_t taken = 0;
  std::int64_t clocks = 0;
  int shown = 0;  // rows on offer, which stay there until they are taken
  for (int guard = 0; out.size() <= count; ++guard) {
    if (guard > 100000) return -1;
    const int offered =
        std::max(random.chance(stalls) ? static_cast<int>(random.integer(0, kDepth - 1)) : kDepth, shown);
    unsigned valid = 0, last = 0;
    shown = 0;
    std::size_t g = 0, at = taken;
    for (int s = 0; s < offered; ++s, ++at) {
      while (g < groups.size() && at >= groups[g].rows.size()) {
        at -= groups[g].rows.size();
        ++g;
      }
      if (g >= groups.size()) break;
      valid |= 1U << s;
      ++shown;
      if (at + 1 == groups[g].rows.size()) last |= 1U << s;
      for (int lane = 0; lane < kLanes; ++lane) {
        const auto place = static_cast<std::size_t>(s * kLanes + lane);
        set_bits(top.offer_values_i, place * 32, 32, groups[g].rows[at][static_cast<std::size_t>(lane)]);
        set_bits(top.offer_present_i, place, 1, lane < groups[g].lanes[at] ? 1 : 0);
      }
    }
    top.offer_valid_i = static_cast<std::uint8_t>(valid);
    top.offer_last_i = static_cast<std::uint8_t>(last);
    // The sink may wait for a row before it is ready: a row on offer must not depend on that.
    top.row_ready_i = 0;
    top.eval();
    top.row_ready_i = (waits && top.row_valid_o == 0) || random.chance(stalls) ? 0 : 1;
    top.eval();
    if (top.row_valid_o != 0 && top.row_ready_i != 0) {
      ScheduledRow row{{}, {}, 0, top.row_advance_o};
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        row.values.push_back(static_cast<std::uint32_t>(get_bits(top.row_values_o, lane * 32, 32)));
        row.moves.push_back(static_cast<int>(get_bits(top.row_idx_o, lane * 3, 3)));
        row.slots += static_cast<int>(get_bits(top.row_present_o, lane, 1));
      }
      out.back().push_back(std::move(row));
      if (top.row_last_o != 0) out.emplace_back();
    }
    taken += top.offer_take_o;
    shown -= top.offer_take_o;
    while (!groups.empty() && taken >= groups.front().rows.size()) {
      taken -= groups.front().rows.size();
      groups.pop_front();
    }
    tick(top);
    ++clocks;
  }
  out.pop_back();
  return clocks;
}

template <typename Top>
void check_compressor(bool iterative) {
  Random random(iterative ? 5 : 4);
  OwnedTop<Top> owned;
  Top& top = *owned;
  reset(top);
  for (int round = 0; round < 200; ++round) {
    std::deque<ValueGroup> groups;
    std::int64_t cycles = 0;
    for (int i = 0; i < 5; ++i) {
      groups.push_back(random_group(random));
      cycles += iterative ? backside_cycles("paper", kDepth, groups.back())
                          : static_cast<std::int64_t>(scheduled_rows("paper", kDepth, groups.back()).size());
    }
    const double stalls = random.chance(0.5) ? random.uniform() * 0.8 : 0;
    std::vector<std::vector<ScheduledRow>> out;
    const std::int64_t clocks = compress(top, groups, random, stalls, random.chance(0.5), out);
    ASSERT_EQ(out.size(), groups.size());
    for (std::size_t g = 0; g < groups.size(); ++g) {
      ASSERT_EQ(out[g], scheduled_rows("paper", kDepth, groups[g])) << "round " << round << " group " << g;
    }
    if (stalls == 0) {
      ASSERT_EQ(clocks, cycles + 1);  // one to fill the window
    }
  }
}

TEST(Storage, Compressor) { check_compressor<Vcompressor>(false); }
TEST(Storage, BacksideScheduler) { check_compressor<Vbackside>(true); }

TEST(Storage, DecompressorGivesBackTheValues) {
  Random random(6);
  OwnedTop<Vdecompressor> owned;
  Vdecompressor& top = *owned;
  reset(top);
  for (int round = 0; round < 500; ++round) {
    const ValueGroup group = random_group(random);
    const std::vector<ScheduledRow> rows = scheduled_rows("paper", kDepth, group);
    std::vector<std::vector<std::uint32_t>> dense;
    bool waiting = false;  // a row is on offer and was not taken
    for (std::size_t i = 0; i < rows.size();) {
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        set_bits(top.row_values_i, lane * 32, 32, rows[i].values[lane]);
        set_bits(top.row_idx_i, lane * 3, 3, static_cast<std::uint64_t>(rows[i].moves[lane]));
      }
      top.row_valid_i = !waiting && random.chance(0.2) ? 0 : 1;
      top.row_advance_i = static_cast<std::uint8_t>(rows[i].advance);
      top.row_last_i = i + 1 == rows.size() ? 1 : 0;
      top.out_ready_i = random.chance(0.2) ? 0 : 1;
      top.eval();
      waiting = top.row_valid_i != 0 && top.row_ready_o == 0;
      ASSERT_EQ(top.out_valid_o, top.row_valid_i);
      if (top.out_valid_o != 0 && top.out_ready_i != 0) {
        for (std::size_t s = 0; s < top.out_count_o && dense.size() < group.rows.size(); ++s) {
          std::vector<std::uint32_t> row;
          for (std::size_t lane = 0; lane < kLanes; ++lane)
            row.push_back(static_cast<std::uint32_t>(get_bits(top.out_rows_o, (s * kLanes + lane) * 32, 32)));
          dense.push_back(std::move(row));
        }
        ASSERT_EQ(top.out_last_o != 0, i + 1 == rows.size());
        ++i;
      }
      tick(top);
    }
    ASSERT_EQ(dense, group.rows) << "round " << round;
  }
}

// At full rate and with stalls; whole groups and groups that end early.
template <typename Top>
void check_transposer(std::size_t size) {
  Random random(7);
  OwnedTop<Top> owned;
  Top& top = *owned;
  reset(top);
  for (int round = 0; round < 6; ++round) {
    const double stalls = 0.3 * (round / 2), partial = round % 2 == 0 ? 0 : 0.15;
    std::deque<std::vector<std::uint64_t>> expected;
    std::vector<std::vector<std::uint64_t>> group;
    int groups = 0;
    std::size_t out = 0, clocks = 0;
    bool last = false, waiting = false;  // a block is on offer and was not taken
    std::vector<std::uint64_t> block(size);
    const auto fresh = [&] {
      for (auto& value : block) value = random.bits() & 0xffffffffU;
      last = random.chance(partial);
    };
    fresh();
    constexpr int kGroups = 40;
    const auto out_blocks = static_cast<std::size_t>(kGroups) * size;
    for (; out < out_blocks; ++clocks) {
      ASSERT_LT(clocks, 100000);
      top.in_valid_i = groups < kGroups && (waiting || !random.chance(stalls)) ? 1 : 0;
      for (std::size_t v = 0; v < size; ++v) set_bits(top.in_block_i, v * 32, 32, block[v]);
      top.in_last_i = last ? 1 : 0;
      top.out_ready_i = 0;
      top.eval();
      const bool valid = top.out_valid_o != 0;
      top.out_ready_i = random.chance(stalls) ? 0 : 1;
      top.eval();
      ASSERT_EQ(valid, top.out_valid_o != 0) << "an offer must not depend on its taker";
      if (top.out_valid_o != 0 && top.out_ready_i != 0) {
        ASSERT_FALSE(expected.empty());
        for (std::size_t v = 0; v < size; ++v)
          ASSERT_EQ(get_bits(top.out_block_o, v * 32, 32), expected.front()[v]) << out;
        expected.pop_front();
        ++out;
      }
      waiting = top.in_valid_i != 0 && top.in_ready_o == 0;
      if (top.in_valid_i != 0 && top.in_ready_o != 0) {
        group.push_back(block);
        if (last || group.size() == size) {
          for (std::size_t b = 0; b < size; ++b) {
            std::vector<std::uint64_t> line(size, 0);
            for (std::size_t from = 0; from < group.size(); ++from) line[from] = group[from][b];
            expected.push_back(std::move(line));
          }
          group.clear();
          ++groups;
        }
        fresh();
      }
      tick(top);
    }
    if (stalls == 0 && partial == 0) {
      EXPECT_EQ(clocks, out_blocks + size) << "a block in and a block out per cycle";
    }
  }
}

TEST(Storage, Transposer) { check_transposer<Vtransposer>(16); }
TEST(Storage, TransposerOfOne) { check_transposer<Vtransposer_one>(1); }

TEST(Storage, ZeroCounter) {
  Random random(8);
  OwnedTop<Vzero_counter> owned;
  Vzero_counter& top = *owned;
  reset(top);
  for (int round = 0; round < 200; ++round) {
    // The new tensor's first block comes with `clear_i`, or later.
    const bool at_once = random.chance(0.5);
    if (!at_once) {
      top.clear_i = 1;
      top.valid_i = 0;
      tick(top);
    }
    std::uint64_t zeros = 0, values = 0;
    const double share = random.uniform();
    const auto threshold = static_cast<std::uint32_t>(random.integer(0, 65535));
    top.threshold_i = static_cast<std::uint16_t>(threshold);
    for (int n = 0; n < 50; ++n) {
      const auto present = static_cast<std::uint32_t>(random.bits() & 0xffffU);
      const bool valid = random.chance(0.8);
      top.clear_i = at_once && n == 0 ? 1 : 0;
      top.present_i = static_cast<std::uint16_t>(present);
      top.valid_i = valid ? 1 : 0;
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        const bool zero = random.chance(share);
        const std::uint64_t sign = random.bits() & 0x80000000U;
        set_bits(top.block_i, lane * 32, 32, zero ? sign : sign | (random.bits() & 0x7fffffffU) | 1U);
        if (valid && (present >> lane & 1U) != 0) {
          ++values;
          zeros += zero ? 1 : 0;
        }
      }
      tick(top);
      ASSERT_EQ(top.zeros_o, zeros & 0xffffU);
      ASSERT_EQ(top.values_o, values & 0xffffU);
      ASSERT_EQ(top.gate_o != 0, zeros * 65536 < values * threshold);
    }
  }
  // Counters of 16 bits stop together before they overflow, whatever the values are.
  for (const std::uint64_t value : {0x3f800000U, 0U}) {
    top.clear_i = 1;
    top.valid_i = 0;
    tick(top);
    top.clear_i = 0;
    top.valid_i = 1;
    top.present_i = 0xffff;
    for (std::size_t lane = 0; lane < kLanes; ++lane) set_bits(top.block_i, lane * 32, 32, value);
    for (int n = 0; n < 5000; ++n) tick(top);
    EXPECT_EQ(top.values_o, 65536 - 16);
    EXPECT_EQ(top.zeros_o, value == 0 ? 65536 - 16 : 0);
  }
}

}  // namespace
}  // namespace lacuna::rtl
