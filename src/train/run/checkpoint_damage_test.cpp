// Damaged, foreign and impossible checkpoints are refused, and a write that fails leaves the last one alone.
#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <sys/resource.h>
#include <unistd.h>

#include "base/testing.hpp"
#include "train/run/checkpoint.hpp"
#include "train/testing/hand_made_state.hpp"

namespace lacuna::train {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

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

TEST(Checkpoint, EveryFlippedBitIsRefused) {
  const std::vector<std::uint8_t> good = HandMade().file();
  std::vector<std::uint8_t> bad = good;
  HandMade to;
  const std::vector<double> before = to.everything();
  const std::size_t header_end = header_size(good);
  for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
    // Spaces after the header mean nothing, nor does a zero there, which ends a text as well.
    if (bit / 8 < header_end && good[bit / 8] == ' ') continue;
    bad[bit / 8] ^= static_cast<std::uint8_t>(1U << (bit % 8));
    ASSERT_NE(to.read(bad), "no error") << "bit " << bit % 8 << " of byte " << bit / 8;
    bad[bit / 8] = good[bit / 8];
  }
  EXPECT_EQ(to.everything(), before);
  EXPECT_EQ(to.read(bad), "no error");
}

// Impossible content with a correct checksum.
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
            "c: tensor 'a.weight' is F32 [2, 4], the network needs F32 [2, 3]" + other);
  HandMade renamed;
  renamed.b.name = "z.weight";
  EXPECT_EQ(to.read(renamed.file()), "c: there is no tensor 'b.weight'" + other);
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
                .find("not a checkpoint of this version"),
            std::string::npos);
  EXPECT_NE(to.read(replaced(good, "\"version\":\"2\"", "\"version\":\"1\""))
                .find("not a checkpoint of this version"),
            std::string::npos);
  EXPECT_NE(to.read(replaced(good, "\"step\"", "\"stop\"")).find("its metadata has no 'step'"),
            std::string::npos);
  EXPECT_NE(to.read(replaced(good, "\"step\":\"41\"", "\"step\":\"42\""))
                .find("its checksum does not match its content"),
            std::string::npos);
  EXPECT_NE(to.read(safetensors_file("{}", "")).find("its metadata has no 'format'"), std::string::npos);
  // Settings that are not an object.
  EXPECT_NE(to.read(replaced(good, R"({\"lr\":\"0.1\"})", R"([\"lr\",\"0.1\"])"))
                .find("its run had lr='(nothing)'"),
            std::string::npos);
}

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
  refused("'a.weight' holds a nan");
  run.a.value[2] = 0;
  run.optimizer.momenta()[1][5] = -std::numeric_limits<float>::infinity();
  refused("'momentum/b.weight' holds a -inf");
  run.optimizer.momenta()[1][5] = 0;
  run.mean.value[1] = kNan;
  refused("'norm.mean' holds a nan");
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

}  // namespace
}  // namespace lacuna::train
