// Files for Timeloop and Sparseloop, read back as YAML.
#include "report/sparseloop/sparseloop.hpp"

#include <gtest/gtest.h>
#include <map>

#include "base/testing.hpp"
#include "trace/synthetic/synthetic.hpp"

namespace lacuna {
namespace {

Trace network() {
  SyntheticSpec spec;
  spec.name = "folder/net.safetensors";
  spec.layers = {{"c/1", LayerShape::conv2d(2, 3, 8, {9, 9}, {3, 3}, {2, 2}), 1, ZeroSpec::dense(),
                  ZeroSpec::dense(), ZeroSpec::uniform(0.5)},
                 {"dw", LayerShape::conv2d(2, 64, 128, {4, 4}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, 64), 1,
                  ZeroSpec::uniform(0.75), ZeroSpec::dense(), ZeroSpec::all_zero()}};
  return make_synthetic(spec);
}

std::map<std::string, std::string> files_of(const SparseloopOptions& options = {}) {
  std::map<std::string, std::string> files;
  for (ExportedFile& file : sparseloop_files(network(), CostTable::open("65nm-fp32", "test"), options))
    EXPECT_TRUE(files.emplace(file.name, std::move(file.text)).second) << file.name;
  return files;
}

void expect_has(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "no '" << part << "' in\n" << text;
}

TEST(Sparseloop, AFileForEachOperation) {
  const auto files = files_of();
  std::vector<std::string> names;
  for (const auto& [name, text] : files) names.push_back(name);
  EXPECT_EQ(names,
            (std::vector<std::string>{"000-c_1-forward.yaml", "000-c_1-weight_grad.yaml",
                                      "001-dw-forward.yaml", "001-dw-input_grad.yaml",
                                      "001-dw-weight_grad.yaml", "ERT.yaml", "arch.yaml", "occupancy.csv"}));
  const std::string& forward = files.at("001-dw-forward.yaml");
  for (const char* size : {"G: 64", "C: 1", "M: 2", "R: 3", "S: 3", "N: 2", "P: 4", "Q: 4", "Hstride: 1"})
    expect_has(forward, std::string("\n    ") + size + "\n");
  expect_has(forward, "Inputs: {distribution: hypergeometric, density: 0.2");
  expect_has(forward, "Weights: {distribution: hypergeometric, density: 1}");
  expect_has(forward, "{target: Weights, condition_on: [Inputs]}");
  expect_has(forward, "{target: Outputs, condition_on: [Inputs]}");
  expect_has(files.at("000-c_1-forward.yaml"), "Hstride: 2");
  // The sparser of the two operands is skipped; a tensor of zeros keeps one value of its 4,096.
  expect_has(files.at("001-dw-input_grad.yaml"), "{target: Weights, condition_on: [Gradients]}");
  expect_has(files.at("001-dw-input_grad.yaml"), "density: 0.000244141");
  expect_has(files.at("001-dw-input_grad.yaml"), "- name: InputGradients\n");
  expect_has(files_of({.density_model = "fixed_structured", .operations = {true, true, true}})
                 .at("001-dw-forward.yaml"),
             "Inputs: {distribution: fixed_structured,");
}

TEST(Sparseloop, MappingsMultiplyToTheProblem) {
  const std::string text = files_of().at("001-dw-forward.yaml");
  // 64 groups fill one axis of the mesh; two filters, four output rows, two images and three rows the other.
  expect_has(text, "{target: DRAM, type: temporal, factors: [G=1, C=1, M=1, R=1, S=3, N=1, P=1, Q=4]");
  expect_has(text, "{target: PE, type: spatial, factors: [G=64, C=1, M=2, R=3, S=1, N=2, P=4, Q=1]");
}

TEST(Sparseloop, EnergiesAreOfOneValue) {
  const std::string table = files_of().at("ERT.yaml");
  expect_has(table, "- {name: compute, arguments: {}, energy: 6.7920}");
  expect_has(table, "- {name: read, arguments: {}, energy: 256.0000}");  // 32 bits of 8 pJ
  expect_has(table, "- {name: read, arguments: {}, energy: 17.956");     // a sixteenth of a row, 287.3 pJ
  EXPECT_EQ(error_of([] {
              sparseloop_files(network(), CostTable::open("16nm-published", "test"), {});
            }).substr(0, 30),
            "--energy-table 16nm-published:");
}

TEST(Sparseloop, OccupancyCountsTilesOfSixteenChannels) {
  const std::string csv = files_of().at("occupancy.csv");
  expect_has(csv, "layer,tensor,density,tiles_of_0,tiles_of_1,");
  expect_has(csv, "\ndw,G,0,256,0,");  // 2 images x 16 positions x 128 channels / 16
}

}  // namespace
}  // namespace lacuna
