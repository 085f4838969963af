// What a tensor takes in scheduled form and in the usual formats for zeros, from its mask alone
// [TensorDash §3.6]. docs/models/tensordash-storage.md says what each format holds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

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

  StorageCounts& operator+=(const StorageCounts& other);
  bool operator==(const StorageCounts&) const = default;
};

// Bits of each form for values of `value_bits`. Doubles, so that they can be scaled to a batch.
struct StorageBits {
  double dense = 0;
  double scheduled = 0;           // the rows alone: what one pass over the tensor reads or writes
  double pointers = 0;            // one a group
  double scheduled_pointers = 0;  // the footprint where groups lie one after another
  double worst_case = 0;          // the footprint where each group has room for its dense form
  double run_length = 0;
  double bitmap = 0;
  double csr = 0;

  StorageBits& operator+=(const StorageBits& other) {
    dense += other.dense;
    scheduled += other.scheduled;
    pointers += other.pointers;
    scheduled_pointers += other.scheduled_pointers;
    worst_case += other.worst_case;
    run_length += other.run_length;
    bitmap += other.bitmap;
    csr += other.csr;
    return *this;
  }
  StorageBits scaled(double by) const {
    return {dense * by,      scheduled * by,  pointers * by, scheduled_pointers * by,
            worst_case * by, run_length * by, bitmap * by,   csr * by};
  }
};
StorageBits storage_bits(const StorageCounts& counts, FormBits form, int value_bits,
                         const StorageParams& params);

// The counts of one tensor. May use parallel_for.
StorageCounts count_storage(const LayerShape& shape, TensorRole role, const MaskView& mask,
                            const LaneSelector& selector, const StorageParams& params);

// --- a trace: plain data, for reports ---
struct TensorStorage {
  TensorRole role = TensorRole::kA;
  StorageCounts counts;
  StorageBits fp32, bfloat16;
  double scale = 1;  // to the batch trained with; 1 for weights, which a batch has once

  const StorageBits& bits(DataType type) const { return type == DataType::kFp32 ? fp32 : bfloat16; }
};
struct LayerStorage {
  std::string name;
  std::string shape;
  std::vector<TensorStorage> tensors;  // A, W, G
};
struct TraceStorageReport {
  std::string path;
  TraceInfo info;
  std::int64_t batch = 1;
  StorageParams params;
  std::string grouping;
  int lanes = 0, depth = 0;
  FormBits form;
  std::vector<LayerStorage> layers;

  // Over all layers, of the tensors of one role; scaled to the batch trained with.
  StorageBits total(TensorRole role, DataType type) const {
    StorageBits sum;
    for (const LayerStorage& layer : layers) {
      for (const TensorStorage& tensor : layer.tensors) {
        if (tensor.role == role) sum += tensor.bits(type).scaled(tensor.scale);
      }
    }
    return sum;
  }
};
TraceStorageReport trace_storage(const Trace& trace, const Connectivity& connectivity,
                                 const StorageParams& params);

}  // namespace lacuna::tensordash
