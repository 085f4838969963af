#include "bench/machine.hpp"

#include <nlohmann/json.hpp>

#include "base/cpu.hpp"
#include "base/version.hpp"
#include "kernels/choice/cost_model.hpp"
#include "kernels/measure/measure.hpp"

namespace lacuna::bench {

using nlohmann::ordered_json;

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

void to_json(ordered_json& json, const Machine& machine) {
  json = {{"cpu", machine.cpu},
          {"isa", machine.isa},
          {"onednn", machine.onednn},
          {"peak_gflops", machine.peak_gflops}};
}

ordered_json json_head(const Machine& machine) {
  ordered_json json;
  json["schema"] = 1;
  json["lacuna"] = version();
  json["machine"] = machine;
  return json;
}

std::string json_text(const ordered_json& json) {
  return json.dump(1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace lacuna::bench
