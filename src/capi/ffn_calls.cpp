// lacuna_ffn_*: feed-forward blocks.
#include "capi/handles.hpp"

using namespace lacuna;
using namespace lacuna::capi;
using kernels::Activation;

lacuna_status lacuna_ffn_plan(const lacuna_ffn_options* options, lacuna_ffn** ffn) {
  return guarded([&] {
    const lacuna_ffn_options given = sized_copy(options, "options");
    require(ffn, "ffn");
    constexpr std::array kActivations{Activation::kRelu, Activation::kReluSquared, Activation::kThresholded};
    kernels::FeedForwardOptions block{.in = given.in_features,
                                      .hidden = given.hidden,
                                      .out = given.out_features,
                                      .threshold = given.threshold,
                                      .threads = given.threads == 0 ? 1 : given.threads,
                                      .isa = {}};
    block.activation = choose(given.activation, kActivations, "feed-forward block", "activation");
    *ffn = new lacuna_ffn{kernels::FeedForward(block)};
  });
}

void lacuna_ffn_free(lacuna_ffn* ffn) { delete ffn; }

lacuna_status lacuna_ffn_pass_new(lacuna_ffn_pass** pass) {
  return guarded([&] {
    require(pass, "pass");
    *pass = new lacuna_ffn_pass{};
  });
}

void lacuna_ffn_pass_free(lacuna_ffn_pass* pass) { delete pass; }

lacuna_status lacuna_ffn_forward(const lacuna_ffn* ffn, int64_t tokens, const lacuna_ffn_tensors* tensors,
                                 lacuna_ffn_pass* pass, double* zeros) {
  return guarded_parallel([&] {
    require_all("ffn, pass", {ffn, pass});
    const lacuna_ffn_tensors t = sized_copy(tensors, "tensors");
    ffn->block.forward(tokens, t.hidden, t.down, t.down_bias, t.output, pass->pass);
    if (zeros != nullptr) *zeros = pass->pass.lists.share_of_zeros();
  });
}

lacuna_status lacuna_ffn_backward(lacuna_ffn* ffn, lacuna_ffn_pass* pass, const lacuna_ffn_tensors* tensors) {
  return guarded_parallel([&] {
    require_all("ffn, pass", {ffn, pass});
    const lacuna_ffn_tensors t = sized_copy(tensors, "tensors");
    ffn->block.backward(pass->pass, {.output_grad = t.output_grad,
                                     .input = t.input,
                                     .up = t.up,
                                     .input_grad = t.input_grad,
                                     .up_grad = t.up_grad,
                                     .up_bias_grad = t.up_bias_grad,
                                     .down_grad = t.down_grad});
  });
}
