// The choice between skipping and multiplying: measured once per shape and machine and kept in the user's
// cache folder.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/conv.hpp"

namespace lacuna::kernels {

// The additional margin by which a kernel has to win if it was timed on a shared core.
double contention_margin(double contention);

// Seconds of one call.
struct CostCurve {
  static constexpr std::array<double, 5> kZeros = {0.0, 0.3, 0.6, 0.8, 0.95};
  double dense = 0;
  std::array<double, 5> sparse{};
  Impl dense_impl = Impl::kDenseDirect;  // of oneDNN's, the fastest that the options allow
  double noise = 0;                      // how far the two least times of a measurement were apart, at most
  // Share of the core's multiply-add throughput lost to other programs while this was measured, such as
  // another virtual machine on the same core.
  double contention = 0;
  std::int64_t when = 0;  // seconds since 1970, of the measurement

  // Between the measured shares the time is linear in the share of zeros.
  double sparse_at(double zeros) const;
  // Sparse only where it is expected to win by more than the error of the measurement.
  bool prefers_sparse(double zeros) const { return sparse_at(zeros) + kColdSeconds < margin() * dense; }
  // Dense kernels suffer more from a shared core than those that skip, so costs measured at another time may
  // favour them more; so may those of a noisy measurement.
  double margin() const {
    return kMargin - contention_margin(contention) - 2 * std::max(0.0, noise - kUsualNoise);
  }
  // The same choice at any share that is within this error of `zeros`.
  bool is_sure(double zeros, double error) const {
    return prefers_sparse(zeros - error) == prefers_sparse(zeros + error);
  }
  // The share of zeros above which the sparse kernel wins; 2: never.
  double crossover() const;
  // False where the choice is the same at any share of zeros, so that they need not be counted.
  bool zeros_matter() const;
  // With 0.97, 4 of 637 cases in which skipping was chosen lost 4 to 8 % to the best baseline.
  static constexpr double kMargin = 0.95;
  static constexpr double kUsualNoise = 0.01;
  // Measuring runs one call over and over, with lists and packed weights in cache; between other layers they
  // are not. A layer of 110 us that was expected to break even ran at 0.94x of dense without this.
  static constexpr double kColdSeconds = 5e-6;
};

// The content of a file of measurements.
struct CostLines {
  std::map<std::string, CostCurve> curves;
  std::vector<std::string> dropped;  // keys of this machine's lines that are damaged or too old
};

// A text file of one line per shape; lines of other machines or versions, damaged lines (each ends in its
// CRC-32) and those older than kDaysKept are ignored. Whoever reads a curve checks that its options allow the
// kernel that it names. Safe for threads and, by a lock file next to it, for processes; a file is never half
// written. If the file cannot be read or written, or is not a plain file of a sensible size, shapes are
// measured again.
class CostCache {
 public:
  explicit CostCache(std::string path) : path_(std::move(path)) {}
  std::optional<CostCurve> find(const std::string& key);
  void store(const std::string& key, const CostCurve& curve);
  CostLines all();
  const std::string& path() const { return path_; }
  static constexpr std::int64_t kDaysKept = 90;

  // $LACUNA_CACHE_DIR, $XDG_CACHE_HOME/lacuna or ~/.cache/lacuna; "" where there is none.
  static std::string default_path();
  static CostCache& machine();

 private:
  // State of the file when `lines_` were read: inode, size, time.
  using Stamp = std::array<std::int64_t, 4>;
  const CostLines& read();

  std::string path_;
  Stamp stamp_{};
  CostLines lines_;
};

// CPU model and the versions of the program and of the library, for which a measurement is valid.
std::string machine_key();

}  // namespace lacuna::kernels
