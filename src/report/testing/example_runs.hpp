// Small results for tests.
#pragma once

#include <fmt/format.h>
#include <optional>
#include <string>

#include "sim/result.hpp"

namespace lacuna::testing {

// Two layers: one convolution with a counter, one linear layer that took no cycles at all.
inline RunResult example_run(const std::string& model, const std::string& arch,
                             std::optional<double> progress) {
  RunResult run;
  run.trace =
      progress ? fmt::format("{}_p{:.0f}.safetensors", model, *progress * 100) : model + ".safetensors";
  run.info.model = model;
  run.info.dataset = "d";
  run.info.progress = progress;
  run.info.accuracy = 0.75;
  run.info.samples = 2;
  run.batch = 64;
  run.arch = arch;
  run.base = "machine";
  run.engine = "fast";
  run.seed = 7;
  run.config = {{"rows", "4", ParamSpec::Kind::kInteger},
                {"share", "0.25", ParamSpec::Kind::kNumber},
                {"gating", "off", ParamSpec::Kind::kFlag},
                {"sync", "lockstep", ParamSpec::Kind::kText}};
  run.layers = {
      {"conv",
       "3x3 16->32 @8x8",
       32,
       {{Operation::kForward, Operand::kA, 1000, 600, 500, 50, {{"steps", 3}}},
        {Operation::kWeightGrad, Operand::kG, 1000, 400, 300, 40, {}}}},
      {"fc", "linear 8->4 x2", 1.5, {{Operation::kInputGrad, ScheduledOperands(), 64, 0, 0, 0, {}}}}};
  run.layers[0].ops[0].cycles_without_zeros = 80;
  run.layers[0].ops[0].mapping = {{"rows", "A"}, {"steps", 36}};
  run.layers[0].ops[1].cycles_without_zeros = 100;
  run.layers[1].ops[0].cycles_without_zeros = 7;
  auto baseline = std::make_shared<RunResult>();
  baseline->arch = baseline->base = "dense";
  baseline->config = {{"rows", "4", ParamSpec::Kind::kInteger}};
  baseline->layers = run.layers;
  baseline->layers[0].ops[0].cycles = 100;
  baseline->layers[0].ops[1].cycles = 100;
  baseline->layers[1].ops[0].cycles = 7;
  run.baseline = baseline;
  return run;
}

}  // namespace lacuna::testing
