// A group of values in scheduled form: rows of (value, idx) pairs as the one-side scheduler packs them
// [TensorDash §3.6]. docs/models/tensordash-storage.md describes the format.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "models/tensordash/scheduler.hpp"
#include "models/tensordash/storage/tensor_groups.hpp"
#include "tensor/mask_view.hpp"

namespace lacuna::tensordash {

// The remedy for a stored tensor that cannot be read.
inline constexpr std::string_view kStoreAgain = "store the tensor again";

// Number of lanes that hold an element at each step of a group: all of them, but for tails. The values of a
// group are its elements in order of step, then lane.
using GroupShape = std::vector<std::int32_t>;

std::int64_t group_elements(const GroupShape& shape);
// The shape of a group of consecutive values.
GroupShape vector_shape(std::int64_t values, int lanes);

// Not a zero of either sign; NaN is effectual.
bool is_effectual(float value);

// One group. Row r stands for the window that begins at step advances[0] + ... + advances[r-1]. It has a slot
// for each lane that holds an element at that step. ASSUMPTION(A21): the other lanes do not take part, so
// that a group never has more slots than elements.
struct ScheduledGroup {
  std::vector<float> values;         // of all rows' slots; 0 where the lane was idle
  std::vector<std::uint16_t> moves;  // idx: the MS signal of each slot; 0 where the lane was idle
  // ASSUMPTION(A20): the AS signal of each row, 1..depth, is stored. The paper stores pairs only, but
  // [a, 0, b] and [a, b, 0] on one lane of depth 2 give the same pairs.
  std::vector<std::uint8_t> advances;

  std::int64_t rows() const { return static_cast<std::int64_t>(advances.size()); }
  std::int64_t slots() const { return static_cast<std::int64_t>(values.size()); }
  bool operator==(const ScheduledGroup&) const = default;
};

// Bits of a slot's idx and of a row's AS.
struct FormBits {
  int move = 0;
  int advance = 0;
};
FormBits form_bits(const Connectivity& connectivity);

// Turns groups into scheduled form and back; one for each connectivity.
class ScheduledCodec {
 public:
  explicit ScheduledCodec(const Connectivity& connectivity)
      : selector_(connectivity),
        bits_(form_bits(connectivity)),
        movements_(static_cast<int>(connectivity.movements().size())) {}

  const LaneSelector& selector() const { return selector_; }
  FormBits bits() const { return bits_; }

  // `values`: group_elements(shape) of them. ASSUMPTION(A22): a negative zero is a zero and comes back as
  // +0.0; every other value comes back bit for bit.
  ScheduledGroup encode(const GroupShape& shape, std::span<const float> values) const;

  // The mirror of the multiplexers [TensorDash Fig. 12]. Throws InputError (`where` starts the message) for
  // rows that do not cover the shape exactly, an idx or AS that does not exist, and values that leave the
  // group or meet.
  std::vector<float> decode(const GroupShape& shape, const ScheduledGroup& group,
                            std::string_view where) const;

 private:
  LaneSelector selector_;
  FormBits bits_;
  int movements_;
};

// Rows of a group and the slots they have, from its effectual bits alone.
struct RowCount {
  std::int64_t rows = 0;
  std::int64_t slots = 0;
};
// words: the effectual bits of each step, then `depth` zero words; consumed. lanes: those with an element.
RowCount count_rows(const LaneSelector& selector, std::span<std::uint64_t> words,
                    std::span<const std::int32_t> lanes);

// Bits, least significant first inside bytes.
struct BitString {
  std::vector<std::uint8_t> bytes;
  std::int64_t size = 0;  // bits
  bool operator==(const BitString&) const = default;
};

// A whole tensor in scheduled form as it lies in memory: the bits of its groups one after another, and a
// pointer to each [TensorDash §3.6.2]. A row is its AS less one, then its slots: idx, value. Nothing is
// aligned. ASSUMPTION(A25): the paper gives no order of the fields.
struct StoredTensor {
  BitString bits;
  std::vector<std::int64_t> pointers;  // the first bit of each group

  bool operator==(const StoredTensor&) const = default;
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
