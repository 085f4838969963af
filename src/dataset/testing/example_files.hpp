// Small valid files of every format that the readers accept, for tests and seeds of fuzzers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
// libjpeg's header needs size_t and FILE to be known.
#include <jpeglib.h>
#include <png.h>
#include <stdexcept>
#include <string>
#include <vector>
#include <zlib.h>

#include "dataset/readers/file_bytes.hpp"

namespace lacuna::testing {

using dataset::Bytes;

inline std::string_view text_of(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Returns `labels` as the file holds them, then 3,072 bytes that count up from `first`.
inline Bytes cifar_record(const std::vector<std::uint8_t>& labels, int first) {
  Bytes bytes = labels;
  for (int i = 0; i < 3072; ++i) bytes.push_back(static_cast<std::uint8_t>(first + i));
  return bytes;
}

inline Bytes idx_file(const std::vector<std::uint32_t>& sizes, const Bytes& elements) {
  Bytes bytes{0, 0, 8, static_cast<std::uint8_t>(sizes.size())};
  for (const std::uint32_t size : sizes) {
    for (const int shift : {24, 16, 8, 0}) bytes.push_back(static_cast<std::uint8_t>(size >> shift));
  }
  bytes.insert(bytes.end(), elements.begin(), elements.end());
  return bytes;
}

inline Bytes gzipped(const Bytes& bytes) {
  z_stream stream{};
  if (deflateInit2(&stream, 9, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) std::abort();
  Bytes out(deflateBound(&stream, bytes.size()));
  stream.next_in = const_cast<Bytef*>(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = out.data();
  stream.avail_out = static_cast<uInt>(out.size());
  if (deflate(&stream, Z_FINISH) != Z_STREAM_END) std::abort();
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

struct JpegForm {
  J_COLOR_SPACE space = JCS_RGB;  // of the given pixels, with as many components
  bool progressive = false;
  bool two_scans = false;  // progressive, greyscale: one scan of means, one of all the rest
  bool adobe = false;      // CMYK: the marker that says the inks are inverted
};

inline Bytes jpeg_file(int height, int width, const Bytes& pixels, const JpegForm& form = {}) {
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);  // exits on an error, which would be one of the test
  jpeg_create_compress(&info);
  unsigned char* out = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &out, &size);
  const auto components = static_cast<int>(pixels.size()) / (height * width);
  info.image_height = static_cast<JDIMENSION>(height);
  info.image_width = static_cast<JDIMENSION>(width);
  info.input_components = components;
  info.in_color_space = form.space;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, 100, TRUE);
  for (int i = 0; i < info.num_components; ++i)
    info.comp_info[i].h_samp_factor = info.comp_info[i].v_samp_factor = 1;
  if (form.progressive) jpeg_simple_progression(&info);
  const std::array<jpeg_scan_info, 2> two{{{1, {0, 0, 0, 0}, 0, 0, 0, 0}, {1, {0, 0, 0, 0}, 1, 63, 0, 0}}};
  if (form.two_scans) {
    info.scan_info = two.data();
    info.num_scans = 2;
  }
  if (form.space == JCS_CMYK) info.write_Adobe_marker = form.adobe ? TRUE : FALSE;
  jpeg_start_compress(&info, TRUE);
  while (info.next_scanline < info.image_height) {
    auto* row = const_cast<JSAMPROW>(pixels.data() +
                                     static_cast<std::ptrdiff_t>(info.next_scanline) * width * components);
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  Bytes bytes(out, out + size);
  jpeg_destroy_compress(&info);
  std::free(out);
  return bytes;
}

struct PngForm {
  int colour_type = PNG_COLOR_TYPE_RGB;
  int depth = 8;
  bool interlaced = false;
  std::vector<png_color> palette{};
  Bytes palette_alpha{};  // of the first entries of the palette
};

// `rows` holds the bytes of the rows as libpng takes them.
inline Bytes png_file(int height, int width, const Bytes& rows, const PngForm& form = {}) {
  png_struct* png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_info* info = png_create_info_struct(png);
  Bytes bytes;
  png_set_write_fn(
      png, &bytes,
      [](png_struct* at, png_byte* data, std::size_t size) {
        auto* to = static_cast<Bytes*>(png_get_io_ptr(at));
        to->insert(to->end(), data, data + size);
      },
      [](png_struct*) {});
  png_set_IHDR(png, info, static_cast<png_uint_32>(width), static_cast<png_uint_32>(height), form.depth,
               form.colour_type, form.interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  if (!form.palette.empty())
    png_set_PLTE(png, info, form.palette.data(), static_cast<int>(form.palette.size()));
  if (!form.palette_alpha.empty()) {
    png_set_tRNS(png, info, form.palette_alpha.data(), static_cast<int>(form.palette_alpha.size()), nullptr);
  }
  png_write_info(png, info);
  const std::size_t row_bytes = rows.size() / static_cast<std::size_t>(height);
  std::vector<png_byte*> pointers;
  pointers.reserve(static_cast<std::size_t>(height));
  for (int y = 0; y < height; ++y) {
    pointers.push_back(const_cast<png_byte*>(rows.data() + static_cast<std::size_t>(y) * row_bytes));
  }
  png_write_image(png, pointers.data());
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  return bytes;
}

// An image without sharp edges, so that JPEG keeps it nearly as it is.
inline Bytes soft_pixels(int height, int width, int channels) {
  Bytes pixels;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < channels; ++c)
        pixels.push_back(static_cast<std::uint8_t>(60 + 3 * x + 2 * y + 25 * c));
    }
  }
  return pixels;
}

}  // namespace lacuna::testing
