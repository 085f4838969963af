#include <array>
#include <csetjmp>
#include <cstring>
#include <fmt/format.h>
#include <png.h>

#include "base/error.hpp"
#include "base/memory.hpp"
#include "dataset/images/decode_image.hpp"
#include "dataset/readers/gzip.hpp"

namespace lacuna::dataset {
namespace {

// State shared with libpng's callbacks. As in decode_jpeg.cpp, errors come back by longjmp, and every object
// with a destructor lives outside the functions that call setjmp.
struct Decoder {
  png_struct* png = nullptr;
  png_info* info = nullptr;
  const std::uint8_t* next = nullptr;
  std::size_t left = 0;
  std::jmp_buf out;
  std::array<char, 128> message{};
};

[[noreturn]] void on_error(png_struct* png, const char* message) {
  auto* decoder = static_cast<Decoder*>(png_get_error_ptr(png));
  std::strncpy(decoder->message.data(), message, decoder->message.size() - 1);
  std::longjmp(decoder->out, 1);
}

void on_warning(png_struct* /*png*/, const char* /*message*/) {}

void on_read(png_struct* png, std::uint8_t* to, std::size_t count) {
  auto* decoder = static_cast<Decoder*>(png_get_io_ptr(png));
  if (count > decoder->left) png_error(png, "the file ends early");
  std::memcpy(to, decoder->next, count);
  decoder->next += count;
  decoder->left -= count;
}

bool read_header(Decoder& decoder) {
  if (setjmp(decoder.out) != 0) return false;
  png_set_read_fn(decoder.png, &decoder, on_read);
  png_read_info(decoder.png, decoder.info);
  return true;
}

// Everything becomes red, green, blue and alpha of 8 bits.
bool read_pixels(Decoder& decoder, std::uint8_t** rows) {
  if (setjmp(decoder.out) != 0) return false;
  png_set_expand(decoder.png);
  png_set_scale_16(decoder.png);
  png_set_gray_to_rgb(decoder.png);
  png_set_add_alpha(decoder.png, 0xff, PNG_FILLER_AFTER);
  png_set_interlace_handling(decoder.png);
  png_read_update_info(decoder.png, decoder.info);
  png_read_image(decoder.png, rows);
  png_read_end(decoder.png, nullptr);
  return true;
}

[[noreturn]] void refuse(const Decoder& decoder, const std::string& where) {
  throw InputError(where, fmt::format("this PNG file cannot be decoded ({})", decoder.message.data()),
                   "get the image again or remove it");
}

struct Destroy {
  Decoder& decoder;
  ~Destroy() { png_destroy_read_struct(&decoder.png, &decoder.info, nullptr); }
};

}  // namespace

RgbImage decode_png(ByteView file, const std::string& where, std::int64_t most_pixels) {
  Decoder decoder;
  decoder.next = file.data();
  decoder.left = file.size();
  decoder.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &decoder, on_error, on_warning);
  const Destroy destroy{decoder};
  if (decoder.png != nullptr) decoder.info = png_create_info_struct(decoder.png);
  if (decoder.info == nullptr) {
    throw InputError(where, "no memory for decoding", "free some memory and try again");
  }

  if (!read_header(decoder)) refuse(decoder, where);
  RgbImage image;
  const std::int64_t height = png_get_image_height(decoder.png, decoder.info);
  const std::int64_t width = png_get_image_width(decoder.png, decoder.info);
  check_pixels(height, width, most_pixels, where);
  const std::uint64_t stored =
      static_cast<std::uint64_t>(height) * png_get_rowbytes(decoder.png, decoder.info);
  if (stored / kLargestInflation > file.size()) {
    throw InputError(where,
                     fmt::format("the image claims {} x {} pixels, which {} bytes cannot hold", width, height,
                                 file.size()),
                     "get the image again or remove it");
  }
  image.height = static_cast<int>(height);
  image.width = static_cast<int>(width);
  const auto pixels = static_cast<std::size_t>(height * width);
  const MemoryClaim claim(static_cast<double>(pixels) * 7, where, "decoding the image");
  Bytes rgba(pixels * 4);
  std::vector<std::uint8_t*> rows;
  for (std::int64_t y = 0; y < height; ++y) rows.push_back(rgba.data() + y * width * 4);
  if (!read_pixels(decoder, rows.data())) refuse(decoder, where);

  image.pixels.resize(pixels * 3);
  for (std::size_t i = 0; i < pixels; ++i) {
    const int alpha = rgba[4 * i + 3];
    for (std::size_t c = 0; c < 3; ++c) {
      const int blended = rgba[4 * i + c] * alpha + 255 * (255 - alpha);
      image.pixels[3 * i + c] = static_cast<std::uint8_t>((blended + 127) / 255);
    }
  }
  return image;
}

}  // namespace lacuna::dataset
