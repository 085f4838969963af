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

// Returns a path for a one-line message: control characters become \xNN.
std::string shown(const std::filesystem::path& path);

// Reads the whole file, which may hold at most `most` bytes. Throws InputError.
Bytes read_bytes(const std::filesystem::path& path, std::uint64_t most);

// Lists the names in a folder, sorted by their bytes, without those that start with a dot. Throws InputError.
std::vector<std::string> names_in(const std::filesystem::path& folder);

// Reads `count` names, one per line; blank lines at the end are ignored. Throws InputError.
std::vector<std::string> read_names(const std::filesystem::path& path, std::size_t count);

// Returns "0", "1", ...: names for classes that have none.
std::vector<std::string> numbered_classes(int count);

}  // namespace lacuna::dataset
