// Size of a tensor in scheduled form and in the usual formats for zeros, from its mask alone
// [TensorDash §3.6]. docs/models/tensordash-storage.md says what each format holds.
#pragma once

#include <cstdint>

#include "base/add_counts.hpp"
#include "models/tensordash/storage/scheduled_form.hpp"
#include "models/tensordash/storage/tensor_groups.hpp"

namespace lacuna::tensordash {

struct StorageParams {
  Grouping grouping = Grouping::kBlocks;
  // ASSUMPTION(A24): the paper gives no size of a pointer, and no length of a run.
  int pointer_bits = 32;  // of a group's address, and of a row's in CSR
  int run_bits = 5;       // of the zeros before a value in zero run-length form; Eyeriss has 5
};

// Counts that do not depend on the type of the values; they add up over tensors.
struct StorageCounts {
  std::int64_t elements = 0;
  std::int64_t nonzeros = 0;
  std::int64_t groups = 0;
  std::int64_t steps = 0;        // rows of dense form
  std::int64_t rows = 0;         // rows of scheduled form
  std::int64_t slots = 0;        // (value, idx) pairs of those rows
  std::int64_t run_entries = 0;  // (run, value) pairs
  std::int64_t csr_rows = 0;
  std::int64_t csr_index_bits = 0;  // nonzeros x bits of a column's index

  StorageCounts& operator+=(const StorageCounts& other) { return add_counts(*this, other); }
  bool operator==(const StorageCounts&) const = default;
};

// Bits of each form for values of `value_bits`. Doubles, since results scale them to a batch.
struct StorageBits {
  double dense = 0;
  double scheduled = 0;           // the rows alone: what one pass over the tensor reads or writes
  double pointers = 0;            // one per group
  double scheduled_pointers = 0;  // the footprint where groups lie one after another
  double worst_case = 0;          // the footprint where each group has room for its dense form
  double run_length = 0;
  double bitmap = 0;
  double csr = 0;
};
StorageBits storage_bits(const StorageCounts& counts, FormBits form, int value_bits,
                         const StorageParams& params);

// The counts of one tensor. May use parallel_for.
StorageCounts count_storage(const LayerShape& shape, Operand role, const MaskView& mask,
                            const LaneSelector& selector, const StorageParams& params);

}  // namespace lacuna::tensordash
