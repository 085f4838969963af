#include "sweep/estimate.hpp"

#include <algorithm>
#include <set>

namespace lacuna::sweep {
namespace {

// Measured on one core of a Xeon with AVX-512 (docs/sweep.md): within a factor of two on the networks of
// data/ for TensorDash, further off for machines without vector code.
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

}  // namespace

Estimate estimate(Sweep& sweep, const WorkList& work, int threads) {
  std::vector<double> traces;
  double seconds = 0, largest_chunk = 0;
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
        seconds += operations * kSecondsPerOperation;
        const Design design = sweep.factory.make(choice);
        if (!streams.insert(design.machine->sharing_key()).second) continue;
        for (const Layer& layer : trace.layers())
          seconds += design.machine->work(layer.shape) * kSecondsPerStep;
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
