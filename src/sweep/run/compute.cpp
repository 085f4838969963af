#include <algorithm>
#include <fmt/format.h>
#include <sys/stat.h>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/io/sha256/sha256.hpp"
#include "base/text/quote.hpp"
#include "sim/run_energy.hpp"
#include "sim/simulation.hpp"
#include "sweep/run/runner.hpp"
#include "sweep/store/result_columns.hpp"

namespace lacuna::sweep {
namespace {

// The hash of a folder of .npy files: of the names and hashes of its files.
std::string hash_folder(const std::filesystem::path& folder) {
  std::vector<std::string> lines;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    lines.push_back(fmt::format("{} {}\n", sha256_of_file(entry.path()),
                                std::filesystem::relative(entry.path(), folder).string()));
  }
  std::ranges::sort(lines);
  return sha256_hex(fmt::format("{}", fmt::join(lines, "")));
}

// "data/resnet50_p100.safetensors.zst" -> "resnet50_p100"
std::string short_name(const std::filesystem::path& path) {
  std::string name = path.filename().string();
  if (name.empty()) name = path.parent_path().filename().string();
  for (const std::string_view ending : {".zst", ".safetensors"}) {
    if (name.size() > ending.size() && name.ends_with(ending)) name.erase(name.size() - ending.size());
  }
  return name;
}

PointRecord record_of(const LoadedTrace& trace, const Design& design, const RunResult& run,
                      Measures measures) {
  std::optional<RunEnergy> energy;
  if (design.table) energy = run_energy(run, *design.table);
  const RunEnergy* const priced = energy ? &*energy : nullptr;
  PointRecord point{.key = point_key(design.record.key, trace.record().sha256),
                    .design = design.record.key,
                    .trace = trace.record().sha256,
                    .measured = measures,
                    .results = read_columns(point_columns(), measures, run, priced)};
  for (std::size_t i = 0; i < run.layers.size(); ++i) {
    for (std::size_t j = 0; j < run.layers[i].ops.size(); ++j) {
      point.operations.push_back({.layer = static_cast<std::int64_t>(i),
                                  .operation = static_cast<std::int64_t>(run.layers[i].ops[j].op),
                                  .results = read_columns(operation_columns(), measures, run, priced, i, j)});
    }
  }
  return point;
}

[[noreturn]] void throw_changed(const std::filesystem::path& path) {
  throw InputError(path.string(), "the trace was changed while the sweep ran",
                   "run the same command again: its points are those of the new file");
}

}  // namespace

std::string trace_sha256(const PlanTrace& trace) {
  if (trace.synthetic) return sha256_hex(trace.origin);
  std::error_code ignored;
  if (std::filesystem::is_directory(trace.path, ignored)) return hash_folder(trace.path);
  return sha256_of_file(trace.path);
}

LoadedTrace::LoadedTrace(const PlanTrace& plan, const std::string& sha256) : path_(plan.path) {
  state_ = state_of_file();
  trace_ = std::make_shared<const Trace>(plan.synthetic ? make_synthetic(*plan.synthetic)
                                                        : Trace::open(plan.path));
  if (trace_sha256(plan) != sha256) throw_changed(path_);
  check_unchanged();
  record_ = {.sha256 = sha256,
             .name = plan.synthetic ? fmt::format("{}_seed{}", plan.synthetic->name, plan.synthetic->seed)
                                    : short_name(plan.path),
             .network = trace_->info().model,
             .origin = plan.origin,
             .progress = trace_->info().progress,
             .batch = trace_->batch()};
  for (const Layer& layer : trace_->layers()) {
    record_.layers.push_back(
        {layer.name, layer.shape.describe(), trace_->batch_scale(layer), layer.shape.macs()});
  }
  work_ = std::make_unique<const TraceWork>(*trace_);
}

std::string LoadedTrace::state_of_file() const {
  struct stat state {};
  if (path_.empty() || ::stat(path_.c_str(), &state) != 0) return {};
  return fmt::format("{} {} {} {}.{:09}", state.st_dev, state.st_ino, state.st_size, state.st_mtim.tv_sec,
                     state.st_mtim.tv_nsec);
}

void LoadedTrace::check_unchanged() const {
  if (state_of_file() != state_) throw_changed(path_);
}

FailureRecord failure_of(const Design& design, const std::string& sha256, const std::string& trace,
                         std::string_view error) {
  return {.key = point_key(design.record.key, sha256),
          .machine = design.record.machine,
          .parameters = design.record.parameters,
          .trace = trace,
          .error = escape_controls(error)};
}

void ChunkResult::add(ChunkResult other) {
  std::ranges::move(other.traces, std::back_inserter(traces));
  std::ranges::move(other.points, std::back_inserter(points));
  std::ranges::move(other.failures, std::back_inserter(failures));
}

ChunkResult compute_points(const LoadedTrace& trace, const Simulation& empty, std::span<const Design> designs,
                           Measures measures) {
  ChunkResult computed;
  const double start = seconds_now();
  try {
    Simulation simulation = empty;
    for (const Design& design : designs) simulation.add(design.record.machine, design.machine);
    const std::vector<RunResult> runs = simulation.run(trace.work()).runs;
    trace.check_unchanged();
    for (std::size_t i = 0; i < designs.size(); ++i) {
      computed.points.push_back(record_of(trace, designs[i], runs[i], measures));
    }
    const double each = (seconds_now() - start) / static_cast<double>(designs.size());
    for (PointRecord& point : computed.points) point.took_seconds = each;
  } catch (const std::exception& error) {
    computed = {};
    if (designs.size() == 1) {
      const TraceRecord& record = trace.record();
      computed.failures.push_back(failure_of(designs.front(), record.sha256, record.name, error.what()));
      return computed;
    }
    // One of them cannot be computed: find out which.
    for (const Design& design : designs) computed.add(compute_points(trace, empty, {&design, 1}, measures));
  }
  return computed;
}

}  // namespace lacuna::sweep
