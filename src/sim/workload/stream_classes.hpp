// Streams of an operand without zeros repeat: only the border of an image and the ends of axes tell them
// apart. Engines count one of each kind.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/workload/operand_streams.hpp"

namespace lacuna {

// Every element is non-zero, and known to be without looking at the bits.
inline bool has_no_zeros(const OperandStreams& streams) { return streams.mask.no_zeros(); }

// Equal things among many: which kind each is of, and one of each kind.
struct Alike {
  std::vector<std::uint32_t> kind;  // of each
  std::vector<std::int64_t> first;  // of each kind
};

// Streams of an operand without zeros that hold the same words.
Alike alike_streams(const OperandStreams& streams);

// Groups of `rows` consecutive streams that hold the same words, the last group perhaps with fewer.
Alike alike_groups(const OperandStreams& streams, std::int64_t rows);

// In the list of an operation's products, those of one convolution group after those of another: the first
// one whose operands without zeros hold the same words as those of product i.
inline std::size_t alike_product(std::size_t i, std::size_t products, std::int64_t groups) {
  return i % (products / static_cast<std::size_t>(groups));
}

}  // namespace lacuna
