// Checkpoints under attack: what goes on must be what was, and what is damaged must be refused.
#include "train/checkpoint.hpp"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <sys/resource.h>
#include <unistd.h>

#include "base/random.hpp"
#include "trace/testing.hpp"
#include "train/testing/tiny_run.hpp"

namespace lacuna::train {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// ---------------------------------------------------------------- going on

struct Case {
  const char* name;
  TinyOptions options;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  const auto add = [&](const char* name) -> TinyOptions& {
    all.push_back({name, {}});
    return all.back().options;
  };
  add("plain");
  add("dense").kernels = Kernels::kDense;
  add("rich").model = kRichModel;
  TinyOptions& images = add("flip and crop");
  images.train.flip = true;
  images.train.crop_padding = 2;
  add("step").train.schedule.kind = RateSchedule::Kind::kStep;
  TinyOptions& constant = add("constant, warmup");
  constant.train.schedule.kind = RateSchedule::Kind::kConstant;
  constant.train.schedule.warmup = 7;
  for (const auto method :
       {PruningOptions::Method::kSparseMomentum, PruningOptions::Method::kDynamicSparse}) {
    TinyOptions& pruned = add(method == PruningOptions::Method::kSparseMomentum ? "sm" : "ds");
    pruned.model = kRichModel;
    pruned.train.pruning.method = method;
    pruned.train.pruning.zeros = 0.7;
    pruned.train.pruning.every = 2;
    pruned.train.pruning.until = 9;
    pruned.train.sgd.weight_decay = 0;
  }
  return all;
}

// Two checkpoints of equal bytes are equal in parameters, running means, momenta, masks, threshold, step and
// in the sums of the log's next line.
TEST(Checkpoint, ARunThatWentOnEqualsOneThatNeverStopped) {
  const TemporaryFolder folder;
  for (const Case& one : cases()) {
    TinyRun whole(one.options);
    std::vector<double> losses;
    while (!whole.trainer.done()) losses.push_back(whole.trainer.run_step().loss);
    whole.trainer.save(folder / "whole", {});
    const TestReport tested = whole.trainer.test();
    // An epoch has five steps: at its start, inside, at its end, before and after pruning moves, at the end.
    for (const std::int64_t stop : {0, 1, 3, 5, 6, 11, 12}) {
      TinyRun before(one.options);
      before.run_to(stop);
      before.trainer.test();  // a test leaves no trace in what is learnt
      before.trainer.save(folder / "stopped", {});
      TinyRun after(one.options);
      after.run_to(2);  // and nothing that was there before matters
      after.trainer.resume(folder / "stopped", {});
      ASSERT_EQ(after.trainer.step(), stop);
      while (!after.trainer.done()) {
        const auto step = static_cast<std::size_t>(after.trainer.step());
        EXPECT_EQ(after.trainer.run_step().loss, losses[step]) << one.name << ", step " << step;
      }
      after.trainer.save(folder / "went on", {});
      EXPECT_EQ(bytes_in(folder / "went on"), bytes_in(folder / "whole")) << one.name << ", stop " << stop;
      EXPECT_EQ(after.trainer.test().loss, tested.loss) << one.name;
      EXPECT_EQ(after.trainer.test().accuracy, tested.accuracy) << one.name;
    }
  }
}

TEST(Checkpoint, TheSumsOfAnUnfinishedLineAreKept) {
  const TemporaryFolder folder;
  TinyRun run{TinyOptions()};
  run.run_to(3);
  run.trainer.end_line();
  run.run_to(5);
  run.trainer.save(folder / "c", {});
  TinyRun other{TinyOptions()};
  other.trainer.resume(folder / "c", {});
  EXPECT_EQ(other.trainer.line().steps, 2);
  EXPECT_EQ(other.trainer.line().loss, run.trainer.line().loss);
  EXPECT_EQ(other.trainer.line().correct, run.trainer.line().correct);
  EXPECT_GT(other.trainer.line().loss, 0);
  EXPECT_FALSE(other.trainer.line().untested.has_value());
  // A line that waits for its test.
  run.trainer.hold_line({0.25, 0.75, 123.5});
  run.trainer.save(folder / "d", {});
  other.trainer.resume(folder / "d", {});
  ASSERT_TRUE(other.trainer.line().untested.has_value());
  EXPECT_EQ(other.trainer.line().untested->activation_zeros, 0.25);
  EXPECT_EQ(other.trainer.line().untested->gradient_zeros, 0.75);
  EXPECT_EQ(other.trainer.line().untested->images_per_second, 123.5);
  other.trainer.end_line();
  EXPECT_FALSE(other.trainer.line().untested.has_value());
}

// ---------------------------------------------------------------- damage

// A pruned state by hand, so that a test may put anything into it.
struct HandMade {
  explicit HandMade(std::int64_t width = 3)
      : a("a.weight", Parameter::Kind::kWeights, {2, width}),
        b("b.weight", Parameter::Kind::kWeights, {2, 3}),
        mean("norm.mean", Parameter::Kind::kBuffer, {2}),
        parameters{&a, &b, &mean},
        optimizer(parameters, {}, 1),
        pruning(optimizer, {.method = PruningOptions::Method::kDynamicSparse, .zeros = 0.5}) {
    float value = 0;
    for (Parameter* parameter : parameters)
      for (std::int64_t i = 0; i < parameter->value.size(); ++i) parameter->value[i] = value += 0.5F;
    pruning.start();
    state.pruning = &pruning;
    state.step = 41;
    state.line = {7, 5, 1.5};
  }

  std::vector<std::uint8_t> file(const Settings& settings = {{"lr", "0.1"}}) const {
    const TemporaryFolder folder;
    write_checkpoint(folder / "c", state, settings);
    return bytes_in(folder / "c");
  }
  // What a refused checkpoint must leave alone.
  std::vector<double> everything() const {
    std::vector<double> all = {static_cast<double>(state.step), static_cast<double>(state.line.steps),
                               static_cast<double>(state.line.correct), state.line.loss,
                               state.pruning->threshold()};
    for (const Parameter* p : parameters)
      all.insert(all.end(), p->value.data(), p->value.data() + p->value.size());
    for (const AlignedFloats& v : state.optimizer.momenta())
      all.insert(all.end(), v.data(), v.data() + v.size());
    for (const Pruning::Layer& layer : state.pruning->layers()) {
      all.insert(all.end(), layer.alive.begin(), layer.alive.end());
      all.push_back(static_cast<double>(layer.count));
    }
    return all;
  }
  std::string read(std::span<const std::uint8_t> bytes, const Settings& settings = {{"lr", "0.1"}}) {
    return error_of([&] { parse_checkpoint(bytes, "c", state, settings); });
  }

  Parameter a, b, mean;
  std::vector<Parameter*> parameters;
  Sgd optimizer;
  Pruning pruning;
  TrainingState state{parameters, optimizer};
};

TEST(Checkpoint, AWholeFileIsTaken) {
  HandMade from;
  from.optimizer.momenta()[0][1] = -3;
  from.pruning.threshold() = 0.3;
  HandMade to;
  to.state.step = 0;
  to.a.value[0] = 77;
  EXPECT_EQ(to.read(from.file()), "no error");
  EXPECT_EQ(to.everything(), from.everything());
}

TEST(Checkpoint, EveryTruncationIsRefused) {
  const std::vector<std::uint8_t> good = HandMade().file();
  HandMade to;
  const std::vector<double> before = to.everything();
  for (std::size_t length = 0; length < good.size(); ++length)
    ASSERT_NE(to.read({good.data(), length}), "no error") << length << " of " << good.size();
  std::vector<std::uint8_t> longer = good;
  longer.push_back(0);
  EXPECT_NE(to.read(longer), "no error");
  EXPECT_EQ(to.everything(), before);
}

std::size_t header_size(const std::vector<std::uint8_t>& file) {
  std::uint64_t length = 0;
  std::memcpy(&length, file.data(), sizeof length);
  return sizeof length + length;
}

TEST(Checkpoint, EveryFlippedBitIsRefused) {
  const std::vector<std::uint8_t> good = HandMade().file();
  std::vector<std::uint8_t> bad = good;
  HandMade to;
  const std::vector<double> before = to.everything();
  const std::size_t header_end = header_size(good);
  for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
    // Spaces after the header mean nothing, and a zero there (which ends a text as well) neither.
    if (bit / 8 < header_end && good[bit / 8] == ' ') continue;
    bad[bit / 8] ^= static_cast<std::uint8_t>(1U << (bit % 8));
    ASSERT_NE(to.read(bad), "no error") << "bit " << bit % 8 << " of byte " << bit / 8;
    bad[bit / 8] = good[bit / 8];
  }
  EXPECT_EQ(to.everything(), before);
  EXPECT_EQ(to.read(bad), "no error");
}

// Lies with a checksum that fits.
TEST(Checkpoint, ImpossibleStatesAreRefused) {
  const auto refused = [](const std::string& message, const auto& spoil) {
    HandMade from;
    spoil(from);
    HandMade to;
    const std::vector<double> before = to.everything();
    EXPECT_EQ(to.read(from.file()), message);
    EXPECT_EQ(to.everything(), before);
  };
  const std::string again = "; use an earlier checkpoint or start again without --resume";
  refused("c: tensor 'alive/b.weight' holds a 2" + again,
          [](HandMade& h) { h.pruning.layers()[0].alive[3] = 2; });
  refused("c: its step is '-1'" + again, [](HandMade& h) { h.state.step = -1; });
  refused("c: its threshold is 'nan'" + again, [](HandMade& h) { h.pruning.threshold() = std::nan(""); });
  refused("c: its threshold is 'inf'" + again, [](HandMade& h) { h.pruning.threshold() = 1e300 * 1e300; });
  refused("c: its threshold is '-0x1p+0'" + again, [](HandMade& h) { h.pruning.threshold() = -1; });
  refused("c: its threshold is '0x0p+0'" + again, [](HandMade& h) { h.pruning.threshold() = 0; });
  refused("c: its line is '-7 5 0x1.8p+0'" + again, [](HandMade& h) { h.state.line.steps = -7; });
  refused("c: its line is '7 -5 0x1.8p+0'" + again, [](HandMade& h) { h.state.line.correct = -5; });
  refused("c: its line is '7 5 nan'" + again, [](HandMade& h) { h.state.line.loss = std::nan(""); });
  refused("c: its line is '7 5 0x1.8p+0 0x1p-1 inf 0x1p+1'" + again, [](HandMade& h) {
    h.state.line.untested = {0.5, std::numeric_limits<double>::infinity(), 2};
  });
}

TEST(Checkpoint, OtherNetworksAndSettingsAreRefused) {
  HandMade to;
  const std::vector<double> before = to.everything();
  const std::string other = "; this checkpoint belongs to another network; give its --model and settings";
  EXPECT_EQ(to.read(HandMade(4).file()),
            "c: tensor 'parameter/a.weight' is F32 [2, 4], the network needs F32 [2, 3]" + other);
  HandMade renamed;
  renamed.b.name = "z.weight";
  EXPECT_EQ(to.read(renamed.file()), "c: there is no tensor 'parameter/b.weight'" + other);
  HandMade unpruned;
  unpruned.state.pruning = nullptr;
  EXPECT_EQ(to.read(unpruned.file()), "c: there is no tensor 'alive/b.weight'" + other);
  EXPECT_EQ(
      to.read(HandMade().file({{"lr", "0.2"}})),
      "c: its run had lr='0.2', this one has '0.1'; give the same options, or start again without --resume");
  EXPECT_EQ(to.read(HandMade().file({})),
            "c: its run had lr='(nothing)', this one has '0.1'; give the same options, or start again "
            "without --resume");
  EXPECT_EQ(to.everything(), before);
}

// The header of a good file with one text replaced by another of the same length.
std::vector<std::uint8_t> replaced(std::vector<std::uint8_t> file, std::string_view from,
                                   std::string_view to) {
  EXPECT_EQ(from.size(), to.size());
  const auto at = std::search(file.begin(), file.end(), from.begin(), from.end());
  EXPECT_NE(at, file.end()) << from;
  if (at != file.end()) std::copy(to.begin(), to.end(), at);
  return file;
}

TEST(Checkpoint, OtherTypesAndVersionsAreRefused) {
  HandMade to;
  const std::vector<std::uint8_t> good = HandMade().file();
  EXPECT_NE(to.read(replaced(good, "F32", "I32")).find("is I32 [2, 3], the network needs F32 [2, 3]"),
            std::string::npos);
  EXPECT_NE(to.read(replaced(good, "\"U8\"", "\"I8\"")).find("is I8 [2, 3], the network needs U8 [2, 3]"),
            std::string::npos);
  EXPECT_NE(to.read(replaced(good, "lacuna-checkpoint", "lacuna-chockpoint"))
                .find("this is no checkpoint of this version"),
            std::string::npos);
  EXPECT_NE(to.read(replaced(good, "\"version\":\"1\"", "\"version\":\"2\""))
                .find("this is no checkpoint of this version"),
            std::string::npos);
  EXPECT_NE(to.read(replaced(good, "\"step\"", "\"stop\"")).find("its metadata has no 'step'"),
            std::string::npos);
  EXPECT_NE(to.read(replaced(good, "\"step\":\"41\"", "\"step\":\"42\""))
                .find("its checksum does not fit its content"),
            std::string::npos);
  EXPECT_NE(to.read(safetensors_file("{}", "")).find("its metadata has no 'format'"), std::string::npos);
  // Settings that are no object.
  EXPECT_NE(to.read(replaced(good, R"({\"lr\":\"0.1\"})", R"([\"lr\",\"0.1\"])"))
                .find("its run had lr='(nothing)'"),
            std::string::npos);
}

TEST(Checkpoint, ANetworkThatComputesOtherwiseIsAnotherNetwork) {
  const TemporaryFolder folder;
  // The same tensors; another kind of pooling, another stride, another share dropped.
  const auto with = [](const std::string& layer) {
    TinyOptions options;
    options.model = "model: m\nlayers:\n  - conv: {name: a, out: 8, kernel: 3}\n  - " + layer +
                    "\n  - average_pool: global\n  - linear: {name: c, out: 10}\n";
    return options;
  };
  TinyRun first(with("max_pool"));
  first.trainer.save(folder / "c", {});
  for (const char* layer : {"average_pool", "max_pool: {stride: 1}", "dropout: {rate: 0.1}", "relu"}) {
    TinyRun other(with(layer));
    const std::vector<float> before = values_of(other.network);
    EXPECT_NE(error_of([&] { other.trainer.resume(folder / "c", {}); }).find("its run had network="),
              std::string::npos)
        << layer;
    EXPECT_EQ(values_of(other.network), before);
  }
  TinyRun same(with("max_pool"));
  EXPECT_EQ(error_of([&] { same.trainer.resume(folder / "c", {}); }), "no error");
}

// ---------------------------------------------------------------- writing that fails

TEST(Checkpoint, ALostTrainingDoesNotReplaceAGoodCheckpoint) {
  const TemporaryFolder folder;
  HandMade run;
  write_checkpoint(folder / "c", run.state, {});
  const auto good = bytes_in(folder / "c");
  const auto refused = [&](const std::string& message) {
    EXPECT_EQ(error_of([&] { write_checkpoint(folder / "c", run.state, {}); }),
              "training: " + message + "; lower --lr or add --warmup; the last checkpoint is untouched");
    EXPECT_EQ(bytes_in(folder / "c"), good);
    EXPECT_EQ(folder.files(), 1u);
  };
  run.a.value[2] = kNan;
  refused("'parameter/a.weight' holds a nan");
  run.a.value[2] = 0;
  run.optimizer.momenta()[1][5] = -std::numeric_limits<float>::infinity();
  refused("'momentum/b.weight' holds a -inf");
  run.optimizer.momenta()[1][5] = 0;
  run.mean.value[1] = kNan;
  refused("'parameter/norm.mean' holds a nan");
}

TEST(Checkpoint, NoSpaceLeavesTheLastOneAlone) {
  const TemporaryFolder folder;
  HandMade run;
  write_checkpoint(folder / "c", run.state, {});
  const auto good = bytes_in(folder / "c");
  run.state.step = 42;
  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);  // as main() does
  // Nothing at all, inside the header, inside the tensors.
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{100}, good.size() - 3}) {
    const rlimit small{bytes, old.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    const std::string message = error_of([&] { write_checkpoint(folder / "c", run.state, {}); });
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &old), 0);
    EXPECT_NE(message.find("cannot write: File too large; free some space"), std::string::npos) << message;
    EXPECT_EQ(bytes_in(folder / "c"), good);
    EXPECT_EQ(folder.files(), 1u);
  }
  std::signal(SIGXFSZ, handler);
  if (::access("/dev/full", W_OK) == 0) {
    EXPECT_NE(error_of([&] { write_checkpoint("/dev/full", run.state, {}); }).find("No space left on device"),
              std::string::npos);
  }
  EXPECT_NE(
      error_of([&] { write_checkpoint(folder.path() / "no" / "c", run.state, {}); }).find("cannot create"),
      std::string::npos);
}

// ---------------------------------------------------------------- parameters of another file

TEST(LoadParameters, ACheckpointOrAnyFileWithTheseNames) {
  const TemporaryFolder folder;
  TinyRun from{TinyOptions()};
  from.run_to(2);
  from.trainer.save(folder / "c", {});
  TinyRun to{TinyOptions()};
  to.trainer.start_from(folder / "c");
  EXPECT_EQ(values_of(to.network), values_of(from.network));
  EXPECT_EQ(to.trainer.step(), 0);

  const std::string header =
      R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"more":{"dtype":"U8","shape":[1],"data_offsets":[8,9]}})";
  const auto plain = safetensors_file(header, std::string_view("\0\0\x80\x3f\0\0\0\x40!", 9));
  folder.write("plain", {reinterpret_cast<const char*>(plain.data()), plain.size()});
  Parameter w("w", Parameter::Kind::kWeights, {2});
  load_parameters(folder / "plain", {&w});
  EXPECT_EQ(w.value[0], 1);
  EXPECT_EQ(w.value[1], 2);
  Parameter x("x", Parameter::Kind::kWeights, {2});
  EXPECT_NE(error_of([&] {
              load_parameters(folder / "plain", {&w, &x});
            }).find("there is no tensor 'x'"),
            std::string::npos);
  Parameter wide("w", Parameter::Kind::kWeights, {2, 1});
  EXPECT_NE(error_of([&] {
              load_parameters(folder / "plain", {&wide});
            }).find("is F32 [2], the network needs F32 [2, 1]"),
            std::string::npos);
}

TEST(LoadParameters, DamagedCheckpointsAreRefused) {
  const TemporaryFolder folder;
  TinyRun from{TinyOptions()};
  from.trainer.save(folder / "c", {});
  const std::vector<std::uint8_t> good = bytes_in(folder / "c");
  TinyRun to{TinyOptions()};
  const std::vector<float> before = values_of(to.network);
  // Of the header, only what these parameters need is looked at.
  for (std::size_t at = header_size(good); at < good.size(); at += 41) {
    std::vector<std::uint8_t> bad = good;
    bad[at] ^= 0x10;
    folder.write("bad", {reinterpret_cast<const char*>(bad.data()), bad.size()});
    ASSERT_NE(error_of([&] { to.trainer.start_from(folder / "bad"); }), "no error") << at;
    ASSERT_EQ(values_of(to.network), before);
  }
}

// What is pruned stays zero whatever the file holds.
TEST(LoadParameters, PrunedWeightsStayZero) {
  const TemporaryFolder folder;
  TinyRun dense{TinyOptions()};
  dense.trainer.save(folder / "c", {});
  TinyOptions options;
  options.train.pruning.method = PruningOptions::Method::kSparseMomentum;
  TinyRun pruned(options);
  pruned.trainer.start_from(folder / "c");
  for (Parameter* parameter : pruned.network.parameters()) {
    if (parameter->kind != Parameter::Kind::kWeights) continue;
    const auto zeros =
        std::count(parameter->value.data(), parameter->value.data() + parameter->value.size(), 0.0F);
    const double share = static_cast<double>(zeros) / static_cast<double>(parameter->value.size());
    EXPECT_NEAR(share, parameter->name == "a.weight" ? 0 : 0.9, 0.01) << parameter->name;
  }
}

}  // namespace
}  // namespace lacuna::train
