// JPEG and PNG files, decoded from memory by libjpeg-turbo and libpng. Nothing here prints or exits for any
// bytes.
#pragma once

#include <cstdint>
#include <string>

#include "dataset/readers/file_bytes.hpp"

namespace lacuna::dataset {

struct RgbImage {
  int height = 0;
  int width = 0;
  Bytes pixels;  // height x width x 3
};

// Images that claim more pixels are refused before memory is allocated.
inline constexpr std::int64_t kMostPixels = std::int64_t{1} << 26;

// Decides by the first bytes of the file, not by its name. Throws InputError; `where` starts the message.
RgbImage decode_image(ByteView file, const std::string& where, std::int64_t most_pixels = kMostPixels);

// Greyscale and CMYK become RGB. A truncated or damaged file is refused, not decoded in part.
RgbImage decode_jpeg(ByteView file, const std::string& where, std::int64_t most_pixels = kMostPixels);

// Greyscale, palettes and 16 bits become RGB with 8 bits; transparent pixels become white.
RgbImage decode_png(ByteView file, const std::string& where, std::int64_t most_pixels = kMostPixels);

// For decoders: throws if the size is out of bounds.
void check_pixels(std::int64_t height, std::int64_t width, std::int64_t most_pixels,
                  const std::string& where);

}  // namespace lacuna::dataset
