// Any bytes as a PNG image: as they are, and with the checksums of the chunks corrected, without which hardly
// any change would get past the first check.
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <zlib.h>

#include "base/error.hpp"
#include "dataset/images/decode_image.hpp"
#include "time_limit.hpp"

namespace {

using namespace lacuna;
using namespace lacuna::dataset;

std::uint32_t big_endian(const std::uint8_t* at) {
  return std::uint32_t{at[0]} << 24 | std::uint32_t{at[1]} << 16 | std::uint32_t{at[2]} << 8 | at[3];
}

// Eight bytes of magic, then chunks: length, type, data, sum of type and data.
void mend_sums(Bytes& file) {
  std::size_t at = 8;
  while (at + 12 <= file.size()) {
    const std::size_t length = big_endian(file.data() + at);
    if (length > file.size() - at - 12) return;
    const auto sum =
        static_cast<std::uint32_t>(crc32(0, file.data() + at + 4, static_cast<uInt>(length + 4)));
    for (std::size_t i = 0; i < 4; ++i) {
      file[at + 8 + length + i] = static_cast<std::uint8_t>(sum >> (24 - 8 * i));
    }
    at += 12 + length;
  }
}

void decode(const Bytes& file) {
  constexpr std::int64_t kLimit = 1 << 18;
  try {
    const RgbImage image = decode_png(file, "fuzz", kLimit);
    const std::int64_t pixels = std::int64_t{image.height} * image.width;
    if (pixels < 1 || pixels > kLimit) std::abort();
    if (image.pixels.size() != static_cast<std::size_t>(3 * pixels)) std::abort();
  } catch (const InputError& error) {
    if (std::string_view(error.what()).find('\n') != std::string_view::npos) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const lacuna::TimeLimit time;
  Bytes file(data, data + size);
  decode(file);
  mend_sums(file);
  decode(file);
  return 0;
}
