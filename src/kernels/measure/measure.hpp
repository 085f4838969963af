// Times one convolution interleaved with oneDNN's in one process; results are medians of paired ratios.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/conv.hpp"
#include "kernels/measure/race.hpp"

namespace lacuna::kernels {

struct MeasureSpec {
  LayerShape shape;
  ConvOptions options;  // of the plan: impl kSparse or kAuto, blocked or plain tensors, threads
  // Shares of zeros of the checked operand, at random places; one measurement each ...
  std::vector<double> zeros = {0.5};
  // ... or one measurement with zeros where these are false: in activations or gradients, in weights.
  std::function<bool(std::int64_t image, std::int64_t channel, std::int64_t pixel)> nonzero;
  std::function<bool(std::int64_t output, std::int64_t input, std::int64_t tap)> nonzero_weight;
  int min_rounds = 5;
  int max_rounds = 1000;
  double seconds = 0.3;  // rounds are added until this much time is spent
  // Kernels to time in the same rounds, next to oneDNN's direct convolution: names of dense implementations,
  // "sparsetrain", "float32" (kAuto in single precision), "blocked" (the plan's on blocked tensors).
  std::vector<std::string> rivals;
  std::function<bool()> stop;  // asked before each round; true ends the measurement
  // Error of a ratio to the best baseline, where ours takes nearly as long: they are timed again,
  // interleaved, until it is reached. 0: not again.
  double close_error = 0;
  double close_seconds = 1;  // for each share of zeros at most
  std::uint64_t seed = 1;
};

// A kernel timed in the same rounds. All numbers are medians over them.
struct RivalResult {
  std::string name;
  double ratio = 0;  // its time / time of the plan; 0: there is none for this shape
  double seconds = 0;
  double x_direct = 0;  // time of oneDNN direct / its time
  std::string kernel;
};

struct Measurement {
  double seconds = 0;  // median
  double zeros = 0;    // as filled: of the operand that was skipped last, or of the checked one
  // The best baseline timed twice in the same rounds, the second / the first time: 1 but for the noise that
  // the ratios to it have, too. 0: it was not timed again (close_error).
  double best_x_itself = 0;
  int rounds = 0;
  Impl used = Impl::kSparse;       // in the last round
  std::optional<Operand> skipped;  // the same: the operand whose zeros were skipped
  double skips_from = 0;           // kAuto: the share of zeros above which it skips them; 2: never
  std::string kernel;
  std::vector<RivalResult> rivals;  // "direct", then those of the specification

  // An empty one where it was not timed.
  const RivalResult& rival(std::string_view name) const;
  const RivalResult& direct() const { return rival("direct"); }
  // oneDNN's own choice; direct where that was not timed.
  const RivalResult& automatic() const;
  // Dense ones that were asked for besides these two, and "float32".
  std::vector<RivalResult> baselines() const;
  // Over the fastest of all dense ones that were timed.
  double x_best() const;
};

// One thread is timed by CPU time, which other processes cannot stretch; more by the wall clock. A round runs
// oneDNN once, and the plan once per share of zeros. Stopped before the first whole round, it returns
// nothing.
std::vector<Measurement> measure(const MeasureSpec& spec);

// Speedup of `threads` over one thread by wall clock, and that of a loop of multiply-adds that touches no
// memory, in the same rounds. No rounds: stopped.
struct Scaling {
  double ours = 0;
  double registers = 0;
  int rounds = 0;
  double share() const { return ours / registers; }
};
Scaling measure_scaling(const MeasureSpec& spec, int threads);

// Multiply-adds in registers, no memory: 1e9 floating-point operations per second.
double peak_gflops(int threads);

}  // namespace lacuna::kernels
