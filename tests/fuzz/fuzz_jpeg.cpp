// Any bytes as a JPEG image, then scaled as a folder of images would.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "dataset/images/decode_image.hpp"
#include "dataset/images/resize.hpp"
#include "time_limit.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const lacuna::TimeLimit time;
  using namespace lacuna;
  using namespace lacuna::dataset;
  constexpr std::int64_t kLimit = 1 << 18;
  try {
    const RgbImage image = decode_jpeg({data, size}, "fuzz", kLimit);
    const std::int64_t pixels = std::int64_t{image.height} * image.width;
    if (pixels < 1 || pixels > kLimit) std::abort();
    if (image.pixels.size() != static_cast<std::size_t>(3 * pixels)) std::abort();
    const PlaneView view{image.pixels.data(), image.height, image.width, std::ptrdiff_t{3} * image.width, 3};
    const AxisFilter filter(std::min(image.height, image.width), 8);
    std::vector<float> scaled(64);
    resize(view.centre_square(), filter, filter, scaled.data());
    for (const float value : scaled) {
      if (!(value > -0.1F && value < 255.1F)) std::abort();
    }
  } catch (const InputError& error) {
    if (std::string_view(error.what()).find('\n') != std::string_view::npos) std::abort();
  }
  return 0;
}
