// The tensors of an operation on their way between DRAM and on-chip SRAM.
#pragma once

#include <cstdint>
#include <functional>

#include "sim/memory/dram.hpp"
#include "sim/memory/dram_requests.hpp"
#include "sim/workload/operation_work.hpp"

namespace lacuna {

// Rows of SRAM that a tensor takes in the form in which a machine keeps it.
using StoredRows = std::function<std::int64_t(std::int64_t elements, std::int64_t nonzeros)>;

// ASSUMPTION(A14): each of the three tensors crosses the DRAM bus once per operation, weights and their
// gradient once per batch, unless the work's passes say otherwise. Sets `samples`, `weights`,
// `dram_bytes` and `dram_cycles`, and lists the tensors.
void count_tensor_traffic(const OperationWork& work, const Dram& dram, const StoredRows& stored_rows,
                          Activity& activity, std::vector<DramTensor>& tensors);

}  // namespace lacuna
