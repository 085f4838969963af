#include "train/run/recorder.hpp"

#include <cstring>
#include <gtest/gtest.h>

#include "base/testing.hpp"
#include "trace/format/trace_writer.hpp"
#include "train/testing/tiny_run.hpp"

namespace lacuna::train {
namespace {

constexpr const char* kConvs =
    "model: convs\n"
    "layers:\n"
    "  - conv: {name: a, out: 20, kernel: [3, 2], padding: [1, 0]}\n"
    "  - relu\n"
    "  - conv: {name: grouped, out: 12, kernel: 3, groups: 4, stride: 2, padding: 1, bias: no}\n"
    "  - batch_norm\n"
    "  - relu\n"
    "  - residual: {body: [conv: {name: inner, out: 12, kernel: 1, init: zero}]}\n"
    "  - relu\n"
    "  - conv: {name: wide, out: 32, kernel: 3, dilation: 2, padding: 2}\n"
    "  - relu\n"
    "  - max_pool\n"
    "  - linear: {name: hidden, out: 17}\n"
    "  - relu\n"
    "  - linear: {name: out, out: $classes}\n";

// What a layer held: A and G in the order [n, c, h, w], W as [k, c, kh, kw].
struct Held {
  std::vector<float> a, w, g;
};

// Element (n, c, y, x) of a tensor whose channels lie in blocks of 16, step by step.
float blocked_at(const Activation& of, const float* data, std::int64_t n, std::int64_t c, std::int64_t y,
                 std::int64_t x) {
  const std::int64_t block_size = of.shape.h * of.shape.w * 16;
  const std::int64_t image_size = of.blocks() * block_size;
  return data[n * image_size + c / 16 * block_size + y * of.shape.w * 16 + x * 16 + c % 16];
}

std::vector<float> plain(const Activation& of, const float* data) {
  if (!of.blocked()) return {data, data + of.n * of.shape.size()};
  std::vector<float> values;
  for (std::int64_t n = 0; n < of.n; ++n)
    for (std::int64_t c = 0; c < of.shape.c; ++c)
      for (std::int64_t y = 0; y < of.shape.h; ++y)
        for (std::int64_t x = 0; x < of.shape.w; ++x) values.push_back(blocked_at(of, data, n, c, y, x));
  return values;
}

// The step's operands, taken by an observer of our own from a network in the same state.
std::vector<Held> held_in_step(TinyRun& run) {
  const SampleShape in = run.network.graph().input;
  const std::int64_t batch = run.network.options().batch;
  std::vector<float> images(static_cast<std::size_t>(batch * in.size()));
  std::vector<std::int32_t> labels(static_cast<std::size_t>(batch));
  run.trainer.load(run.trainer.step(), images.data(), labels.data());
  run.network.forward(images.data(), labels.data(), {true, 0});
  const auto layers = run.network.conv_layers();
  std::vector<Held> all(layers.size());
  run.network.backward([&](const ConvLayer& layer) {
    const auto at = std::find(layers.begin(), layers.end(), &layer) - layers.begin();
    const AlignedFloats& w = layer.weights().value;
    all[static_cast<std::size_t>(at)] = {plain(layer.input(), layer.input().data.data()),
                                         {w.data(), w.data() + w.size()},
                                         plain(layer.output(), layer.output().grad)};
  });
  return all;
}

Trace record(TinyRun& run, const RecordOptions& options) {
  std::optional<Trace> trace;
  run.trainer.run_step(&options, &trace);
  return *trace;
}

void expect_tensor(const LayerTensor& tensor, bool with_values, std::int64_t row, std::int64_t channel,
                   float value, const std::string& what) {
  ASSERT_EQ(tensor.mask.bit(row, channel), value != 0) << what << " " << row << " " << channel;
  ASSERT_EQ(static_cast<bool>(tensor.values), with_values) << what;
  if (!with_values) return;
  ASSERT_EQ(tensor.values.at(row, channel), value) << what << " " << row << " " << channel;
}

// [n, c, h, w] as it was held against rows of channels.
void expect_images(const LayerTensor& tensor, bool values, const std::vector<float>& held, std::int64_t n,
                   std::int64_t c, Size2 size, const std::string& what) {
  ASSERT_EQ(tensor.mask.rows, n * size.h * size.w) << what;
  ASSERT_EQ(tensor.mask.channels, c) << what;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < c; ++j)
      for (std::int64_t p = 0; p < size.h * size.w; ++p)
        expect_tensor(tensor, values, i * size.h * size.w + p, j,
                      held[static_cast<std::size_t>((i * c + j) * size.h * size.w + p)], what);
}

TEST(Recorder, TheTraceIsWhatTheNetworkHeld) {
  for (const bool values : {true, false})
    for (const auto& [asked, samples] :
         {std::pair<std::int64_t, std::int64_t>{1, 1}, {2, 2}, {6, 6}, {1000, 6}, {-3, 1}, {0, 1}}) {
      TinyOptions options;
      options.model = kConvs;
      options.batch = 6;
      TinyRun one(options);
      TinyRun other(options);
      one.run_to(3);
      other.run_to(3);
      const Trace trace = record(one, {asked, values});
      const std::vector<Held> held = held_in_step(other);
      EXPECT_EQ(trace.info().model, "convs");
      EXPECT_EQ(trace.info().dataset, "shapes");
      EXPECT_EQ(trace.info().batch, 6);
      EXPECT_EQ(trace.info().samples, samples);
      EXPECT_EQ(trace.info().progress, 0.25);
      EXPECT_EQ(trace.info().epoch, 0.5);
      EXPECT_GT(trace.info().loss.value_or(0), 0);
      ASSERT_EQ(trace.layers().size(), 6u);
      const char* names[] = {"a", "grouped", "inner", "wide", "hidden", "out"};
      for (std::size_t l = 0; l < 6; ++l) {
        const lacuna::Layer& layer = trace.layers()[l];
        const LayerShape& shape = layer.shape;
        const bool linear = l >= 4;
        EXPECT_EQ(layer.name, names[l]);
        EXPECT_EQ(shape.kind == LayerKind::kLinear, linear);
        const std::int64_t n = linear ? 6 : samples;
        EXPECT_EQ(shape.n, n);
        expect_images(layer.a, values, held[l].a, n, shape.c, shape.input, layer.name + " A");
        expect_images(layer.g, values, held[l].g, n, shape.k, shape.output, layer.name + " G");
        const std::int64_t c = shape.c_per_group();
        ASSERT_EQ(layer.w.mask.rows, shape.k * shape.taps());
        ASSERT_EQ(layer.w.mask.channels, c);
        for (std::int64_t k = 0; k < shape.k; ++k)
          for (std::int64_t i = 0; i < c; ++i)
            for (std::int64_t t = 0; t < shape.taps(); ++t)
              expect_tensor(layer.w, values, k * shape.taps() + t, i,
                            held[l].w[static_cast<std::size_t>((k * c + i) * shape.taps() + t)],
                            layer.name + " W");
      }
      // A test of nothing would pass on empty tensors.
      EXPECT_GT(trace.layers()[1].a.zeros(), 0);
      EXPECT_GT(trace.layers()[1].a.nonzeros, 0);
      EXPECT_GT(trace.layers()[3].g.zeros(), 0);
      EXPECT_GT(trace.layers()[3].g.nonzeros, 0);
    }
}

// SWAT's forward product takes all activations, the weight gradient the largest; top-k cuts both.
TEST(Recorder, ActivationsOfTheForwardProduct) {
  for (const bool values : {true, false})
    for (const auto method : {SparsifyOptions::Method::kSwat, SparsifyOptions::Method::kTopK}) {
      TinyOptions options;
      options.model = kConvs;
      options.batch = 4;
      options.network.sparsify.method = method;
      options.network.sparsify.density = 0.1;
      TinyRun one(options);
      TinyRun other(options);
      one.run_to(2);
      other.run_to(2);
      const Trace trace = record(one, {2, values});
      const std::vector<Held> held = held_in_step(other);
      for (std::size_t l = 0; l < trace.layers().size(); ++l) {
        const lacuna::Layer& layer = trace.layers()[l];
        const bool differs = method == SparsifyOptions::Method::kSwat && l > 0;  // the first layer is dense
        ASSERT_EQ(layer.a_forward.has_value(), differs) << layer.name;
        if (!differs) continue;
        expect_images(*layer.a_forward, values, held[l].a, layer.shape.n, layer.shape.c, layer.shape.input,
                      layer.name + " A_forward");
        EXPECT_GT(layer.a.zeros(), layer.a_forward->zeros()) << layer.name;
      }
    }
}

TEST(Recorder, FilesAreReadAsTheyWereWritten) {
  const TemporaryFolder folder;
  TinyOptions options;
  options.model = kConvs;
  TinyRun run(options);
  const Trace trace = record(run, {2, true});
  write_trace(trace, folder / "t.safetensors.zst");
  const Trace back = Trace::open(folder / "t.safetensors.zst");
  ASSERT_EQ(back.layers().size(), trace.layers().size());
  for (std::size_t l = 0; l < back.layers().size(); ++l) {
    EXPECT_EQ(back.layers()[l].shape, trace.layers()[l].shape);
    EXPECT_EQ(back.layers()[l].g.nonzeros, trace.layers()[l].g.nonzeros);
  }
}

// Weights, momenta and everything else are the same bytes whether steps were recorded or not.
TEST(Recorder, RecordingChangesNothing) {
  const TemporaryFolder folder;
  for (const char* model : {kPlainModel, kRichModel, kConvs}) {
    TinyOptions options;
    options.model = model;
    TinyRun quiet(options);
    TinyRun watched(options);
    while (!quiet.trainer.done()) {
      const RecordOptions every{1, true};
      std::optional<Trace> trace;
      const bool record = watched.trainer.step() % 3 != 1;
      const StepReport seen = watched.trainer.run_step(record ? &every : nullptr, &trace);
      EXPECT_EQ(trace.has_value(), record);
      EXPECT_EQ(seen.loss, quiet.trainer.run_step().loss);
    }
    quiet.trainer.save(folder / "quiet", {});
    watched.trainer.save(folder / "watched", {});
    EXPECT_EQ(bytes_in(folder / "quiet"), bytes_in(folder / "watched")) << model;
  }
}

// Three classes of one colour each.
class Colours final : public dataset::Dataset {
 public:
  Colours() : Dataset({"colours", {3, 4, 4}, {"red", "green", "blue"}, 9}) {}
  int read(std::int64_t index, float* image) const override {
    const auto label = static_cast<int>(index % 3);
    for (int i = 0; i < 48; ++i) image[i] = i / 16 == label ? 1.0F : 0.0F;
    return label;
  }
};

// A network without products learns nothing and has nothing to record, but runs.
TEST(Recorder, ANetworkWithoutWeights) {
  const TemporaryFolder folder;
  const dataset::DatasetPair data{std::make_unique<Colours>(), std::make_unique<Colours>()};
  Network network(parse_model("model: none\nlayers: [relu, average_pool: global]\n", "none",
                              {{"size", "4"}, {"classes", "3"}}),
                  {4, Kernels::kSparse, 1});
  TrainOptions options;
  options.pruning.method = PruningOptions::Method::kSparseMomentum;
  options.pruning.every = 1;
  Trainer trainer(network, data, options);
  std::optional<Trace> trace;
  const RecordOptions record;
  EXPECT_EQ(error_of([&] { trainer.run_step(&record, &trace); }),
            "none: the trace has no layers; add at least one");
  trainer.run_step();
  EXPECT_EQ(trainer.test().accuracy, 1);
  trainer.save(folder / "c", {});
  trainer.resume(folder / "c", {});
  EXPECT_EQ(trainer.zeros().activations, 0);
}

}  // namespace
}  // namespace lacuna::train
