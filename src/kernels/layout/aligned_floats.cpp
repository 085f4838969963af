#include "kernels/layout/aligned_floats.hpp"

#include <algorithm>
#include <cstdlib>
#include <new>
#include <sys/mman.h>

namespace lacuna::kernels {
namespace {

constexpr std::size_t kHuge = std::size_t{1} << 21;

// Large tensors use huge pages: with pages of 4 KB, a stream over 16 channel blocks spends its time in page
// walks.
float* allocate(std::int64_t count) {
  const std::size_t bytes = static_cast<std::size_t>(std::max<std::int64_t>(count, 1)) * sizeof(float);
  const std::size_t align = bytes < kHuge ? 64 : kHuge;
  void* memory = std::aligned_alloc(align, (bytes + align - 1) / align * align);
  if (memory == nullptr) throw std::bad_alloc();
#if defined(MADV_HUGEPAGE)
  if (align == kHuge) madvise(memory, bytes, MADV_HUGEPAGE);
#endif
  return static_cast<float*>(memory);
}

}  // namespace

AlignedFloats::AlignedFloats(std::int64_t count) : data_(allocate(count)), size_(count) {
  std::fill(data_.get(), data_.get() + count, 0.0F);
}

void AlignedFloats::Free::operator()(float* p) const { std::free(p); }

}  // namespace lacuna::kernels
