// Damage to a file: nothing that was changed is read as something else.
#include "trace/format/trace_checksum.hpp"

#include <gtest/gtest.h>

#include "base/testing.hpp"
#include "trace/format/trace_writer.hpp"
#include "trace/synthetic/synthetic.hpp"

namespace lacuna {
namespace {

Trace small_trace(SyntheticContent content) {
  SyntheticSpec spec;
  spec.content = content;
  spec.layers = {{.name = "c",
                  .shape = LayerShape::conv2d(1, 5, 3, {3, 3}, {2, 2}),
                  .a = ZeroSpec::uniform(0.5),
                  .w = ZeroSpec::dense(),
                  .g = ZeroSpec::by_channel(0.5)}};
  return make_synthetic(spec);
}

// Checksums are for those who read the file with other programs, so the expected one was computed by Python.
constexpr const char* kLayers =
    R"([{\"batch\":2,\"in_features\":3,\"name\":\"l\",\"out_features\":2,\"type\":\"linear\"}])";
std::string open_with(const std::string& checksum, std::string_view mask = "\5\2") {
  const std::string header =
      R"({"l/G":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},)"
      R"("__metadata__":{"version":"1","model":"m","checksum":")" +
      checksum + R"(","layers":")" + kLayers +
      R"(","format":"training-trace"},"l/A.mask":{"dtype":"U8","shape":[2,1],"data_offsets":[16,18]}})";
  const std::string values("\0\0\x80\x3f\0\0\0\0\0\0\0\0\0\0\0\x40", 16);
  return error_of([&] { Trace::parse("f", safetensors_file(header, values + std::string(mask))); });
}

TEST(TraceChecksum, IsAsDocumentedWhateverTheOrderInTheFile) {
  constexpr const char* kAdvice =
      "; copy or record the file again; if you edited it, remove 'checksum' from its metadata";
  EXPECT_EQ(open_with("crc32:a8ab0347"), "no error");
  EXPECT_EQ(
      open_with("crc32:a8ab0347", "\5\3"),
      std::string("f: the file is damaged: its content has the checksum crc32:94cbe04f, it was written with "
                  "'crc32:a8ab0347'") +
          kAdvice);
  EXPECT_EQ(open_with("sha1:0"), std::string("f: 'checksum' is 'sha1:0', not a CRC-32") + kAdvice);
}

// What is accepted in spite of a change (one in the name 'checksum') has the content that was written.
TEST(TraceChecksum, NoFlippedBitChangesWhatIsRead) {
  for (const auto content : {SyntheticContent::kMasks, SyntheticContent::kBoth}) {
    const std::vector<std::uint8_t> written = serialize_trace(small_trace(content));
    int accepted = 0;
    for (std::size_t bit = 0; bit < 8 * written.size(); ++bit) {
      std::vector<std::uint8_t> damaged = written;
      damaged[bit / 8] ^= static_cast<std::uint8_t>(1U << (bit % 8));
      try {
        const Trace trace = Trace::parse("f", std::move(damaged));
        ++accepted;
        ASSERT_EQ(serialize_trace(trace), written) << "bit " << bit;
      } catch (const InputError&) {
      }
    }
    EXPECT_LE(accepted, 8 * 8);
  }
}

TEST(TraceChecksum, RecordedSharesOfZerosAreCompared) {
  const auto open = [](const std::string& share, std::string_view mask) {
    const std::string layers =
        R"([{\"name\":\"l\",\"type\":\"linear\",\"in_features\":8,\"out_features\":1,\"batch\":1,\"sparsity\":{\"A\":)" +
        share + "}}]";
    const std::string header =
        R"({"l/A.mask":{"dtype":"U8","shape":[1,1],"data_offsets":[0,1]},"__metadata__":{"format":"training-trace",)"
        R"("version":"1","model":"m","layers":")" +
        layers + R"("}})";
    return error_of([&] { Trace::parse("f", safetensors_file(header, mask)); });
  };
  EXPECT_EQ(open("0.625", "\7"), "no error");
  EXPECT_EQ(open("0.63", "\7"), "no error");
  EXPECT_EQ(
      open("0.625", "\17"),
      "f: layer 'l': A has a share of 0.5 of zeros, but 'sparsity' says 0.625; the tensor was damaged or "
      "exchanged; record the trace again or correct 'sparsity'");
  EXPECT_NE(open("0.6249", "\7"), "no error");
  EXPECT_NE(open("0", "\177"), "no error");
  EXPECT_NE(open("1", "\1"), "no error");
}

}  // namespace
}  // namespace lacuna
