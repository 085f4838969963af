#include "bench/machine.hpp"

#include "base/cpu.hpp"
#include "kernels/choice/cost_model.hpp"
#include "kernels/measure/measure.hpp"

namespace lacuna::bench {

Machine this_machine() {
  Machine machine;
  const std::string key = kernels::machine_key();
  const auto first = key.find(" | ");
  const auto second = key.find(" | ", first + 3);
  machine.cpu = key.substr(first + 3, second - first - 3);
  machine.onednn = key.substr(second + 3);
  machine.isa = isa_name(best_isa());
  machine.peak_gflops = kernels::peak_gflops(1);
  return machine;
}

Json document_of(const Machine& machine) {
  Json json = json_document(1);
  json["machine"] = {{"cpu", machine.cpu},
                     {"isa", machine.isa},
                     {"onednn", machine.onednn},
                     {"peak_gflops", machine.peak_gflops}};
  return json;
}

}  // namespace lacuna::bench
