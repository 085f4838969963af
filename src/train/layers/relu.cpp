#include "train/layers/layers.hpp"
#include "train/layers/primitive.hpp"

namespace lacuna::train {
namespace {

using kernels::cpu_engine;
using kernels::ThreadScope;

class Relu final : public Layer {
 public:
  Relu(Activation& in, Activation& out, bool forward_done, int threads)
      : in_(in), out_(out), forward_done_(forward_done), threads_(threads) {
    const ThreadScope scope(threads_);
    // The gradient is computed from the output, so that the layer may run in place.
    const auto algorithm = dnnl::algorithm::eltwise_relu_use_dst_for_bwd;
    const dnnl::eltwise_forward::primitive_desc forward(
        {dnnl::prop_kind::forward_training, algorithm, in_.desc(), 0.0F, 0.0F}, cpu_engine());
    forward_ = dnnl::eltwise_forward(forward);
    backward_ = dnnl::eltwise_backward(dnnl::eltwise_backward::primitive_desc(
        {algorithm, in_.desc(), in_.desc(), 0.0F, 0.0F}, cpu_engine(), forward));
  }

  void forward(const Pass&) override {
    if (forward_done_) return;
    const ThreadScope scope(threads_);
    forward_.execute(cpu_stream(), {{DNNL_ARG_SRC, on(in_.desc(), in_.data.data())},
                                    {DNNL_ARG_DST, on(out_.desc(), out_.data.data())}});
    cpu_stream().wait();
  }

  void backward(GradientSum& sum) override {
    const ThreadScope scope(threads_);
    const bool in_place = &in_ == &out_;
    float* diff_src = in_place ? out_.grad : sum.begin(in_);
    if (diff_src == nullptr) return;
    backward_.execute(cpu_stream(), {{DNNL_ARG_DST, on(out_.desc(), out_.data.data())},
                                     {DNNL_ARG_DIFF_DST, on(out_.desc(), out_.grad)},
                                     {DNNL_ARG_DIFF_SRC, on(in_.desc(), diff_src)}});
    cpu_stream().wait();
    if (!in_place) sum.end(in_);
  }

 private:
  Activation& in_;
  Activation& out_;
  bool forward_done_;
  int threads_;
  dnnl::eltwise_forward forward_;
  dnnl::eltwise_backward backward_;
};

}  // namespace

std::unique_ptr<Layer> make_relu(Activation& in, Activation& out, bool forward_done, int threads) {
  return std::make_unique<Relu>(in, out, forward_done, threads);
}

}  // namespace lacuna::train
