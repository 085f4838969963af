#include "storage_reference.hpp"

#include <bit>

#include "models/tensordash/storage/backside_scheduler.hpp"

namespace lacuna::rtl {

using namespace tensordash;

std::vector<ScheduledRow> scheduled_rows(const std::string& spec, int depth, const ValueGroup& group) {
  const ScheduledCodec codec(Connectivity::parse(spec, 16, depth, "rtl"));
  GroupShape shape;
  std::vector<float> values;
  for (std::size_t s = 0; s < group.rows.size(); ++s) {
    shape.push_back(group.lanes[s]);
    for (int lane = 0; lane < group.lanes[s]; ++lane)
      values.push_back(std::bit_cast<float>(group.rows[s][static_cast<std::size_t>(lane)]));
  }
  const ScheduledGroup scheduled = codec.encode(shape, values);
  std::vector<ScheduledRow> rows;
  std::size_t slot = 0, position = 0;
  for (const std::uint8_t advance : scheduled.advances) {
    ScheduledRow row{std::vector<std::uint32_t>(16, 0), std::vector<int>(16, 0), group.lanes[position],
                     advance};
    for (int lane = 0; lane < row.slots; ++lane, ++slot) {
      row.values[static_cast<std::size_t>(lane)] = std::bit_cast<std::uint32_t>(scheduled.values[slot]);
      row.moves[static_cast<std::size_t>(lane)] = scheduled.moves[slot];
    }
    position += advance;
    rows.push_back(std::move(row));
  }
  return rows;
}

std::int64_t backside_cycles(const std::string& spec, int depth, const ValueGroup& group) {
  BacksideScheduler scheduler(Connectivity::parse(spec, 16, depth, "rtl"));
  for (std::size_t s = 0; s < group.rows.size(); ++s) {
    std::vector<float> block;
    for (int lane = 0; lane < group.lanes[s]; ++lane)
      block.push_back(std::bit_cast<float>(group.rows[s][static_cast<std::size_t>(lane)]));
    scheduler.push(block);
  }
  scheduler.end_group();
  std::int64_t cycles = 0;
  for (; !scheduler.done(); ++cycles) scheduler.cycle();
  return cycles;
}

}  // namespace lacuna::rtl
