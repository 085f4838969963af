// The list of all implementations of a convolution.
#pragma once

namespace lacuna::kernels {

// One line per implementation: a ConvImplementation of this name in its own file. Those that skip zeros come
// first, the fastest first; of the others the first wins a tie.
#define LACUNA_CONV_IMPLEMENTATIONS(ADD) \
  ADD(kLinearConv)                       \
  ADD(kWindowConv)                       \
  ADD(kPackedConv)                       \
  ADD(kPixelConv)                        \
  ADD(kListWeightGrad)                   \
  ADD(kTapWeightGrad)                    \
  ADD(kPrunedConv)                       \
  ADD(kNeededConv)                       \
  ADD(kSparseTrainConv)                  \
  ADD(kOneDnnDirect)                     \
  ADD(kOneDnnGemm)                       \
  ADD(kDense1x1Conv)                     \
  ADD(kWinograd4x4)                      \
  ADD(kOneDnnWinograd)                   \
  ADD(kBfloat16Conv)                     \
  ADD(kOneDnnAuto)                       \
  ADD(kReferenceConv)

struct ConvImplementation;
#define LACUNA_DECLARE(name) extern const ConvImplementation name;
LACUNA_CONV_IMPLEMENTATIONS(LACUNA_DECLARE)
#undef LACUNA_DECLARE

}  // namespace lacuna::kernels
