#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fmt/format.h>

#include "base/error.hpp"
#include "base/text/csv.hpp"
#include "base/text/parse_number.hpp"
#include "base/text/quote.hpp"
#include "network/layer_file.hpp"

namespace lacuna::network {
namespace {

// Letters and digits of a column's name in small letters: "IFMAP Height" is "ifmapheight".
std::string plain(std::string_view name) {
  std::string word;
  for (const char c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return word;
}

// SCALE-Sim ends each line with a comma, and some of its lines with several.
std::string without_last_commas(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    while (!line.empty() && std::string_view(", \t\r").find(line.back()) != std::string_view::npos)
      line.remove_suffix(1);
    out.append(line).push_back('\n');
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

// Settings of a line of a SCALE-Sim topology [SCALE-Sim, scalesim/topology_utils.py]: no padding, and a name
// with 'DP' is a depthwise layer, each channel with its own filters.
LayerSettings topology_layer(const std::vector<std::string>& cells, const std::string& where) {
  if (cells.size() == 4)
    return {{"type", "linear"}, {"name", cells[0]}, {"batch", cells[1]}, {"out", cells[2]}, {"in", cells[3]}};
  LayerSettings layer{{"name", cells[0]},
                      {"input", cells[1] + "x" + cells[2]},
                      {"kernel", cells[3] + "x" + cells[4]},
                      {"in", cells[5]},
                      {"out", cells[6]},
                      {"stride", cells[7] + "x" + (cells.size() > 8 ? cells[8] : cells[7])}};
  if (cells[0].find("DP") == std::string::npos) return layer;
  const auto channels = parse_number<std::int64_t>(cells[5]), filters = parse_number<std::int64_t>(cells[6]);
  if (!channels || !filters || *channels < 1 || *filters < 1 || *channels > (1 << 24) / *filters)
    throw InputError(where,
                     fmt::format("{} channels of {} filters each are not a depthwise layer",
                                 quote_name(cells[5]), quote_name(cells[6])),
                     "correct them, or remove 'DP' from the layer's name");
  layer["groups"] = cells[5];
  layer["out"] = std::to_string(*channels * *filters);
  return layer;
}

// Returns how many columns a topology has, or 0 for a list of ours.
std::size_t topology_columns(const std::vector<std::string>& columns) {
  std::vector<std::string> names;
  for (const std::string& column : columns) names.push_back(plain(column));
  if (names.size() == 4 && names[1] == "m" && names[2] == "n" && names[3] == "k") return 4;
  const bool convolutions = (names.size() == 8 || names.size() == 9) && names[1] == "ifmapheight" &&
                            names[2] == "ifmapwidth" && names[3] == "filterheight" &&
                            names[4] == "filterwidth" && names[5].starts_with("channel") &&
                            names[6].starts_with("numfilter") && names[7].starts_with("stride");
  return convolutions && (names.size() == 8 || names[8].starts_with("stride")) ? names.size() : 0;
}

}  // namespace

LayerList parse_csv_layers(std::string_view text, const std::string& file, const ZeroTexts& zeros) {
  LayerList list{std::filesystem::path(file).stem().string(), {}, {}};
  const std::string first = plain(text.substr(0, std::min<std::size_t>(text.find('\n'), 256)));
  const bool topology = first.find("ifmap") != std::string::npos || first.starts_with("layermnk") ||
                        first.starts_with("layernamemnk");
  const CsvTable table = CsvTable::parse(topology ? without_last_commas(text) : text, file);
  if (topology && topology_columns(table.columns) == 0)
    throw InputError(
        file, "it starts like a topology of SCALE-Sim and names other columns",
        "give Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, "
        "Strides; or Layer, M, N, K");
  if (!topology && std::ranges::find(table.columns, "in") == table.columns.end())
    throw InputError(file, "its first line names no column 'in'",
                     "name the sizes in the first line: name,type,in,out,kernel,input,stride,padding,groups");
  if (table.rows.size() > kMostLayers)
    throw InputError(file, fmt::format("the list has more than {} layers", kMostLayers), "split it");
  for (const auto& [key, value] : table.notes)
    if (key == "model" || key == "name") list.name = one_line(value);
  for (const CsvTable::Row& row : table.rows) {
    const std::string where = fmt::format("{}:{}", file, row.line);
    LayerSettings settings;
    if (topology) {
      settings = topology_layer(row.cells, where);
    } else {
      for (std::size_t i = 0; i < row.cells.size(); ++i) {
        if (row.cells[i].empty()) continue;
        if (!settings.emplace(table.columns[i], row.cells[i]).second)
          throw InputError(file, fmt::format("the column {} is there twice", quote_name(table.columns[i])),
                           "remove one");
      }
    }
    list.layers.push_back(make_synthetic_layer(settings, list.layers.size(), zeros, where));
  }
  if (list.layers.empty())
    throw InputError(file, "it has no layer below its first line", "add a line for each layer");
  return list;
}

}  // namespace lacuna::network
