// Any bytes as zstd frames, with a limit on what they may grow to: read piece by piece and at once.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "base/error.hpp"
#include "base/io/zstd_reader.hpp"
#include "time_limit.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lacuna;
  constexpr std::uint64_t kLimit = 1 << 20;
  const TimeLimit time;
  try {
    ZstdReader pieces({data, size}, "fuzz", kLimit);
    for (std::uint64_t wanted = 9; wanted <= kLimit; wanted *= 3) {
      if (pieces.read(wanted).size() > wanted) std::abort();
    }
    const auto read = pieces.read(UINT64_MAX);
    if (read.size() > kLimit || (pieces.declared() && *pieces.declared() != read.size())) std::abort();
    const auto whole = ZstdReader({data, size}, "fuzz", kLimit).take(read.size());
    if (!std::ranges::equal(whole->bytes(), read)) std::abort();
  } catch (const InputError&) {
  }
  return 0;
}
