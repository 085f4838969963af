// The tile that runs a layer, at the paper's size, on layers of recorded traces: values of the functional
// engine, cycles of both engines.
#include <fmt/format.h>

#include "Vlayer.h"
#include "layer_reference.hpp"
#include "layer_run_check.hpp"

namespace lacuna::rtl {
namespace {

constexpr LayerTileInfo kTile{4, 4, 128, 128};

const Layer& layer_of(const Trace& trace, const std::string& name) {
  for (const Layer& layer : trace.layers()) {
    if (layer.name == name) return layer;
  }
  throw std::out_of_range(name);
}

void check_operations(const Layer& layer) {
  LayerTileDriver<Vlayer> driver(16, 1, 0);
  for (const Operation op : kOperations) {
    const LayerRun run = layer_run(layer, op, kTile, 1);
    const LayerCycles cycles = check_run(driver, run);
    if (::testing::Test::HasFailure()) return;
    std::cout << fmt::format(
        "{}: dense {}, engines {}, tile {}, waits for operands {}, for results {}, in all {}\n", run.name,
        run.dense_cycles, run.cycles, cycles.issued, cycles.wait_operands, cycles.wait_results, cycles.all);
  }
}

void check_cut(const std::string& model, const std::string& layer, const LayerCut& cut) {
  const Trace trace = recorded_trace(model);
  const Trace part = cut_layer(layer_of(trace, layer), cut);
  check_operations(part.layers().front());
}

TEST(RecordedRun, AlexnetStride4) { check_cut("alexnet", "features.0", {1, 3, 16, {39, 39}}); }
TEST(RecordedRun, AlexnetConvolution) { check_cut("alexnet", "features.8", {1, 64, 24, {13, 13}}); }
TEST(RecordedRun, AlexnetLinear) { check_cut("alexnet", "classifier.6", {64, 1024, 10, {}}); }
TEST(RecordedRun, SqueezenetStride2) { check_cut("squeezenet", "features.0", {1, 3, 16, {41, 41}}); }
TEST(RecordedRun, SqueezenetConvolution) {
  check_cut("squeezenet", "features.9.expand3x3", {1, 48, 32, {13, 13}});
}

TEST(RecordedRun, SqueezenetWholeLayer) {
  const Trace trace = recorded_trace("squeezenet");
  check_operations(layer_of(trace, "features.9.expand1x1"));
}

}  // namespace
}  // namespace lacuna::rtl
