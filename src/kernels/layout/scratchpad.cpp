#include "kernels/layout/scratchpad.hpp"

#include <cstdint>

#include "kernels/layout/aligned_floats.hpp"

namespace lacuna::kernels {
namespace {

AlignedFloats& scratchpad_of_thread() {
  thread_local AlignedFloats memory;
  return memory;
}

}  // namespace

void* scratchpad(std::size_t bytes) {
  AlignedFloats& memory = scratchpad_of_thread();
  const auto floats = static_cast<std::int64_t>((bytes + sizeof(float) - 1) / sizeof(float));
  if (memory.size() < floats) {
    memory = AlignedFloats();  // two at a time would be too many
    memory = AlignedFloats(floats);
  }
  return memory.data();
}

std::size_t scratchpad_held() {
  return static_cast<std::size_t>(scratchpad_of_thread().size()) * sizeof(float);
}

}  // namespace lacuna::kernels
