// The machine that results were measured on.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace lacuna::bench {

struct Machine {
  std::string cpu, isa, onednn;
  double peak_gflops = 0;  // of one core, multiply-adds in registers
};
Machine this_machine();

void to_json(nlohmann::ordered_json& json, const Machine& machine);

// Starts a result of `lacuna bench --json`: schema, version and machine.
nlohmann::ordered_json json_head(const Machine& machine);
// Returns the text of a result. Names of files may hold any bytes: those that are not UTF-8 are replaced.
std::string json_text(const nlohmann::ordered_json& json);

}  // namespace lacuna::bench
