// Sparse training: what each product multiplies, against plain loops in double precision; what is recorded;
// runs that are resumed.
#include "train/sparsity/sparsify.hpp"

#include <gtest/gtest.h>
#include <map>

#include "base/random.hpp"
#include "base/testing.hpp"
#include "base/text/choice.hpp"
#include "train/testing/plain_products.hpp"
#include "train/testing/tiny_run.hpp"

namespace lacuna::train {
namespace {

using Sparse = SparsifyOptions::Method;

constexpr const char* kChain =
    "model: chain\n"
    "layers:\n"
    "  - conv: {name: a, out: 8, kernel: 3, padding: 1}\n"
    "  - relu\n"
    "  - conv: {name: b, out: 24, kernel: 3, stride: 2, padding: 1}\n"
    "  - relu\n"
    "  - conv: {name: c, out: 24, kernel: 3, padding: 1, groups: 3}\n"  // groups that do not fill blocks
    "  - relu\n"
    "  - conv: {name: d, out: 20, kernel: 1, bias: no}\n"
    "  - average_pool: global\n"
    "  - linear: {name: e, out: $classes}\n";

// A layer's tensors when it is about to run backward, and its gradients afterwards.
struct Seen {
  LayerShape shape;
  Doubles a, w, g;     // as they are
  Doubles ma, mw, mg;  // as multiplied
  Doubles bias, weight_grad;
};

struct Chain {
  explicit Chain(const NetworkOptions& options)
      : network(parse_model(kChain, "chain", {{"size", "8"}}), options) {
    network.initialize(3);
    Random random(4);
    for (float& v : images) v = static_cast<float>(random.uniform() - 0.3);
    for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<std::int32_t>(i % 10);
  }

  std::map<std::string, Seen> step(const Pass& pass) {
    std::map<std::string, Seen> seen;
    network.forward(images.data(), labels.data(), pass);
    network.backward([&](const ConvLayer& layer) {
      Seen& s = seen[layer.name()];
      s.shape = layer.shape();
      s.a = plain_tensor(layer.input(), layer.input().data.data());
      s.g = plain_tensor(layer.output(), layer.output().grad);
      s.ma = plain_tensor(layer.input(), layer.multiplied_input());
      s.mg = plain_tensor(layer.output(), layer.multiplied_gradient());
      const std::int64_t weights = layer.weights().value.size();
      s.w = {layer.weights().value.data(), layer.weights().value.data() + weights};
      s.mw = {layer.multiplied_weights(), layer.multiplied_weights() + weights};
    });
    for (const Parameter* p : network.parameters()) {
      const std::string layer = p->name.substr(0, 1);
      if (p->name.ends_with(".weight"))
        seen[layer].weight_grad = {p->grad.data(), p->grad.data() + p->grad.size()};
      if (p->name.ends_with(".bias")) seen[layer].bias = {p->value.data(), p->value.data() + p->value.size()};
    }
    return seen;
  }

  // The gradient that the next step will reuse.
  Doubles previous(const std::string& layer) {
    for (const ConvLayer* conv : network.conv_layers())
      for (const Parameter* p : network.parameters())
        if (conv->name() == layer && p->name == "previous/" + layer) {
          Activation one;
          one.n = 1;
          one.shape = conv->output().shape;
          return plain_tensor(one, p->value.data());
        }
    return {};
  }

  static constexpr std::int64_t kBatch = 4;
  Network network;
  std::vector<float> images = std::vector<float>(kBatch * 3 * 8 * 8);
  std::vector<std::int32_t> labels = std::vector<std::int32_t>(kBatch);
};

NetworkOptions options_of(Sparse method, double density, Kernels kernels = Kernels::kDense) {
  return {Chain::kBatch, kernels, 1, {method, density}};
}

constexpr double kClose = 2e-5;

// The gradient that reached `before` is what `layer` gave it, through a ReLU.
void expect_input_grad(const Seen& before, const Seen& layer, const Doubles& given) {
  Doubles expected = given;
  for (std::size_t i = 0; i < expected.size(); ++i)
    if (!(layer.a[i] > 0)) expected[i] = 0;
  EXPECT_LE(difference(expected, before.g), kClose);
}

// The input of `after` is what `layer` gave, through a ReLU.
void expect_forward(const Seen& layer, const Seen& after, const Doubles& a, const Doubles& w) {
  Doubles expected = plain_forward(layer.shape, a, w);
  const auto pixels = static_cast<std::size_t>(layer.shape.output_positions());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double bias =
        layer.bias.empty() ? 0 : layer.bias[i / pixels % static_cast<std::size_t>(layer.shape.k)];
    expected[i] = std::max(0.0, expected[i] + bias);
  }
  EXPECT_LE(difference(expected, after.a), kClose);
}

void expect_sample_of(const Doubles& batch, const Doubles& sample) {
  bool found = false;
  for (std::size_t n = 0; n < static_cast<std::size_t>(Chain::kBatch); ++n)
    found = found || std::equal(sample.begin(), sample.end(),
                                batch.begin() + static_cast<std::ptrdiff_t>(n * sample.size()));
  EXPECT_TRUE(found);
}

// Samples without a gradient at a place have the same difference there, so which of equal ones are kept
// depends on the order in memory.
void expect_largest_differences(const Seen& s, const Doubles& reused, double density) {
  double least_kept = 1e30, most_dropped = 0;
  std::int64_t kept = 0;
  for (std::size_t i = 0; i < s.g.size(); ++i) {
    const auto all = static_cast<double>(static_cast<float>(s.g[i] - reused[i % reused.size()]));
    if (s.mg[i] != 0) {
      EXPECT_EQ(s.mg[i], all);
      least_kept = std::min(least_kept, std::fabs(all));
      ++kept;
    } else {
      most_dropped = std::max(most_dropped, std::fabs(all));
    }
  }
  EXPECT_GE(least_kept, most_dropped);
  EXPECT_EQ(kept, std::llround(density * static_cast<double>(s.g.size())));
}

struct Expected {
  Doubles forward_a, w, a, g;
};

class SparseTraining : public ::testing::TestWithParam<std::tuple<Sparse, Kernels>> {};

TEST_P(SparseTraining, MultipliesTheLargest) {
  const auto [method, kernels] = GetParam();
  constexpr double kDensity = 0.23;
  Chain chain(options_of(method, kDensity, kernels));
  auto seen = chain.step({});
  const auto expected = [&, method = method](const std::string& name) {
    const Seen& s = seen[name];
    Expected e{s.a, s.w, s.a, s.g};
    if (name == "a") return e;
    if (method == Sparse::kSwat || method == Sparse::kTopK) e.w = plain_largest(s.w, kDensity, 1);
    if (method == Sparse::kSwat) e.a = plain_largest(s.a, kDensity, 1);
    if (method == Sparse::kTopK) e.forward_a = e.a = plain_largest(s.a, kDensity, Chain::kBatch);
    if ((method == Sparse::kTopK || method == Sparse::kMeProp) && name != "e")
      e.g = plain_largest(s.g, kDensity, Chain::kBatch);
    return e;
  };
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    SCOPED_TRACE(name);
    const Expected e = expected(name);
    EXPECT_EQ(seen[name].ma, e.a);
    EXPECT_EQ(seen[name].mw, e.w);
    EXPECT_EQ(seen[name].mg, e.g);
    EXPECT_LE(difference(plain_weight_grad(seen[name].shape, e.a, e.g), seen[name].weight_grad), kClose);
  }
  const std::vector<std::pair<const char*, const char*>> links = {{"a", "b"}, {"b", "c"}, {"c", "d"}};
  for (const auto& [before, after] : links) {
    SCOPED_TRACE(before);
    const Expected e = expected(before), f = expected(after);
    expect_forward(seen[before], seen[after], e.forward_a, e.w);
    expect_input_grad(seen[before], seen[after], plain_input_grad(seen[after].shape, f.w, f.g));
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, SparseTraining,
                         ::testing::Combine(::testing::Values(Sparse::kSwat, Sparse::kTopK, Sparse::kMeProp),
                                            ::testing::Values(Kernels::kDense, Kernels::kSparse)),
                         [](const auto& tested) {
                           return std::string(sparsify_name(std::get<0>(tested.param))) + "_" +
                                  kernels_name(std::get<1>(tested.param));
                         });

// ReSprop: the products of the differences and those of the gradient that is reused add up to the products of
// their sum.
TEST(ReSprop, AddsTheProductsOfTheGradientThatItReuses) {
  for (const Sparse method : {Sparse::kReSprop, Sparse::kSwatReSprop})
    for (const Kernels kernels : {Kernels::kDense, Kernels::kSparse}) {
      constexpr double kDensity = 0.23;
      Chain chain(options_of(method, kDensity, kernels));
      const auto before = chain.step({.seed = 5});
      std::map<std::string, Doubles> reused;
      for (const char* name : {"a", "b", "c", "d"}) reused[name] = chain.previous(name);
      for (float& v : chain.images) v = -v;
      auto seen = chain.step({.seed = 6, .reuse_density = kDensity});
      const auto sum = [&](const std::string& name) {  // what is multiplied, all in all
        Doubles g = seen[name].mg;
        for (std::size_t i = 0; i < g.size() && name != "e"; ++i)
          g[i] += reused[name][i % reused[name].size()];
        return g;
      };
      for (const std::string name : {"a", "b", "c", "d", "e"}) {
        SCOPED_TRACE(name);
        const Seen& s = seen[name];
        const bool swat = method == Sparse::kSwatReSprop && name != "a";
        EXPECT_EQ(s.ma, swat ? plain_largest(s.a, kDensity, 1) : s.a);
        EXPECT_EQ(s.mw, swat ? plain_largest(s.w, kDensity, 1) : s.w);
        EXPECT_LE(difference(plain_weight_grad(s.shape, s.ma, sum(name)), s.weight_grad), kClose);
        if (name == "e") {
          EXPECT_EQ(s.mg, s.g);
          continue;
        }
        // What is reused is a sample of the step before; its own gradient is what the next one reuses.
        expect_sample_of(before.at(name).g, reused[name]);
        expect_sample_of(s.g, chain.previous(name));
        expect_largest_differences(s, reused[name], kDensity);
      }
      for (const auto& [to, from] : std::vector<std::pair<std::string, std::string>>{{"a", "b"}, {"b", "c"}})
        expect_input_grad(seen[to], seen[from], plain_input_grad(seen[from].shape, seen[from].mw, sum(from)));
    }
}

// The first steps multiply gradients as they are.
TEST(ReSprop, WarmsUp) {
  const SparsifyOptions none{Sparse::kReSprop, 0.1, 0};
  EXPECT_EQ(none.reuse_density(0), 1);  // nothing to reuse
  EXPECT_EQ(none.reuse_density(1), 0.1);
  const SparsifyOptions slow{Sparse::kSwatReSprop, 0.1, 90};
  EXPECT_EQ(slow.reuse_density(19), 1);
  EXPECT_LT(slow.reuse_density(20), 1);
  for (int step = 20; step < 90; ++step)
    EXPECT_GT(slow.reuse_density(step), slow.reuse_density(step + 1)) << step;
  EXPECT_NEAR(slow.reuse_density(89), 0.1, 0.02);
  EXPECT_EQ(slow.reuse_density(90), 0.1);
  EXPECT_EQ((SparsifyOptions{Sparse::kSwat, 0.1, 0}).reuse_density(50), 1);
}

TinyOptions sparse_tiny(Sparse method, double density = 0.2) {
  TinyOptions options;
  options.model = kRichModel;
  options.network.sparsify = {method, density, 3};
  return options;
}

const std::vector<Sparse> kSparseMethods = {Sparse::kSwat, Sparse::kTopK, Sparse::kMeProp, Sparse::kReSprop,
                                            Sparse::kSwatReSprop};

std::vector<float> learnt_values(Network& network) {
  std::vector<float> values;
  for (const Parameter* p : network.parameters())
    if (p->learnt()) values.insert(values.end(), p->value.data(), p->value.data() + p->value.size());
  return values;
}

TEST(Sparsify, KeepingEverythingIsDenseTraining) {
  TinyRun dense(sparse_tiny(Sparse::kNone));
  dense.run_to(5);
  for (const Sparse method : kSparseMethods) {
    TinyRun all(sparse_tiny(method, 1));
    all.run_to(5);
    EXPECT_EQ(learnt_values(all.network), learnt_values(dense.network)) << sparsify_name(method);
    TinyRun some(sparse_tiny(method));
    some.run_to(5);
    EXPECT_NE(learnt_values(some.network), learnt_values(dense.network)) << sparsify_name(method);
  }
}

TEST(Sparsify, AResumedRunEqualsAnUndisturbedOne) {
  for (const Sparse method : kSparseMethods) {
    ResumedRun run(sparse_tiny(method), 7, 12);
    EXPECT_EQ(values_of(run.resumed.network), values_of(run.whole.network)) << sparsify_name(method);
    EXPECT_EQ(run.resumed.trainer.test().accuracy, run.whole.trainer.test().accuracy);
    // Neither another method nor dense training continues from there.
    for (const TinyOptions& other : {sparse_tiny(Sparse::kNone), sparse_tiny(method, 0.3)}) {
      TinyRun wrong(other);
      EXPECT_NE(error_of([&] { wrong.trainer.resume(run.file, {}); }).find("its run had sparsify="),
                std::string::npos);
    }
  }
}

// The gradients that ReSprop reuses belong to the training, not to the network.
TEST(ReSprop, ParametersTravelWithoutItsState) {
  const TemporaryFolder folder;
  TinyRun dense(sparse_tiny(Sparse::kNone));
  dense.run_to(3);
  ASSERT_TRUE(dense.trainer.save(folder / "c", {}));
  TinyRun reuses(sparse_tiny(Sparse::kReSprop));
  reuses.trainer.start_from(folder / "c");
  EXPECT_EQ(learnt_values(reuses.network), learnt_values(dense.network));
  reuses.run_to(5);
  ASSERT_TRUE(reuses.trainer.save(folder / "d", {}));
  dense.trainer.start_from(folder / "d");
  EXPECT_EQ(learnt_values(dense.network), learnt_values(reuses.network));
}

// The trace holds what was multiplied, and the trainer reports its zeros.
TEST(Sparsify, RecordsWhatIsMultiplied) {
  TinyOptions options = sparse_tiny(Sparse::kTopK, 0.25);
  options.model = kPlainModel;
  TinyRun run(options);
  EXPECT_NEAR(*run.trainer.weight_zeros(), 0.75, 0.01);
  std::optional<Trace> trace;
  const RecordOptions record{.samples = 3, .values = true};
  run.run_to(2);
  run.trainer.run_step(&record, &trace);
  ASSERT_EQ(trace->layers().size(), 3u);
  const auto zeros = [&](std::size_t layer, Operand role) {
    return trace->layers()[layer].tensor(role).zero_share();
  };
  EXPECT_LT(zeros(0, Operand::kW), 0.01);
  for (const std::size_t layer : {1, 2}) {
    EXPECT_NEAR(zeros(layer, Operand::kW), 0.75, 0.01);
    EXPECT_GE(zeros(layer, Operand::kA), 0.74);
    if (layer == 1) {  // the last one keeps its gradients
      EXPECT_GE(zeros(layer, Operand::kG), 0.74);
    }
  }
  const ZeroReport report = run.trainer.zeros();
  EXPECT_GE(report.activations, 0.74);
  EXPECT_GE(report.gradients, 0.6);
}

TEST(Sparsify, UnknownMethods) {
  EXPECT_EQ(error_of([] { parse_choice<Sparse>("--sparsify", "swt", kSparsifyMethods); }),
            "--sparsify swt: unknown name; did you mean 'swat'? known: none, swat, topk, meprop, resprop, "
            "swat+resprop");
}

}  // namespace
}  // namespace lacuna::train
