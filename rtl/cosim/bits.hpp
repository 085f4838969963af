// Bits of a verilated port, whatever type Verilator chose for its width.
#pragma once

#include <concepts>
#include <cstdint>
#include <verilated.h>

namespace lacuna::rtl {

template <std::unsigned_integral T>
std::uint64_t get_bits(const T& port, std::size_t low, std::size_t width) {
  const std::uint64_t mask = width >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
  return (static_cast<std::uint64_t>(port) >> low) & mask;
}

template <std::unsigned_integral T>
void set_bits(T& port, std::size_t low, std::size_t width, std::uint64_t value) {
  const std::uint64_t mask = (width >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1) << low;
  port = static_cast<T>((static_cast<std::uint64_t>(port) & ~mask) | ((value << low) & mask));
}

template <std::size_t Words>
std::uint64_t get_bits(const VlWide<Words>& port, std::size_t low, std::size_t width) {
  std::uint64_t value = 0;
  for (std::size_t done = 0; done < width;) {
    const std::size_t word = (low + done) / 32, at = (low + done) % 32;
    const std::size_t count = std::min<std::size_t>(32 - at, width - done);
    value |= get_bits<std::uint32_t>(port[word], at, count) << done;
    done += count;
  }
  return value;
}

template <std::size_t Words>
void set_bits(VlWide<Words>& port, std::size_t low, std::size_t width, std::uint64_t value) {
  for (std::size_t done = 0; done < width;) {
    const std::size_t word = (low + done) / 32, at = (low + done) % 32;
    const std::size_t count = std::min<std::size_t>(32 - at, width - done);
    std::uint32_t bits = port[word];
    set_bits(bits, at, count, value >> done);
    port[word] = bits;
    done += count;
  }
}

}  // namespace lacuna::rtl
