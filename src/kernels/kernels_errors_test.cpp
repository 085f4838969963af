// Bad descriptors and bad pointers: a typed error, and nothing written.
#include <gtest/gtest.h>
#include <vector>

#include "kernels/conv.hpp"
#include "kernels/measure/plan_tensors.hpp"

namespace lacuna::kernels {
namespace {

using Code = ConvError::Code;

LayerShape small() { return LayerShape::conv2d(1, 16, 16, {4, 4}, {3, 3}, {1, 1}, {1, 1}); }

ConvOptions sparse_options(Operation op = Operation::kForward, Layout layout = Layout::kBlocked) {
  ConvOptions o;
  o.op = op;
  o.impl = Impl::kSparse;
  o.layout = layout;
  return o;
}

template <class Call>
Code code_of(const Call& call) {
  try {
    call();
  } catch (const ConvError& e) {
    return e.code();
  }
  ADD_FAILURE() << "no error";
  return Code::kShape;
}

TEST(KernelErrors, ShapesThatAreNotConvolutions) {
  auto broken = [](auto change) {
    LayerShape s = small();
    change(s);
    EXPECT_THROW(ConvPlan(s, sparse_options()), InputError);
  };
  broken([](LayerShape& s) { s.n = 0; });
  broken([](LayerShape& s) { s.c = -16; });
  broken([](LayerShape& s) { s.k = 0; });
  broken([](LayerShape& s) { s.input.h = 0; });
  broken([](LayerShape& s) { s.kernel.w = -3; });
  broken([](LayerShape& s) { s.stride.h = 0; });
  broken([](LayerShape& s) { s.padding.h = -1; });
  broken([](LayerShape& s) { s.dilation.w = 0; });
  broken([](LayerShape& s) { s.groups = 3; });
  broken([](LayerShape& s) { s.groups = 0; });
  broken([](LayerShape& s) { s.output.w = 5; });
}

TEST(KernelErrors, Options) {
  auto rejects = [](auto change) {
    ConvOptions o = sparse_options();
    LayerShape s = small();
    change(o, s);
    EXPECT_EQ(code_of([&] { ConvPlan plan(s, o); }), Code::kOption);
  };
  rejects([](ConvOptions& o, LayerShape&) { o.threads = 0; });
  rejects([](ConvOptions& o, LayerShape&) { o.threads = -2; });
  rejects([](ConvOptions& o, LayerShape&) { o.isa = "sse9"; });
  rejects([](ConvOptions& o, LayerShape&) { o.checked = Operand::kG; });
  rejects([](ConvOptions& o, LayerShape&) { o.or_needed = true; });
  rejects([](ConvOptions& o, LayerShape&) { o.impl = Impl{"needed"}, o.op = Operation::kInputGrad; });
  rejects([](ConvOptions& o, LayerShape&) { o.op = Operation::kInputGrad, o.relu = true; });
  rejects([](ConvOptions& o, LayerShape&) { o.impl = Impl::kReference, o.weights = WeightLayout::kPacked; });
}

TEST(KernelErrors, PointersAreCheckedBeforeAnythingIsWritten) {
  for (const Operation op : kOperations) {
    ConvPlan plan(small(), sparse_options(op));
    PlanTensors data(plan);
    data.fill(plan, 0.5, 1);
    AlignedFloats& out = data.result();
    for (std::int64_t i = 0; i < out.size(); ++i) out[i] = 42;
    const ConvTensors good = data.tensors();
    auto rejects = [&](Code code, auto change) {
      ConvTensors t = good;
      change(t);
      EXPECT_EQ(code_of([&] { plan.run(t); }), code) << operation_name(op);
      for (std::int64_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], 42);
    };
    if (op != Operation::kInputGrad) rejects(Code::kNullPointer, [](ConvTensors& t) { t.src = nullptr; });
    if (op != Operation::kForward) rejects(Code::kNullPointer, [](ConvTensors& t) { t.diff_dst = nullptr; });
    if (op != Operation::kWeightGrad)
      rejects(Code::kNullPointer, [](ConvTensors& t) { t.weights = nullptr; });
    if (op == Operation::kForward) {
      rejects(Code::kNullPointer, [](ConvTensors& t) { t.dst = nullptr; });
      rejects(Code::kMisaligned, [](ConvTensors& t) { t.src += 1; });
      rejects(Code::kMisaligned, [](ConvTensors& t) { t.dst += 4; });
      rejects(Code::kMisaligned, [](ConvTensors& t) {
        t.weights = reinterpret_cast<const float*>(reinterpret_cast<const char*>(t.weights) + 1);
      });
      rejects(Code::kOverlap, [](ConvTensors& t) { t.src = t.dst; });
      rejects(Code::kOverlap, [](ConvTensors& t) { t.weights = t.dst + 16; });
    }
    if (op == Operation::kInputGrad) rejects(Code::kOverlap, [](ConvTensors& t) { t.diff_dst = t.diff_src; });
    if (op == Operation::kWeightGrad) rejects(Code::kOverlap, [](ConvTensors& t) { t.src = t.diff_weights; });
  }
}

TEST(KernelErrors, MissingBias) {
  ConvOptions o = sparse_options();
  o.bias = true;
  ConvPlan plan(small(), o);
  PlanTensors data(plan);
  ConvTensors t = data.tensors();
  t.bias = nullptr;
  EXPECT_EQ(code_of([&] { plan.run(t); }), Code::kNullPointer);
}

TEST(KernelErrors, ShareOfZerosOutOfRange) {
  ConvPlan plan(small(), sparse_options());
  PlanTensors data(plan);
  EXPECT_EQ(code_of([&] { plan.run(data.tensors(), 1.5); }), Code::kOption);
}

TEST(KernelErrors, WorkspaceOfTheCaller) {
  const ConvOptions o = sparse_options(Operation::kForward, Layout::kNchw);
  const std::size_t bytes = ConvPlan::workspace_bytes(small(), o);
  ASSERT_GT(bytes, 0U);
  AlignedFloats memory(static_cast<std::int64_t>(bytes / sizeof(float)) + 16);
  EXPECT_EQ(code_of([&] { ConvPlan plan(small(), o, memory.data(), bytes - 1); }), Code::kWorkspaceTooSmall);
  EXPECT_EQ(code_of([&] { ConvPlan plan(small(), o, memory.data() + 1, bytes); }), Code::kMisaligned);
  ConvPlan plan(small(), o, memory.data(), bytes);
  memory[static_cast<std::int64_t>(bytes / sizeof(float))] = 7;  // just past the end
  PlanTensors data(plan);
  data.fill(plan, 0.5, 2);
  plan.run(data.tensors());
  EXPECT_EQ(memory[static_cast<std::int64_t>(bytes / sizeof(float))], 7);
}

// Plans that take turns on one workspace, each of which leaves rubbish in it, compute what they do on their
// own.
TEST(KernelErrors, BorrowedWorkspace) {
  for (const Impl impl : {Impl::kSparse, Impl::kDenseDirect})
    for (const Operation op : kOperations) {
      ConvOptions o = sparse_options(op, Layout::kNchw);
      o.impl = impl;
      ConvPlan alone(small(), o);
      PlanTensors data(alone);
      data.fill(alone, 0.5, 2);
      ConvTensors t = data.tensors();
      t.weights_version = 1;  // a plan that keeps nothing may not believe it
      alone.run(t);
      const std::vector<float> wanted(data.result().data(), data.result().data() + data.result().size());
      o.borrow_workspace = true;
      ConvPlan plan(small(), o);
      ASSERT_GT(plan.workspace_bytes(), 0U);
      ASSERT_EQ(plan.workspace_bytes(), ConvPlan::workspace_bytes(small(), o));
      EXPECT_EQ(code_of([&] { plan.run(t); }), Code::kNullPointer);
      AlignedFloats memory(static_cast<std::int64_t>(plan.workspace_bytes() / sizeof(float)));
      t.workspace = memory.data() + 1;
      EXPECT_EQ(code_of([&] { plan.run(t); }), Code::kMisaligned);
      t.workspace = memory.data();
      for (int turn = 0; turn < 2; ++turn) {
        std::fill(memory.data(), memory.data() + memory.size(), 7.0F);
        plan.run(t);
        for (std::size_t i = 0; i < wanted.size(); ++i)
          ASSERT_EQ(data.result()[static_cast<std::int64_t>(i)], wanted[i])
              << impl_name(impl) << " " << operation_name(op) << " element " << i;
      }
    }
}

TEST(KernelErrors, PackingNeedsAPackedPlan) {
  ConvPlan plan(small(), sparse_options());
  PlanTensors data(plan);
  EXPECT_EQ(code_of([&] { plan.pack_weights(data.weights.data(), data.weights.data()); }), Code::kOption);
  EXPECT_EQ(code_of([&] { plan.unpack_weights(data.weights.data(), data.weights.data()); }), Code::kOption);
}

}  // namespace
}  // namespace lacuna::kernels
