// Files that would hang the program, or keep it busy: refused in one line and at once, or stopped like any
// other.
#include <chrono>
#include <filesystem>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/io/output_file.hpp"
#include "base/testing.hpp"
#include "cli/cli_fixture.hpp"
#include "trace/trace_builder.hpp"

namespace lacuna {
namespace {

using testing::CliTest;
using testing::ProgramResult;
using testing::read_text;
using testing::run_lacuna;
using testing::run_shell;

class HostileInput : public CliTest {
 protected:
  // Every place that takes a file: "$LACUNA" and its arguments, with {} for the file.
  std::vector<std::string> readers() {
    const std::string trace = "'" + small_trace("t.safetensors") + "'";
    const std::string results = folder_.file("r.json");
    EXPECT_EQ(run_lacuna({"simulate", folder_.file("t.safetensors"), "--json", results}).exit_code, 0);
    return {"inspect {}",
            "simulate {}",
            "storage {}",
            "bench layers --trace {}",
            "compare {} '" + results + "'",
            "compare '" + results + "' {}",
            "simulate " + trace + " --config {}",
            "simulate " + trace + " --energy --energy-table {}",
            "bench layers --shapes {}",
            "train --model {} --steps 1 --out '" + folder_.file("out") + "'"};
  }
  static ProgramResult run(const std::string& reader, const std::string& file) {
    return run_shell("exec timeout 20 \"$LACUNA\" " + fmt::format(fmt::runtime(reader), "'" + file + "'"));
  }
};

TEST_F(HostileInput, PipesDevicesAndProcFilesAreRefusedEverywhere) {
  const std::string pipe = folder_.file("pipe.yaml");
  ASSERT_EQ(run_shell("mkfifo '" + pipe + "'").exit_code, 0);
  std::filesystem::create_symlink("/dev/zero", folder_.path() / "zero.yaml");
  std::vector<std::string> files{pipe, folder_.file("zero.yaml")};
  if (std::filesystem::exists("/proc/self/pagemap")) {  // regular, without a size, endless
    std::filesystem::create_symlink("/proc/self/pagemap", folder_.path() / "proc.yaml");
    files.push_back(folder_.file("proc.yaml"));
  }
  for (const std::string& reader : readers())
    for (const std::string& file : files) {
      const ProgramResult result = run(reader, file);
      EXPECT_EQ(result.exit_code, 2) << reader << " " << file << "\n" << result.err;
      EXPECT_EQ(std::ranges::count(result.err, '\n'), 1) << reader << " " << file << "\n" << result.err;
      EXPECT_NE(result.err.find(file), std::string::npos) << reader << "\n" << result.err;
    }
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "out"));
}

// Editors and spreadsheets begin UTF-8 files with a byte-order mark.
TEST_F(HostileInput, ByteOrderMarksAreSkipped) {
  const std::string mark = "\xef\xbb\xbf";
  const std::string trace = small_trace("t.safetensors");
  write_file(folder_.file("m.yaml"), mark + "arch: dense\nrows: 8\n");
  EXPECT_NE(run_lacuna({"simulate", trace, "--config", folder_.file("m.yaml")}).out.find("rows=8"),
            std::string::npos);
  ASSERT_EQ(run_lacuna({"simulate", trace, "--json", folder_.file("r.json")}).exit_code, 0);
  write_file(folder_.file("marked.json"), mark + read_text(folder_.file("r.json")));
  const ProgramResult compared = run_lacuna({"compare", folder_.file("r.json"), folder_.file("marked.json")});
  EXPECT_EQ(compared.exit_code, 0) << compared.err;
  std::filesystem::create_directory(folder_.path() / "arrays");
  write_file(folder_.file("arrays/layers.csv"),
             mark + "name,type,batch,in_channels,out_channels\nl,linear,1,2,2\n");
  const ProgramResult inspected = run_lacuna({"inspect", folder_.file("arrays")});
  EXPECT_EQ(inspected.exit_code, 0) << inspected.err;
}

// Text in UTF-16 is named as what it is, without a character that a terminal does not show.
TEST_F(HostileInput, OtherEncodingsAreNamed) {
  const std::string text(
      "\xff\xfe"
      "a\0r\0",
      6);
  const std::string trace = small_trace("t.safetensors");
  write_file(folder_.file("m.yaml"), text);
  write_file(folder_.file("r.json"), text);
  std::filesystem::create_directory(folder_.path() / "arrays");
  write_file(folder_.file("arrays/layers.csv"), text);
  for (const ProgramResult& result : {run_lacuna({"simulate", trace, "--config", folder_.file("m.yaml")}),
                                      run_lacuna({"compare", folder_.file("r.json"), folder_.file("r.json")}),
                                      run_lacuna({"inspect", folder_.file("arrays")})}) {
    expect_error(result, folder_.path().string());
    EXPECT_TRUE(std::ranges::all_of(result.err, [](char c) { return c == '\n' || (c >= ' ' && c < 0x7f); }))
        << result.err;
  }
}

// One convolution of 255x255, whose masks compress to nothing: minutes of work that a few hundred bytes ask
// for.
TEST_F(HostileInput, ASmallFileCannotAskForALongRun) {
  const LayerShape shape = LayerShape::conv2d(1, 8, 8, {509, 509}, {255, 255});
  TraceBuilder builder("small");
  builder.add_layer("l", shape);
  for (const Operand role : {Operand::kA, Operand::kW, Operand::kG}) {
    const TensorExtent extent = TensorExtent::of(shape, role);
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(extent.mask_bytes()));
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i % 509 * 41);
    builder.packed_mask(role, bytes);
  }
  const std::string file = folder_.file("small.safetensors.zst");
  write_trace(builder.build(), file);
  EXPECT_LT(std::filesystem::file_size(file), 13000U);
  for (const char* machine : {"tensordash-two-side", "sparten", "cnvlutin", "scnn", "ant"}) {
    const ProgramResult result =
        run_shell(fmt::format("exec timeout 20 \"$LACUNA\" simulate '{}' --arch {}", file, machine));
    expect_error(result, "would take about");
  }
}

// A 1x1 convolution has thousands of products that belong to no output for each that does: SCNN's functional
// engine counts them without multiplying them.
TEST_F(HostileInput, ASmallFileCannotAskForALongFunctionalRun) {
  const std::string file = folder_.file("hollow.safetensors");
  TraceBuilder builder("hollow");
  builder.add_layer("l", LayerShape::conv2d(1, 64, 64, {56, 56}, {1, 1}));
  write_trace(builder.build(), file);
  EXPECT_LT(std::filesystem::file_size(file), 500U);
  for (const char* machine : {"scnn", "ant", "scnn --set mapping=scnn-tiles", "scnn --set conflicts=on"}) {
    const ProgramResult done = run_shell("ulimit -t 20; exec \"$LACUNA\" simulate '" + file +
                                         "' --engine functional --arch " + machine);
    EXPECT_EQ(done.exit_code, 0) << machine << done.err;
  }
}

// Layers without tensors, in a few hundred bytes, whose values or places of non-zeros take gigabytes: asked
// for before they are allocated. What nobody asked for is refused by the system.
TEST_F(HostileInput, ASmallFileCannotAskForMuchMemory) {
  const std::string file = folder_.file("hollow.safetensors");
  TraceBuilder builder("hollow");
  builder.add_layer("l", LayerShape::conv2d(1, 4096, 1, {64, 4096}, {17, 16}, {17, 3}));
  write_trace(builder.build(), file);
  const auto simulate = [&](const std::string& options) {
    return run_shell("LACUNA_MEMORY=300M exec timeout 20 \"$LACUNA\" simulate '" + file + "' " + options);
  };
  for (const char* options :
       {"--arch ant", "--arch scnn", "--engine functional", "--arch sparten --engine functional"})
    expect_error(simulate(options), "layer 'l'");
  EXPECT_EQ(simulate("--arch tensordash").exit_code, 0);
  const std::string synth = "exec \"$LACUNA\" synth --layer 'linear in=16777216 out=64 batch=64' -o '";
  if (!runs_sanitized())  // sanitizers reserve the address space whole, so it is not limited
    expect_error(run_shell("LACUNA_MEMORY=60M " + synth + file + "'"), "out of memory");
  expect_error(run_shell("LACUNA_MEMORY=much exec \"$LACUNA\" simulate '" + file + "'"), "LACUNA_MEMORY");
}

// A run that is allowed and takes minutes ends with the first Ctrl-C, in its first operation too.
TEST_F(HostileInput, ALongRunStopsAtOnce) {
  const auto begin = std::chrono::steady_clock::now();
  const ProgramResult result = run_shell(
      "exec timeout --signal=INT --kill-after=20 0.5 \"$LACUNA\" simulate --engine functional --arch "
      "tensordash-two-side '" LACUNA_SOURCE_DIR "/data/gcn_p100.safetensors.zst' --json '" +
      folder_.file("r.json") + "'");
  EXPECT_EQ(result.exit_code, 124) << result.err;  // timeout's own, not the 137 of a second signal
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(15));
  EXPECT_EQ(folder_.files(), 0U);
}

}  // namespace
}  // namespace lacuna
