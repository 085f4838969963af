// Compresses into an output file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/io/output_file.hpp"

struct ZSTD_CCtx_s;

namespace lacuna {

// One zstd frame that carries its size and a checksum.
class ZstdWriter {
 public:
  ZstdWriter(OutputFile& file, int level, std::uint64_t total_bytes);

  void write(const void* data, std::size_t bytes);
  // Ends the frame. Until then it is not complete.
  void finish();

 private:
  struct Free {
    void operator()(ZSTD_CCtx_s* encoder) const;
  };

  OutputFile& file_;
  std::unique_ptr<ZSTD_CCtx_s, Free> encoder_;
  std::vector<char> buffer_;
};

}  // namespace lacuna
