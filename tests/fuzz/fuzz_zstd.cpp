// Any bytes as zstd frames, with a limit on what they may grow to.
#include <cstdint>
#include <cstdlib>

#include "base/error.hpp"
#include "trace/byte_source.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lacuna;
  constexpr std::uint64_t kLimit = 1 << 20;
  try {
    const auto out = decompress_zstd({data, size}, "fuzz", kLimit);
    if (out->bytes().size() > kLimit) std::abort();
  } catch (const InputError&) {
  }
  return 0;
}
