#include "reproduce/reproduction.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

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

Reproduction reproduce_figures(const std::vector<const Figure*>& figures, const DataFolder& data, int threads,
                               const Runs::Report& report, bool quick) {
  // What cannot be read is known before anything runs.
  std::map<std::string, PaperTable> papers;
  std::vector<RunKey> keys;
  double timed = 0;
  for (const Figure* figure : figures) {
    if (!papers.contains(figure->paper))
      papers[figure->paper] = PaperTable::open(data.papers() / (figure->paper + ".yaml"));
    keys.insert(keys.end(), figure->runs.begin(), figure->runs.end());
    timed += figure->timed ? 1 : 0;
  }
  // Figures that are timed take minutes, all simulated ones together one at most.
  constexpr double kTimedPart = 0.8;
  const double simulated = timed == 0 ? 1 : keys.empty() ? 0 : 1 - kTimedPart;
  const Runs runs(data, keys, threads,
                  [&](double share, const std::string& what) { report(share * simulated, what); });
  Reproduction reproduction;
  double done = simulated;
  for (const Figure* figure : figures) {
    const PaperTable& paper = papers[figure->paper];
    const double part = figure->timed ? (1 - simulated) / timed : 0;
    const Progress progress = [&](double share) { report(done + share * part, figure->id); };
    FigureOutput output{figure, figure->make({runs, paper, progress, threads, quick}), paper, {}};
    done += part;
    for (const RunKey& key : figure->runs) {
      const std::string trace = recorded_part(key.trace);
      if (!trace.empty() && std::ranges::find(output.traces, trace) == output.traces.end())
        output.traces.push_back(trace);
    }
    // A key that is missing from the paper's file is reported here, not while printing.
    for (const FigureTable& table : output.result.tables) {
      for (const Cell& cell : table.cells)
        if (!cell.paper.empty()) (void)paper.at(cell.paper);
    }
    reproduction.figures.push_back(std::move(output));
  }
  return reproduction;
}

RecordedValues recordable(const Reproduction& reproduction) {
  RecordedValues values;
  for (const FigureOutput& output : reproduction.figures) {
    if (output.figure->timed) continue;
    for (const FigureTable& table : output.result.tables) {
      for (const Cell& cell : table.cells) values.set(cell_key(*output.figure, table, cell), cell.ours);
    }
  }
  return values;
}

std::vector<std::string> unexplained(const Reproduction& reproduction) {
  std::vector<std::string> keys;
  for (const FigureOutput& output : reproduction.figures) {
    for (const FigureTable& table : output.result.tables) {
      for (const Cell& cell : table.cells) {
        if (cell.paper.empty() || !cell.reason.text.empty()) continue;
        if (std::abs(output.paper.at(cell.paper).difference(cell.ours)) > kLargeDifference)
          keys.push_back(cell_key(*output.figure, table, cell));
      }
    }
  }
  return keys;
}

}  // namespace lacuna::reproduce
