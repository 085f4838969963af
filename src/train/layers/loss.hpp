// Softmax and cross entropy.
#pragma once

#include <memory>
#include <vector>

#include "train/layers/activation.hpp"

namespace lacuna::train {

struct LossResult {
  double loss = 0;           // mean over the images
  std::int64_t correct = 0;  // images whose largest logit is their label's
};

// Selective back-propagation [Jiang et al. 2019]: an image is learnt from with a probability that grows with
// its loss, percentile ** (1 / share - 1), so that the mean of all is `share`.
struct Selection {
  double share = 1;
  std::uint64_t seed = 0;
};

class Loss {
 public:
  Loss(Activation& logits, int threads);
  // Computes the loss of the first `used` images. Leaves the gradient in logits.grad: the mean over those
  // that `selection` draws; that of the others is zero.
  LossResult run(const std::int32_t* labels, std::int64_t used, const Selection& selection = {});
  // By image: true if its gradient was left out for its small loss. Empty if none was.
  const std::vector<bool>& left_out() const { return left_out_; }

 private:
  // Chooses the images whose gradients are left out; returns the number of the others.
  std::int64_t choose(const std::vector<float>& losses, const Selection& selection);

  Activation& logits_;
  int threads_;
  AlignedFloats log_probabilities_, diff_;
  std::vector<bool> left_out_;
  dnnl::logsoftmax_forward forward_;
  dnnl::logsoftmax_backward backward_;
};

}  // namespace lacuna::train
