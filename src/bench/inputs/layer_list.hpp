// Lists of convolutions to time: from configs/shapes or from a trace.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/layer_shape.hpp"
#include "trace/trace.hpp"

namespace lacuna::bench {

struct NetworkLayer {
  std::string name;
  LayerShape shape;               // with the batch of the benchmark
  std::int64_t count = 1;         // layers of the network that have this shape
  bool initial = false;           // the first convolution: its input is the image, which has no zeros to skip
  const Layer* traced = nullptr;  // of Network::trace
  // Rows of a table of zeros (zero_table.hpp): the input's, and the output gradient's where it has zeros. One
  // per layer of this shape, or none.
  std::vector<std::string> zeros_a, zeros_g;
};

struct Network {
  std::string name;
  double paper_training = 0;  // the paper's speedup of the non-initial convolutions; 0: none given
  double paper_inference = 0;
  std::vector<NetworkLayer> layers;
  std::shared_ptr<const Trace> trace;
};

// Reads the list `name`: one of configs/shapes, which are part of the program, or a .yaml file. Throws
// InputError.
Network read_shapes(const std::string& name, std::int64_t batch);
// Parses a list; `path` stands for the file in messages.
Network parse_shapes(std::string_view text, const std::string& path, std::int64_t batch);
// Lists the convolutions of a trace; its recorded samples are repeated to fill the batch.
Network network_of_trace(const std::filesystem::path& path, std::int64_t batch);

std::vector<std::string> shape_names();

}  // namespace lacuna::bench
