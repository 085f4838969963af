// `lacuna bench torch`: whole training steps of this engine and of PyTorch, interleaved on one machine.
#pragma once

#include <exception>

#include "bench/control.hpp"
#include "bench/torch/torch_report.hpp"

namespace lacuna::bench {

struct TorchOutcome {
  TorchReport report;          // whole rounds are kept however it ended
  std::exception_ptr failure;  // an InputError after the first measurement
};
// Throws InputError for what is wrong before anything is measured.
TorchOutcome compare_with_torch(TorchSpec spec, const Control& control);

}  // namespace lacuna::bench
