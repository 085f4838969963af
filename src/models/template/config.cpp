#include "models/template/config.hpp"

namespace lacuna::template_machine {

std::vector<ParamSpec> Config::params() {
  return {
      ParamSpec::integer("window_cycles", 1, 0, 16, "cycles",
                         "the least that the streams on a tile's rows take, zeros or not",
                         "where the default comes from: a paper's section, or docs/assumptions.md X1"),
  };
}

Config Config::from(const Params& params, const TileShape& tile) {
  return {.tile = tile, .window_cycles = params.integer("window_cycles")};
}

}  // namespace lacuna::template_machine
