#include "report/storage_report.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace lacuna {
namespace {

using namespace tensordash;

// 64 values of A, two of them not zero, as in StorageFootprint.KnownTensor; W and G without zeros.
TraceStorageReport storage_example() {
  TraceStorageReport report;
  report.path = "x,y.safetensors";
  report.info.model = "net";
  report.info.progress = 0.5;
  report.batch = 4;
  report.grouping = "channels";
  report.lanes = 16;
  report.depth = 3;
  report.form = {3, 2};
  report.params = {.grouping = Grouping::kChannels, .pointer_bits = 20, .run_bits = 5};
  LayerStorage layer{"fc", "linear 64->16 x1", {}};
  TensorStorage a{.role = TensorRole::kA, .counts = {}, .fp32 = {}, .bfloat16 = {}, .scale = 4};
  a.counts.elements = 64;
  a.counts.nonzeros = 2;
  a.fp32 = {2048, 1124, 20, 1144, 2248, 148, 128, 116};
  a.bfloat16 = {1024, 612, 20, 632, 1224, 84, 96, 84};
  TensorStorage w{.role = TensorRole::kW, .counts = {}, .fp32 = {}, .bfloat16 = {}, .scale = 1};
  w.counts.elements = w.counts.nonzeros = 1024;
  w.fp32 = {1000, 1100, 0, 1100, 1100, 1200, 1050, 1300};
  w.bfloat16 = w.fp32.scaled(0.5);
  TensorStorage g = w;
  g.role = TensorRole::kG;
  g.scale = 4;
  layer.tensors = {a, w, g};
  report.layers.push_back(layer);
  return report;
}

TEST(StorageReport, TableShowsRatiosToDense) {
  EXPECT_EQ(
      storage_table(storage_example(), DataType::kFp32, {}),
      "net, progress 50 %\n"
      "fp32 values; groups: channels; 16 lanes, depth 3: 3 bits idx, 2 bits AS; pointers of 20 bits, runs "
      "of 5 bits\n"
      "                                           scheduled / dense             other / dense\n"
      "layer       tensor  zeros %  dense bits     rows  +pointers  reserved    run-length  bitmap    CSR\n"
      "----------  ------  -------  ----------    -----  ---------  --------    ----------  ------  -----\n"
      "fc          A          96.9     2.048 k    0.549      0.559     1.098         0.072   0.062  0.057\n"
      "            W           0.0         1 k    1.100      1.100     1.100         1.200   1.050  1.300\n"
      "            G           0.0         1 k    1.100      1.100     1.100         1.200   1.050  1.300\n"
      "----------  ------  -------  ----------    -----  ---------  --------    ----------  ------  -----\n"
      "batch of 4  A          96.9     8.192 k    0.549      0.559     1.098         0.072   0.062  0.057\n"
      "            W           0.0         1 k    1.100      1.100     1.100         1.200   1.050  1.300\n"
      "            G           0.0         4 k    1.100      1.100     1.100         1.200   1.050  1.300\n"
      "            all         4.6     13.19 k    0.758      0.764     1.099         0.500   0.437  0.528\n");
}

TEST(StorageReport, JsonHasBothTypesAndTotalsOfTheBatch) {
  const auto json = nlohmann::json::parse(storage_to_json({storage_example()}));
  const auto& trace = json.at("storage").at(0);
  EXPECT_EQ(trace.at("form").at("idx_bits"), 3);
  EXPECT_EQ(trace.at("layers").at(0).at("tensors").at(0).at("bfloat16_bits").at("scheduled"), 612);
  EXPECT_EQ(trace.at("per_batch").at("A").at("fp32_bits").at("dense"), 4 * 2048);
  EXPECT_EQ(trace.at("per_batch").at("W").at("fp32_bits").at("dense"), 1000);
  EXPECT_EQ(trace.at("per_batch").at("all").at("fp32_bits").at("csr"), 4 * 116 + 1300 + 4 * 1300);
}

TEST(StorageReport, CsvHasARowATensorAndType) {
  const std::string csv = storage_to_csv({storage_example()});
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 7);
  EXPECT_NE(csv.find("\"x,y.safetensors\",net,0.5,channels,fc,linear 64->16 x1,A,4,bfloat16,64,2,"),
            std::string::npos)
      << csv;
  const auto commas = [&](std::size_t from) {
    const std::string line = csv.substr(from, csv.find('\n', from) - from);
    return std::count(line.begin(), line.end(), ',');
  };
  EXPECT_EQ(commas(0) + 1, commas(csv.find('\n') + 1));  // one comma more, in the file's name
}

BacksideReport backside_example() {
  BacksideReport report{
      .path = "x", .info = {}, .batch = 4, .tiles = 16, .schedulers = 1, .cycles_per_block = 6, .layers = {}};
  report.info.model = "net";
  LayerBackside layer{"conv", "1x1 16->16", {}};
  BacksideLoad load;
  load.scale = 2;
  load.outputs = 1000;
  load.blocks = 63;
  load.cycles = 100;
  load.schedule_cycles = 150;
  load.needed_rate = 0.625;
  load.offered_rate = 2.5;
  load.schedulers_needed = 2;
  layer.ops.push_back(load);
  report.layers.push_back(layer);
  return report;
}

TEST(BacksideReport, TableJsonAndCsv) {
  const std::string table = backside_table(backside_example(), {});
  EXPECT_NE(table.find("16 tiles, 1 scheduler a tile, 6 cycles a block\n"), std::string::npos) << table;
  EXPECT_NE(table.find("50.0"), std::string::npos) << table;
  const auto json = nlohmann::json::parse(backside_to_json({backside_example()}));
  const auto& trace = json.at("backside").at(0);
  EXPECT_EQ(trace.at("layers").at(0).at("ops").at(0).at("stalls"), 50);
  EXPECT_EQ(trace.at("per_batch").at("all").at("stalls"), 100);
  EXPECT_EQ(trace.at("per_batch").at("all").at("stalled_layers"), 1);
  EXPECT_EQ(
      backside_to_csv({backside_example()}),
      "trace,model,progress,layer,shape,batch_scale,op,outputs,blocks,cycles,schedule_cycles,needed_rate,"
      "offered_rate,stalls,schedulers_needed\n"
      "x,net,,conv,1x1 16->16,2,forward,1000,63,100,150,0.625,2.5,50,2\n");
}

}  // namespace
}  // namespace lacuna
