// Rows, columns, depth and movements of TensorDash's tiles.
#include <fmt/format.h>

#include "reproduce/figure.hpp"
#include "reproduce/figures/models.hpp"
#include "reproduce/paper_values.hpp"
#include "reproduce/runs.hpp"

namespace lacuna::reproduce {
namespace {

// A column of a figure: a machine with settings.
struct Variant {
  std::string title;
  std::string arch;
  Settings settings;
};

const std::vector<Variant>& row_variants() {
  static const std::vector<Variant> kVariants = [] {
    std::vector<Variant> variants;
    for (const char* rows : {"1", "2", "4", "8", "16"}) {
      variants.push_back({fmt::format("{} row{}", rows, rows == std::string("1") ? "" : "s"),
                          "tensordash",
                          {{"tiles", "1"}, {"rows", rows}}});
    }
    return variants;
  }();
  return kVariants;
}

std::vector<Variant> column_variants(const char* tiles) {
  std::vector<Variant> variants;
  for (const char* columns : {"4", "8", "16"})
    variants.push_back(
        {fmt::format("{} columns", columns), "tensordash", {{"tiles", tiles}, {"columns", columns}}});
  return variants;
}

const std::vector<Variant>& depth_variants() {
  static const std::vector<Variant> kVariants{{"depth 3", "tensordash", {{"tiles", "1"}}},
                                              {"depth 2", "tensordash", {{"tiles", "1"}, {"depth", "2"}}}};
  return kVariants;
}

const std::vector<Variant>& other_variants() {
  static const std::vector<Variant> kVariants{
      {"default", "tensordash", {{"tiles", "1"}}},
      {"decoupled rows", "tensordash", {{"tiles", "1"}, {"sync", "decoupled"}}},
      {"lookahead only", "tensordash-lookahead", {{"tiles", "1"}}},
      {"full crossbar", "tensordash-crossbar", {{"tiles", "1"}}},
      {"schedule=primary", "tensordash", {{"tiles", "1"}, {"schedule", "primary"}}}};
  return kVariants;
}

void add_runs(Figure& figure, const std::vector<Variant>& variants, const std::vector<std::string>& models) {
  for (const std::string& model : models) {
    for (const Variant& variant : variants)
      figure.runs.push_back({last_trace(model), variant.arch, variant.settings});
  }
}

double variant_speedup(const Runs& runs, const std::string& model, const Variant& variant) {
  return runs.run(last_trace(model), variant.arch, variant.settings).batch.all.speedup();
}

// One row per model and the means; `paper` names the key of a variant's mean.
FigureTable variant_table(const Runs& runs, FigureTable table, const std::vector<Variant>& variants,
                          const std::vector<std::string>& models,
                          const std::function<std::pair<std::string, Reason>(const Variant&)>& paper) {
  for (const Variant& variant : variants) {
    for (const std::string& model : models)
      table.set(model, variant.title, variant_speedup(runs, model, variant));
    const auto of = [&](const std::string& model) { return variant_speedup(runs, model, variant); };
    if (models.size() == paper_models().size()) {
      const auto [key, reason] = paper(variant);
      table.set(kMeanRow, variant.title, mean_of(paper_models(), of), key, reason);
    }
    table.set(kMeanOfSevenRow, variant.title, mean_of(first_seven_models(), of));
  }
  return table;
}

FigureResult make_fig17(const FigureInputs& in) {
  const Runs& runs = in.runs;
  const auto mean = [&](const Variant& variant) {
    return mean_of(paper_models(), [&](const std::string& m) { return variant_speedup(runs, m, variant); });
  };
  const double fall = mean(row_variants().back()) / mean(row_variants().front());
  const auto paper = [&](const Variant& variant) -> std::pair<std::string, Reason> {
    const std::string rows = variant.settings[1].second;
    if (rows != "1" && rows != "4" && rows != "16") return {};
    return {"fig17.rows" + rows,
            {fmt::format("the level of Fig. 13: fewer zeros in our traces; from 1 to 16 rows we keep {:.0f} "
                         "% of the speedup, the "
                         "paper {:.0f} %",
                         100 * fall,
                         100 * in.paper.at("fig17.rows16").number / in.paper.at("fig17.rows1").number),
             {"A4"}}};
  };
  return {{variant_table(runs,
                         {.id = "rows",
                          .title = "Speedup by rows of PEs, 4 columns, one tile",
                          .row_title = "model",
                          .unit = "x",
                          .chart = Chart::kLinesByRow},
                         row_variants(), paper_models(), paper)},
          {}};
}

FigureResult make_fig18(const FigureInputs& in) {
  const Runs& runs = in.runs;
  const auto paper = [](const Variant& variant) -> std::pair<std::string, Reason> {
    return {variant.title == "4 columns" ? "" : "fig18.columns", {}};
  };
  const auto none = [](const Variant&) { return std::pair<std::string, Reason>(); };
  return {{variant_table(runs,
                         {.id = "chip",
                          .title = "Speedup by columns of PEs, 4 rows, 16 tiles",
                          .row_title = "model",
                          .unit = "x",
                          .digits = 3,
                          .chart = Chart::kLinesByRow},
                         column_variants("16"), paper_models(), paper),
           variant_table(runs,
                         {.id = "tile",
                          .title = "The same with one tile",
                          .row_title = "model",
                          .unit = "x",
                          .digits = 3,
                          .chart = Chart::kNone},
                         column_variants("1"), paper_models(), none)},
          {"With one tile and these layers the numbers of filters and channels are multiples of 16, so more "
           "columns cost nothing; on "
           "the chip, wider tiles leave fewer column groups to share out (A2)."}};
}

FigureResult make_fig19(const FigureInputs& in) {
  const Runs& runs = in.runs;
  const auto paper = [](const Variant& variant) -> std::pair<std::string, Reason> {
    return {variant.title == "depth 2" ? "fig19.depth2" : "", {}};
  };
  const auto none = [](const Variant&) { return std::pair<std::string, Reason>(); };
  return {{variant_table(runs,
                         {.id = "depth",
                          .title = "Speedup with staging buffers of 3 and 2 steps, one tile",
                          .row_title = "model",
                          .unit = "x"},
                         depth_variants(), paper_models(), paper),
           variant_table(runs,
                         {.id = "movements",
                          .title = "Other readings of the same tile, which the paper does not measure",
                          .row_title = "model",
                          .unit = "x"},
                         other_variants(), first_seven_models(), none)},
          {"Decoupled rows wait for each other at the end of an output only (A4); the crossbar is a bound; "
           "schedule=primary never skips "
           "zeros of weights (A1)."}};
}

}  // namespace

std::vector<Figure> tensordash_geometry_figures() {
  Figure fig17{.id = "fig17",
               .title = "Speedup of TensorDash by rows per tile",
               .paper = "tensordash",
               .place = "Fig. 17, section 4.4",
               .make = make_fig17};
  add_runs(fig17, row_variants(), paper_models());
  Figure fig18{.id = "fig18",
               .title = "Speedup of TensorDash by columns per tile",
               .paper = "tensordash",
               .place = "Fig. 18, section 4.4",
               .make = make_fig18};
  add_runs(fig18, column_variants("16"), paper_models());
  add_runs(fig18, column_variants("1"), paper_models());
  Figure fig19{.id = "fig19",
               .title = "Speedup of TensorDash by depth of the staging buffers",
               .paper = "tensordash",
               .place = "Fig. 19, section 4.4",
               .make = make_fig19};
  add_runs(fig19, depth_variants(), paper_models());
  add_runs(fig19, other_variants(), first_seven_models());
  return {fig17, fig18, fig19};
}

}  // namespace lacuna::reproduce
