#include "base/sha256.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include "base/error.hpp"

namespace lacuna {
namespace {

// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
constexpr std::array<std::uint32_t, 64> kRound = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

void add_block(std::array<std::uint32_t, 8>& state, const std::uint8_t* block) {
  std::array<std::uint32_t, 64> w{};
  for (std::size_t i = 0; i < 16; ++i) {
    w[i] = std::uint32_t{block[4 * i]} << 24 | std::uint32_t{block[4 * i + 1]} << 16 |
           std::uint32_t{block[4 * i + 2]} << 8 | std::uint32_t{block[4 * i + 3]};
  }
  for (std::size_t i = 16; i < 64; ++i) {
    const std::uint32_t s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ w[i - 15] >> 3;
    const std::uint32_t s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ w[i - 2] >> 10;
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (std::size_t i = 0; i < 64; ++i) {
    const std::uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const std::uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + kRound[i] + w[i];
    const std::uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const std::uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + t1;
    d = c;
    c = b;
    b = a;
    a = t1 + t2;
  }
  const std::array<std::uint32_t, 8> added = {a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < 8; ++i) state[i] += added[i];
}

}  // namespace

void Sha256::add(std::span<const std::uint8_t> bytes) {
  size_ += bytes.size();
  while (!bytes.empty()) {
    if (held_ == 0 && bytes.size() >= block_.size()) {
      add_block(state_, bytes.data());
      bytes = bytes.subspan(block_.size());
      continue;
    }
    const std::size_t taken = std::min(bytes.size(), block_.size() - held_);
    std::memcpy(block_.data() + held_, bytes.data(), taken);
    bytes = bytes.subspan(taken);
    held_ += taken;
    if (held_ == block_.size()) {
      add_block(state_, block_.data());
      held_ = 0;
    }
  }
}

std::string Sha256::hex() {
  // After the last byte: a one, zeros, and the length in bits at the end of a block.
  const std::uint64_t bits = size_ * 8;
  std::array<std::uint8_t, 72> tail{0x80};
  const std::size_t zeros = (held_ < 56 ? 56 : 120) - held_;
  for (std::size_t i = 0; i < 8; ++i) tail[zeros + 7 - i] = static_cast<std::uint8_t>(bits >> (8 * i));
  add({tail.data(), zeros + 8});
  std::string hex;
  for (const std::uint32_t word : state_) hex += fmt::format("{:08x}", word);
  *this = {};
  return hex;
}

std::string sha256_hex(std::span<const std::uint8_t> bytes) {
  Sha256 sum;
  sum.add(bytes);
  return sum.hex();
}

std::string sha256_of_file(const std::filesystem::path& path) {
  const auto fail = [&](std::string_view cause) -> InputError {
    return {path.string(), cause, "give a file that can be read"};
  };
  // O_NONBLOCK: opening a pipe that nobody writes to would wait for ever.
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) throw fail(fmt::format("cannot open it ({})", std::strerror(errno)));
  struct stat about {};
  if (fstat(descriptor, &about) != 0 || !S_ISREG(about.st_mode)) {
    close(descriptor);
    throw fail("it is not a plain file");
  }
  Sha256 sum;
  std::vector<std::uint8_t> buffer(std::size_t{1} << 18);
  ssize_t bytes = 0;
  while ((bytes = read(descriptor, buffer.data(), buffer.size())) != 0) {
    if (bytes > 0) {
      sum.add({buffer.data(), static_cast<std::size_t>(bytes)});
    } else if (errno != EINTR) {
      const int reason = errno;
      close(descriptor);
      throw fail(fmt::format("cannot read it ({})", std::strerror(reason)));
    }
  }
  close(descriptor);
  return sum.hex();
}

}  // namespace lacuna
