// Times one convolution interleaved with oneDNN's in one process; results are medians of paired ratios.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "kernels/conv.hpp"
#include "kernels/measure/race.hpp"

namespace lacuna::kernels {

struct MeasureSpec {
  LayerShape shape;
  ConvOptions options;  // of the plan: impl kSparse or kAuto, blocked or plain tensors, threads
  // Shares of zeros of the checked operand, at random places; one measurement each ...
  std::vector<double> zeros = {0.5};
  // ... or one measurement with zeros where this is false.
  std::function<bool(std::int64_t image, std::int64_t channel, std::int64_t pixel)> nonzero;
  // With options.or_weights: weights are zero where this is false, too.
  std::function<bool(std::int64_t output, std::int64_t input, std::int64_t tap)> nonzero_weight;
  int min_rounds = 5;
  int max_rounds = 1000;
  double seconds = 0.3;  // rounds are added until this much time is spent
  bool with_auto = true;
  bool with_sparsetrain = false;  // the algorithm of SparseTrain's authors, in the same rounds
  bool with_float32 = false;      // kAuto in single precision on the same tensors, in the same rounds
  bool with_blocked = false;      // the same implementation on blocked tensors, in the same rounds
  std::function<bool()> stop;     // asked before each round; true ends the measurement
  std::vector<Impl> baselines;    // more of oneDNN's: kDenseWinograd, kDenseGemm
  // Error of a ratio to the best baseline, where ours takes nearly as long: they are timed again,
  // interleaved, until it is reached. 0: not again.
  double close_error = 0;
  double close_seconds = 1;  // for each share of zeros at most
  std::uint64_t seed = 1;
};

// One of oneDNN's in the same rounds, or kAuto in single precision (with_float32).
struct BaselineResult {
  Impl impl = Impl::kDenseDirect;
  double ratio = 0;  // median over rounds of its time / time of the plan; 0: oneDNN has none for this shape
  double seconds = 0;
  std::string kernel;
  const char* name() const { return impl == Impl::kAuto ? "float32" : impl_name(impl); }
};

struct Measurement {
  double x_direct = 0;  // median over rounds of time of oneDNN direct / time of the plan
  double x_auto = 0;    // the same with oneDNN's own choice; equal to x_direct where that is direct
  double seconds = 0, direct_seconds = 0, auto_seconds = 0;  // medians
  double zeros = 0;  // as filled: of the operand that was skipped last, or of the checked one
  // SparseTrain's algorithm, if it was asked for: its median time, and oneDNN direct's / its time by rounds.
  double sparsetrain_seconds = 0, sparsetrain_x_direct = 0;
  double x_blocked = 0;  // with_blocked: median over rounds of the time on blocked tensors / that of the plan
  // The best baseline timed twice in the same rounds, the second / the first time: 1 but for the noise that
  // the ratios to it have, too. 0: it was not timed again (close_error).
  double best_x_itself = 0;
  int rounds = 0;
  Impl used = Impl::kSparse;       // in the last round
  std::optional<Operand> skipped;  // the same: the operand whose zeros were skipped
  double skips_from = 0;           // kAuto: the share of zeros above which it skips them; 2: never
  std::string kernel, direct_kernel, auto_kernel;
  std::vector<BaselineResult> baselines;
  // Over the fastest of all that were timed.
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
