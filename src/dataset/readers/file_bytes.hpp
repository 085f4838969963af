// Files and folders as the readers of data sets see them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace lacuna::dataset {

using Bytes = std::vector<std::uint8_t>;
using ByteView = std::span<const std::uint8_t>;

// A path for a one-line message: control characters become \xNN.
std::string shown(const std::filesystem::path& path);

// The whole file, which may hold at most `most` bytes. Throws InputError.
Bytes read_bytes(const std::filesystem::path& path, std::uint64_t most);

// The names in a folder, sorted by their bytes, without those that start with a dot. Throws InputError.
std::vector<std::string> names_in(const std::filesystem::path& folder);

// One name per line, without blank lines at the end; `count` of them. Throws InputError.
std::vector<std::string> read_names(const std::filesystem::path& path, std::size_t count);

// "0", "1", ...: classes without names.
std::vector<std::string> numbered_classes(int count);

}  // namespace lacuna::dataset
