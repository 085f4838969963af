// A figure or table of a paper: the numbers that come out of our runs, next to the paper's.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace lacuna::reproduce {

class Runs;
class PaperTable;

using Settings = std::vector<std::pair<std::string, std::string>>;

// A trace on a machine.
struct RunKey {
  // A trace of data/ ("alexnet_p100"), or one that is made up (trace_sources.hpp).
  std::string trace;
  // A model or named configuration; kPotential: no machine, zeros are counted.
  std::string arch;
  Settings settings = {};
  bool from_zeros = false;  // also the cycles without zeros, which may double the time

  std::string text() const;  // unique: "alexnet_p100 tensordash tiles=1"
};
inline constexpr const char* kPotential = "potential";

// Why a number differs from the paper's.
struct Reason {
  std::string text;
  std::vector<std::string> assumptions;    // of docs/assumptions.md that it rests on
  std::vector<std::string> evidence = {};  // cells of the figure that show it, TABLE/ROW/COLUMN
};

struct Range {
  double low = 0, high = 0;
};

struct Cell {
  std::string row;
  std::string column;
  double ours = 0;
  std::string paper;  // a key of the paper's values; empty: the paper does not give it
  Reason reason;
  std::optional<Range> range = std::nullopt;  // over samples of a batch, or over seeds
};

// Kind of chart on a page.
enum class Chart {
  kNone,
  kBars,           // grouped by row
  kLinesByRow,     // one line per row over the columns
  kLinesByColumn,  // one line per column over the rows
};

struct FigureTable {
  std::string id;
  std::string title;
  std::string row_title;  // what the rows are: "model"
  std::string unit;       // of all its numbers: "x", "%"
  int digits = 2;         // after the point, in tables
  Chart chart = Chart::kBars;
  bool drawn = false;  // its masks are drawn to a number of the paper: what it shows is the machine alone
  std::vector<std::string> rows = {};  // in the order of first use
  std::vector<std::string> columns = {};
  std::vector<Cell> cells = {};

  FigureTable& set(const std::string& row, const std::string& column, double ours,
                   const std::string& paper = "", const Reason& reason = {});
  // Gives the last cell its range.
  FigureTable& over(const Range& range);
  // Compares a cell that is there with a value of the paper.
  FigureTable& compare(const std::string& row, const std::string& column, const std::string& paper,
                       const Reason& reason = {});
  const Cell* find(const std::string& row, const std::string& column) const;
  double at(const std::string& row, const std::string& column) const;
};

struct FigureResult {
  std::vector<FigureTable> tables;
  std::vector<std::string> notes = {};
};

// Share of the work that is done.
using Progress = std::function<void(double)>;

struct FigureInputs {
  const Runs& runs;
  const PaperTable& paper;
  const Progress& progress;  // for what a figure does besides
  // For timed figures.
  int threads = 1;
  bool quick = false;  // one small network: shows that it works, not what it gives
  // Asked while timing: true ends it, and what has been timed is kept.
  std::function<bool()> stop = [] { return false; };
};

struct Figure {
  std::string id;
  std::string title;
  std::string paper;  // the stem of its file in data/papers
  std::string place;  // "Fig. 13, section 4.1"
  // Called twice unless it is timed: first with empty runs, which notes those that it asks for.
  std::function<FigureResult(const FigureInputs&)> make;
  // Wall-clock times of this machine: differ from run to run, take minutes, and are never recorded.
  bool timed = false;
};

// In the order of the papers.
const std::vector<Figure>& all_figures();

// One function per family, each in its own file.
std::vector<Figure> tensordash_speedup_figures();   // Fig. 1, 13, 14
std::vector<Figure> tensordash_energy_figures();    // Fig. 15, 16, bfloat16, GCN
std::vector<Figure> tensordash_geometry_figures();  // Fig. 17, 18, 19
std::vector<Figure> tensordash_random_figures();    // Fig. 20
std::vector<Figure> tensordash_area_figures();      // Table 3
std::vector<Figure> tensordash_mixed_figures();     // the abstract at MICRO
std::vector<Figure> tensordash_two_side_figures();
std::vector<Figure> ant_figures();
std::vector<Figure> ant_assumption_figures();
std::vector<Figure> scnn_figures();
#if defined(LACUNA_WITHOUT_ONEDNN)  // it times training
inline std::vector<Figure> sparsetrain_figures() { return {}; }
#else
std::vector<Figure> sparsetrain_figures();
#endif

}  // namespace lacuna::reproduce
