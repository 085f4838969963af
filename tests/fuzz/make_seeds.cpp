// make_seeds FUZZER FOLDER: writes small valid inputs for that fuzzer, so that no binary seeds are kept.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <string>
#include <string_view>
#include <vector>

#include "base/io/byte_source.hpp"
#include "base/io/output_file.hpp"
#include "base/random.hpp"
#include "checkpoint_state.hpp"
#include "database_seed.hpp"
#include "dataset_seeds.hpp"
#include "hard_seeds.hpp"
#include "kernels/choice/cost_model.hpp"
#include "models/tensordash/storage/scheduled_form.hpp"
#include "network/testing/onnx_writer.hpp"
#include "report/result/result_json.hpp"
#include "report/testing/example_runs.hpp"
#include "trace/format/layer_list.hpp"
#include "trace/format/trace_checksum.hpp"
#include "trace/format/trace_writer.hpp"
#include "trace/synthetic/synthetic.hpp"

namespace {

using namespace lacuna;

SyntheticSpec spec(SyntheticContent content, DataType type) {
  SyntheticSpec spec;
  spec.content = content;
  spec.type = type;
  spec.layers.push_back({.name = "c",
                         .shape = LayerShape::conv2d(1, 3, 4, {4, 3}, {3, 2}, {2, 1}, {1, 0}),
                         .a = ZeroSpec::uniform(0.5),
                         .w = ZeroSpec::dense(),
                         .g = ZeroSpec::by_channel(0.5)});
  spec.layers.push_back({.name = "g",
                         .shape = LayerShape::conv2d(2, 4, 4, {2, 2}, {1, 1}, {1, 1}, {0, 0}, {1, 1}, 2),
                         .a = ZeroSpec::all_zero(),
                         .w = ZeroSpec::uniform(0.2),
                         .g = ZeroSpec::dense()});
  spec.layers.push_back({.name = "l",
                         .shape = LayerShape::linear(4, 9, 2),
                         .steps = 2,
                         .a = ZeroSpec::uniform(0.5),
                         .w = ZeroSpec::uniform(0.9),
                         .g = ZeroSpec::uniform(0.1)});
  return spec;
}

// Under a key that no reader knows: what a fuzzer changes would else be refused for its checksum alone.
std::string without_checksum(const Trace& trace) {
  const std::vector<std::uint8_t> bytes = serialize_trace(trace);
  std::string file(bytes.begin(), bytes.end());
  const std::string_view key = kChecksumKey;
  file.replace(file.find(key), key.size(), std::string(key.size(), 'x'));
  return file;
}

// Layers of format version 2.
SyntheticSpec products(SyntheticContent content, DataType type) {
  SyntheticSpec spec;
  spec.content = content;
  spec.type = type;
  spec.layers.push_back({.name = "m",
                         .shape = LayerShape::matmul(4, 3, 9, 2),
                         .steps = 2,
                         .a = ZeroSpec::uniform(0.5),
                         .w = ZeroSpec::uniform(0.3),
                         .g = ZeroSpec::dense()});
  spec.layers.push_back({.name = "r",
                         .shape = LayerShape::recurrent(3, 2, 9, 4),
                         .steps = 3,
                         .a = ZeroSpec::by_channel(0.5),
                         .w = ZeroSpec::dense(),
                         .g = ZeroSpec::uniform(0.9)});
  return spec;
}

std::string npy(const std::string& shape, std::size_t elements) {
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + ", }";
  header.append(64 - (10 + header.size() + 1) % 64, ' ');
  header += '\n';
  std::string file("\x93NUMPY\x01\x00", 8);
  file += static_cast<char>(header.size() & 0xff);
  file += static_cast<char>(header.size() >> 8);
  file += header;
  for (std::size_t i = 0; i < elements; ++i) file += std::string("\x00\x00\x80\x3f", 4);
  return file;
}

std::vector<std::string> npy_folders() {
  const std::string cut = "\n--8<--\n";
  const std::string conv =
      npy("(1, 2, 3, 3)", 18) + cut + npy("(2, 2, 2, 2)", 16) + cut + npy("(1, 2, 2, 2)", 8);
  const std::string linear = npy("(4, 3)", 12) + cut + npy("(2, 3)", 6) + cut + npy("(4, 2)", 8);
  return {"# model = m\n# batch = 8\nname,type,stride\nl,conv2d,1x1\n" + cut + conv,
          "name,type,steps,layout\nl,linear,2,\n" + cut + linear,
          "name,type,groups,batch,in_channels,out_channels,kernel,input_hw,padding,dilation,A\n\"l\",conv2d,"
          "2,1,4,2,3,5x4,1,"
          "1x2,\n"};
}

// The bytes that choose shape and machine as fuzz_scheduled reads them, then the tensor's bits.
std::vector<std::uint8_t> scheduled_seed(std::uint8_t lanes, std::uint8_t machine, std::uint8_t kind,
                                         double zeros) {
  using namespace tensordash;
  std::vector<std::uint8_t> seed{lanes, machine, 36, 3 * 4 + 2, kind};
  const LayerShape shape = LayerShape::conv2d(1, 37, 1, {3, 4}, {1, 1}, {1 + kind % 2, 1 + kind / 2 % 2});
  const ScheduledCodec codec(
      Connectivity::parse(Connectivity::names()[machine / 3 % Connectivity::names().size()], 4 + lanes % 61,
                          1 + machine % 3, "seed"));
  const TensorGroups groups(shape, Operand::kA, static_cast<Grouping>(kind / 4 % 4), 4 + lanes % 61);
  std::vector<float> values(12 * 37, 0.0F);
  Random random(machine);
  for (float& value : values) value = random.chance(zeros) ? 0.0F : static_cast<float>(random.integer(-3, 3));
  const StoredTensor stored =
      store_tensor(codec, groups, values, 37, kind / 16 % 2 == 0 ? DataType::kFp32 : DataType::kBfloat16);
  seed.insert(seed.end(), stored.bits.bytes.begin(), stored.bits.bytes.end());
  return seed;
}

int main_or_throw(std::string_view fuzzer, const std::filesystem::path& folder) {
  int count = 0;
  const auto write = [&](std::string_view text) {
    write_file(folder / fmt::format("seed-{}", count++), text);
  };
  const auto text = [](const std::vector<std::uint8_t>& bytes) {
    return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  // The configurations that ship with the program.
  const auto copy_all = [&](const char* kind) {
    const auto from = std::filesystem::path(LACUNA_SOURCE_DIR) / "configs" / kind;
    for (const auto& entry : std::filesystem::directory_iterator(from))
      std::filesystem::copy_file(entry.path(), folder / entry.path().filename(),
                                 std::filesystem::copy_options::overwrite_existing);
  };
  for (const auto& seed : dataset_seeds(fuzzer)) write(text(seed));
  if (count > 0) return 0;
  for (const std::string& seed : hard_seeds(fuzzer)) write(seed);
  if (fuzzer == "fuzz_repeats") return 0;
  if (fuzzer == "fuzz_scheduled") {
    for (std::uint8_t i = 0; i < 32; ++i)
      write(text(scheduled_seed(i % 2 == 0 ? 12 : i, i % 12, i, i / 32.0)));
    return 0;
  }
  if (fuzzer == "fuzz_checkpoint") {
    for (const bool pruned : {true, false}) {
      const train::CheckpointState made(pruned);
      write_checkpoint(folder / fmt::format("seed-{}", count++), made.state, made.settings);
    }
    return 0;
  }
  if (fuzzer == "fuzz_model") {
    copy_all("models");
    for (const char* layers : {"[conv: {out: 3, kernel: 3, padding: 1}, relu, linear: {out: $classes}]",
                               "[conv: {out: 8, kernel: [1, 2], stride: 2, groups: 1, bias: no}, batch_norm, "
                               "relu, max_pool, linear: {out: 10}]",
                               "[residual: {body: [conv: {out: 3, kernel: 1, init: zero}], shortcut: []}, "
                               "relu, linear: {out: 10}]",
                               "[concat: [[], [conv: {out: 2, kernel: 1}]], dropout: {rate: 0.2}, "
                               "average_pool: global, linear: {out: 10}]",
                               "[scalar_bias, conv: {out: 4, kernel: 3, dilation: 2}, scalar_scale, "
                               "average_pool: {kernel: 3, ceil: yes}, "
                               "flatten, linear: {out: 10, gain: 0.5}]",
                               "[choose: {by: $size, 8: [relu], 9: []}, repeat: {times: 2, layers: [relu, b: "
                               "{w: 5}]}, linear: {out: 10}]"})
      write(fmt::format(
          "model: m\nparameters: {{size: 8}}\nblocks: {{b: {{parameters: {{w: 3}}, layers: [conv: {{out: "
          "$w, kernel: 1}}]}}}}\nlayers: {}\n",
          layers));
    return 0;
  }
  if (fuzzer == "fuzz_npy_folder") {
    for (const std::string& seed : npy_folders()) write(seed);
    return 0;
  }
  if (fuzzer == "fuzz_plan") {
    for (const char* plan : {"examples/sweep.yaml", "tests/sweep/plan.yaml"}) {
      std::filesystem::copy_file(std::filesystem::path(LACUNA_SOURCE_DIR) / plan,
                                 folder / fmt::format("seed-{}", count++),
                                 std::filesystem::copy_options::overwrite_existing);
    }
    write("traces: a\nmachines: [dense, ant]\nzip: {rows: [1, 2], columns: [2, 1]}\nconditions: rows > 1\n");
    write(
        "traces: [{synthetic: s, layers: ['linear in=4 out=4'], A: channel:0.5}]\nseeds: {from: 1, to: 3}\n");
    write(
        "traces: a\nparameters: {rows: &a [1, *a], node: 7, energy_table: x}\nstrategy: {name: nsga2, seed: "
        "1}\n");
    return 0;
  }
#ifdef LACUNA_SWEEP
  if (fuzzer == "fuzz_database") {
    write_database(folder / "seed-0");
    return 0;
  }
#endif
  if (fuzzer == "fuzz_kernel_cache") {
    const std::filesystem::path file = folder / "seed-0";
    std::filesystem::remove(file);
    kernels::CostCurve curve;
    curve.dense = 1;
    curve.sparse = {5, 4, 3, 2, 1};
    for (const char* key : {"a", "b | c"}) kernels::CostCache(file).store(key, curve);
    std::filesystem::remove(file.string() + ".lock");
    return 0;
  }
  if (fuzzer == "fuzz_config") {
    copy_all("arch");
    write("arch: dense\nrows: 8\nparams: {tiles: 1}\n");
    write(
        "name: x\nbase: tensordash\nconnectivity: [[0, 0], [1, -1]]\npower_gating: on\ngating_threshold: "
        "0.5\n");
    return 0;
  }
  if (fuzzer == "fuzz_results") {
    using testing::example_run;
    write(results_to_json({{example_run("m", "a", 0.5)}}));
    write(results_to_json(
        {{example_run("m", "a", 0.5), example_run("m", "b", 1.0), example_run("n", "a", {})}}));
    write(results_to_json({}));
    return 0;
  }
  if (fuzzer == "fuzz_bench_shapes") {
    copy_all("shapes");
    write(
        "name: x\nlayers:\n- {name: a, c: 4, k: 6, input: [9, 8], kernel: [3, 1], stride: [2, 1], padding: "
        "[1, "
        "0], dilation: [2, 1], groups: 2, count: 3, initial: true}\n");
    return 0;
  }
  if (fuzzer == "fuzz_network_text") {
    copy_all("shapes");
    write(
        "layers:\n- {name: a, in: 4, out: 6, kernel: 3, input: 9x8, A: channel:0.5, count: 2}\n- linear in=3 "
        "out=4\n");
    write("# name = x\nname,type,in,out,kernel,input,padding,G\nc,,3,8,3,32x16,1,0.75\nf,linear,64,10,,,,\n");
    write(
        "Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, Strides,\n"
        "Conv1, 224, 224, 3, 3, 3, 32, 2,\nDP1, 112, 112, 3, 3, 32, 1, 1,\n");
    write("Layer,M,N,K,\nFC,128,768,64,\n");
    return 0;
  }
  if (fuzzer == "fuzz_onnx") {
    using namespace network::testing;
    write(model(input("x", {-1, 3, 32, 32}) + weight("w1", {16, 3, 5, 5}) + weight("w2", {10, 1024}) +
                integers("zero", {0}) + integers("rest", {-1}) +
                node("Conv", {"x", "w1"}, "c", ints("pads", {2, 2, 2, 2}) + ints("strides", {2, 2})) +
                node("MaxPool", {"c"}, "p", ints("kernel_shape", {2, 2}) + ints("strides", {2, 2})) +
                node("Shape", {"p"}, "s") + node("Gather", {"s", "zero"}, "n") +
                node("Concat", {"n", "rest"}, "to", integer("axis", 0)) +
                node("Reshape", {"p", "to"}, "flat") +
                node("Gemm", {"flat", "w2"}, "y", integer("transB", 1))));
    write(model(input("x", {2, 64, 96}) + weight("wq", {96, 96}) + integers("heads", {2, 64, 4, 24}) +
                node("MatMul", {"x", "wq"}, "q") + node("Reshape", {"q", "heads"}, "qh") +
                node("Transpose", {"qh"}, "qt", ints("perm", {0, 2, 1, 3})) +
                node("Transpose", {"qh"}, "kt", ints("perm", {0, 2, 3, 1})) +
                node("MatMul", {"qt", "kt"}, "s") + node("Split", {"s"}, "a", integer("axis", 1)) +
                node("Slice", {"s", "heads", "heads"}, "b") +
                node("Pad", {"s"}, "c", ints("pads", {1, 1, 1, 1})) +
                node("ConvTranspose", {"s", "wq"}, "t") + node("Where", {"heads", "heads", "heads"}, "w") +
                node("ConstantOfShape", {"heads"}, "k") + node("Expand", {"heads", "heads"}, "e")));
    return 0;
  }
  if (fuzzer == "fuzz_bench_zeros") {
    write("# zeros\nlayer,1,2\nconv0,0.5,0.25\npool0,1,0\n");
    return 0;
  }
  if (fuzzer == "fuzz_energy_table") {
    copy_all("energy");
    return 0;
  }
  for (const SyntheticContent content :
       {SyntheticContent::kMasks, SyntheticContent::kValues, SyntheticContent::kBoth}) {
    const Trace trace = make_synthetic(spec(content, DataType::kFp32));
    if (fuzzer == "fuzz_trace") {
      write(without_checksum(trace));
      write(without_checksum(make_synthetic(spec(content, DataType::kBfloat16))));
      write(without_checksum(make_synthetic(products(content, DataType::kFp32))));
    } else if (fuzzer == "fuzz_layers") {
      write(layer_list_json(trace.layers()));
      write(layer_list_json(make_synthetic(products(content, DataType::kFp32)).layers()));
    } else if (fuzzer == "fuzz_zstd") {
      const std::filesystem::path file = folder / fmt::format("seed-{}.zst", count++);
      write_trace(trace, file, {.level = static_cast<int>(content) * 6 + 1});
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: make_seeds FUZZER FOLDER\n", stderr);
    return 2;
  }
  try {
    return main_or_throw(argv[1], argv[2]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
