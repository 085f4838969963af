#include "report/result/timeline.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <iterator>

#include "base/text/json.hpp"
#include "sim/result_fields.hpp"

namespace lacuna {
namespace {

// Slices of units that a process may have, so that viewers open it in a second: operations with more are
// drawn coarser, with the same sums.
constexpr std::size_t kMostUnitSlices = 100'000;

enum Track { kLayers = 1, kOperationTrack, kDram, kTransposers, kSram, kScratchpads, kFirstUnit };

std::string one_line(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }
std::string quoted(const std::string& text) { return one_line(Json(text)); }

// Text of a number of cycles as microseconds: thousandths, which viewers keep as whole nanoseconds.
std::int64_t thousandths(double cycles) { return std::llround(cycles * 1e3); }
std::string time_text(std::int64_t thousandths) {
  return fmt::format("{}.{:03}", thousandths / 1000, thousandths % 1000);
}

struct Executed {
  const LayerResult& layer;
  const OpResult& op;
};

// Forward through the layers, then back, each layer's input gradient before its weight gradient.
std::vector<Executed> in_order(const RunResult& run) {
  std::vector<Executed> order;
  for (const LayerResult& layer : run.layers) {
    for (const OpResult& op : layer.ops) {
      if (op.op == Operation::kForward) order.push_back({layer, op});
    }
  }
  for (auto layer = run.layers.rbegin(); layer != run.layers.rend(); ++layer) {
    for (const Operation wanted : {Operation::kInputGrad, Operation::kWeightGrad}) {
      for (const OpResult& op : layer->ops) {
        if (op.op == wanted) order.push_back({*layer, op});
      }
    }
  }
  return order;
}

class Process {
 public:
  Process(std::string& text, int id, const RunResult& run) : text_(text), id_(id), run_(run) {}

  void write(const std::string& role) {
    const std::string trace = run_.trace.substr(run_.trace.rfind('/') + 1);
    metadata("process_name", 0, quoted(fmt::format("{}{}: {}", run_.arch, role, trace)));
    if (run_.hardware) {
      event(fmt::format(R"({{"ph":"M","name":"process_labels","pid":{},"args":{{"labels":{}}}}})", id_,
                        quoted(run_.hardware->description)));
    }
    for (const auto& [track, name] : {std::pair{kLayers, "layers"},
                                      {kOperationTrack, "operations"},
                                      {kDram, "DRAM"},
                                      {kTransposers, "transposers"},
                                      {kSram, "AM, BM, CM"},
                                      {kScratchpads, "scratchpads"}})
      metadata("thread_name", track, quoted(name));
    const std::vector<Executed> order = in_order(run_);
    spans_per_operation_ = spans_that_fit(order);
    write_layers(order);
    double at = 0;
    for (const Executed& executed : order) at += write_operation(executed, at);
    for (const char* counter : {"multipliers busy, %", "units busy, %", "DRAM bytes per cycle"})
      count(counter, at, 0);
  }

 private:
  std::size_t spans_that_fit(const std::vector<Executed>& order) const {
    std::size_t units = 0;
    for (const Executed& executed : order) {
      for (const UnitSpan& span : executed.op.units.spans()) units = std::max(units, span.busy.size());
    }
    return std::max<std::size_t>(1, kMostUnitSlices / std::max<std::size_t>(1, units * order.size()));
  }

  void event(const std::string& text) {
    text_ += ",\n";
    text_ += text;
  }
  void metadata(const char* what, int track, const std::string& name) {
    event(fmt::format(R"({{"ph":"M","name":"{}","pid":{},"tid":{},"args":{{"name":{}}}}})", what, id_, track,
                      name));
    if (track == 0) return;
    event(
        fmt::format(R"({{"ph":"M","name":"thread_sort_index","pid":{},"tid":{},"args":{{"sort_index":{}}}}})",
                    id_, track, track));
  }
  // `name` and `args` are JSON.
  void slice(int track, const std::string& name, double from, double cycles, const std::string& args) {
    if (!(cycles > 0)) return;
    const std::int64_t begin = thousandths(from), end = thousandths(from + cycles);
    event(fmt::format(R"({{"ph":"X","name":{},"pid":{},"tid":{},"ts":{},"dur":{},"args":{}}})", name, id_,
                      track, time_text(begin), time_text(end - begin), args));
  }
  void count(const char* name, double at, double value) {
    event(fmt::format(R"({{"ph":"C","name":"{}","pid":{},"ts":{},"args":{{"value":{:.6g}}}}})", name, id_,
                      time_text(thousandths(at)), value));
  }

  // One slice for as long as the operations that follow one another are of one layer.
  void write_layers(const std::vector<Executed>& order) {
    double at = 0;
    for (std::size_t i = 0; i < order.size();) {
      const LayerResult& layer = order[i].layer;
      const double from = at;
      for (; i < order.size() && &order[i].layer == &layer; ++i) at += cycles_of(order[i]);
      slice(kLayers, quoted(layer.name), from, at - from, one_line(Json{{"shape", layer.shape}}));
    }
  }

  static double cycles_of(const Executed& executed) {
    return static_cast<double>(executed.op.cycles) * executed.layer.batch_scale;
  }

  double write_operation(const Executed& executed, double at) {
    const OpResult& op = executed.op;
    const double scale = executed.layer.batch_scale, cycles = cycles_of(executed);
    const auto scaled = [&](std::int64_t count) { return static_cast<double>(count) * scale; };
    Json args{{"layer", executed.layer.name},         {"operation", operation_name(op.op)},
              {"cycles", number_json(cycles)},        {"skips", scheduled_name(op.scheduled)},
              {"macs", number_json(scaled(op.macs))}, {"multiplied", number_json(scaled(op.scheduled_macs))},
              {"mapping", mapping_text(op.mapping)}};
    if (op.activity) {
      args["bound"] = bound_name(op.activity->bound);
      args["compute_cycles"] = number_json(scaled(op.activity->compute_cycles));
      args["fill_cycles"] = op.activity->fill_cycles;
    }
    slice(kOperationTrack, quoted(fmt::format("{} {}", executed.layer.name, operation_name(op.op))), at,
          cycles, one_line(args));
    if (cycles <= 0) return cycles;
    if (op.peak_macs > 0)
      count("multipliers busy, %", at,
            100 * static_cast<double>(op.scheduled_macs) / static_cast<double>(op.peak_macs));
    if (op.activity) write_memory(op, at, scale);
    write_units(op, at, scale);
    return cycles;
  }

  void write_memory(const OpResult& op, double at, double scale) {
    const Activity& activity = *op.activity;
    const auto busy = [&](Track track, const char* name, std::int64_t cycles, Json args) {
      args["cycles"] = number_json(static_cast<double>(cycles) * scale);
      // Without modelled memory the tiles do not wait: a part may need longer than the operation takes.
      const std::int64_t shown = std::min(cycles, op.cycles);
      if (shown < cycles) args["shown"] = number_json(static_cast<double>(shown) * scale);
      slice(track, fmt::format("\"{}\"", name), at, static_cast<double>(shown) * scale, one_line(args));
    };
    busy(kDram, "transfer", activity.dram_cycles,
         {{"bytes", number_json(static_cast<double>(activity.dram_bytes) * scale)}});
    busy(kTransposers, "transpose", activity.transposer_cycles,
         {{"groups", number_json(static_cast<double>(activity.transposed_groups) * scale)}});
    busy(kSram, "read, write", activity.sram_cycles,
         {{"conflict_cycles", number_json(static_cast<double>(activity.sram_conflict_cycles) * scale)}});
    busy(kScratchpads, "read", activity.scratchpad_cycles,
         {{"rows", number_json(static_cast<double>(activity.scratchpad_reads) * scale)}});
    count("DRAM bytes per cycle", at,
          static_cast<double>(activity.dram_bytes) / static_cast<double>(op.cycles));
  }

  void write_units(const OpResult& op, double at, double scale) {
    const std::vector<UnitSpan>& spans = op.units.spans();
    if (spans.empty()) return;
    const std::size_t together = (spans.size() + spans_per_operation_ - 1) / spans_per_operation_;
    double from = at;
    for (std::size_t i = 0; i < spans.size();) {
      UnitSpan span = spans[i++];
      for (std::size_t j = 1; j < together && i < spans.size() && spans[i].busy.size() == span.busy.size();
           ++j)
        span.add(spans[i++]);
      write_span(op, span, from, scale);
      from += static_cast<double>(span.cycles) * scale;
    }
    if (static_cast<double>(op.cycles) * scale > from - at + 1e-6) count("units busy, %", from, 0);
  }

  void write_span(const OpResult& op, const UnitSpan& span, double from, double scale) {
    double sum = 0;
    for (std::size_t unit = 0; unit < span.busy.size(); ++unit) {
      const int track = kFirstUnit + static_cast<int>(unit);
      if (track >= named_units_) {
        metadata("thread_name", track, quoted(fmt::format("{} {}", op.units.unit, unit)));
        named_units_ = track + 1;
      }
      const double busy = static_cast<double>(span.busy[unit]) * scale;
      sum += busy;
      slice(track, fmt::format("\"{}\"", operation_name(op.op)), from, busy,
            fmt::format(R"({{"cycles":{},"products":{}}})", busy, span.products));
    }
    const double slots = static_cast<double>(span.cycles) * scale * static_cast<double>(span.busy.size());
    if (slots > 0) count("units busy, %", from, 100 * sum / slots);
  }

  std::string& text_;
  int id_;
  const RunResult& run_;
  std::size_t spans_per_operation_ = 1;
  int named_units_ = kFirstUnit;
};

}  // namespace

std::string timeline_json(const std::vector<RunResult>& runs) {
  struct Shown {
    const RunResult* run;
    const char* role;
  };
  std::vector<Shown> shown;
  for (const RunResult& run : runs) shown.push_back({&run, ""});
  for (const RunResult& run : runs) {
    const RunResult* baseline = run.baseline.get();
    if (baseline != nullptr && std::ranges::find(shown, baseline, &Shown::run) == shown.end())
      shown.push_back({baseline, " (baseline)"});
  }
  Json other = json_document(1);
  other["time"] = "a microsecond is a cycle of the whole batch";
  Json& list = other["runs"] = Json::array();
  std::string events;
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const RunResult& run = *shown[i].run;
    list.push_back({{"pid", i + 1},
                    {"arch", run.arch},
                    {"trace", run.trace},
                    {"cycles", number_json(run.per_batch().all.cycles)}});
    Process(events, static_cast<int>(i) + 1, run).write(shown[i].role);
  }
  return fmt::format("{{\"displayTimeUnit\":\"ns\",\"otherData\":{},\n\"traceEvents\":[{}\n]}}\n",
                     one_line(other), events.empty() ? "" : events.substr(1));
}

}  // namespace lacuna
