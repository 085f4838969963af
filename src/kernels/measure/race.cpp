#include "kernels/measure/race.hpp"

#include <algorithm>
#include <cmath>

namespace lacuna::kernels {

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

double median_error(const std::vector<double>& values) {
  const double middle = median(values);
  std::vector<double> distances;
  distances.reserve(values.size());
  for (const double value : values) distances.push_back(std::abs(value - middle));
  // For normal noise: sigma is 1.483 median distances, the error of a median 1.253 sigma / sqrt(n).
  return 1.483 * 1.253 * median(distances) / std::sqrt(static_cast<double>(values.size()));
}

RaceResult race(const std::function<double()>& ours, const std::vector<std::function<double()>>& others,
                const RaceLimits& limits, const std::function<bool()>& stop) {
  RaceResult result;
  std::vector<std::vector<double>> ratios(others.size());
  std::vector<double> times(others.size() + 1);
  double spent = 0;
  while (result.rounds < limits.max_rounds && !(stop && stop())) {
    for (std::size_t i = 0; i < times.size(); ++i) {
      const std::size_t who = result.rounds % 2 == 0 ? i : times.size() - 1 - i;
      times[who] = who == 0 ? ours() : others[who - 1]();
      spent += times[who];
    }
    for (std::size_t i = 0; i < others.size(); ++i) ratios[i].push_back(times[i + 1] / times[0]);
    ++result.rounds;
    if (result.rounds < limits.min_rounds) continue;
    // An error estimated from few rounds may be small by chance.
    if (result.rounds < 3 * limits.min_rounds && spent < limits.seconds / 3) continue;
    const bool known = std::all_of(ratios.begin(), ratios.end(), [&](const std::vector<double>& all) {
      const double error = median_error(all);
      return error < limits.precision || std::abs(median(all) - 1) - 3 * error > limits.close;
    });
    if (known || spent > limits.seconds) break;
  }
  for (const std::vector<double>& all : ratios) {
    result.ratios.push_back(median(all));
    result.errors.push_back(all.empty() ? 0 : median_error(all));
  }
  return result;
}

}  // namespace lacuna::kernels
