#include "reproduce/reproduction.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <set>

#include "base/error.hpp"
#include "base/text/nearest.hpp"
#include "reproduce/trace_sources.hpp"

namespace lacuna::reproduce {

std::string cell_key(const Figure& figure, const FigureTable& table, const Cell& cell) {
  return fmt::format("{}/{}/{}/{}", figure.id, table.id, cell.row, cell.column);
}

std::vector<const Figure*> choose_figures(const std::vector<std::string>& ids, bool timed) {
  const bool all = ids.empty() || std::ranges::find(ids, "all") != ids.end();
  std::vector<std::string> known{"all"};
  for (const Figure& figure : all_figures()) known.push_back(figure.id);
  for (const std::string& id : ids) {
    if (std::ranges::find(known, id) == known.end())
      throw InputError("reproduce", fmt::format("unknown figure '{}'", id), suggest(id, known));
  }
  std::vector<const Figure*> chosen;
  for (const Figure& figure : all_figures()) {
    const bool named = std::ranges::find(ids, figure.id) != ids.end();
    if (figure.timed && named && !timed) {
      throw InputError("reproduce",
                       fmt::format("'{}' is timed on this machine, which takes minutes", figure.id),
                       "add --timed");
    }
    if (named || (all && (!figure.timed || timed))) chosen.push_back(&figure);
  }
  return chosen;
}

std::vector<RunKey> wanted_runs(const Figure& figure, const PaperTable& paper, Runs& runs) {
  if (figure.timed) return {};
  const Progress none = [](double) {};
  (void)figure.make({runs, paper, none});
  return runs.take_wanted();
}

Reproduction reproduce_figures(const std::vector<const Figure*>& figures, const DataFolder& data, int threads,
                               const Runs::Report& report, const Timing& timing) {
  // Unreadable files are reported before anything runs.
  std::map<std::string, PaperTable> papers;
  Runs runs(data);
  std::vector<RunKey> keys;
  Reproduction reproduction;
  double timed = 0;
  for (const Figure* figure : figures) {
    PaperTable& paper = papers[figure->paper];
    if (paper.name().empty()) paper = PaperTable::open(data.papers() / (figure->paper + ".yaml"));
    FigureOutput& output = reproduction.figures.emplace_back(FigureOutput{figure, {}, paper, {}});
    timed += figure->timed ? 1 : 0;
    for (const RunKey& key : wanted_runs(*figure, paper, runs)) {
      keys.push_back(key);
      const std::string trace = recorded_part(key.trace);
      if (!trace.empty() && std::ranges::find(output.traces, trace) == output.traces.end())
        output.traces.push_back(trace);
    }
  }
  // Figures that are timed take minutes, all simulated ones together two.
  constexpr double kTimedPart = 0.8;
  const double simulated = timed == 0 ? 1 : keys.empty() ? 0 : 1 - kTimedPart;
  runs.simulate(keys, threads,
                [&](double share, const std::string& what) { report(share * simulated, what); });
  double done = simulated;
  for (FigureOutput& output : reproduction.figures) {
    const Figure& figure = *output.figure;
    const double part = figure.timed ? (1 - simulated) / timed : 0;
    const Progress progress = [&](double share) { report(done + share * part, figure.id); };
    output.result = figure.make({runs, output.paper, progress, threads, timing.quick, timing.stop});
    done += part;
    // A key that is missing from the paper's file is reported here, not while printing.
    for_each_cell(output, [&](const FigureTable&, const Cell& cell) {
      if (!cell.paper.empty()) (void)output.paper.at(cell.paper);
    });
  }
  return reproduction;
}

RecordedValues recordable(const Reproduction& reproduction) {
  RecordedValues values;
  for (const FigureOutput& output : reproduction.figures) {
    if (output.figure->timed) continue;
    for_each_cell(output, [&](const FigureTable& table, const Cell& cell) {
      values.set(cell_key(*output.figure, table, cell), cell.ours);
    });
  }
  return values;
}

std::vector<std::string> unexplained(const Reproduction& reproduction) {
  std::vector<std::string> keys;
  for (const FigureOutput& output : reproduction.figures) {
    if (output.figure->timed) continue;
    std::set<std::string> cells;
    for_each_cell(output, [&](const FigureTable& table, const Cell& cell) {
      cells.insert(fmt::format("{}/{}/{}", table.id, cell.row, cell.column));
    });
    for_each_cell(output, [&](const FigureTable& table, const Cell& cell) {
      if (cell.paper.empty() || !needs_reason(output.paper.at(cell.paper), cell.ours)) return;
      // A reason without a measurement is a guess.
      const std::vector<std::string>& evidence = cell.reason.evidence;
      const bool shown = !evidence.empty() && std::ranges::all_of(evidence, [&](const std::string& one) {
        return cells.contains(one);
      });
      if (cell.reason.text.empty() || !shown) keys.push_back(cell_key(*output.figure, table, cell));
    });
  }
  return keys;
}

}  // namespace lacuna::reproduce
