// Figures with our values and the papers': every output is made of them.
#pragma once

#include <string>
#include <vector>

#include "reproduce/figure.hpp"
#include "reproduce/grade.hpp"
#include "reproduce/paper_values.hpp"
#include "reproduce/recorded_values.hpp"
#include "reproduce/runs.hpp"

namespace lacuna::reproduce {

struct FigureOutput {
  const Figure* figure = nullptr;
  FigureResult result;
  PaperTable paper;
  std::vector<std::string> traces;  // of data/ that it was made from
};

struct Reproduction {
  std::vector<FigureOutput> figures;
  std::vector<Moved> moved;  // numbers that differ from what the repository records
};

// Calls f(table, cell) for each cell of a figure.
template <typename F>
void for_each_cell(const FigureOutput& output, const F& f) {
  for (const FigureTable& table : output.result.tables) {
    for (const Cell& cell : table.cells) f(table, cell);
  }
}

// "fig13/speedup/alexnet/A*W": how a number is recorded.
std::string cell_key(const Figure& figure, const FigureTable& table, const Cell& cell);

// The figures with these ids, in the order of all_figures(); "all" or none: everything that is simulated, and
// with `timed` what is timed as well. Throws InputError for an unknown id, or for a timed one without
// `timed`.
std::vector<const Figure*> choose_figures(const std::vector<std::string>& ids, bool timed);

// Runs that a figure asks for; none of one that is timed.
std::vector<RunKey> wanted_runs(const Figure& figure, const PaperTable& paper, Runs& runs);

// Options of timed figures (FigureInputs).
struct Timing {
  bool quick = false;
  std::function<bool()> stop = [] { return false; };
};

// Runs them. Throws InputError for data that cannot be read.
Reproduction reproduce_figures(const std::vector<const Figure*>& figures, const DataFolder& data, int threads,
                               const Runs::Report& report, const Timing& timing = {});

// The numbers of the figures that are not timed.
RecordedValues recordable(const Reproduction& reproduction);

// Cells of the same figures whose difference needs a reason and that have none, or one whose evidence is not
// there: "fig13/...".
std::vector<std::string> unexplained(const Reproduction& reproduction);

}  // namespace lacuna::reproduce
