#include "dataset/images/decode_image.hpp"

#include <fmt/format.h>

#include "base/error.hpp"

namespace lacuna::dataset {

void check_pixels(std::int64_t height, std::int64_t width, std::int64_t most_pixels,
                  const std::string& where) {
  if (height < 1 || width < 1 || height > most_pixels / width) {
    throw InputError(
        where, fmt::format("the image claims {} x {} pixels, outside 1..{}", width, height, most_pixels),
        "scale the image down, or remove it if it is damaged");
  }
}

RgbImage decode_image(ByteView file, const std::string& where, std::int64_t most_pixels) {
  if (file.size() >= 2 && file[0] == 0xff && file[1] == 0xd8) return decode_jpeg(file, where, most_pixels);
  if (file.size() >= 4 && file[0] == 0x89 && file[1] == 'P' && file[2] == 'N' && file[3] == 'G') {
    return decode_png(file, where, most_pixels);
  }
  throw InputError(where, file.empty() ? "the file is empty" : "this is neither a JPEG nor a PNG file",
                   "convert the image or remove it");
}

}  // namespace lacuna::dataset
