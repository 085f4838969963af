// data/ is what its manifest says it is, file by file.
#include "traces/recorded_traces.hpp"

#include <cstdio>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <map>
#include <set>

#include "sim/catalog/arch_catalog.hpp"
#include "sim/work_estimate.hpp"
#include "trace/trace.hpp"
#include "trace/trace_builder.hpp"

namespace lacuna {
namespace {

using ManifestRow = std::map<std::string, std::string>;

std::vector<ManifestRow> manifest_rows() {
  const CsvTable table = testing::trace_manifest();
  std::vector<ManifestRow> rows;
  for (const CsvTable::Row& row : table.rows) {
    ManifestRow& cells = rows.emplace_back();
    for (std::size_t i = 0; i < table.columns.size(); ++i) cells[table.columns[i]] = row.cells[i];
  }
  return rows;
}

// By the program of the system: nothing of ours reads the bytes.
std::map<std::string, std::string> sha256_of_data() {
  std::FILE* pipe = popen("cd '" LACUNA_SOURCE_DIR "/data' && sha256sum *.zst", "r");
  std::map<std::string, std::string> sums;
  char sum[65], name[256];
  while (std::fscanf(pipe, "%64s %255s", sum, name) == 2) sums[name] = sum;
  EXPECT_EQ(pclose(pipe), 0);
  return sums;
}

TEST(RecordedTraces, EveryFileHasTheBytesOfItsRow) {
  std::map<std::string, std::string> sums = sha256_of_data();
  const std::vector<ManifestRow> rows = manifest_rows();
  EXPECT_EQ(rows.size(), 68u);
  for (const ManifestRow& row : rows) {
    const std::string& file = row.at("file");
    EXPECT_EQ(sums[file], row.at("sha256")) << file;
    EXPECT_EQ(std::to_string(std::filesystem::file_size(LACUNA_SOURCE_DIR "/data/" + file)), row.at("bytes"))
        << file;
    sums.erase(file);
  }
  for (const auto& [file, sum] : sums) ADD_FAILURE() << file << " has no row in data/MANIFEST.csv";
}

TEST(RecordedTraces, EveryFileHoldsWhatItsRowSays) {
  for (const ManifestRow& row : manifest_rows()) {
    SCOPED_TRACE(row.at("file"));
    const Trace trace = Trace::open(LACUNA_SOURCE_DIR "/data/" + row.at("file"));
    const TraceInfo& info = trace.info();
    EXPECT_EQ(std::to_string(trace.layers().size()), row.at("layers"));
    EXPECT_EQ(row.at("model").find(info.model), 0u) << info.model;
    EXPECT_EQ(info.progress, std::stod(row.at("progress")) / 100);
    if (!row.at("batch").empty()) {
      EXPECT_EQ(trace.batch(), std::stoi(row.at("batch")));
    }
    if (!row.at("accuracy").empty()) {
      EXPECT_EQ(info.accuracy, std::stod(row.at("accuracy")));
    }
    for (const Layer& layer : trace.layers()) {
      EXPECT_GE(trace.batch_scale(layer), 1.0) << layer.name;
      for (const Operand role : kOperands) {
        EXPECT_LE(layer.tensor(role).nonzeros, layer.tensor(role).elements()) << layer.name;
      }
    }
  }
}

// Those that only LACUNA_TRACES has can be read as well.
TEST(RecordedTraces, EveryOneOpens) {
  for (const std::filesystem::path& path : testing::recorded_traces()) {
    if (path.parent_path() == std::filesystem::path(LACUNA_SOURCE_DIR "/data")) continue;
    EXPECT_FALSE(Trace::open(path).layers().empty()) << path;
  }
}

// A limit that refuses what people record is of no use: each needs less than a quarter of what it may take,
// on every machine and in both engines. Traces of networks without zeros (no ReLU) take hardly a byte when
// they are compressed. They may be simulated all the same: they are little work on every machine.
TEST(RecordedTraces, LargeBatchesWithoutZerosAreAllowed) {
  TraceBuilder words("gpt-2"), images("vgg");
  for (int i = 0; i < 12; ++i) {  // 8 texts of 1,024 words
    words.add_layer(fmt::format("attention{}", i), LayerShape::linear(8192, 768, 2304));
    words.add_layer(fmt::format("up{}", i), LayerShape::linear(8192, 768, 3072));
    words.add_layer(fmt::format("down{}", i), LayerShape::linear(8192, 3072, 768));
    images.add_layer(fmt::format("conv{}", i),
                     LayerShape::conv2d(64, 256, 256, {56, 56}, {3, 3}, {1, 1}, {1, 1}));
  }
  const ArchCatalog catalog;
  for (const Trace& trace : {words.build(), images.build()}) {
    ASSERT_EQ(trace.stored_bytes(), 0);
    for (const std::string& name : catalog.names()) {
      const auto machine = catalog.find(name, "test").build();
      EXPECT_LT(estimated_work(trace, *machine, Engine::kFast), allowed_work(trace, Engine::kFast))
          << trace.info().model << " on " << name;
    }
  }
}

TEST(RecordedTraces, AskForMuchLessWorkThanTheyMay) {
  const ArchCatalog catalog;
  std::vector<std::pair<std::string, std::unique_ptr<Accelerator>>> machines;
  for (const std::string& name : catalog.names())
    machines.emplace_back(name, catalog.find(name, "test").build());
  for (const std::filesystem::path& path : testing::recorded_traces()) {
    const Trace trace = Trace::open(path);
    for (const auto& [name, machine] : machines) {
      for (const Engine engine : {Engine::kFast, Engine::kFunctional}) {
        EXPECT_LT(estimated_work(trace, *machine, engine), allowed_work(trace, engine) / 4)
            << path << " on " << name << ", " << engine_name(engine);
      }
    }
  }
}

}  // namespace
}  // namespace lacuna
