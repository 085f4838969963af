// In place of zstd_reader.cpp and zstd_writer.cpp in a program that is built without zstd.
#include "base/io/zstd_reader.hpp"
#include "base/io/zstd_writer.hpp"
#include "base/optional_libraries.hpp"

namespace lacuna {

class ZstdReader::Buffer {};
struct ZstdReader::Stream {};

ZstdReader::ZstdReader(std::span<const std::uint8_t>, std::string where, std::uint64_t limit)
    : where_(std::move(where)), limit_(limit) {
  throw missing_library(kZstd, where_, ", or decompress the file with `zstd -d`");
}
ZstdReader::~ZstdReader() = default;
std::span<const std::uint8_t> ZstdReader::read(std::uint64_t) { return {}; }
std::unique_ptr<ByteSource> ZstdReader::take(std::uint64_t) { return nullptr; }

void ZstdWriter::Free::operator()(ZSTD_CCtx_s*) const {}
ZstdWriter::ZstdWriter(OutputFile& file, int, std::uint64_t) : file_(file) {
  throw missing_library(kZstd, "a .zst file", ", or leave out the ending .zst");
}
void ZstdWriter::write(const void*, std::size_t) { static_cast<void>(file_); }
void ZstdWriter::finish() {}

}  // namespace lacuna
