// Reports of a storage study that only this test knows: nothing in src/report names its forms or measures.
#include "report/study/storage_report.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "trace/trace_builder.hpp"

namespace lacuna {
namespace {

// A form that drops every other value; a unit that folds outputs.
StorageSizes sizes_of(const Trace& trace) {
  StorageSizes sizes;
  sizes.settings = {{"crease", "middle"}, {"fold_bits", std::int64_t{3}}};
  sizes.description = "folded at the middle";
  sizes.forms = {{"dense", "", ""},
                 {"hinges", "", ""},
                 {"folded", "folded", "paper / dense"},
                 {"crumpled", "crumpled", "paper / dense"}};
  sizes.count_names = {"folds"};
  for (const Layer& layer : trace.layers()) {
    StorageSizes::LayerSizes entry{layer.name, layer.shape.describe(), {}};
    for (const Operand role : kOperands) {
      const LayerTensor& tensor = layer.tensor(role);
      StoredTensorSize size;
      size.which = role;
      size.batch_scale = role == Operand::kW ? 1 : trace.batch_scale(layer);
      size.elements = tensor.elements();
      size.nonzeros = tensor.nonzeros;
      size.counts = {tensor.elements() / 2};
      const auto real = static_cast<double>(tensor.elements());
      size.bits[DataType::kFp32] = {real * 32, 7, real * 16, real * 40};
      size.bits[DataType::kBfloat16] = {real * 16, 7, real * 4, real * 24};
      entry.tensors.push_back(size);
    }
    sizes.layers.push_back(entry);
  }
  return sizes;
}

BacksideLoads loads_of(const Trace& trace) {
  using Total = BacksideMeasure::Total;
  BacksideLoads loads;
  loads.settings = {{"folders", std::int64_t{3}}};
  loads.description = "one pair of hands";
  loads.measures = {{.name = "sheets", .title = "sheets", .group = "", .total = Total::kSum},
                    {.name = "time", .title = "cycles", .group = "", .total = Total::kSum},
                    {.name = "speed", .title = "speed", .group = "folding", .decimals = 2},
                    {.name = "waits", .title = "waits", .group = "folding", .total = Total::kSum},
                    {.name = "hands", .title = "hands", .group = "folding", .total = Total::kLargest}};
  loads.cycles = 1;
  loads.stalls = 3;
  for (const Layer& layer : trace.layers()) {
    loads.layers.push_back({layer.name,
                            layer.shape.describe(),
                            {{Operation::kForward, trace.batch_scale(layer), {10, 100, 0.625, 50, 2}},
                             {Operation::kWeightGrad, 1, {1000, 2000, 2.5, 0, 1}}}});
  }
  return loads;
}

class StorageReport : public ::testing::Test {
 protected:
  // A: 8 values, 6 of them zeros; recorded 1 of a batch of 4.
  static Trace trace() {
    TraceBuilder builder("net");
    builder.info().batch = 4;
    builder.info().progress = 0.5;
    builder.add_layer("fc", LayerShape::linear(1, 8, 2))
        .mask(Operand::kA, {true, false, false, false, true, false, false, false});
    return builder.build();
  }

  StorageSizes sizes() const {
    StorageSizes sizes = sizes_of(trace());
    sizes.subject = study_subject(trace(), "crane");
    sizes.subject.path = "x,y.safetensors";
    return sizes;
  }
  BacksideLoads loads() const {
    BacksideLoads loads = loads_of(trace());
    loads.subject = study_subject(trace(), "crane");
    loads.subject.path = "x";
    return loads;
  }
};

TEST_F(StorageReport, TableShowsRatiosToDense) {
  EXPECT_EQ(storage_table(sizes(), DataType::kFp32, {}),
            "net, progress 50 %\n"
            "crane, fp32 values; folded at the middle\n"
            "                                           paper / dense\n"
            "layer       tensor  zeros %  dense bits    folded  crumpled\n"
            "----------  ------  -------  ----------    ------  --------\n"
            "fc          A          75.0         256     0.500     1.250\n"
            "            W           0.0         512     0.500     1.250\n"
            "            G           0.0          64     0.500     1.250\n"
            "----------  ------  -------  ----------    ------  --------\n"
            "batch of 4  A          75.0     1.024 k     0.500     1.250\n"
            "            W           0.0         512     0.500     1.250\n"
            "            G           0.0         256     0.500     1.250\n"
            "            all        42.9     1.792 k     0.500     1.250\n");
  EXPECT_NE(storage_summary({sizes()}, DataType::kBfloat16, {}).find("0.250     1.500"), std::string::npos);
}

TEST_F(StorageReport, JsonHasBothTypesAndTotalsOfTheBatch) {
  const auto json = nlohmann::json::parse(storage_to_json({sizes()}));
  const auto& trace = json.at("storage").at(0);
  EXPECT_EQ(trace.at("arch"), "crane");
  EXPECT_EQ(trace.at("form"), (nlohmann::json{{"crease", "middle"}, {"fold_bits", 3}}));
  const auto& a = trace.at("layers").at(0).at("tensors").at(0);
  EXPECT_EQ(a.at("folds"), 4);
  EXPECT_EQ(a.at("bfloat16_bits").at("folded"), 8 * 4);
  EXPECT_EQ(a.at("bfloat16_bits").at("hinges"), 7);
  EXPECT_EQ(trace.at("per_batch").at("A").at("fp32_bits").at("dense"), 4 * 8 * 32);
  EXPECT_EQ(trace.at("per_batch").at("W").at("fp32_bits").at("dense"), 16 * 32);
  EXPECT_EQ(trace.at("per_batch").at("all").at("fp32_bits").at("crumpled"), (4 * 8 + 16 + 4 * 2) * 40);
}

TEST_F(StorageReport, CsvHasOneRowPerTensorAndType) {
  const std::string csv = storage_to_csv({sizes()});
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 7);
  EXPECT_TRUE(csv.starts_with(
      "trace,model,progress,crease,layer,shape,tensor,batch_scale,values,elements,nonzeros,folds,"
      "dense,hinges,folded,crumpled\n"
      "\"x,y.safetensors\",net,0.5,middle,fc,linear 8->2 x1,A,4,fp32,8,2,4,256,7,128,320\n"))
      << csv;
}

TEST_F(StorageReport, BacksideTables) {
  EXPECT_EQ(backside_table(loads(), {}),
            "net, progress 50 %\n"
            "crane, one pair of hands\n"
            "                                      folding\n"
            "layer  operation    sheets  cycles    speed  waits  % of cycles  hands\n"
            "-----  -----------  ------  ------    -----  -----  -----------  -----\n"
            "fc     forward          10     100     0.62     50         50.0      2\n"
            "       weight_grad   1,000   2,000     2.50      0          0.0      1\n");
  const std::string summary = backside_summary({loads()}, {});
  EXPECT_NE(summary.find("all               2               1   1,040   2,400      200          8.3      2"),
            std::string::npos)
      << summary;
}

TEST_F(StorageReport, BacksideJsonAndCsv) {
  const auto json = nlohmann::json::parse(backside_to_json({loads()}));
  const auto& trace = json.at("backside").at(0);
  EXPECT_EQ(trace.at("folders"), 3);
  EXPECT_EQ(trace.at("layers").at(0).at("ops").at(0).at("speed"), 0.625);
  const nlohmann::json all{{"sheets", 1040}, {"time", 2400},        {"waits", 200},
                           {"layers", 2},    {"stalled_layers", 1}, {"hands", 2}};
  EXPECT_EQ(trace.at("per_batch").at("all"), all);
  EXPECT_EQ(backside_to_csv({loads()}),
            "trace,model,progress,layer,shape,batch_scale,op,sheets,time,speed,waits,hands\n"
            "x,net,0.5,fc,linear 8->2 x1,4,forward,10,100,0.625,50,2\n"
            "x,net,0.5,fc,linear 8->2 x1,1,weight_grad,1000,2000,2.5,0,1\n");
}

}  // namespace
}  // namespace lacuna
