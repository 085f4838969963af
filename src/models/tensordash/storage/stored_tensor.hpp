// A whole tensor in scheduled form as it lies in memory: the bits of its groups one after another, and a
// pointer to each [TensorDash §3.6.2].
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "models/tensordash/storage/scheduled_form.hpp"
#include "models/tensordash/storage/tensor_groups.hpp"

namespace lacuna::tensordash {

// Bits, least significant first inside bytes.
struct BitString {
  std::vector<std::uint8_t> bytes;
  std::int64_t size = 0;  // bits
};

// A row is its AS less one, then its slots: idx, value. Nothing is aligned.
// ASSUMPTION(A25): the paper gives no order of the fields.
struct StoredTensor {
  BitString bits;
  std::vector<std::int64_t> pointers;  // the first bit of each group

  bool operator==(const StoredTensor& other) const {
    return bits.bytes == other.bits.bytes && bits.size == other.bits.size && pointers == other.pointers;
  }
};

// `values`: the tensor, [rows, channels]. A value that the type cannot hold exactly is an InputError.
StoredTensor store_tensor(const ScheduledCodec& codec, const TensorGroups& groups,
                          std::span<const float> values, std::int64_t channels, DataType type);

// Throws InputError (`where` starts the message) for anything that store_tensor() could not have written as
// the form of some tensor: see ScheduledCodec::decode(); pointers that are not where the groups are; bits
// that end early or are left over.
std::vector<float> load_tensor(const ScheduledCodec& codec, const TensorGroups& groups,
                               const StoredTensor& stored, std::int64_t rows, std::int64_t channels,
                               DataType type, std::string_view where);

// One group out of `bits`, from bit `at` on; `at` is moved behind it.
ScheduledGroup read_group(const ScheduledCodec& codec, const GroupShape& shape, const BitString& bits,
                          std::int64_t& at, DataType type, std::string_view where);

}  // namespace lacuna::tensordash
