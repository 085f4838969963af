// Any text as the list of layers: a safetensors header around it is made here, so that the fuzzer need not
// find out about lengths and nested quotes.
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "sim/workload/mac_counts.hpp"
#include "time_limit.hpp"
#include "trace/format/layer_list.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const lacuna::TimeLimit time;
  using namespace lacuna;
  const std::string list(reinterpret_cast<const char*>(data), size);
  try {
    parse_layer_list(list, "fuzz");
    const nlohmann::json header{
        {"__metadata__", {{"format", "training-trace"}, {"version", "2"}, {"model", "m"}, {"layers", list}}}};
    const std::string text = header.dump();
    std::vector<std::uint8_t> bytes(8 + text.size());
    const std::uint64_t length = text.size();
    std::memcpy(bytes.data(), &length, 8);
    std::memcpy(bytes.data() + 8, text.data(), text.size());
    const Trace trace = Trace::parse("fuzz", std::move(bytes));
    for (const Layer& layer : trace.layers()) {
      if (layer.a.zeros() != 0 || layer.shape.macs() <= 0) std::abort();
      // Nothing is zero, so that only borders can be without effect; whatever the sizes, in no time.
      const MacCounts forward = count_macs(layer, Operation::kForward);
      if (forward.effectual < 0 || forward.effectual > forward.macs) std::abort();
      for (const Operation op : kOperations) {
        const MacCounts counts = count_macs(layer, op);
        if (counts.effectual != forward.effectual || counts.with_secondary < counts.effectual) std::abort();
      }
    }
  } catch (const InputError&) {
  }
  return 0;
}
