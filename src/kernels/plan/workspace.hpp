// The scratch memory of a plan. Its parts are laid out first; the memory is the caller's or the workspace's
// own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace lacuna::kernels {

inline constexpr std::size_t kVectorBytes =
    64;  // alignment of blocked tensors, packed weights and workspaces

class Workspace {
 public:
  // Lays out a part and returns its offset in floats.
  std::int64_t add(std::int64_t floats);
  std::size_t bytes() const { return static_cast<std::size_t>(floats_) * sizeof(float); }

  // Takes `given` (ConvError if it is misaligned or too small), or allocates if it is null.
  void use(void* given, std::size_t size);
  // Takes bytes() of the caller's memory for one run. ConvError if it is null or misaligned.
  void lend(void* given);
  float* at(std::int64_t offset) { return memory_ + offset; }

 private:
  struct Free {
    void operator()(float* memory) const;
  };
  std::int64_t floats_ = 0;
  float* memory_ = nullptr;
  std::unique_ptr<float[], Free> owned_;
};

}  // namespace lacuna::kernels
