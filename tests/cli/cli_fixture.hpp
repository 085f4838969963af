// Shared by tests of the command line: two recorded traces, a small one, and the form of an error.
#pragma once

#include <algorithm>
#include <gtest/gtest.h>
#include <string>

#include "cli/run_program.hpp"
#include "trace/format/trace_writer.hpp"
#include "trace/synthetic/synthetic.hpp"

namespace lacuna::testing {

inline const std::string kAlexnet = LACUNA_SOURCE_DIR "/data/alexnet_p100.safetensors.zst";
inline const std::string kSqueezenet = LACUNA_SOURCE_DIR "/data/squeezenet_p100.safetensors.zst";

class CliTest : public ::testing::Test {
 protected:
  // A trace of three small layers.
  std::string small_trace(const std::string& name, std::uint64_t seed = 1) {
    SyntheticSpec spec;
    spec.name = "small";
    spec.seed = seed;
    spec.layers = {{"conv1", LayerShape::conv2d(2, 3, 8, {9, 9}, {3, 3}), 1, ZeroSpec::dense(),
                    ZeroSpec::dense(), ZeroSpec::uniform(0.5)},
                   {"conv2", LayerShape::conv2d(2, 8, 20, {7, 7}, {3, 3}, {2, 2}, {1, 1}), 1,
                    ZeroSpec::uniform(0.6), ZeroSpec::dense(), ZeroSpec::by_channel(0.7)},
                   {"fc", LayerShape::linear(2, 320, 10), 1, ZeroSpec::uniform(0.3), ZeroSpec::uniform(0.9),
                    ZeroSpec::dense()}};
    write_trace(make_synthetic(spec), folder_.file(name));
    return folder_.file(name);
  }
  // One line, exit code 2, nothing on standard output, and `part` in it.
  TemporaryFolder folder_;
};

}  // namespace lacuna::testing
