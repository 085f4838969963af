#include "sim/trace_work.hpp"

#include <algorithm>

#include "base/parallel.hpp"

namespace lacuna {

TraceWork::TraceWork(const Trace& trace, const SimOptions& options)
    : trace_(trace), known_(std::make_unique<const KnownLayers>(trace)) {
  struct Place {
    std::size_t layer, slot;
    Operation op;
  };
  std::vector<Place> places;
  for (std::size_t i = 0; i < known_->size(); ++i) {
    std::size_t slot = 0;
    for (const Operation op : kOperations) {
      if (options.runs(i, op)) places.push_back({i, slot++, op});
    }
  }
  jobs_.resize(places.size());
  parallel_for(places.size(), 1, [&](std::size_t i) {
    const Layer& layer = known_->of(places[i].layer, places[i].op);
    jobs_[i] = std::make_unique<const Job>(
        Job{OperationWork(layer, places[i].op, trace.batch_scale(layer)), places[i].layer, places[i].slot});
  });
  std::ranges::stable_sort(jobs_, std::ranges::greater{}, [](const auto& job) { return job->macs(); });
}

double TraceWork::macs() const {
  double sum = 0;
  for (const auto& job : jobs_) sum += job->macs();
  return sum;
}

}  // namespace lacuna
