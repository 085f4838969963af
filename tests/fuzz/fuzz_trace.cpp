// Any bytes as a trace file. What is accepted must survive being written and read again.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "base/error.hpp"
#include "sim/workload/mac_counts.hpp"
#include "time_limit.hpp"
#include "trace/format/trace_writer.hpp"
#include "trace/trace.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const lacuna::TimeLimit time;
  using namespace lacuna;
  try {
    const Trace trace = Trace::parse("fuzz", std::vector<std::uint8_t>(data, data + size));
    const Trace again = Trace::parse("again", serialize_trace(trace));
    if (again.layers().size() != trace.layers().size()) std::abort();
    if (again.info().left_out != trace.info().left_out) std::abort();
    for (std::size_t i = 0; i < trace.layers().size(); ++i) {
      const Layer& one = trace.layers()[i];
      const Layer& two = again.layers()[i];
      if (one.shape != two.shape || one.a.nonzeros != two.a.nonzeros || one.w.nonzeros != two.w.nonzeros ||
          one.g.nonzeros != two.g.nonzeros) {
        std::abort();
      }
      for (const Operation op : kOperations) {
        const MacCounts counts = count_macs(one, op);
        if (counts.effectual < 0 || counts.effectual > std::min(counts.with_primary, counts.with_secondary))
          std::abort();
      }
    }
  } catch (const InputError&) {
  }
  return 0;
}
