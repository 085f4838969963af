#include "trace/synthetic/zeros_file.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <set>

#include "base/error.hpp"
#include "base/io/byte_source.hpp"
#include "base/text/csv.hpp"
#include "base/text/nearest.hpp"
#include "base/text/quote.hpp"
#include "trace/synthetic/synthetic_text.hpp"

namespace lacuna {

ZerosClustering parse_zeros_clustering(const std::string& word) {
  return static_cast<ZerosClustering>(std::ranges::find(kZerosClusterings, word) - kZerosClusterings.begin());
}

ZerosTable ZerosTable::open(const std::string& path) { return parse(ByteSource::open(path)->text(), path); }

ZerosTable ZerosTable::parse(std::string_view text, const std::string& path) {
  const CsvTable csv = CsvTable::parse(text, path);
  if (csv.columns != std::vector<std::string>{"layer", "A", "W", "G"})
    throw InputError(path, "its first line is not 'layer,A,W,G'", "name these four columns, in this order");
  ZerosTable table;
  table.path_ = path;
  for (const CsvTable::Row& row : csv.rows) {
    const std::string where = fmt::format("{}:{}", path, row.line);
    const std::string& name = row.cells[0];
    if (const auto same = std::ranges::find(table.lines_, name, &Line::layer); same != table.lines_.end())
      throw InputError(where, fmt::format("layer {} is on line {} already", quote_name(name), same->number),
                       "remove one of the lines");
    Line& line = table.lines_.emplace_back(Line{row.line, name, {}});
    for (const Operand role : kOperands) {
      const std::string& cell = row.cells[1 + static_cast<std::size_t>(role)];
      if (cell != "recorded")
        line.zeros[role] = parse_zeros(cell, fmt::format("{}: column {}", where, operand_name(role)));
    }
  }
  return table;
}

void ZerosTable::check_names(const std::vector<std::string>& names, const std::string& owner) const {
  const std::set<std::string_view> known(names.begin(), names.end());
  for (const Line& line : lines_) {
    if (!known.contains(line.layer))
      throw InputError(fmt::format("{}:{}", path_, line.number),
                       fmt::format("{} has no layer {}", owner, quote_name(line.layer)),
                       suggest(line.layer, names));
  }
}

const ZerosTable::Line& ZerosTable::line_of(const std::string& layer) const {
  const auto line = std::ranges::find(lines_, layer, &Line::layer);
  if (line == lines_.end())
    throw InputError(path_, fmt::format("there is no line for layer {}", quote_name(layer)),
                     "add it; 'recorded' keeps the zeros of a tensor");
  return *line;
}

Trace ZerosTable::draw(const Trace& trace, ZerosClustering clustering, std::uint64_t seed) const {
  std::vector<std::string> names;
  for (const Layer& layer : trace.layers()) names.push_back(layer.name);
  check_names(names, trace.path());
  SyntheticSpec spec;
  spec.name = fmt::format("{} with the zeros of {}", trace.path(), path_);
  spec.seed = seed;
  spec.info = trace.info();
  for (const Layer& layer : trace.layers()) {
    const Line& line = line_of(layer.name);
    const auto zeros_of = [&](Operand role) {
      const MaskView& mask = layer.tensor(role).mask;
      if (!line.zeros[role]) return ZeroSpec::recorded(mask);
      const ZeroSpec& zeros = *line.zeros[role];
      if (zeros.pattern != ZeroPattern::kUniform || clustering == ZerosClustering::kUniform) return zeros;
      if (clustering == ZerosClustering::kChannel) return ZeroSpec::by_channel(zeros.share);
      return ZeroSpec::clustered(zeros.share, measure_clustering(mask, rows_of_image(layer.shape, role)));
    };
    spec.layers.push_back({layer.name, layer.shape, layer.steps, zeros_of(Operand::kA), zeros_of(Operand::kW),
                           zeros_of(Operand::kG)});
  }
  return make_synthetic(spec);
}

void ZerosTable::apply(std::vector<SyntheticLayer>& layers, const std::string& name,
                       ZerosClustering clustering) const {
  if (clustering == ZerosClustering::kMeasured)
    throw InputError("--clustering measured",
                     fmt::format("{} was not recorded, so there is nothing to measure", name),
                     "take uniform or channel, or --zeros-like TRACE");
  std::vector<std::string> names;
  for (const SyntheticLayer& layer : layers) names.push_back(layer.name);
  check_names(names, name);
  for (SyntheticLayer& layer : layers) {
    const Line& line = line_of(layer.name);
    for (const Operand role : kOperands) {
      if (!line.zeros[role])
        throw InputError(fmt::format("{}:{}", path_, line.number),
                         fmt::format("'recorded' is of a trace, and {} is none", name),
                         "give a share, or dense or zero");
      ZeroSpec& zeros = layer.zeros(role) = *line.zeros[role];
      if (zeros.pattern == ZeroPattern::kUniform && clustering == ZerosClustering::kChannel)
        zeros = ZeroSpec::by_channel(zeros.share);
    }
  }
}

}  // namespace lacuna
