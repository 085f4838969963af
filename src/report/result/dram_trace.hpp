// The requests of a run to DRAM as traces for simulators of DRAM.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/params.hpp"
#include "sim/result.hpp"

namespace lacuna {

enum class DramTraceFormat {
  kRamulator2,  // "LD 0x1000", for its frontend LoadStoreTrace
  kDramsim3,    // "0x1000 READ 17", with the cycle of the bus in which a request comes
};
inline constexpr std::array kDramTraceFormats{DramTraceFormat::kRamulator2, DramTraceFormat::kDramsim3};
constexpr std::string_view dram_trace_format_name(DramTraceFormat format) {
  return format == DramTraceFormat::kRamulator2 ? "ramulator2" : "dramsim3";
}

struct DramTraceFile {
  std::string name;  // "003-conv2.input_grad.trace"
  std::string text;
};

// Hands `write` one file per operation, then operations.csv, which lists them with their sizes and the DRAM
// time that the machine's model gives them: all bytes of the recorded samples, and tensors that move once per
// batch. `most`: requests of a file; operations with more are cut, and the list says so. `machine`: the
// parameters of the run's machine. Throws InputError for a machine without a memory system.
void write_dram_traces(const RunResult& run, const Params& machine, DramTraceFormat format, std::int64_t most,
                       const std::function<void(const DramTraceFile&)>& write);

}  // namespace lacuna
