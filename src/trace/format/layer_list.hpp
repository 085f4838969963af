// The list of layers in a trace's metadata.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/format/trace_storage.hpp"
#include "trace/trace.hpp"

namespace lacuna {

// A layer as described: name, shape, steps, and the share of zeros that the recorder noted (-1: not noted).
struct LayerEntry {
  std::string name;
  LayerShape shape;
  std::int64_t steps = 1;
  std::array<double, kTraceTensors.size()> zeros{-1, -1, -1, -1};
  std::optional<PerOperation<bool>> operations = std::nullopt;

  double noted_zeros(TraceTensor which) const { return zeros[which.index()]; }
};

// Version 2 of the format added matmul and recurrent layers, version 3 A_forward and operations. A writer
// gives a file the lowest version that has all it contains, so that older programs read what they can and
// refuse the rest.
inline constexpr int kTraceVersion = 3;
int needed_version(const std::vector<Layer>& layers);

// Parses and checks the JSON list of a file of that version. Throws InputError; `where` starts the message.
std::vector<LayerEntry> parse_layer_list(std::string_view json_text, const std::string& where,
                                         int version = kTraceVersion);
// Digits after the point of the most exact share of zeros in the list: recorders round all of them alike.
int noted_digits(const std::vector<LayerEntry>& layers);
// Parses "3" for both axes or "3x2" (height, width), each from 0 to `largest`. Returns nothing for anything
// else.
std::optional<Size2> parse_size(std::string_view text, std::int64_t largest);
// Checks that the layer is a whole number of samples of `steps` steps.
void check_steps(const LayerShape& shape, std::int64_t steps, const std::string& place);

// The reverse, for writers.
std::string layer_list_json(const std::vector<Layer>& layers);

}  // namespace lacuna
