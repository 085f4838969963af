// gzip files (RFC 1952), decompressed into memory of a size known beforehand.
#pragma once

#include <cstddef>
#include <string>

#include "dataset/readers/file_bytes.hpp"

namespace lacuna::dataset {

// The most that one byte of deflate can expand to (zlib manual: "1032:1"): a file that claims more is
// damaged.
inline constexpr std::uint64_t kLargestInflation = 1032;

bool is_gzip(ByteView bytes);

// Returns the first `count` decompressed bytes, or fewer if there are fewer. Throws InputError; `where`
// starts the message.
Bytes gunzip_start(ByteView compressed, std::size_t count, const std::string& where);

// Decompresses all of it, which must be `size` bytes; first checks that the compressed bytes can hold that
// many.
Bytes gunzip(ByteView compressed, std::uint64_t size, const std::string& where);

}  // namespace lacuna::dataset
