#include <array>
#include <csetjmp>
#include <cstddef>
#include <cstdio>
// libjpeg's headers need size_t and FILE to be known.
#include <fmt/format.h>
#include <jerror.h>
#include <jpeglib.h>

#include "base/error.hpp"
#include "base/memory.hpp"
#include "dataset/images/decode_image.hpp"

namespace lacuna::dataset {
namespace {

// A scan may cost as much as the whole image, and a file of a few kilobytes can have thousands of them.
// Encoders write about ten.
constexpr int kMostScans = 100;

// State shared with libjpeg's callbacks. Errors come back by longjmp, the only way out that libjpeg, being C,
// allows: every object with a destructor lives outside the two functions that call setjmp.
struct Decoder {
  jpeg_decompress_struct info;
  jpeg_error_mgr errors;
  jpeg_progress_mgr progress;
  std::jmp_buf out;
  std::array<char, JMSG_LENGTH_MAX> message;
};

Decoder& decoder_of(j_common_ptr info) { return *static_cast<Decoder*>(info->client_data); }

[[noreturn]] void leave(j_common_ptr info) {
  Decoder& decoder = decoder_of(info);
  (*info->err->format_message)(info, decoder.message.data());
  std::longjmp(decoder.out, 1);
}

// Warnings: libjpeg fills in grey where data are missing, which would be a wrong image. Harmless ones (bytes
// between markers, an unknown JFIF version) are common in photographs and ignored.
void on_message(j_common_ptr info, int level) {
  if (level >= 0) return;  // traces
  switch (info->err->msg_code) {
    case JWRN_EXTRANEOUS_DATA:
    case JWRN_JFIF_MAJOR:
    case JWRN_ADOBE_XFORM:
    case JWRN_TOO_MUCH_DATA:
      return;
    default:
      leave(info);
  }
}

void no_output(j_common_ptr /*info*/) {}

void on_progress(j_common_ptr info) {
  Decoder& decoder = decoder_of(info);
  if (decoder.info.input_scan_number <= kMostScans) return;
  std::snprintf(decoder.message.data(), decoder.message.size(), "more than %d scans", kMostScans);
  std::longjmp(decoder.out, 1);
}

bool read_header(Decoder& decoder, ByteView file) {
  if (setjmp(decoder.out) != 0) return false;
  jpeg_create_decompress(&decoder.info);
  decoder.info.client_data = &decoder;
  decoder.info.progress = &decoder.progress;
  jpeg_mem_src(&decoder.info, file.data(), file.size());
  jpeg_read_header(&decoder.info, TRUE);
  const bool four_inks =
      decoder.info.jpeg_color_space == JCS_CMYK || decoder.info.jpeg_color_space == JCS_YCCK;
  decoder.info.out_color_space = four_inks ? JCS_CMYK : JCS_RGB;
  jpeg_calc_output_dimensions(&decoder.info);
  return true;
}

bool read_pixels(Decoder& decoder, std::uint8_t* pixels, std::size_t row_bytes) {
  if (setjmp(decoder.out) != 0) return false;
  jpeg_start_decompress(&decoder.info);
  while (decoder.info.output_scanline < decoder.info.output_height) {
    JSAMPROW row = pixels + decoder.info.output_scanline * row_bytes;
    jpeg_read_scanlines(&decoder.info, &row, 1);
  }
  jpeg_finish_decompress(&decoder.info);
  return true;
}

// Throws InputError with the message of the library.
[[noreturn]] void refuse(const Decoder& decoder, const std::string& where) {
  throw InputError(where, fmt::format("this JPEG file cannot be decoded ({})", decoder.message.data()),
                   "get the image again or remove it");
}

struct Destroy {
  Decoder& decoder;
  ~Destroy() { jpeg_destroy_decompress(&decoder.info); }
};

// Cyan, magenta, yellow and black as shares of ink; Adobe writes them inverted. No colour profile is applied.
Bytes cmyk_to_rgb(const Bytes& inks, bool inverted) {
  Bytes rgb;
  rgb.reserve(inks.size() / 4 * 3);
  for (std::size_t i = 0; i < inks.size(); i += 4) {
    const auto paper = [&](std::size_t ink) { return inverted ? inks[i + ink] : 255 - inks[i + ink]; };
    for (std::size_t c = 0; c < 3; ++c) {
      rgb.push_back(static_cast<std::uint8_t>((paper(c) * paper(3) + 127) / 255));
    }
  }
  return rgb;
}

}  // namespace

RgbImage decode_jpeg(ByteView file, const std::string& where, std::int64_t most_pixels) {
  if (file.empty()) throw InputError(where, "the file is empty", "get the image again or remove it");
  Decoder decoder{};
  decoder.info.err = jpeg_std_error(&decoder.errors);
  decoder.info.client_data = &decoder;
  decoder.errors.error_exit = leave;
  decoder.errors.emit_message = on_message;
  decoder.errors.output_message = no_output;
  decoder.progress.progress_monitor = on_progress;
  const Destroy destroy{decoder};

  if (!read_header(decoder, file)) refuse(decoder, where);
  RgbImage image;
  check_pixels(decoder.info.output_height, decoder.info.output_width, most_pixels, where);
  image.height = static_cast<int>(decoder.info.output_height);
  image.width = static_cast<int>(decoder.info.output_width);
  const auto row_bytes =
      static_cast<std::size_t>(image.width) * static_cast<std::size_t>(decoder.info.output_components);
  // A progressive image keeps two bytes for each coefficient while it is read.
  const MemoryClaim claim(3.0 * image.height * static_cast<double>(row_bytes), where, "decoding the image");
  image.pixels.resize(static_cast<std::size_t>(image.height) * row_bytes);
  if (!read_pixels(decoder, image.pixels.data(), row_bytes)) refuse(decoder, where);
  if (decoder.info.out_color_space == JCS_CMYK) {
    image.pixels = cmyk_to_rgb(image.pixels, decoder.info.saw_Adobe_marker != FALSE);
  }
  return image;
}

}  // namespace lacuna::dataset
