// The idx files of MNIST (LeCun, Cortes, Burges 1998), which Fashion-MNIST and others share: a magic number,
// the sizes, and bytes; plain or gzipped.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "dataset/images/byte_images.hpp"

namespace lacuna::dataset {

struct IdxArray {
  std::vector<std::int64_t> sizes;
  Bytes bytes;
};

// An array of bytes with `rank` sizes (1: labels, 3: images); decompressed first if it is gzipped. Throws
// InputError; `where` starts the message.
IdxArray parse_idx(ByteView file, int rank, const std::string& where);

// True if the folder has such files.
bool is_mnist(const std::filesystem::path& folder);

DatasetPair open_mnist(const std::filesystem::path& folder, const DatasetOptions& options);

}  // namespace lacuna::dataset
