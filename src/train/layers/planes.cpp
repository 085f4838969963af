#include "train/layers/planes.hpp"

#include <unistd.h>

namespace lacuna::train {

std::int64_t cache_bytes() {
  constexpr std::int64_t kUsual = 1 << 20;
#if defined(_SC_LEVEL2_CACHE_SIZE)
  static const std::int64_t bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
  if (bytes >= kUsual / 4) return bytes;
#endif
  return kUsual;
}

}  // namespace lacuna::train
