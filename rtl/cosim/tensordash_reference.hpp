// The model's side of a TensorDash co-simulation. This and its .cpp are all that knows the simulator's
// classes.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "reference_model.hpp"

namespace lacuna::rtl {

// The streams of the rows of a tile for one output: value(row, step, lane) as bits.
struct StreamGroup {
  int rows = 1;
  int steps = 1;
  int lanes = 16;
  std::vector<std::uint32_t> values;
  std::uint32_t& value(int row, int step, int lane) {
    return values[static_cast<std::size_t>((row * steps + step) * lanes + lane)];
  }
  std::uint32_t value(int row, int step, int lane) const {
    return values[static_cast<std::size_t>((row * steps + step) * lanes + lane)];
  }
};

struct ConnectivityInfo {
  int lanes = 0;
  int depth = 0;
  struct Move {
    int step, offset;
  };
  std::vector<Move> moves;
  std::vector<int> level_of;  // by lane
  int levels = 0;
};
// Throws what the model throws for a connectivity it does not accept.
ConnectivityInfo connectivity_info(const std::string& spec, int lanes, int depth);

// Every machine of configs/arch that is a TensorDash: its connectivity.
struct ArchConnectivity {
  std::string arch;
  std::string spec;
  int lanes;
  int depth;
};
std::vector<ArchConnectivity> arch_connectivities();

// Outputs of a tile's front end in a cycle that issues.
struct FrontendCycle {
  bool first = false, last = false;
  int slide = 0;
  struct Row {
    std::vector<int> selection;           // movement of each lane, -1: idle
    std::vector<std::uint32_t> operands;  // by lane
    std::vector<std::uint64_t>
        pending;                        // effectual bits before this cycle's selection, by step of the window
    std::vector<std::uint32_t> staged;  // [step][lane]
  };
  std::vector<Row> rows;
};

// Rows in lock-step, as the functional engine runs them. `width`: bits of a value, its sign the highest.
class FrontendReference final : public ReferenceModel<FrontendCycle> {
 public:
  FrontendReference(const std::string& spec, int lanes, int depth, int width);
  ~FrontendReference() override;

  void reset() override;
  // The next stream; queued behind those that are not finished. `bypass`: dense steps.
  void push(const StreamGroup& group, bool bypass = false);
  void step(const FrontendCycle& cycle) override;

  bool idle() const;            // everything that was pushed has been issued
  std::int64_t cycles() const;  // of the streams pushed, by the model
  const ConnectivityInfo& connectivity() const { return info_; }

 private:
  struct Expected;
  ConnectivityInfo info_;
  std::string spec_;
  int width_;
  std::deque<Expected> expected_;
  std::int64_t cycles_ = 0;
  std::int64_t seen_ = 0;
};

}  // namespace lacuna::rtl
