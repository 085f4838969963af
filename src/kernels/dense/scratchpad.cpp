#include "kernels/dense/scratchpad.hpp"

#include "kernels/dispatch/tensors.hpp"

namespace lacuna::kernels {

void* scratchpad(std::size_t bytes) {
  thread_local AlignedFloats memory;
  const auto floats = static_cast<std::int64_t>((bytes + sizeof(float) - 1) / sizeof(float));
  if (memory.size() < floats) {
    memory = AlignedFloats();  // two at a time would be too many
    memory = AlignedFloats(floats);
  }
  return memory.data();
}

}  // namespace lacuna::kernels
