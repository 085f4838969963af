// Any bytes as an idx file, plain or gzipped, of one or three sizes.
#include <cstdint>
#include <cstdlib>

#include "base/error.hpp"
#include "dataset/readers/idx.hpp"
#include "time_limit.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const lacuna::TimeLimit time;
  using namespace lacuna;
  using namespace lacuna::dataset;
  for (const int rank : {1, 3}) {
    try {
      const IdxArray array = parse_idx({data, size}, rank, "fuzz");
      std::int64_t elements = 1;
      for (const std::int64_t count : array.sizes) elements *= count;
      if (array.sizes.size() != static_cast<std::size_t>(rank)) std::abort();
      if (elements < 1 || array.bytes.size() != static_cast<std::size_t>(elements)) std::abort();
    } catch (const InputError&) {
    }
  }
  return 0;
}
