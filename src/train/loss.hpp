// Softmax and cross entropy.
#pragma once

#include <memory>

#include "train/activation.hpp"

namespace lacuna::train {

struct LossResult {
  double loss = 0;           // mean over the images
  std::int64_t correct = 0;  // images whose largest logit is their label's
};

class Loss {
 public:
  Loss(Activation& logits, int threads);
  // The first `used` images count. Leaves the gradient in logits.grad.
  LossResult run(const std::int32_t* labels, std::int64_t used);

 private:
  Activation& logits_;
  int threads_;
  AlignedFloats log_probabilities_, diff_;
  dnnl::logsoftmax_forward forward_;
  dnnl::logsoftmax_backward backward_;
};

}  // namespace lacuna::train
