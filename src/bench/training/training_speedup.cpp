#include "bench/training/training_speedup.hpp"

#include <algorithm>

namespace lacuna::bench {
namespace {

// Seconds of one set of parts.
struct Sum {
  double direct = 0, always = 0, chosen = 0;
  void add(double seconds, double relative) {
    direct += seconds;
    always += seconds * relative;
    chosen += seconds * std::min(1.0, relative);
  }
  Speedup speedup() const { return direct > 0 ? Speedup{direct / always, direct / chosen} : Speedup{}; }
};

}  // namespace

void ZeroCurve::add(double share, double time) {
  const auto at = std::ranges::lower_bound(points_, share, {}, &Point::share);
  points_.insert(at, {share, time});
}

double ZeroCurve::at(double share) const {
  if (points_.size() == 1) return points_.front().time;
  auto right = std::ranges::lower_bound(points_, share, {}, &Point::share);
  right = std::clamp(right, points_.begin() + 1, points_.end() - 1);
  const Point& a = *(right - 1);
  const Point& b = *right;
  return std::max(0.0, a.time + (b.time - a.time) * (share - a.share) / (b.share - a.share));
}

std::vector<double> covering_shares(std::vector<double> grid, double least, double most) {
  std::ranges::sort(grid);
  grid.erase(std::unique(grid.begin(), grid.end()), grid.end());
  // The last point at or below the least share, the first at or above the greatest.
  auto first = std::ranges::upper_bound(grid, least);
  if (first != grid.begin()) --first;
  auto last = std::ranges::lower_bound(grid, most);
  if (last != grid.end()) ++last;
  return {first, std::max(last, first)};
}

TrainingSpeedup training_speedup(const std::vector<TrainingPart>& parts, std::size_t epochs) {
  TrainingSpeedup result;
  Sum all, inference;
  PerOperation<Sum> operations;
  for (std::size_t epoch = 0; epoch < epochs; ++epoch) {
    Sum step;
    for (const TrainingPart& part : parts) {
      const double relative = part.zeros.empty() ? 1 : part.curve.at(part.zeros[epoch]);
      all.add(part.direct_seconds, relative);
      step.add(part.direct_seconds, relative);
      operations[part.op].add(part.direct_seconds, relative);
      if (part.op == Operation::kForward && epoch + 1 == epochs) inference.add(part.direct_seconds, relative);
    }
    result.epochs.push_back(step.speedup().chosen);
  }
  result.training = all.speedup();
  for (const Operation op : kOperations) result.operations[op] = operations[op].speedup();
  result.inference = inference.speedup();
  return result;
}

}  // namespace lacuna::bench
