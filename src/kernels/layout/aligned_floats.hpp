// Memory for tensors.
#pragma once

#include <cstdint>
#include <memory>

namespace lacuna::kernels {

// Floats aligned to 64 bytes, zero at first; on huge pages where they fill one.
class AlignedFloats {
 public:
  AlignedFloats() = default;
  explicit AlignedFloats(std::int64_t count);
  float* data() { return data_.get(); }
  const float* data() const { return data_.get(); }
  std::int64_t size() const { return size_; }
  float& operator[](std::int64_t i) { return data_.get()[i]; }
  float operator[](std::int64_t i) const { return data_.get()[i]; }

 private:
  struct Free {
    void operator()(float* p) const;
  };
  std::unique_ptr<float[], Free> data_;
  std::int64_t size_ = 0;
};

}  // namespace lacuna::kernels
