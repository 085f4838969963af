// Any bytes as a CIFAR file of either kind.
#include <cstdint>
#include <cstdlib>

#include "base/error.hpp"
#include "dataset/readers/cifar.hpp"
#include "time_limit.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const lacuna::TimeLimit time;
  using namespace lacuna;
  using namespace lacuna::dataset;
  for (const CifarKind kind : {CifarKind::kCifar10, CifarKind::kCifar100}) {
    ByteImages images;
    try {
      parse_cifar({data, size}, kind, "fuzz", images);
    } catch (const InputError&) {
      continue;
    }
    if (images.size() == 0 || images.pixels.size() != images.labels.size() * 3072) std::abort();
    for (const std::uint8_t label : images.labels) {
      if (label >= (kind == CifarKind::kCifar10 ? 10 : 100)) std::abort();
    }
  }
  return 0;
}
