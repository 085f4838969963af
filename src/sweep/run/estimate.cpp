#include <algorithm>
#include <map>
#include <set>

#include "base/clock.hpp"
#include "sweep/run/runner.hpp"

namespace lacuna::sweep {
namespace {

// Measured on one core of a Xeon with AVX-512. They weigh the points against each other; a few points
// computed here give the speed of this machine.
constexpr double kSecondsPerStep = 0.7e-9;      // of Accelerator::work(), where streams are new
constexpr double kSecondsPerOperation = 20e-6;  // of each point: memory, energy, storing
constexpr double kBytesPerOperation = 6e3;      // of each point of a chunk
constexpr double kBytesPerTrace = 3;  // times its masks: the file, decompressed, and what is counted

double mask_bytes(const Trace& trace) {
  double bytes = 0;
  for (const Layer& layer : trace.layers()) {
    for (const LayerTensor* tensor : {&layer.a, &layer.w, &layer.g}) {
      bytes += static_cast<double>(tensor->mask.rows * tensor->mask.row_bytes);
    }
  }
  return bytes;
}

double seconds_of_streams(const Trace& trace, const Accelerator& machine) {
  double steps = 0;
  for (const Layer& layer : trace.layers()) steps += machine.work(layer.shape);
  return steps * kSecondsPerStep;
}

double seconds_of_operations(const Trace& trace) {
  return 3 * static_cast<double>(trace.layers().size()) * kSecondsPerOperation;
}

// Measures by model how much longer points take than the constants say: computes a point here and there, the
// cheap traces first, for about a second in all.
class Speed {
 public:
  Speed(Sweep& sweep, const WorkList& work) {
    std::map<std::string, std::uint32_t> found;  // model -> points tried
    const double end = seconds_now() + kSecondsOfTrying;
    // Chunks of large traces come first (make_chunks).
    for (auto chunk = work.chunks.rbegin(); chunk != work.chunks.rend(); ++chunk) {
      const Design design = sweep.factory.make(chunk->designs[chunk->designs.size() / 2]);
      if (found[design.record.model] >= kPointsTried) continue;
      if (seconds_now() > end) break;
      ++found[design.record.model];
      try_point(sweep, *chunk, design, end);
    }
  }
  double factor(const std::string& model) const {
    const auto at = of_model_.find(model);
    const Tried& tried = at == of_model_.end() ? all_ : at->second;
    return tried.expected > 0 ? tried.measured / tried.expected : 1;
  }

 private:
  static constexpr double kSecondsOfTrying = 1;
  static constexpr std::uint32_t kPointsTried = 3;  // of each model
  struct Tried {
    double measured = 0, expected = 0;
  };
  void try_point(Sweep& sweep, const Chunk& chunk, const Design& design, double end) {
    try {
      const LoadedTrace trace(sweep.plan.traces[chunk.trace], sweep.sha256[chunk.trace]);
      const double expected = seconds_of_streams(trace.work().trace(), *design.machine) +
                              seconds_of_operations(trace.work().trace());
      if (seconds_now() + expected > end) return;
      const double begin = clock_seconds(CLOCK_THREAD_CPUTIME_ID);
      if (compute_points(trace, sweep.factory.simulation(), {&design, 1}, sweep.plan.measures).points.empty())
        return;
      const double measured = clock_seconds(CLOCK_THREAD_CPUTIME_ID) - begin;
      for (Tried* tried : {&all_, &of_model_[design.record.model]}) {
        tried->measured += measured;
        tried->expected += expected;
      }
    } catch (const std::exception&) {  // the sweep itself reports it
    }
  }

  Tried all_;
  std::map<std::string, Tried> of_model_;
};

}  // namespace

Estimate estimate(Sweep& sweep, const WorkList& work, int threads) {
  std::vector<double> traces;
  double seconds = 0, largest_chunk = 0;
  const Speed speed(sweep, work);
  for (std::uint32_t t = 0; t < sweep.plan.traces.size(); ++t) {
    const bool needed =
        std::ranges::any_of(work.chunks, [&](const Chunk& chunk) { return chunk.trace == t; });
    if (!needed) continue;
    const PlanTrace& of_plan = sweep.plan.traces[t];
    const Trace trace = of_plan.synthetic ? make_synthetic(*of_plan.synthetic) : Trace::open(of_plan.path);
    traces.push_back(mask_bytes(trace) * kBytesPerTrace);
    const double operations = 3 * static_cast<double>(trace.layers().size());
    for (const Chunk& chunk : work.chunks) {
      if (chunk.trace != t) continue;
      std::set<std::string> streams;
      for (const Choice& choice : chunk.designs) {
        const Design design = sweep.factory.make(choice);
        double expected = seconds_of_operations(trace);
        if (streams.insert(design.machine->sharing_key()).second)
          expected += seconds_of_streams(trace, *design.machine);
        seconds += expected * speed.factor(design.record.model);
      }
      largest_chunk = std::max(largest_chunk,
                               static_cast<double>(chunk.designs.size()) * operations * kBytesPerOperation);
    }
  }
  std::ranges::sort(traces, std::ranges::greater{});
  double bytes = 50e6 + largest_chunk * threads;
  for (std::size_t i = 0; i < std::min<std::size_t>(traces.size(), 4); ++i) bytes += traces[i];
  return {seconds / std::max(1, threads), bytes};
}

}  // namespace lacuna::sweep
