// The layers `lacuna bench` runs: from configs/shapes or from a trace.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/layer_shape.hpp"
#include "trace/trace.hpp"

namespace lacuna::cli {

struct BenchLayer {
  std::string name;
  LayerShape shape;        // with the batch of the benchmark
  std::int64_t count = 1;  // how many layers of the network have this shape
  bool initial = false;    // the first convolution: its input is the image, which has no zeros to skip
  const Layer* traced = nullptr;
  // Rows of a table of zeros (--zeros-file): the input's, and the output gradient's where it has zeros. One
  // per layer of this shape, or none.
  std::vector<std::string> zeros_a, zeros_g;
};

struct BenchNetwork {
  std::string name;
  double paper_training = 0;  // the paper's speedup of the non-initial convolutions; 0: none given
  double paper_inference = 0;
  std::vector<BenchLayer> layers;
  std::shared_ptr<const Trace> trace;
};

// `name` is a .yaml file or the name of one of configs/shapes, which are part of the program. Throws
// InputError.
BenchNetwork read_shapes(const std::string& name, std::int64_t batch);
// The same from a text; `path` stands for the file in messages.
BenchNetwork parse_shapes(std::string_view text, const std::string& path, std::int64_t batch);
// The convolutions of a trace; its recorded samples are repeated to make the batch.
BenchNetwork network_of_trace(const std::filesystem::path& path, std::int64_t batch);

std::vector<std::string> shape_names();

}  // namespace lacuna::cli
