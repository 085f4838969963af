// The machines that the demo compares, all of the same number of multipliers. The first is the dense one.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace lacuna::cli {

struct DemoEntry {
  std::string_view arch;
  std::string_view title;
  std::string_view setting;  // "key=value", or empty
  // All of the memory system is modelled. The others wait for DRAM, but for no change of layout.
  bool whole_memory;
};

inline constexpr std::int64_t kDemoMultipliers = 4096;  // 16 tiles of 4x4 PEs of 16 [TensorDash Table 2]

inline constexpr std::array kDemoMachines{
    DemoEntry{"dense", "dense", "", true},
    DemoEntry{"tensordash", "TensorDash", "", true},
    DemoEntry{"cnvlutin", "Cnvlutin", "", true},
    DemoEntry{"structured-2of4", "2:4 weights", "", true},
    DemoEntry{"sparten", "SparTen", "", false},
    // Outer products of whole matrices are hopeless on linear layers; one index of the sum at a time is not.
    DemoEntry{"scnn-4096", "SCNN-like", "linear=channels", false},
    DemoEntry{"ant-4096", "ANT", "linear=channels", false},
};
inline constexpr std::size_t kDemoHeadline = 1;  // whose energy the last lines name

}  // namespace lacuna::cli
