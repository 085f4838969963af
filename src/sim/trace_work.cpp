#include "sim/trace_work.hpp"

#include <algorithm>

#include "base/parallel.hpp"
#include "trace/rounding.hpp"

namespace lacuna {
namespace {

Layer known_layer(const Layer& recorded, Operation op) {
  Layer layer = recorded.as_multiplied(op);
  for (LayerTensor* tensor : {&layer.a, &layer.w, &layer.g}) {
    if (tensor->zeros() == 0) tensor->mask.row_bytes = 0;  // all rows are like the first
  }
  return layer;
}

}  // namespace

TraceWork::Job::Job(const Trace& trace, std::size_t index, std::size_t at, Operation op)
    : multiplied(known_layer(trace.layers()[index], op)),
      work(multiplied, op, trace.batch_scale(multiplied)),
      layer(index),
      slot(at) {}

struct TraceWork::Rounded {
  Trace trace;
  TraceWork work;

  Rounded(Trace rounded, const SimOptions& options) : trace(std::move(rounded)), work(trace, options) {}
};

TraceWork::TraceWork(const Trace& trace, const SimOptions& options) : trace_(trace) {
  struct Place {
    std::size_t layer, slot;
    Operation op;
  };
  std::vector<Place> places;
  for (std::size_t i = 0; i < trace.layers().size(); ++i) {
    std::size_t slot = 0;
    for (const Operation op : kOperations) {
      if (options.runs(trace, i, op)) places.push_back({i, slot++, op});
    }
  }
  jobs_.resize(places.size());
  parallel_for(places.size(), 1, [&](std::size_t i) {
    jobs_[i] = std::make_unique<const Job>(trace, places[i].layer, places[i].slot, places[i].op);
  });
  std::ranges::stable_sort(jobs_, std::ranges::greater{}, [](const auto& job) { return job->macs(); });
  for (const DataType type : {DataType::kBfloat16, DataType::kMixed}) {
    if (std::optional<Trace> rounded = rounded_to(trace, type))
      rounded_[type] = std::make_shared<const Rounded>(std::move(*rounded), options);
  }
}

const TraceWork& TraceWork::in(DataType type) const {
  const auto at = rounded_.find(type);
  return at == rounded_.end() ? *this : at->second->work;
}

double TraceWork::macs() const {
  double sum = 0;
  for (const auto& job : jobs_) sum += job->macs();
  return sum;
}

}  // namespace lacuna
