#include "tensordash_reference.hpp"

#include <fmt/format.h>

#include "models/tensordash/engine/row_group.hpp"
#include "sim/catalog/arch_catalog.hpp"

namespace lacuna::rtl {

using tensordash::Connectivity;
using tensordash::Scheduler;
using tensordash::Selection;

ConnectivityInfo connectivity_info(const std::string& spec, int lanes, int depth) {
  const Connectivity connectivity = Connectivity::parse(spec, lanes, depth, "rtl");
  ConnectivityInfo info;
  info.lanes = lanes;
  info.depth = depth;
  for (const tensordash::Movement& m : connectivity.movements()) info.moves.push_back({m.step, m.offset});
  info.levels = static_cast<int>(connectivity.levels().size());
  info.level_of.resize(static_cast<std::size_t>(lanes));
  for (int level = 0; level < info.levels; ++level) {
    for (const int lane : connectivity.levels()[static_cast<std::size_t>(level)]) {
      info.level_of[static_cast<std::size_t>(lane)] = level;
    }
  }
  return info;
}

struct FrontendReference::Expected {
  FrontendCycle cycle;
  bool bypass = false;
};

FrontendReference::FrontendReference(const std::string& spec, int lanes, int depth, int width)
    : info_(connectivity_info(spec, lanes, depth)), spec_(spec), width_(width) {}
FrontendReference::~FrontendReference() = default;

void FrontendReference::reset() {
  expected_.clear();
  errors_.clear();
  cycles_ = seen_ = 0;
}

bool FrontendReference::idle() const { return expected_.empty(); }
std::int64_t FrontendReference::cycles() const { return cycles_; }

void FrontendReference::push(const StreamGroup& group, bool bypass) {
  const Scheduler scheduler(Connectivity::parse(spec_, info_.lanes, info_.depth, "rtl"));
  tensordash::GroupWords words(group.rows, group.steps, info_.depth);
  const std::uint32_t magnitude =
      static_cast<std::uint32_t>((std::uint64_t{1} << (width_ - 1)) - 1);  // all but the sign
  for (int r = 0; r < group.rows; ++r) {
    for (int step = 0; step < group.steps; ++step) {
      for (int lane = 0; lane < group.lanes; ++lane) {
        if ((group.value(r, step, lane) & magnitude) != 0) words.row(r)[step] |= std::uint64_t{1} << lane;
      }
    }
  }
  tensordash::GroupWords before = words;
  const auto value_at = [&](int row, std::int64_t step, int lane) {
    return step < group.steps ? group.value(row, static_cast<int>(step), lane) : 0U;
  };
  std::vector<Expected> cycles;
  const auto watch = [&](std::int64_t r, std::int64_t position, const Selection& selection) {
    if (r == 0) {
      Expected expected;
      expected.bypass = bypass;
      expected.cycle.first = position == 0;
      expected.cycle.rows.resize(static_cast<std::size_t>(group.rows));
      cycles.push_back(std::move(expected));
    }
    FrontendCycle::Row& row = cycles.back().cycle.rows[static_cast<std::size_t>(r)];
    for (int lane = 0; lane < info_.lanes; ++lane) {
      const int move = selection[static_cast<std::size_t>(lane)];
      row.selection.push_back(move);
      std::uint32_t operand = 0;
      if (move >= 0) {
        const auto& m = scheduler.connectivity().movements()[static_cast<std::size_t>(move)];
        operand = value_at(static_cast<int>(r), position + m.step, scheduler.source_lane(lane, m));
      }
      row.operands.push_back(operand);
    }
    for (int s = 0; s < (bypass ? 1 : info_.depth); ++s) {
      row.pending.push_back(before.row(r)[position + s]);
      before.row(r)[position + s] = words.row(r)[position + s];
      for (int lane = 0; lane < info_.lanes; ++lane) {
        row.staged.push_back(value_at(static_cast<int>(r), position + s, lane));
      }
    }
  };
  std::int64_t count = 0;
  if (bypass) {
    Selection dense;
    dense.fill(0);
    for (int step = 0; step < group.steps; ++step, ++count) {
      for (int r = 0; r < group.rows; ++r) watch(r, step, dense);
    }
  } else {
    count = tensordash::run_lockstep(scheduler, words, watch);
  }
  cycles.back().cycle.last = true;
  cycles_ += count;
  for (Expected& expected : cycles) expected_.push_back(std::move(expected));
}

void FrontendReference::step(const FrontendCycle& cycle) {
  ++seen_;
  if (expected_.empty()) {
    fail(fmt::format("cycle {}: the hardware issues after the model has ended", seen_));
    return;
  }
  const Expected expected = std::move(expected_.front());
  expected_.pop_front();
  const FrontendCycle& want = expected.cycle;
  if (want.first != cycle.first || want.last != cycle.last)
    fail(fmt::format("cycle {}: first/last differ", seen_));
  for (std::size_t r = 0; r < want.rows.size(); ++r) {
    const FrontendCycle::Row &w = want.rows[r], &c = cycle.rows[r];
    if (w.selection != c.selection) fail(fmt::format("cycle {} row {}: the selection differs", seen_, r));
    if (w.operands != c.operands) fail(fmt::format("cycle {} row {}: the operands differ", seen_, r));
    if (!std::equal(w.pending.begin(), w.pending.end(), c.pending.begin()))
      fail(fmt::format("cycle {} row {}: the effectual bits differ", seen_, r));
    if (!std::equal(w.staged.begin(), w.staged.end(), c.staged.begin()))
      fail(fmt::format("cycle {} row {}: the staging buffer differs", seen_, r));
  }
}

std::vector<ArchConnectivity> arch_connectivities() {
  std::vector<ArchConnectivity> found;
  const ArchCatalog catalog;
  for (const std::string& name : catalog.names()) {
    const Machine machine = catalog.find(name, "rtl");
    if (machine.model->name != "tensordash") continue;
    found.push_back({name, machine.params.text("connectivity"),
                     static_cast<int>(machine.params.integer("lanes")),
                     static_cast<int>(machine.params.integer("depth"))});
  }
  return found;
}

}  // namespace lacuna::rtl
