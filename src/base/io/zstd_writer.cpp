#include "base/io/zstd_writer.hpp"

#include <new>
#include <stdexcept>
#include <zstd.h>

namespace lacuna {
namespace {

void check(std::size_t code) {
  if (ZSTD_isError(code) != 0U) throw std::runtime_error(ZSTD_getErrorName(code));
}

// Returns how many bytes the encoder still holds.
std::size_t step(ZSTD_CCtx* encoder, ZSTD_inBuffer& from, ZSTD_EndDirective mode, std::vector<char>& buffer,
                 OutputFile& file) {
  ZSTD_outBuffer to{buffer.data(), buffer.size(), 0};
  const std::size_t left = ZSTD_compressStream2(encoder, &to, &from, mode);
  check(left);
  file.write(buffer.data(), to.pos);
  return left;
}

}  // namespace

void ZstdWriter::Free::operator()(ZSTD_CCtx* encoder) const { ZSTD_freeCCtx(encoder); }

ZstdWriter::ZstdWriter(OutputFile& file, int level, std::uint64_t total_bytes)
    : file_(file), encoder_(ZSTD_createCCtx()), buffer_(ZSTD_CStreamOutSize()) {
  if (encoder_ == nullptr) throw std::bad_alloc();
  check(ZSTD_CCtx_setParameter(encoder_.get(), ZSTD_c_compressionLevel, level));
  check(ZSTD_CCtx_setParameter(encoder_.get(), ZSTD_c_checksumFlag, 1));
  check(ZSTD_CCtx_setPledgedSrcSize(encoder_.get(), total_bytes));
}

void ZstdWriter::write(const void* data, std::size_t bytes) {
  ZSTD_inBuffer from{data, bytes, 0};
  while (from.pos < from.size) step(encoder_.get(), from, ZSTD_e_continue, buffer_, file_);
}

void ZstdWriter::finish() {
  ZSTD_inBuffer none{nullptr, 0, 0};
  while (step(encoder_.get(), none, ZSTD_e_end, buffer_, file_) != 0) {
  }
}

}  // namespace lacuna
