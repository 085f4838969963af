#include "dataset/readers/idx.hpp"

#include <fmt/format.h>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "dataset/readers/gzip.hpp"

namespace lacuna::dataset {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMostBytes = std::uint64_t{2} << 30;
constexpr int kClasses = 10;
constexpr std::int64_t kLargestSide = 4096;
constexpr const char* kRemedy =
    "the four files are train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte and "
    "t10k-labels-idx1-ubyte, each with .gz or without; get this one again";

struct Header {
  std::vector<std::int64_t> sizes;
  std::uint64_t head = 0;   // bytes before the elements
  std::uint64_t bytes = 0;  // elements, one byte each
};

Header parse_header(ByteView file, int rank, const std::string& where) {
  Header header;
  header.head = 4 + 4 * static_cast<std::uint64_t>(rank);
  // Two zeros, the type of an element (8: unsigned byte) and the number of sizes.
  constexpr int kUnsignedByte = 8;
  if (file.size() < 4 || file[0] != 0 || file[1] != 0) {
    throw InputError(where, "this is not an idx file: it does not start with 0 0", kRemedy);
  }
  if (file[2] != kUnsignedByte || file[3] != rank) {
    throw InputError(where,
                     fmt::format("type {} with {} sizes instead of type {} (bytes) with {}", file[2], file[3],
                                 kUnsignedByte, rank),
                     kRemedy);
  }
  if (file.size() < header.head) throw InputError(where, "the file ends inside its header", kRemedy);
  header.bytes = 1;
  std::string shape;
  for (int i = 0; i < rank; ++i) {
    std::uint64_t size = 0;
    for (std::size_t byte = 0; byte < 4; ++byte)
      size = size << 8 | file[4 + 4 * static_cast<std::size_t>(i) + byte];
    header.sizes.push_back(static_cast<std::int64_t>(size));
    shape += (i > 0 ? " x " : "") + std::to_string(size);
    // 2^31 + 1 times less than 2^32: no overflow.
    header.bytes = std::min(header.bytes * size, kMostBytes + 1);
  }
  if (header.bytes == 0 || header.bytes > kMostBytes) {
    throw InputError(
        where, fmt::format("its sizes are {}: nothing, or more than {} bytes", shape, kMostBytes), kRemedy);
  }
  return header;
}

// "train", "images", 3 -> the file of that name in one of its spellings.
std::optional<fs::path> find_file(const fs::path& folder, const char* part, const char* what, int rank) {
  std::error_code ignored;
  for (const char* joint : {"-", "."}) {
    for (const char* suffix : {"", ".gz"}) {
      const fs::path file = folder / fmt::format("{}-{}{}idx{}-ubyte{}", part, what, joint, rank, suffix);
      if (fs::exists(file, ignored)) return file;
    }
  }
  return std::nullopt;
}

IdxArray read_array(const fs::path& folder, const char* part, const char* what, int rank, fs::path& file) {
  const std::optional<fs::path> found = find_file(folder, part, what, rank);
  if (!found) {
    throw InputError(shown(folder), fmt::format("there is no {}-{}-idx{}-ubyte", part, what, rank), kRemedy);
  }
  file = *found;
  return parse_idx(read_bytes(file, kMostBytes), rank, shown(file));
}

ByteImages read_part(const fs::path& folder, const char* part) {
  fs::path file;
  IdxArray images = read_array(folder, part, "images", 3, file);
  if (images.sizes[1] > kLargestSide || images.sizes[2] > kLargestSide) {
    throw InputError(shown(file),
                     fmt::format("images of {}x{} are too large", images.sizes[1], images.sizes[2]),
                     fmt::format("use images up to {0}x{0}", kLargestSide));
  }
  fs::path label_file;
  IdxArray labels = read_array(folder, part, "labels", 1, label_file);
  if (labels.sizes[0] != images.sizes[0]) {
    throw InputError(shown(label_file),
                     fmt::format("{} labels for the {} images of {}", labels.sizes[0], images.sizes[0],
                                 file.filename().string()),
                     kRemedy);
  }
  for (std::size_t i = 0; i < labels.bytes.size(); ++i) {
    if (labels.bytes[i] >= kClasses) {
      throw InputError(
          shown(label_file),
          fmt::format("label {} of image {} is not from 0 to {}", labels.bytes[i], i, kClasses - 1), kRemedy);
    }
  }
  return {{1, static_cast<int>(images.sizes[1]), static_cast<int>(images.sizes[2])},
          std::move(images.bytes),
          std::move(labels.bytes)};
}

}  // namespace

IdxArray parse_idx(ByteView file, int rank, const std::string& where) {
  const bool compressed = is_gzip(file);
  const Header header = parse_header(
      compressed ? ByteView(gunzip_start(file, 4 + 4 * static_cast<std::size_t>(rank), where)) : file, rank,
      where);
  Bytes unpacked;
  if (compressed) {
    unpacked = gunzip(file, header.head + header.bytes, where);
    file = unpacked;
  }
  if (file.size() - header.head != header.bytes) {
    throw InputError(where,
                     fmt::format("its sizes need {} bytes after the header, the file holds {}", header.bytes,
                                 file.size() - header.head),
                     kRemedy);
  }
  const ByteView elements = file.subspan(header.head);
  return {header.sizes, Bytes(elements.begin(), elements.end())};
}

bool is_mnist(const fs::path& folder) {
  return find_file(folder, "train", "images", 3) || find_file(folder, "t10k", "images", 3);
}

DatasetPair open_mnist(const fs::path& folder, const DatasetOptions& options) {
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) {
    throw InputError(shown(folder), "there is no such folder", kRemedy);
  }
  ByteImages train = read_part(folder, "train");
  ByteImages test = read_part(folder, "t10k");
  if (train.shape != test.shape) {
    throw InputError(shown(folder),
                     fmt::format("training images are {}x{}, test images {}x{}", train.shape.height,
                                 train.shape.width, test.shape.height, test.shape.width),
                     "put the files of one set into the folder");
  }
  return make_byte_datasets("mnist", numbered_classes(kClasses), std::move(train), std::move(test), options,
                            shown(folder));
}

}  // namespace lacuna::dataset
