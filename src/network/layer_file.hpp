// The layers of a network from a file: a list in YAML or CSV, a topology of SCALE-Sim, a model in ONNX. A
// list names sizes as `lacuna synth --layer` does ('in', 'out', 'kernel', 'input', ...).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trace/synthetic/synthetic_text.hpp"

namespace lacuna::network {

struct LayerList {
  std::string name;
  std::vector<SyntheticLayer> layers;
  std::vector<LeftOut> left_out;  // products of a model that no trace can hold
};

// Far more layers than any network has; bounds what a short file can ask for.
inline constexpr std::size_t kMostLayers = 1 << 16;

// Reads one of configs/shapes, which are part of the program, or a .yaml, .csv or .onnx file. `zeros` are
// those of tensors that the file says nothing about. Throws InputError.
LayerList read_layers(const std::string& name_or_file, const ZeroTexts& zeros);
// Names of the lists in configs/shapes.
std::vector<std::string> layer_list_names();

// Each throws InputError; `file` starts its messages and gives the network a name where the text has none.

// Layers as maps ("{name: c1, in: 3, out: 8, kernel: 3, input: [32, 32]}") or as the words of --layer. Lists
// for `lacuna bench` (configs/shapes) are read as well.
LayerList parse_yaml_layers(std::string_view text, const std::string& file, const ZeroTexts& zeros);
// A column for each key, in any order, or a topology of SCALE-Sim: convolutions, or products M, N, K.
LayerList parse_csv_layers(std::string_view text, const std::string& file, const ZeroTexts& zeros);
// The convolutions and matrix products of an ONNX model.
LayerList parse_onnx_layers(std::span<const std::uint8_t> bytes, const std::string& file,
                            const ZeroTexts& zeros);

}  // namespace lacuna::network
