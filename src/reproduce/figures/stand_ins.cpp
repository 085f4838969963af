#include "reproduce/figures/stand_ins.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "reproduce/figures/models.hpp"

namespace lacuna::reproduce {
namespace {

constexpr const char* kStandIns[] = {"snli", "img2txt"};
constexpr int kDraws = 2;  // seeds; they differ by less than 0.01

struct Drawing {
  const char *variant, *title;  // of trace_sources.hpp; none: as recorded
};
constexpr Drawing kDrawings[] = {{nullptr, "as recorded"},
                                 {"least", "drawn to the least potential in the paper (1.5x)"},
                                 {"paper", "drawn to its mean potential (3x)"}};

bool stands_in(const std::string& model) {
  return std::ranges::find(kStandIns, model) != std::end(kStandIns);
}

std::string trace_of(const std::string& model, const Drawing& drawing, int seed) {
  const std::string recorded = last_trace(model);
  if (drawing.variant == nullptr || !stands_in(model)) return recorded;
  return fmt::format("drawn:{}:{}:{}", drawing.variant, seed, recorded);
}

std::string mean_row(const Drawing& drawing) {
  return fmt::format("{}, the two {}", kMeanRow, drawing.title);
}
const char* const kMeanOfSix = "mean of the six without the two";

}  // namespace

FigureTable stand_ins_table(const Runs& runs) {
  const Settings one_tile{{"tiles", "1"}};
  FigureTable table{.id = "stand_ins",
                    .title = "snli and img2txt as recorded, and drawn from what the paper publishes",
                    .row_title = "network, zeros",
                    .unit = "x",
                    .chart = Chart::kNone};
  std::vector<Column> columns{
      {"potential", [&](const std::string& trace) { return potential_of(runs, trace); }}};
  for (const auto op : kOperationsAndAll) {
    columns.push_back({operation_title(op), [&, op](const std::string& trace) {
                         return speedup_of(runs, trace, "tensordash", one_tile, op);
                       }});
  }
  // Adds a row with the mean over `models`.
  const auto add = [&](const std::string& row, const std::vector<std::string>& models,
                       const Drawing& drawing) {
    for (const Column& column : columns) {
      const auto mean = [&](int seed) {
        return mean_of(models,
                       [&](const std::string& model) { return column.of(trace_of(model, drawing, seed)); });
      };
      if (drawing.variant == nullptr) {
        std::vector<std::string> traces;
        for (const std::string& model : models) traces.push_back(last_trace(model));
        set_of_all_with_halves(runs, table, row, column.title, traces,
                               [&](const std::vector<std::string>& all) { return mean_of(all, column.of); });
      } else {
        set_over_seeds(table, row, column.title, mean, kDraws);
      }
    }
  };
  for (const char* model : kStandIns)
    for (const Drawing& drawing : kDrawings)
      add(fmt::format("{}, {}", model, drawing.title), {model}, drawing);
  for (const Drawing& drawing : kDrawings) add(mean_row(drawing), paper_models(), drawing);
  std::vector<std::string> others;
  std::ranges::copy_if(paper_models(), std::back_inserter(others),
                       [](const std::string& model) { return !stands_in(model); });
  add(kMeanOfSix, others, kDrawings[0]);
  return table;
}

std::string stand_ins_note(const FigureTable& table) {
  const auto mean = [&](const Drawing& drawing) { return table.at(mean_row(drawing), "all"); };
  return fmt::format(
      "Table stand_ins: snli saw a small part of its corpus (accuracy 55.6 %), img2txt 3,314 images. The "
      "paper gives zeros of neither, only that no model is below 1.5x and that the mean is nearly 3x. Masks "
      "are drawn with one share in A and G of all layers that gives that potential, clustered as recorded. "
      "Every other table uses the recordings (mean {:.2f}x): drawn masks would bring the paper's own number "
      "into what is compared with it, and that number says nothing of these two. With the two drawn the mean "
      "is {:.2f}x to {:.2f}x, without them {:.2f}x.",
      mean(kDrawings[0]), mean(kDrawings[1]), mean(kDrawings[2]), table.at(kMeanOfSix, "all"));
}

}  // namespace lacuna::reproduce
