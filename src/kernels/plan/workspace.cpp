#include "kernels/plan/workspace.hpp"

#include <new>
#include <string>

#include "kernels/conv.hpp"
#include "kernels/sparse/sparse_conv.hpp"

namespace lacuna::kernels {

std::int64_t Workspace::add(std::int64_t floats) {
  const std::int64_t offset = floats_;
  floats_ += round_up(floats, kLanes);
  return offset;
}

void Workspace::use(void* given, std::size_t size) {
  if (given == nullptr) {
    if (bytes() == 0) return;
    owned_.reset(static_cast<float*>(::operator new[](bytes(), std::align_val_t{kVectorBytes})));
    memory_ = owned_.get();
    return;
  }
  if (reinterpret_cast<std::uintptr_t>(given) % kVectorBytes != 0)
    throw ConvError(ConvError::Code::kMisaligned, "the workspace is not aligned to 64 bytes",
                    "allocate it with that alignment");
  if (size < bytes())
    throw ConvError(
        ConvError::Code::kWorkspaceTooSmall,
        "the workspace has " + std::to_string(size) + " bytes, the plan needs " + std::to_string(bytes()),
        "ask workspace_bytes() for the size");
  memory_ = static_cast<float*>(given);
}

void Workspace::lend(void* given) {
  if (bytes() == 0) return;
  if (given == nullptr)
    throw ConvError(ConvError::Code::kNullPointer, "the workspace is null",
                    "give this plan workspace_bytes() of memory in each run");
  use(given, bytes());
}

void Workspace::Free::operator()(float* memory) const {
  ::operator delete[](memory, std::align_val_t{kVectorBytes});
}

}  // namespace lacuna::kernels
