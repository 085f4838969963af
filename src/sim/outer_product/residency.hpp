// Activations that stay in the PEs from one layer to the next with pe_memory=sized: SCNN's IARAM and OARAM
// change places after each layer, so that nothing but weights crosses the DRAM bus if the activations fit
// [SCNN §4].
#pragma once

#include <array>
#include <vector>

#include "sim/memory/dram.hpp"
#include "sim/memory/tensor_passes.hpp"
#include "sim/outer_product/machine_config.hpp"
#include "trace/trace.hpp"

namespace lacuna::outer_product {

// Non-zeros of a forward pass' input that the fullest PE holds of one sample. Not for linear layers.
std::int64_t largest_tile(const Layer& layer, const MachineConfig& config);

// Number of times that the tensors of the forward pass cross the bus. ASSUMPTION(O13): either one sample goes
// through all layers before the next does, with weights once per sample, or the batch goes through a layer
// before the next layer, which leaves no activations in the PEs (A14); whichever moves fewer bytes. In the
// backward pass every tensor crosses once per operation.
std::vector<LayerPasses> plan_residency(const Trace& trace, const MachineConfig& config, const Dram& dram,
                                        const PerOperation<bool>& operations);

}  // namespace lacuna::outer_product
