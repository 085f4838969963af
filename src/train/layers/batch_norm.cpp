#include "train/layers/layers.hpp"
#include "train/layers/primitive.hpp"

namespace lacuna::train {
namespace {

using kernels::cpu_engine;
using kernels::ThreadScope;
using Forward = dnnl::batch_normalization_forward;
using Backward = dnnl::batch_normalization_backward;
using Flags = dnnl::normalization_flags;

constexpr float kEpsilon = 1e-5F;
constexpr float kMomentum = 0.1F;  // weight of the newest batch in the running mean and variance

class BatchNorm final : public Layer {
 public:
  BatchNorm(const Node& node, Activation& in, Activation& out, bool relu, int threads)
      : in_(in),
        out_(out),
        threads_(threads),
        scale_(node.name + ".weight", Parameter::Kind::kNorm, {in.shape.c}),
        shift_(node.name + ".bias", Parameter::Kind::kNorm, {in.shape.c}),
        running_mean_(node.name + ".running_mean", Parameter::Kind::kBuffer, {in.shape.c}),
        running_variance_(node.name + ".running_var", Parameter::Kind::kBuffer, {in.shape.c}),
        mean_(in.shape.c),
        variance_(in.shape.c) {
    for (std::int64_t i = 0; i < in.shape.c; ++i) scale_.value[i] = running_variance_.value[i] = 1;
    const ThreadScope scope(threads_);
    auto flags = Flags::use_scale | Flags::use_shift;
    if (relu) flags = flags | Flags::fuse_norm_relu;
    training_pd_ = {{dnnl::prop_kind::forward_training, in_.desc(), kEpsilon, flags}, cpu_engine()};
    training_ = Forward(training_pd_);
    const Forward::primitive_desc inference(
        {dnnl::prop_kind::forward_inference, in_.desc(), kEpsilon, flags | Flags::use_global_stats},
        cpu_engine());
    inference_ = Forward(inference);
    const Backward::primitive_desc backward(
        {dnnl::prop_kind::backward, in_.desc(), in_.desc(), kEpsilon, flags}, cpu_engine(), training_pd_);
    backward_ = Backward(backward);
    if (relu) workspace_ = memory(training_pd_.workspace_desc(), cpu_engine());
  }

  void forward(const Pass& pass) override {
    const ThreadScope scope(threads_);
    std::unordered_map<int, memory> args = {
        {DNNL_ARG_SRC, on(in_.desc(), in_.data.data())},
        {DNNL_ARG_DST, on(out_.desc(), out_.data.data())},
        {DNNL_ARG_SCALE, on(vector(), scale_.value.data())},
        {DNNL_ARG_SHIFT, on(vector(), shift_.value.data())},
        {DNNL_ARG_MEAN, on(vector(), pass.training ? mean_.data() : running_mean_.value.data())},
        {DNNL_ARG_VARIANCE, on(vector(), pass.training ? variance_.data() : running_variance_.value.data())}};
    if (pass.training && workspace_) args[DNNL_ARG_WORKSPACE] = workspace_;
    (pass.training ? training_ : inference_).execute(cpu_stream(), args);
    cpu_stream().wait();
    if (pass.training) update_running();
  }

  void backward(GradientSum& sum) override {
    const ThreadScope scope(threads_);
    // Scale and shift need their gradients even where the input needs none (it always has one here: batch
    // norm never stands on the images alone).
    float* diff_src = sum.begin(in_);
    if (diff_src == nullptr) {
      unused_ = unused_.size() > 0 ? std::move(unused_) : AlignedFloats(in_.floats());
      diff_src = unused_.data();
    }
    std::unordered_map<int, memory> args = {{DNNL_ARG_SRC, on(in_.desc(), in_.data.data())},
                                            {DNNL_ARG_DIFF_DST, on(out_.desc(), out_.grad)},
                                            {DNNL_ARG_MEAN, on(vector(), mean_.data())},
                                            {DNNL_ARG_VARIANCE, on(vector(), variance_.data())},
                                            {DNNL_ARG_SCALE, on(vector(), scale_.value.data())},
                                            {DNNL_ARG_SHIFT, on(vector(), shift_.value.data())},
                                            {DNNL_ARG_DIFF_SRC, on(in_.desc(), diff_src)},
                                            {DNNL_ARG_DIFF_SCALE, on(vector(), scale_.grad.data())},
                                            {DNNL_ARG_DIFF_SHIFT, on(vector(), shift_.grad.data())}};
    if (workspace_) args[DNNL_ARG_WORKSPACE] = workspace_;
    backward_.execute(cpu_stream(), args);
    cpu_stream().wait();
    sum.end(in_);
  }

  std::vector<Parameter*> parameters() override {
    return {&scale_, &shift_, &running_mean_, &running_variance_};
  }

 private:
  memory::desc vector() const { return {{in_.shape.c}, memory::data_type::f32, memory::format_tag::x}; }

  // The running variance is unbiased, as in PyTorch.
  void update_running() {
    const auto count = static_cast<float>(in_.n * in_.shape.h * in_.shape.w);
    const float unbiased = count > 1 ? count / (count - 1) : 1;
    for (std::int64_t c = 0; c < in_.shape.c; ++c) {
      running_mean_.value[c] += kMomentum * (mean_[c] - running_mean_.value[c]);
      running_variance_.value[c] += kMomentum * (unbiased * variance_[c] - running_variance_.value[c]);
    }
  }

  Activation& in_;
  Activation& out_;
  int threads_;
  Parameter scale_, shift_, running_mean_, running_variance_;
  AlignedFloats mean_, variance_, unused_;
  Forward::primitive_desc training_pd_;
  Forward training_, inference_;
  Backward backward_;
  memory workspace_;
};

}  // namespace

std::unique_ptr<Layer> make_batch_norm(const Node& node, Activation& in, Activation& out, bool relu,
                                       int threads) {
  return std::make_unique<BatchNorm>(node, in, out, relu, threads);
}

}  // namespace lacuna::train
