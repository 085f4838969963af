// A training step as a trace: A, W and G of every convolution and linear layer as they are multiplied, in the
// format of docs/trace-format.md.
#pragma once

#include <string>
#include <vector>

#include "trace/trace.hpp"
#include "train/layers/network.hpp"

namespace lacuna::train {

struct RecordOptions {
  std::int64_t samples =
      2;  // of the batch; linear layers are recorded whole, since their weight gradient sums over it
  bool values = false;  // values, not only masks
};

// Give observe() to Network::backward(), then take the trace.
class Recorder {
 public:
  Recorder(const Network& network, const RecordOptions& options);
  void observe(const ConvLayer& layer);
  // Returns the step's trace; `info.model`, `batch` and `samples` are filled in here.
  Trace finish(TraceInfo info);

 private:
  struct Tensors {
    std::vector<float> a, w, g, a_forward;  // in the order of the trace; a_forward only where it differs
  };
  const Network& network_;
  RecordOptions options_;
  std::vector<Tensors> tensors_;  // by layer, in the order of the graph
};

}  // namespace lacuna::train
