#include <vector>

#include "train/graph/fuse.hpp"
#include "train/layers/layers.hpp"
#include "train/passes/passes.hpp"

namespace lacuna::train {
namespace {

using kernels::cpu_engine;
using kernels::ThreadScope;

// Average pools, and max pools of large windows.
class Pool final : public OneInputLayer {
 public:
  explicit Pool(const LayerParts& parts) : OneInputLayer(*parts.in[0], parts.out, parts.threads) {
    const ThreadScope scope(threads_);
    const Node& node = parts.node;
    const auto algorithm = node.kind == NodeKind::kMaxPool ? dnnl::algorithm::pooling_max
                                                           : dnnl::algorithm::pooling_avg_exclude_padding;
    const memory::dims strides{node.stride.h, node.stride.w};
    const memory::dims kernel{node.kernel.h, node.kernel.w};
    const memory::dims before{node.padding.h, node.padding.w};
    // Padding that the last window needs: less than the given one where the stride does not divide, more with
    // `ceil`.
    const memory::dims after{
        (out_.shape.h - 1) * node.stride.h + node.kernel.h - in_.shape.h - node.padding.h,
        (out_.shape.w - 1) * node.stride.w + node.kernel.w - in_.shape.w - node.padding.w};
    const dnnl::pooling_forward::primitive_desc forward(
        {dnnl::prop_kind::forward_training, algorithm, in_.desc(), out_.desc(), strides, kernel, before,
         after},
        cpu_engine());
    forward_ = dnnl::pooling_forward(forward);
    backward_ = dnnl::pooling_backward(dnnl::pooling_backward::primitive_desc(
        {algorithm, in_.desc(), out_.desc(), strides, kernel, before, after}, cpu_engine(), forward));
    if (node.kind == NodeKind::kMaxPool) workspace_ = memory(forward.workspace_desc(), cpu_engine());
  }

  void forward(const Pass&) override {
    run(forward_,
        {{DNNL_ARG_SRC, on(in_.desc(), in_.data.data())}, {DNNL_ARG_DST, on(out_.desc(), out_.data.data())}});
  }
  void input_gradient(float* diff_src) override {
    run(backward_,
        {{DNNL_ARG_DIFF_DST, on(out_.desc(), out_.grad)}, {DNNL_ARG_DIFF_SRC, on(in_.desc(), diff_src)}});
  }

 private:
  void run(const dnnl::primitive& primitive, std::unordered_map<int, memory> args) const {
    const ThreadScope scope(threads_);
    if (workspace_) args[DNNL_ARG_WORKSPACE] = workspace_;
    execute(primitive, args);
  }

  dnnl::pooling_forward forward_;
  dnnl::pooling_backward backward_;
  memory workspace_;
};

class MaxPool final : public OneInputLayer {
 public:
  explicit MaxPool(const LayerParts& parts)
      : OneInputLayer(*parts.in[0], parts.out, parts.threads),
        pass_{in_.shape.h,          in_.shape.w,          out_.shape.h,        out_.shape.w,
              parts.node.kernel.h,  parts.node.kernel.w,  parts.node.stride.h, parts.node.stride.w,
              parts.node.padding.h, parts.node.padding.w, parts.relu_before},
        at_(static_cast<std::size_t>(out_.floats())) {}

  void forward(const Pass&) override {
    each_plane([&](std::int64_t from, std::int64_t to) {
      passes().max_pool(pass_, in_.data.data() + from, out_.data.data() + to, at_.data() + to);
    });
  }
  void input_gradient(float* diff_src) override {
    each_plane([&](std::int64_t from, std::int64_t to) {
      passes().max_pool_gradient(pass_, out_.grad + to, at_.data() + to, diff_src + from);
    });
  }

 private:
  template <typename Work>
  void each_plane(const Work& work) const {
    const std::int64_t planes = in_.n * in_.blocks();
#pragma omp parallel for num_threads(threads_) schedule(static)
    for (std::int64_t i = 0; i < planes; ++i) work(i * in_.floats() / planes, i * out_.floats() / planes);
  }

  MaxPoolPass pass_;
  std::vector<std::uint8_t> at_;
};

}  // namespace

std::unique_ptr<Layer> make_pool(const LayerParts& parts) {
  if (parts.node.kind == NodeKind::kMaxPool && small_window(parts.node))
    return std::make_unique<MaxPool>(parts);
  return std::make_unique<Pool>(parts);
}

}  // namespace lacuna::train
