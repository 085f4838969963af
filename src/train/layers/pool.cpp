#include <vector>

#include "train/graph/fuse.hpp"
#include "train/layers/layers.hpp"
#include "train/layers/primitive.hpp"
#include "train/passes/passes.hpp"

namespace lacuna::train {
namespace {

using kernels::cpu_engine;
using kernels::ThreadScope;

// Average pools, and max pools of large windows.
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
    execute(forward_, args);
  }

  void backward(GradientSum& sum) override {
    float* diff_src = sum.begin(in_);
    if (diff_src == nullptr) return;
    const ThreadScope scope(threads_);
    std::unordered_map<int, memory> args = {{DNNL_ARG_DIFF_DST, on(out_.desc(), out_.grad)},
                                            {DNNL_ARG_DIFF_SRC, on(in_.desc(), diff_src)}};
    if (workspace_) args[DNNL_ARG_WORKSPACE] = workspace_;
    execute(backward_, args);
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

class MaxPool final : public Layer {
 public:
  MaxPool(const Node& node, Activation& in, Activation& out, bool positive, int threads)
      : in_(in),
        out_(out),
        threads_(threads),
        pass_{in.shape.h,    in.shape.w,    out.shape.h,    out.shape.w,    node.kernel.h, node.kernel.w,
              node.stride.h, node.stride.w, node.padding.h, node.padding.w, positive},
        at_(static_cast<std::size_t>(out.floats())) {}

  void forward(const Pass&) override {
    each_plane([&](std::int64_t from, std::int64_t to) {
      passes().max_pool(pass_, in_.data.data() + from, out_.data.data() + to, at_.data() + to);
    });
  }

  void backward(GradientSum& sum) override {
    float* diff_src = sum.begin(in_);
    if (diff_src == nullptr) return;
    each_plane([&](std::int64_t from, std::int64_t to) {
      passes().max_pool_gradient(pass_, out_.grad + to, at_.data() + to, diff_src + from);
    });
    sum.end(in_);
  }

 private:
  template <typename Work>
  void each_plane(const Work& work) const {
    const std::int64_t planes = in_.n * in_.blocks();
#pragma omp parallel for num_threads(threads_) schedule(static)
    for (std::int64_t i = 0; i < planes; ++i) work(i * in_.floats() / planes, i * out_.floats() / planes);
  }

  Activation& in_;
  Activation& out_;
  int threads_;
  MaxPoolPass pass_;
  std::vector<std::uint8_t> at_;
};

}  // namespace

std::unique_ptr<Layer> make_pool(const Node& node, Activation& in, Activation& out, bool positive,
                                 int threads) {
  if (node.kind == NodeKind::kMaxPool && small_window(node))
    return std::make_unique<MaxPool>(node, in, out, positive, threads);
  return std::make_unique<Pool>(node, in, out, threads);
}

}  // namespace lacuna::train
