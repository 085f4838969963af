// Tiles that run from a stored schedule: the idx fields of the row operand drive the multiplexers of the
// other side and its AS fields move the window; no scheduler runs [TensorDash §3.6.1, §3.6.2].
#pragma once

#include <cstdint>
#include <vector>

#include "models/tensordash/config.hpp"
#include "models/tensordash/storage/scheduled_form.hpp"
#include "sim/tile/stream_products.hpp"
#include "sim/tile/tile_placement.hpp"
#include "sim/workload/layer_values.hpp"

namespace lacuna::tensordash {

// Units that are scheduled together, and so stored as one:
// - W: the streams of `rows` filters, in the order in which PEs take them. They are scheduled before they are
//   stored, in lock-step like the rows of the tile that will run them, so that all have the same AS.
//   ASSUMPTION(A26): with sync=decoupled each filter has its own.
// - A and G: all channels of a position, by the backside scheduler; windows overlap, so a schedule cannot
// span
//   positions [TensorDash §3.6.2]. The groups of a window follow one another. ASSUMPTION(A26): each row of
//   PEs slides by its own AS, with its own staging buffers on the other side, and rows meet at the end of
//   an output; a tap outside the image is a group of zeros.
class StoredSchedule {
 public:
  // Schedules the values of the row operand of `placed` and stores the result.
  StoredSchedule(const Config& config, const PlacedProduct& placed, const TensorValues& values);

  // Multiplies what the rows of PEs of a row group have stored; returns the cycles it takes them.
  std::int64_t run(std::int64_t row_group, std::vector<std::vector<RowValue>>& products) const;

 private:
  void store_filters(const TensorValues& values);
  void store_positions(const TensorValues& values);
  std::int64_t run_group(const ScheduledGroup& group, std::int64_t first_step, std::int64_t tail_step,
                         std::vector<RowValue>& products) const;

  const Config& config_;
  const PlacedProduct& placed_;
  LaneSelector selector_;
  std::vector<ScheduledGroup> groups_;  // one per filter or per position
  ScheduledGroup border_;
};

// Cycles of the chip, from masks.
std::int64_t stored_product_cycles(const Config& config, const PlacedProduct& placed);

// Rows of scheduled form, each of `lanes` slots, that the filters of a layer take.
std::int64_t stored_filter_rows(const Config& config, const Placement& forward);

}  // namespace lacuna::tensordash
