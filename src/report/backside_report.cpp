#include <algorithm>
#include <fmt/format.h>

#include "report/csv_text.hpp"
#include "report/json_text.hpp"
#include "report/result_tables.hpp"
#include "report/storage_report.hpp"
#include "tensor/operation.hpp"

namespace lacuna {
namespace {

using tensordash::BacksideLoad;
using tensordash::BacksideReport;
using tensordash::LayerBackside;

// Sums of one operation or of all, scaled to the batch trained with.
struct Sums {
  double outputs = 0, cycles = 0, stalls = 0;
  std::int64_t layers = 0, stalled = 0, schedulers = 0;

  void add(const BacksideLoad& load) {
    const double scale = load.scale;
    outputs += static_cast<double>(load.outputs) * scale;
    cycles += static_cast<double>(load.cycles) * scale;
    stalls += static_cast<double>(load.stalls()) * scale;
    ++layers;
    if (load.stalls() > 0) ++stalled;
    schedulers = std::max(schedulers, load.schedulers_needed);
  }
};

Sums sums(const BacksideReport& report, const Operation* op) {
  Sums sum;
  for (const LayerBackside& layer : report.layers) {
    for (const BacksideLoad& load : layer.ops) {
      if (op == nullptr || load.op == *op) sum.add(load);
    }
  }
  return sum;
}

std::string stall_percent(double stalls, double cycles) {
  return cycles > 0 ? fmt::format("{:.1f}", 100 * stalls / cycles) : "";
}

std::string title(const BacksideReport& report) {
  return fmt::format("{} tiles, {} scheduler{} a tile, {} cycles a block", report.tiles, report.schedulers,
                     report.schedulers == 1 ? "" : "s", report.cycles_per_block);
}

std::string load_json(const BacksideLoad& load) {
  return JsonLine()
      .field("op", operation_name(load.op))
      .field("batch_scale", load.scale)
      .field("outputs", load.outputs)
      .field("blocks", load.blocks)
      .field("cycles", load.cycles)
      .field("schedule_cycles", load.schedule_cycles)
      .field("needed_rate", load.needed_rate)
      .field("offered_rate", load.offered_rate)
      .field("stalls", load.stalls())
      .field("schedulers_needed", load.schedulers_needed)
      .text();
}

std::string sums_json(const Sums& sum) {
  return JsonLine()
      .field("outputs", sum.outputs)
      .field("cycles", sum.cycles)
      .field("stalls", sum.stalls)
      .field("layers", sum.layers)
      .field("stalled_layers", sum.stalled)
      .field("schedulers_needed", sum.schedulers)
      .text();
}

std::string trace_json(const BacksideReport& report) {
  std::string layers;
  for (const LayerBackside& layer : report.layers) {
    std::string ops;
    for (const BacksideLoad& load : layer.ops)
      ops += fmt::format("{}\n          {}", ops.empty() ? "" : ",", load_json(load));
    layers += fmt::format("{}\n        {}", layers.empty() ? "" : ",",
                          JsonLine()
                              .field("name", layer.name)
                              .field("shape", layer.shape)
                              .raw("ops", "[" + ops + "\n        ]")
                              .text());
  }
  std::string text = "    {\n";
  const auto field = [&](std::string_view name, std::string_view json) {
    text += fmt::format("      \"{}\": {},\n", name, json);
  };
  field("trace", json_string(report.path));
  field("model", json_string(report.info.model));
  if (report.info.progress) field("progress", json_number(*report.info.progress));
  field("batch", std::to_string(report.batch));
  field("tiles", std::to_string(report.tiles));
  field("schedulers_per_tile", std::to_string(report.schedulers));
  field("cycles_per_block", std::to_string(report.cycles_per_block));
  field("layers", "[" + layers + "\n      ]");
  std::string totals;
  for (const Operation op : kOperations)
    totals += fmt::format("\n        \"{}\": {},", operation_name(op), sums_json(sums(report, &op)));
  return text + fmt::format("      \"per_batch\": {{{}\n        \"all\": {}\n      }}\n    }}", totals,
                            sums_json(sums(report, nullptr)));
}

}  // namespace

std::string backside_table(const BacksideReport& report, const TextStyle& style) {
  TextTable table({{.title = "layer", .align = Align::kLeft},
                   {.title = "operation", .align = Align::kLeft},
                   {.title = "outputs"},
                   {.title = "cycles"},
                   {.title = "needed", .group = "outputs a tile and cycle"},
                   {.title = "offered", .group = "outputs a tile and cycle"},
                   {.title = "cycles", .group = "stalls"},
                   {.title = "%", .group = "stalls"},
                   {.title = "schedulers for none", .group = "stalls"}});
  for (const LayerBackside& layer : report.layers) {
    for (const BacksideLoad& load : layer.ops) {
      table.add_row({load.op == Operation::kForward ? layer.name : "", std::string(operation_name(load.op)),
                     grouped_digits(load.outputs), grouped_digits(load.cycles),
                     fmt::format("{:.3f}", load.needed_rate), fmt::format("{:.3f}", load.offered_rate),
                     grouped_digits(load.stalls()),
                     stall_percent(static_cast<double>(load.stalls()), static_cast<double>(load.cycles)),
                     fmt::format("{}", load.schedulers_needed)});
    }
  }
  return bold_text(printable(trace_title(report.info)), style) + "\n" + dim_text(title(report), style) +
         "\n" + table.render(style);
}

std::string backside_summary(const std::vector<BacksideReport>& reports, const TextStyle& style) {
  TextTable table({{.title = "trace", .align = Align::kLeft},
                   {.title = "operation", .align = Align::kLeft},
                   {.title = "layers"},
                   {.title = "stalled"},
                   {.title = "cycles a batch"},
                   {.title = "stalls"},
                   {.title = "stalls %"},
                   {.title = "schedulers for none"}});
  for (std::size_t i = 0; i < reports.size(); ++i) {
    if (i > 0) table.add_rule();
    const auto add = [&](const std::string& trace, std::string_view name, const Sums& sum) {
      table.add_row({trace, std::string(name), fmt::format("{}", sum.layers), fmt::format("{}", sum.stalled),
                     grouped_digits(static_cast<std::int64_t>(sum.cycles)),
                     grouped_digits(static_cast<std::int64_t>(sum.stalls)),
                     stall_percent(sum.stalls, sum.cycles), fmt::format("{}", sum.schedulers)});
    };
    for (const Operation op : kOperations)
      add(op == Operation::kForward ? trace_title(reports[i].info) : "", operation_name(op),
          sums(reports[i], &op));
    add("", "all", sums(reports[i], nullptr));
  }
  const std::string head = reports.empty() ? "" : dim_text(title(reports.front()), style) + "\n";
  return head + table.render(style);
}

std::string backside_to_json(const std::vector<BacksideReport>& reports) {
  std::vector<std::string> items;
  items.reserve(reports.size());
  for (const auto& entry : reports) items.push_back(trace_json(entry));
  return json_document("backside", items);
}

std::string backside_to_csv(const std::vector<BacksideReport>& reports) {
  std::string text =
      "trace,model,progress,layer,shape,batch_scale,op,outputs,blocks,cycles,schedule_cycles,needed_rate,"
      "offered_rate,stalls,schedulers_needed\n";
  for (const BacksideReport& report : reports) {
    for (const LayerBackside& layer : report.layers) {
      for (const BacksideLoad& load : layer.ops) {
        text += fmt::format(
            "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", csv_text(report.path),
            csv_text(report.info.model), report.info.progress ? json_number(*report.info.progress) : "",
            csv_text(layer.name), csv_text(layer.shape), json_number(load.scale), operation_name(load.op),
            load.outputs, load.blocks, load.cycles, load.schedule_cycles, json_number(load.needed_rate),
            json_number(load.offered_rate), load.stalls(), load.schedulers_needed);
      }
    }
  }
  return text;
}

}  // namespace lacuna
