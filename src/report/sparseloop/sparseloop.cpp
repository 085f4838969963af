#include "report/sparseloop/sparseloop.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.hpp"
#include "base/text/csv.hpp"
#include "base/text/quote.hpp"
#include "tensor/data_type.hpp"

namespace lacuna {
namespace {

// Multipliers along the two axes of the mesh: TensorDash's 4,096 [Table 2].
constexpr std::int64_t kMesh = 64;

// Dimensions of a convolution as Timeloop names them: groups, channels, filters, kernel, images, outputs.
constexpr std::array<char, 8> kDims{'G', 'C', 'M', 'R', 'S', 'N', 'P', 'Q'};
using Sizes = std::array<std::int64_t, kDims.size()>;

Sizes sizes_of(const LayerShape& shape) {
  return {shape.groups, shape.c_per_group(), shape.k_per_group(), shape.kernel.h, shape.kernel.w,
          shape.n,      shape.output.h,      shape.output.w};
}

constexpr std::array<std::string_view, 3> kProjections{
    "[[[N]], [[G]], [[C]], [[R, Hdilation], [P, Hstride]], [[S, Wdilation], [Q, Wstride]]]",  // A
    "[[[G]], [[C]], [[M]], [[R]], [[S]]]",                                                    // W
    "[[[N]], [[G]], [[M]], [[P]], [[Q]]]"};                                                   // G
constexpr std::array<std::string_view, 3> kInputNames{"Inputs", "Weights", "Gradients"};
constexpr std::array<std::string_view, 3> kOutputNames{"InputGradients", "WeightGradients", "Outputs"};

std::size_t at(Operand role) { return static_cast<std::size_t>(role); }

// The operand that an operation computes: the one that it does not read.
Operand result_of(Operation op) {
  return op == Operation::kForward ? Operand::kG : op == Operation::kInputGrad ? Operand::kA : Operand::kW;
}

double density(const LayerTensor& tensor) {
  // Sparseloop divides by densities: a tensor of zeros has one value.
  return std::max(1 - tensor.zero_share(), 1 / static_cast<double>(tensor.elements()));
}

std::string file_name(std::size_t index, const Layer& layer, Operation op) {
  std::string name = fmt::format("{:03}-{}", index, layer.name.substr(0, 100));
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '-') c = '_';
  return fmt::format("{}-{}.yaml", name, operation_name(op));
}

std::string factors(const Sizes& sizes) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < kDims.size(); ++i) words.push_back(fmt::format("{}={}", kDims[i], sizes[i]));
  return fmt::format("[{}]", fmt::join(words, ", "));
}

std::int64_t largest_divisor(std::int64_t number, std::int64_t most) {
  for (std::int64_t d = std::min(number, most); d > 1; --d)
    if (number % d == 0) return d;
  return 1;
}

// Divides the loops between the mesh and time. Timeloop's mappings need whole factors.
std::string mapping(const Sizes& sizes) {
  Sizes time = sizes, mesh;
  mesh.fill(1);
  std::vector<char> order;
  std::size_t split = 0;
  for (const std::string_view axis : {std::string_view("CGQS"), std::string_view("MPNR")}) {
    std::int64_t room = kMesh;
    for (const char dim : axis) {
      const auto i = static_cast<std::size_t>(std::ranges::find(kDims, dim) - kDims.begin());
      mesh[i] = largest_divisor(sizes[i], room);
      time[i] /= mesh[i];
      room /= mesh[i];
      order.push_back(dim);
    }
    if (split == 0) split = order.size();
  }
  Sizes once;
  once.fill(1);
  std::string text = "mapping:\n";
  const auto temporal = [&](std::string_view level, const Sizes& loops) {
    text += fmt::format("  - {{target: {}, type: temporal, factors: {}, permutation: [{}]}}\n", level,
                        factors(loops), fmt::join(kDims, ", "));
  };
  temporal("DRAM", time);
  temporal("SRAM", once);
  text += fmt::format("  - {{target: PE, type: spatial, factors: {}, permutation: [{}], split: {}}}\n",
                      factors(mesh), fmt::join(order, ", "), split);
  temporal("Registers", once);
  return text;
}

std::string problem(const Layer& layer, Operation op, const Layer& multiplied, std::string_view source,
                    const SparseloopOptions& options) {
  const Operand result = result_of(op);
  std::string text =
      fmt::format("# {} of layer {} in {}\n", operation_name(op), quote_name(layer.name), source);
  text += "problem:\n  version: 0.4\n  shape:\n    name: convolution\n";
  text += fmt::format("    dimensions: [{}]\n    coefficients:\n", fmt::join(kDims, ", "));
  for (const char* name : {"Hstride", "Wstride", "Hdilation", "Wdilation"})
    text += fmt::format("      - {{name: {}, default: 1}}\n", name);
  text += "    data_spaces:\n";
  const auto space = [&](std::string_view name, Operand role, std::string_view more) {
    text += fmt::format("      - name: {}\n        projection: {}\n{}", name, kProjections[at(role)], more);
  };
  std::vector<Operand> read;
  for (const Operand role : kOperands) {
    if (role == result) continue;
    read.push_back(role);
    space(kInputNames[at(role)], role, "");
  }
  space(kOutputNames[at(result)], result, "        read_write: true\n");
  const Sizes sizes = sizes_of(layer.shape);
  text += "  instance:\n";
  for (std::size_t i = 0; i < kDims.size(); ++i) text += fmt::format("    {}: {}\n", kDims[i], sizes[i]);
  text +=
      fmt::format("    Hstride: {}\n    Wstride: {}\n    Hdilation: {}\n    Wdilation: {}\n",
                  layer.shape.stride.h, layer.shape.stride.w, layer.shape.dilation.h, layer.shape.dilation.w);
  text += "    densities:\n";
  for (const Operand role : read)
    text += fmt::format("      {}: {{distribution: {}, density: {:.6g}}}\n", kInputNames[at(role)],
                        options.density_model, density(multiplied.tensor(role)));
  // The sparser operand decides whether the other is read and multiplied, as in TensorDash.
  const bool first = density(multiplied.tensor(read[0])) <= density(multiplied.tensor(read[1]));
  const std::string_view leader = kInputNames[at(read[first ? 0 : 1])],
                         other = kInputNames[at(read[first ? 1 : 0])];
  text += fmt::format(
      "sparse_optimizations:\n  version: 0.4\n  targets:\n    - target: Registers\n      "
      "action_optimization:\n"
      "        - {{type: skipping, options: [{{target: {1}, condition_on: [{0}]}}]}}\n"
      "        - {{type: skipping, options: [{{target: {2}, condition_on: [{0}]}}]}}\n",
      leader, other, kOutputNames[at(result)]);
  return text + mapping(sizes);
}

// The machine of the mappings: as many multipliers as TensorDash's, each with registers, without its tiles.
std::string architecture(const CostTable& costs) {
  const int bits = costs.data_type == "fp32" ? 32 : 16;
  const auto memory = [&](std::string_view name, std::string_view kind, std::string_view more) {
    return fmt::format(
        "  - !Component\n    name: {}\n    class: {}\n    attributes: {{width: {}, datawidth: {}{}}}\n", name,
        kind, 16 * bits, bits, more);
  };
  return fmt::format(
             "# {0} x {0} multipliers, whose energies are in ERT.yaml ({1}, {2:g} nm)\n"
             "architecture:\n  version: 0.4\n  nodes:\n"
             "  - !Container\n    name: system\n    attributes: {{technology: \"{2:g}nm\"}}\n",
             kMesh, costs.name, costs.node_nm) +
         memory("DRAM", "DRAM", ", depth: 16777216") + memory("SRAM", "SRAM", ", depth: 3145728") +
         fmt::format("  - !Container\n    name: PE\n    spatial: {{meshX: {0}, meshY: {0}}}\n", kMesh) +
         fmt::format(
             "  - !Component\n    name: Registers\n    class: regfile\n    attributes: {{width: {0}, "
             "datawidth: {0}, depth: 8}}\n",
             bits) +
         fmt::format("  - !Component\n    name: MAC\n    class: intmac\n    attributes: {{datawidth: {}}}\n",
                     bits);
}

// Energies in pJ for a value of each part of the architecture.
std::string reference_table(const CostTable& costs) {
  const auto pj = [&](std::string_view part, std::string_view action) {
    const Cost* cost = costs.find(part, action);
    if (cost == nullptr)
      throw InputError("--energy-table " + costs.name,
                       fmt::format("it has no cost '{}' of '{}'", action, part),
                       "name a table that prices memories and multipliers, such as 65nm-fp32");
    return 1e12 * cost->si();
  };
  const double bits = costs.data_type == "fp32" ? 32 : 16;
  constexpr double kRow = 16;  // values in a row of SRAM or of a scratchpad
  std::string text = "ERT:\n  version: 0.4\n  tables:\n";
  const auto table = [&](std::string_view name,
                         const std::vector<std::pair<std::string_view, double>>& actions) {
    text += fmt::format("    - name: {}\n      actions:\n", name);
    for (const auto& [action, energy] : actions)
      text += fmt::format("        - {{name: {}, arguments: {{}}, energy: {:.4f}}}\n", action, energy);
  };
  const double dram = bits * pj("dram", "bit");
  const double read = pj("sram", "read") / kRow, write = pj("sram", "write") / kRow;
  const double near_read = pj("scratchpad", "read") / kRow, near_write = pj("scratchpad", "write") / kRow;
  table("system.DRAM[1..1]", {{"read", dram}, {"write", dram}, {"update", dram}, {"leak", 0}});
  table("system.SRAM[1..1]", {{"read", read}, {"write", write}, {"update", write}, {"leak", 0}});
  table(fmt::format("system.PE.Registers[1..{}]", kMesh * kMesh),
        {{"read", near_read}, {"write", near_write}, {"update", near_write}, {"leak", 0}});
  table(fmt::format("system.PE.MAC[1..{}]", kMesh * kMesh), {{"compute", pj("mac", "cycle")}, {"leak", 0}});
  return text;
}

// Shares of tiles of 16 channels by how many of their values are not zero: what densities leave out.
void add_occupancy(const Layer& layer, Operand role, std::string& csv) {
  constexpr std::int64_t kTile = 16;
  const MaskView& mask = layer.tensor(role).mask;
  std::array<std::int64_t, kTile + 1> tiles{};
  for (std::int64_t r = 0; r < mask.rows; ++r)
    for (std::int64_t c = 0; c + kTile <= mask.channels; c += kTile) {
      int filled = 0;
      for (std::int64_t i = 0; i < kTile; ++i) filled += mask.bit(r, c + i) ? 1 : 0;
      ++tiles[static_cast<std::size_t>(filled)];
    }
  CsvRow row;
  row.text(layer.name).text(operand_name(role)).number(1 - layer.tensor(role).zero_share());
  for (const std::int64_t count : tiles) row.number(count);
  csv += row.line();
}

}  // namespace

std::vector<ExportedFile> sparseloop_files(const Trace& trace, const CostTable& costs,
                                           const SparseloopOptions& options) {
  std::vector<ExportedFile> files{{"arch.yaml", architecture(costs)}, {"ERT.yaml", reference_table(costs)}};
  std::string occupancy = "layer,tensor,density";
  for (int i = 0; i <= 16; ++i) occupancy += fmt::format(",tiles_of_{}", i);
  occupancy += '\n';
  const std::string source = one_line(std::filesystem::path(trace.path()).filename().string(), 200);
  for (std::size_t i = 0; i < trace.layers().size(); ++i) {
    const Layer& layer = trace.layers()[i];
    for (const Operand role : kOperands) add_occupancy(layer, role, occupancy);
    for (const Operation op : kOperations) {
      if (!options.operations[op] || !trace.runs(i, op)) continue;
      files.push_back(
          {file_name(i, layer, op), problem(layer, op, layer.as_multiplied(op), source, options)});
    }
  }
  files.push_back({"occupancy.csv", std::move(occupancy)});
  return files;
}

}  // namespace lacuna
