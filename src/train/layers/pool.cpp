#include "train/layers/layers.hpp"
#include "train/layers/primitive.hpp"

namespace lacuna::train {
namespace {

using kernels::cpu_engine;
using kernels::ThreadScope;

class Pool final : public Layer {
 public:
  Pool(const Node& node, Activation& in, Activation& out, int threads)
      : in_(in), out_(out), threads_(threads) {
    const ThreadScope scope(threads_);
    const auto algorithm = node.kind == NodeKind::kMaxPool ? dnnl::algorithm::pooling_max
                                                           : dnnl::algorithm::pooling_avg_exclude_padding;
    const memory::dims strides{node.stride.h, node.stride.w};
    const memory::dims kernel{node.kernel.h, node.kernel.w};
    const memory::dims before{node.padding.h, node.padding.w};
    // Padding that the last window needs: less than the given one where the stride does not divide, more with
    // `ceil`.
    const memory::dims after{(out.shape.h - 1) * node.stride.h + node.kernel.h - in.shape.h - node.padding.h,
                             (out.shape.w - 1) * node.stride.w + node.kernel.w - in.shape.w - node.padding.w};
    const dnnl::pooling_forward::primitive_desc forward(
        {dnnl::prop_kind::forward_training, algorithm, in.desc(), out.desc(), strides, kernel, before, after},
        cpu_engine());
    forward_ = dnnl::pooling_forward(forward);
    backward_ = dnnl::pooling_backward(dnnl::pooling_backward::primitive_desc(
        {algorithm, in.desc(), out.desc(), strides, kernel, before, after}, cpu_engine(), forward));
    if (node.kind == NodeKind::kMaxPool) workspace_ = memory(forward.workspace_desc(), cpu_engine());
  }

  void forward(const Pass&) override {
    const ThreadScope scope(threads_);
    std::unordered_map<int, memory> args = {{DNNL_ARG_SRC, on(in_.desc(), in_.data.data())},
                                            {DNNL_ARG_DST, on(out_.desc(), out_.data.data())}};
    if (workspace_) args[DNNL_ARG_WORKSPACE] = workspace_;
    forward_.execute(cpu_stream(), args);
    cpu_stream().wait();
  }

  void backward(GradientSum& sum) override {
    float* diff_src = sum.begin(in_);
    if (diff_src == nullptr) return;
    const ThreadScope scope(threads_);
    std::unordered_map<int, memory> args = {{DNNL_ARG_DIFF_DST, on(out_.desc(), out_.grad)},
                                            {DNNL_ARG_DIFF_SRC, on(in_.desc(), diff_src)}};
    if (workspace_) args[DNNL_ARG_WORKSPACE] = workspace_;
    backward_.execute(cpu_stream(), args);
    cpu_stream().wait();
    sum.end(in_);
  }

 private:
  Activation& in_;
  Activation& out_;
  int threads_;
  dnnl::pooling_forward forward_;
  dnnl::pooling_backward backward_;
  memory workspace_;
};

}  // namespace

std::unique_ptr<Layer> make_pool(const Node& node, Activation& in, Activation& out, int threads) {
  return std::make_unique<Pool>(node, in, out, threads);
}

}  // namespace lacuna::train
