// Traces read back as they were written; a failed write leaves nothing behind.
#include "trace/format/trace_writer.hpp"

#include <csignal>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/random.hpp"
#include "base/testing.hpp"
#include "trace/synthetic/synthetic.hpp"
#include "trace/trace_builder.hpp"

namespace lacuna {
namespace {

void expect_equal(const Trace& one, const Trace& two, bool values) {
  EXPECT_EQ(one.info().model, two.info().model);
  EXPECT_EQ(one.info().progress, two.info().progress);
  EXPECT_EQ(one.info().batch, two.info().batch);
  ASSERT_EQ(one.layers().size(), two.layers().size());
  for (std::size_t i = 0; i < one.layers().size(); ++i) {
    const Layer& a = one.layers()[i];
    const Layer& b = two.layers()[i];
    EXPECT_EQ(a.name, b.name);
    ASSERT_EQ(a.shape, b.shape);
    EXPECT_EQ(a.steps, b.steps);
    for (const Operand role : kOperands) {
      const LayerTensor& left = a.tensor(role);
      const LayerTensor& right = b.tensor(role);
      EXPECT_EQ(left.nonzeros, right.nonzeros);
      for (std::int64_t r = 0; r < left.mask.rows; ++r) {
        ASSERT_EQ(std::memcmp(left.mask.row(r), right.mask.row(r),
                              static_cast<std::size_t>(left.mask.readable_bytes())),
                  0);
      }
      if (!values) {
        EXPECT_FALSE(right.values);
        continue;
      }
      ASSERT_TRUE(left.values && right.values);
      for (std::int64_t r = 0; r < left.mask.rows; ++r) {
        for (std::int64_t c = 0; c < left.mask.channels; ++c) {
          ASSERT_EQ(left.values.at(r, c), right.values.at(r, c));
        }
      }
    }
  }
}

ZeroSpec random_zeros(Random& random) {
  switch (random.integer(0, 3)) {
    case 0:
      return ZeroSpec::dense();
    case 1:
      return ZeroSpec::all_zero();
    case 2:
      return ZeroSpec::by_channel(random.uniform());
    default:
      return ZeroSpec::uniform(random.uniform());
  }
}

SyntheticSpec random_spec(Random& random) {
  SyntheticSpec spec;
  spec.seed = random.bits();
  spec.content = static_cast<SyntheticContent>(random.integer(0, 2));
  spec.type = random.chance(0.5) ? DataType::kFp32 : DataType::kBfloat16;
  const std::int64_t count = random.integer(1, 4);
  for (std::int64_t i = 0; i < count; ++i) {
    SyntheticLayer layer{.name = "layer" + std::to_string(i),
                         .shape = {},
                         .a = random_zeros(random),
                         .w = random_zeros(random),
                         .g = random_zeros(random)};
    if (random.chance(0.3)) {
      layer.steps = random.integer(1, 3);
      layer.shape = LayerShape::linear(layer.steps * random.integer(1, 5), random.integer(1, 40),
                                       random.integer(1, 20));
    } else {
      const std::int64_t groups = random.integer(1, 4);
      const Size2 kernel{random.integer(1, 3), random.integer(1, 4)};
      const Size2 dilation{random.integer(1, 2), random.integer(1, 3)};
      const Size2 input{dilation.h * (kernel.h - 1) + random.integer(1, 5),
                        dilation.w * (kernel.w - 1) + random.integer(1, 5)};
      layer.steps = random.integer(1, 2);
      layer.shape = LayerShape::conv2d(layer.steps * random.integer(1, 3), groups * random.integer(1, 11),
                                       groups * random.integer(1, 9), input, kernel,
                                       {random.integer(1, 3), random.integer(1, 2)},
                                       {random.integer(0, 2), random.integer(0, 1)}, dilation, groups);
    }
    spec.layers.push_back(layer);
  }
  return spec;
}

TEST(TraceWriter, RoundTripsOverRandomShapes) {
  const std::uint64_t seed = 20240607;
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  const TemporaryFolder folder;
  for (int i = 0; i < 300; ++i) {
    SCOPED_TRACE(i);
    const SyntheticSpec spec = random_spec(random);
    const Trace trace = make_synthetic(spec);
    const bool values = spec.content != SyntheticContent::kMasks;
    expect_equal(trace, Trace::parse("f", serialize_trace(trace)), values);
    expect_equal(trace, Trace::parse("f", serialize_trace(trace, {.values = false})), false);
    // Small integers are exact in both types.
    expect_equal(trace,
                 Trace::parse("f", serialize_trace(trace, {.masks = false, .type = DataType::kBfloat16})),
                 values);
    expect_equal(trace, Trace::parse("f", serialize_trace(trace, {.type = DataType::kFp32})), values);
    if (i % 30 == 0) {
      const auto plain = folder / (std::to_string(i) + ".safetensors");
      const auto packed = folder / (std::to_string(i) + ".safetensors.zst");
      write_trace(trace, plain);
      write_trace(trace, packed);
      expect_equal(trace, Trace::open(plain), values);
      expect_equal(trace, Trace::open(packed), values);
      EXPECT_EQ(std::filesystem::file_size(plain), serialize_trace(trace).size());
    }
  }
}

TEST(TraceWriter, KeepsTheMetadata) {
  TraceBuilder builder("model \"x\" \xc3\xa9");
  builder.info().dataset = "images";
  builder.info().progress = 0.1;
  builder.info().epoch = 3.25;
  builder.info().batch = 64;
  builder.info().samples = 2;
  builder.info().accuracy = 0.5;
  builder.info().loss = -1.5;
  builder.add_layer("l/with/slashes \n", LayerShape::linear(2, 3, 4));
  const Trace trace = builder.build();
  const Trace again = Trace::parse("f", serialize_trace(trace));
  EXPECT_EQ(again.info().model, trace.info().model);
  EXPECT_EQ(again.info().dataset, "images");
  EXPECT_EQ(again.info().progress, 0.1);
  EXPECT_EQ(again.info().epoch, 3.25);
  EXPECT_EQ(again.info().batch, 64);
  EXPECT_EQ(again.info().samples, 2);
  EXPECT_EQ(again.info().accuracy, 0.5);
  EXPECT_EQ(again.info().loss, -1.5);
  EXPECT_EQ(again.layers()[0].name, "l/with/slashes \n");
}

TEST(TraceWriter, RealTracesSurvive) {
  for (const char* name : {"alexnet_p100", "squeezenet_p100"}) {
    const Trace trace = Trace::open(std::string(LACUNA_SOURCE_DIR "/data/") + name + ".safetensors.zst");
    expect_equal(trace, Trace::parse("f", serialize_trace(trace)), false);
  }
}

TEST(TraceWriter, RefusesValuesThatBfloat16CannotHold) {
  const auto written = [](float value) {
    TraceBuilder builder("m");
    builder.add_layer("l", LayerShape::linear(1, 2, 1)).values(Operand::kA, std::vector<float>{1, value});
    return error_of([&] { serialize_trace(builder.build(), {.type = DataType::kBfloat16}); });
  };
  EXPECT_EQ(written(3), "no error");
  EXPECT_EQ(written(-0.0F), "no error");
  EXPECT_EQ(written(3.4e38F),
            "m: layer 'l': A element 1 is 3.4e+38, which BF16 turns into inf; write the values as F32");
  EXPECT_EQ(written(1e-45F),
            "m: layer 'l': A element 1 is 1e-45, which BF16 turns into 0; write the values as F32");
}

TEST(TraceWriter, RefusesNamesThatAreNotText) {
  TraceBuilder builder("m");
  builder.add_layer("\xff", LayerShape::linear(1, 1, 1));
  EXPECT_EQ(error_of([&] { serialize_trace(builder.build()); }),
            "m: a name in the trace is not UTF-8; rename the model or its layers");
}

Trace large_trace() {
  SyntheticSpec spec;
  spec.layers.push_back({.name = "l",
                         .shape = LayerShape::linear(64, 1024, 64),
                         .a = ZeroSpec::uniform(0.5),
                         .w = ZeroSpec::uniform(0.5),
                         .g = ZeroSpec::uniform(0.5)});
  spec.content = SyntheticContent::kValues;
  return make_synthetic(spec);
}

TEST(TraceWriter, AFullDeviceIsSaid) {
  if (::access("/dev/full", W_OK) != 0) GTEST_SKIP() << "no /dev/full";
  EXPECT_EQ(error_of([&] { write_trace(large_trace(), "/dev/full"); }),
            "/dev/full: cannot write: No space left on device; free some space or write elsewhere; nothing "
            "was left "
            "behind");
}

// The same while a regular file grows: under the final name stays what was there before.
TEST(TraceWriter, AFileThatCannotGrowLeavesTheOldOne) {
  const Trace trace = large_trace();
  for (const char* name : {"t.safetensors", "t.safetensors.zst"}) {
    const TemporaryFolder folder;
    const auto path = folder.write(name, "old");
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    rlimit small = before;
    small.rlim_cur = 20000;
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    const std::string message = error_of([&] { write_trace(trace, path); });
    ::setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, handler);
    EXPECT_EQ(
        message,
        path.string() +
            ": cannot write: File too large; free some space or write elsewhere; nothing was left behind");
    EXPECT_EQ(folder.files(), 1u);
    EXPECT_EQ(std::filesystem::file_size(path), 3u);
    write_trace(trace, path);  // and with room it works
    EXPECT_EQ(folder.files(), 1u);
    EXPECT_NO_THROW(Trace::open(path));
  }
}

// A disk that is really full, where we may mount one.
TEST(TraceWriter, AFullDiskLeavesNothing) {
  const TemporaryFolder folder;
  if (::mount("none", folder.path().c_str(), "tmpfs", 0, "size=64k") != 0)
    GTEST_SKIP() << "cannot mount a small disk";
  const auto path = folder / "t.safetensors";
  const std::string message = error_of([&] { write_trace(large_trace(), path); });
  const std::size_t left = folder.files();
  ::umount(folder.path().c_str());
  EXPECT_EQ(message,
            path.string() +
                ": cannot write: No space left on device; free some space or write elsewhere; nothing was "
                "left behind");
  EXPECT_EQ(left, 0u);
}

TEST(TraceWriter, AFolderThatIsNotThere) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "no" / "t.safetensors";
  EXPECT_EQ(
      error_of([&] { write_trace(large_trace(), path); }),
      path.string() +
          ": cannot create: No such file or directory; check that the folder exists and can be written");
}

}  // namespace
}  // namespace lacuna
