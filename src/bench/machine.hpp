// The machine that results were measured on.
#pragma once

#include <string>

#include "base/text/json.hpp"

namespace lacuna::bench {

struct Machine {
  std::string cpu, isa, onednn;
  double peak_gflops = 0;  // of one core, multiply-adds in registers
};
Machine this_machine();

// Starts a result of `lacuna bench --json`: schema, version and machine.
Json document_of(const Machine& machine);

}  // namespace lacuna::bench
