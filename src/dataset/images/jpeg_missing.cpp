// In place of decode_jpeg.cpp in a program that is built without libjpeg.
#include "base/optional_libraries.hpp"
#include "dataset/images/decode_image.hpp"

namespace lacuna::dataset {

RgbImage decode_jpeg(ByteView, const std::string& where, std::int64_t) {
  throw missing_library(kJpeg, where, ", or convert the image to PNG");
}

}  // namespace lacuna::dataset
