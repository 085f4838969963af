// Sums and concatenations of branches.
#include <algorithm>

#include "train/layers/layers.hpp"

namespace lacuna::train {
namespace {

using kernels::cpu_engine;
using kernels::ThreadScope;

class Add final : public Layer {
 public:
  explicit Add(const LayerParts& parts) : in_(parts.in), out_(parts.out), threads_(parts.threads) {
    const ThreadScope scope(threads_);
    const std::vector<float> scales(in_.size(), 1.0F);
    const std::vector<memory::desc> sources(in_.size(), out_.desc());
    sum_ = dnnl::sum(dnnl::sum::primitive_desc(out_.desc(), scales, sources, cpu_engine()));
  }

  void forward(const Pass&) override {
    const ThreadScope scope(threads_);
    std::unordered_map<int, memory> args = {{DNNL_ARG_DST, on(out_.desc(), out_.data.data())}};
    for (std::size_t i = 0; i < in_.size(); ++i)
      args[DNNL_ARG_MULTIPLE_SRC + static_cast<int>(i)] = on(out_.desc(), in_[i]->data.data());
    execute(sum_, args);
  }

  void backward(GradientSum& sum) override {
    for (Activation* in : in_) sum.copy(out_, *in);
  }

 private:
  std::vector<Activation*> in_;
  Activation& out_;
  int threads_;
  dnnl::sum sum_;
};

// Moves blocks of 16 channels; inputs whose channels do not fill their blocks go through plain memory.
class Concat final : public Layer {
 public:
  explicit Concat(const LayerParts& parts) : in_(parts.in), out_(parts.out), threads_(parts.threads) {
    const ThreadScope scope(threads_);
    whole_blocks_ =
        std::all_of(in_.begin(), in_.end(), [](const Activation* a) { return a->shape.c % 16 == 0; });
    joined_ = whole_blocks_ ? out_.desc()
                            : memory::desc(out_.dims(), memory::data_type::f32, memory::format_tag::nchw);
    if (!whole_blocks_) plain_ = AlignedFloats(out_.n * out_.shape.size());
    std::vector<memory::desc> sources;
    std::int64_t first = 0;
    for (const Activation* part : in_) {
      sources.push_back(part->desc());
      parts_.push_back(joined_.submemory_desc(part->dims(), {0, first, 0, 0}));
      first += part->shape.c;
    }
    if (whole_blocks_)
      concat_ = dnnl::concat(dnnl::concat::primitive_desc(joined_, 1, sources, cpu_engine()));
  }

  void forward(const Pass&) override {
    const ThreadScope scope(threads_);
    if (!whole_blocks_) {
      for (std::size_t i = 0; i < in_.size(); ++i)
        reorder(in_[i]->desc(), in_[i]->data.data(), parts_[i], plain_.data());
      reorder(joined_, plain_.data(), out_.desc(), out_.data.data());
      return;
    }
    std::unordered_map<int, memory> args = {{DNNL_ARG_DST, on(joined_, out_.data.data())}};
    for (std::size_t i = 0; i < in_.size(); ++i)
      args[DNNL_ARG_MULTIPLE_SRC + static_cast<int>(i)] = on(in_[i]->desc(), in_[i]->data.data());
    execute(concat_, args);
  }

  void backward(GradientSum& sum) override {
    const ThreadScope scope(threads_);
    const float* from = out_.grad;
    if (!whole_blocks_) {
      reorder(out_.desc(), out_.grad, joined_, plain_.data());
      from = plain_.data();
    }
    for (std::size_t i = 0; i < in_.size(); ++i) {
      float* to = sum.begin(*in_[i]);
      if (to == nullptr) continue;
      reorder(parts_[i], from, in_[i]->desc(), to);
      sum.end(*in_[i]);
    }
  }

 private:
  static void reorder(const memory::desc& from, const float* source, const memory::desc& to, float* target) {
    const memory a = on(from, source), b = on(to, target);
    execute(dnnl::reorder(a, b), {{DNNL_ARG_FROM, a}, {DNNL_ARG_TO, b}});
  }

  std::vector<Activation*> in_;
  Activation& out_;
  int threads_;
  bool whole_blocks_ = true;
  memory::desc joined_;
  std::vector<memory::desc> parts_;
  AlignedFloats plain_;
  dnnl::concat concat_;
};

// Features of a sample in the order c, h, w, as other frameworks flatten, in the blocked layout of a 1x1
// image.
class Flatten final : public OneInputLayer {
 public:
  explicit Flatten(const LayerParts& parts) : OneInputLayer(*parts.in[0], parts.out, parts.threads) {
    plain_ = memory::desc(in_.dims(), memory::data_type::f32,
                          memory::dims{out_.blocks() * 16, in_.pixels(), in_.shape.w, 1});
    const ThreadScope scope(threads_);
    to_plain_ = dnnl::reorder({cpu_engine(), in_.desc(), cpu_engine(), plain_});
    from_plain_ = dnnl::reorder({cpu_engine(), plain_, cpu_engine(), in_.desc()});
  }

  void forward(const Pass&) override {
    const ThreadScope scope(threads_);
    execute(to_plain_,
            {{DNNL_ARG_FROM, on(in_.desc(), in_.data.data())}, {DNNL_ARG_TO, on(plain_, out_.data.data())}});
  }
  void input_gradient(float* diff_src) override {
    const ThreadScope scope(threads_);
    execute(from_plain_, {{DNNL_ARG_FROM, on(plain_, out_.grad)}, {DNNL_ARG_TO, on(in_.desc(), diff_src)}});
  }

 private:
  memory::desc plain_;
  dnnl::reorder to_plain_, from_plain_;
};

}  // namespace

std::unique_ptr<Layer> make_add(const LayerParts& parts) { return std::make_unique<Add>(parts); }
std::unique_ptr<Layer> make_concat(const LayerParts& parts) { return std::make_unique<Concat>(parts); }
std::unique_ptr<Layer> make_flatten(const LayerParts& parts) { return std::make_unique<Flatten>(parts); }

}  // namespace lacuna::train
