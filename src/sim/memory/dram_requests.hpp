// The requests of an operation to DRAM, one after another: what a simulator of DRAM replays.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lacuna {

// A tensor of an operation as it crosses the DRAM bus.
struct DramTensor {
  std::string name;                    // "A", "W", "G" or "output"
  std::int64_t bytes = 0;              // of one pass, as on the bus
  std::int64_t reads = 0, writes = 0;  // passes
  // The order of a transposed operand: it lies in groups of 16 x 16 values, `channel_groups` of them side by
  // side, and is taken group by group across them [tensor/group_layout.hpp]. 0: as it lies, from end to end.
  std::int64_t groups = 0;
  std::int64_t channel_groups = 1;
  bool operator==(const DramTensor&) const = default;
};

struct DramRequest {
  std::int64_t address = 0;
  bool write = false;
};

// The requests of the tensors of an operation. Tensors lie one after another, each from a multiple of `align`
// bytes on. They move side by side, as they are used (A12: double buffering everywhere): `turn_bytes` of
// the tensor of which the smallest share has moved.
class DramRequests {
 public:
  struct Layout {
    std::int64_t request_bytes = 64;  // a burst of a channel
    std::int64_t turn_bytes = 65536;  // of a tensor before another one moves
    std::int64_t align = 1 << 20;
    bool as_needed = false;  // transposed operands group by group; else every tensor from end to end
  };

  DramRequests(std::vector<DramTensor> tensors, const Layout& layout);

  std::int64_t count() const { return count_; }
  // False at the end.
  bool next(DramRequest& request);

 private:
  struct Stream {
    Stream(DramTensor of, std::int64_t from, const Layout& layout);
    std::int64_t step();
    double progress() const { return static_cast<double>(done) / static_cast<double>(total); }

    DramTensor tensor;
    std::int64_t base;
    std::int64_t requests;   // of one pass
    std::int64_t total = 0;  // of all passes
    std::int64_t done = 0;
    std::int64_t group_requests = 1;
    std::int64_t across = 1;  // groups side by side
    std::int64_t group = 0, in_group = 0;
  };

  bool choose();

  Layout layout_;
  std::vector<Stream> streams_;
  std::int64_t count_ = 0;
  std::size_t current_ = 0;
  std::int64_t left_in_turn_ = 0;
};

}  // namespace lacuna
