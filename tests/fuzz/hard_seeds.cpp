#include "hard_seeds.hpp"

#include <cstdint>
#include <fmt/format.h>
#include <zstd.h>

#include "report/result/result_json.hpp"
#include "report/testing/example_runs.hpp"
#include "trace/format/trace_writer.hpp"
#include "trace/synthetic/synthetic.hpp"
#include "trace/trace_builder.hpp"

namespace lacuna {
namespace {

struct FrameOptions {
  int level = 1;
  bool declares_size = false;
  bool checksum = false;
  int window_log = 0;  // 0: as zstd chooses
};

std::string frame(std::string_view bytes, const FrameOptions& options = {}) {
  std::string packed(ZSTD_compressBound(bytes.size()), '\0');
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, options.level);
  ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, options.declares_size ? 1 : 0);
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, options.checksum ? 1 : 0);
  if (options.window_log != 0) ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, options.window_log);
  packed.resize(ZSTD_compress2(context, packed.data(), packed.size(), bytes.data(), bytes.size()));
  ZSTD_freeCCtx(context);
  return packed;
}

// A frame that decoders skip: its magic number, its length, anything.
std::string skippable(std::uint32_t length) {
  std::string text("\x50\x2a\x4d\x18", 4);
  for (int shift = 0; shift < 32; shift += 8) text += static_cast<char>(length >> shift & 0xff);
  return text + std::string(length, 'x');
}

std::string in_frames(std::string_view bytes, std::size_t part, const FrameOptions& options) {
  std::string frames;
  for (std::size_t at = 0; at < bytes.size(); at += part) frames += frame(bytes.substr(at, part), options);
  return frames;
}

std::vector<std::string> packed_forms(std::string_view bytes) {
  const FrameOptions declared{.declares_size = true};
  return {frame(bytes),
          frame(bytes, {.level = 19, .checksum = true}),
          frame(bytes, {.declares_size = true, .window_log = 27}),
          frame(bytes, {.window_log = 27}),
          in_frames(bytes, 1, {}),
          in_frames(bytes, 9, declared),
          in_frames(bytes, 100, {.checksum = true}),
          skippable(3) + frame(bytes) + skippable(0),
          frame("") + frame(bytes, declared) + frame(""),
          frame(bytes) + frame(std::string(1 << 20, '\0'))};
}

std::string small_trace() {
  SyntheticSpec spec;
  spec.content = SyntheticContent::kMasks;
  spec.layers.push_back({.name = "l",
                         .shape = LayerShape::linear(2, 9, 3),
                         .a = ZeroSpec::uniform(0.5),
                         .w = ZeroSpec::dense(),
                         .g = ZeroSpec::uniform(0.5)});
  const std::vector<std::uint8_t> bytes = serialize_trace(make_synthetic(spec));
  return {bytes.begin(), bytes.end()};
}

// One that leaves out parts of its network.
std::string partial_trace() {
  TraceBuilder builder("seed");
  builder.info().model = "m";
  builder.info().left_out = {{"rnn", "LSTM", 120}, {"x", "Custom", {}}};
  builder.add_layer("l", LayerShape::linear(2, 9, 3));
  const std::vector<std::uint8_t> bytes = serialize_trace(builder.build());
  return {bytes.begin(), bytes.end()};
}

std::vector<std::string> zstd_seeds() {
  std::vector<std::string> seeds = packed_forms(small_trace());
  // Long runs of one byte: a frame of some hundred bytes that holds a mebibyte, and more than the limit.
  const std::string zeros(1 << 20, '\0');
  for (const int window : {0, 10, 20}) seeds.push_back(frame(zeros, {.window_log = window}));
  std::string many;
  for (int i = 0; i < 1000; ++i) many += frame(std::string(1000, '\0'));
  seeds.push_back(many);
  std::string empty;
  for (int i = 0; i < 4000; ++i) empty += frame("");
  seeds.push_back(empty);
  seeds.push_back(in_frames(zeros, 1 << 12, {.declares_size = true}));
  return seeds;
}

// As fuzz_repeats reads them: the reader's number, then beginning, repeated piece and end.
std::string repeats(char reader, std::string_view begin, std::string_view piece, std::string_view end) {
  return fmt::format("{}{}\n--8<--\n{}\n--8<--\n{}", reader, begin, piece, end);
}

std::vector<std::string> repeat_seeds() {
  constexpr std::string_view kMetadata =
      R"({"__metadata__":{"format":"training-trace","version":"1","model":"m",)";
  const std::string tensors = fmt::format(R"({}"layers":"[]"}})", kMetadata);
  constexpr std::string_view kTensor = R"(,"l@/A.mask":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  const std::string run = results_to_json({{testing::example_run("m", "a", 0.5)}});
  const std::size_t runs = run.find("\"runs\"");
  const std::size_t first = run.find('{', runs);
  const std::size_t last = run.rfind('}', run.rfind(']'));
  const std::string_view one = std::string_view(run).substr(first, last + 1 - first);
  return {
      repeats('\0', tensors, kTensor, "}"),
      repeats('\0', tensors, R"(,"x@":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})", "}"),
      repeats('\0', kMetadata, R"("k@":"v",)", R"("layers":"[]"}})"),
      repeats('\0', fmt::format(R"({}"layers":"[)", kMetadata),
              R"({\"name\":\"l@\",\"type\":\"linear\",\"in_features\":2,\"out_features\":2,\"batch\":1},)",
              R"({\"name\":\"l\",\"type\":\"linear\",\"in_features\":2,\"out_features\":2,\"batch\":1}]"}})"),
      repeats('\1', tensors, kTensor, "}"),
      repeats('\2', "[", R"({"name":"l@","type":"linear","in_features":2,"out_features":2,"batch":1},)",
              R"({"name":"l","type":"linear","in_features":2,"out_features":2,"batch":1}])"),
      repeats('\2', "[", R"({"name":"l@","type":"linear"},)", "]"),
      repeats('\2', R"([{"name":"l")", R"(,"k@":1)", "}]"),
      repeats('\3', run.substr(0, first), fmt::format("{},", one), fmt::format("{}]}}", one)),
      repeats('\3', R"({"lacuna":"1","schema":2,"runs":[)", R"({"trace":"@"},)", "{}]}"),
      repeats('\3', "{", R"("k@":[],)", R"("runs":[]})"),
      repeats('\4', "name,type,batch,in_channels,out_channels\n", "l@,linear,1,2,2\n", ""),
      repeats('\4', "name,type", ",c@", "\n"),
      repeats('\4', "# model = m\n", "# k@ = 1\n", "name,type\n"),
      repeats('\5', "arch: dense\n", "key@: 1\n", ""),
      repeats('\5', "arch: tensordash\nconnectivity: [", "[0, @],", "[1, -1]]\n"),
      repeats('\5', "arch: dense\nx: ", "&a@ [*a@,", "1"),
      repeats('\6', "name: x\nlayers:\n", "- {name: a@, c: 4, k: 6, input: [9, 8], kernel: 3}\n", ""),
      repeats('\7', "name: x\nsummary: s\nnode_nm: 65\ndata_type: fp32\nparts:\n",
              "  p@:\n    scales_as: logic\n    area: {value: 1, unit: um2, source: s, confidence: H}\n", ""),
      repeats('\7', "name: x\nnotes:\n", "  - note @\n", "parts: {}\n"),
      repeats('\10', "model: m\nlayers:\n", "- relu\n", "- linear: {out: 10}\n"),
      repeats('\10', "model: m\nblocks:\n", "  b@: {layers: [relu]}\n", "layers: [linear: {out: 10}]\n"),
      repeats('\10', "model: m\nlayers:\n", "- residual: {body: [relu]}\n", "- linear: {out: 10}\n"),
  };
}

}  // namespace

std::vector<std::string> hard_seeds(std::string_view fuzzer) {
  if (fuzzer == "fuzz_zstd") return zstd_seeds();
  if (fuzzer == "fuzz_trace") {
    std::vector<std::string> seeds = packed_forms(small_trace());
    seeds.push_back(partial_trace());
    return seeds;
  }
  if (fuzzer == "fuzz_repeats") return repeat_seeds();
  return {};
}

}  // namespace lacuna
