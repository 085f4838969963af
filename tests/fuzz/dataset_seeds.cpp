#include "dataset_seeds.hpp"

#include "dataset/testing/example_files.hpp"

namespace lacuna {
namespace {

using namespace dataset;
using namespace testing;

std::vector<Bytes> cifar_seeds() {
  Bytes two = cifar_record({9}, 0);
  const Bytes second = cifar_record({0}, 5);
  two.insert(two.end(), second.begin(), second.end());
  return {two, cifar_record({19, 99}, 1)};
}

std::vector<Bytes> idx_seeds() {
  const Bytes images = idx_file({2, 3, 4}, Bytes(24, 200));
  const Bytes labels = idx_file({5}, {1, 2, 3, 4, 5});
  Bytes members = gzipped(labels);
  const Bytes none = gzipped({});
  members.insert(members.end(), none.begin(), none.end());
  return {images, labels, gzipped(images), gzipped(labels), gzipped(idx_file({40, 28, 28}, Bytes(31360))),
          members};
}

std::vector<Bytes> jpeg_seeds() {
  const Bytes colour = soft_pixels(9, 17, 3);
  const Bytes grey = soft_pixels(16, 16, 1);
  const Bytes inks = soft_pixels(8, 8, 4);
  return {jpeg_file(9, 17, colour),
          jpeg_file(9, 17, colour, {.progressive = true}),
          jpeg_file(16, 16, grey, {.space = JCS_GRAYSCALE}),
          jpeg_file(16, 16, grey, {.space = JCS_GRAYSCALE, .two_scans = true}),
          jpeg_file(8, 8, inks, {.space = JCS_CMYK}),
          jpeg_file(8, 8, inks, {.space = JCS_CMYK, .progressive = true, .adobe = true})};
}

std::vector<Bytes> png_seeds() {
  const std::vector<png_color> palette{{1, 2, 3}, {4, 5, 6}, {255, 255, 0}};
  return {
      png_file(5, 7, soft_pixels(5, 7, 3)),
      png_file(9, 9, soft_pixels(9, 9, 4), {.colour_type = PNG_COLOR_TYPE_RGBA, .interlaced = true}),
      png_file(3, 8, {0xa0, 0x5f, 0}, {.colour_type = PNG_COLOR_TYPE_GRAY, .depth = 1}),
      png_file(2, 2, soft_pixels(2, 2, 6), {.depth = 16}),
      png_file(2, 2, soft_pixels(2, 2, 2), {.colour_type = PNG_COLOR_TYPE_GRAY_ALPHA}),
      png_file(1, 3, {0, 1, 2},
               {.colour_type = PNG_COLOR_TYPE_PALETTE, .palette = palette, .palette_alpha = {0, 128}}),
      png_file(3, 4, {0x12, 0x20, 0x01, 0x21, 0x22, 0x00},
               {.colour_type = PNG_COLOR_TYPE_PALETTE, .depth = 4, .interlaced = true, .palette = palette})};
}

}  // namespace

std::vector<Bytes> dataset_seeds(std::string_view fuzzer) {
  if (fuzzer == "fuzz_cifar") return cifar_seeds();
  if (fuzzer == "fuzz_idx") return idx_seeds();
  if (fuzzer == "fuzz_jpeg") return jpeg_seeds();
  if (fuzzer == "fuzz_png") return png_seeds();
  return {};
}

}  // namespace lacuna
