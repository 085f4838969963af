// SRAM and DRAM as components of a machine, the same around tiles and around outer-product PEs.
#pragma once

#include <vector>

#include "energy/components.hpp"
#include "sim/memory/activity.hpp"
#include "sim/memory/dram.hpp"
#include "sim/result.hpp"

namespace lacuna {

// Reference size of the costs of AM, BM and CM: banks of 4,096 rows of 16 values (256 KB of FP32) [TensorDash
// Table 2].
inline constexpr std::int64_t kSramRowValues = 16, kSramBankRows = 4096;

// AM, BM and CM. `banks`: of all three, if their area is part of the machine's; else 0.
Component sram_component(double banks);
// Capacity, and bytes delivered per cycle.
std::vector<DesignTotal> sram_totals(double banks);
// Appends DRAM: what crosses the bus, the power that flows all the time and, with static_costs=all, the area
// of the interface on the chip.
void add_dram(Hardware& hardware, const Dram& dram);

// A count of an activity for the whole batch: the recorded samples' times `batch_scale`, the weights' once.
double batch_count(const Activity& activity, double batch_scale, std::int64_t TensorTraffic::*count);

// Actions of SRAM and DRAM of an operation in the whole batch. `rows_of_16`: rows of 16 values, which costs
// are given for, per row of the machine. `seconds`: all the time that passes,
// times the share of the priced DRAM that is powered.
std::vector<ActionCount> memory_actions(const Activity& activity, double batch_scale, double rows_of_16,
                                        double seconds);

// For static_costs=all: power of the parts in which nothing happens, of SRAM all the time and of logic while
// it waits for memory. Parts whose number is not modelled have none.
void append_static_actions(const Hardware& hardware, const Dram& dram, double batch_scale, OpResult& result);

}  // namespace lacuna
