// Rows, columns, depth and movements of TensorDash's tiles.
#include <fmt/format.h>

#include "reproduce/figure.hpp"
#include "reproduce/figures/models.hpp"
#include "reproduce/paper_values.hpp"
#include "reproduce/runs.hpp"

namespace lacuna::reproduce {
namespace {

std::string rows_title(const std::string& rows) {
  return fmt::format("{} row{}", rows, rows == "1" ? "" : "s");
}

Settings one_tile(const std::string& key, const std::string& value) { return {{"tiles", "1"}, {key, value}}; }

FigureResult make_fig17(const FigureInputs& in) {
  const Runs& runs = in.runs;
  std::vector<Variant> variants;
  for (const char* rows : {"1", "2", "4", "8", "16"})
    variants.push_back({rows_title(rows), "tensordash", one_tile("rows", rows)});
  FigureTable table = by_model(runs,
                               {.id = "rows",
                                .title = "Speedup by rows of PEs, 4 columns, one tile",
                                .row_title = "model",
                                .unit = "x",
                                .chart = Chart::kLinesByRow},
                               speedup_columns(runs, variants));
  // The same networks at the paper's potential.
  constexpr int kSeeds = 2;
  FigureTable drawn{
      .id = "potential",
      .title = "Mean of the eight with masks drawn for the potential of 3x of the paper's Fig. 1",
      .row_title = "zeros",
      .unit = "x",
      .chart = Chart::kNone,
      .drawn = true};
  const char* const zeros[] = {"clustered as in our traces", "independent"};
  for (const bool independent : {false, true}) {
    for (const char* rows : {"1", "4", "16"}) {
      const auto of = [&](int seed) {
        return mean_of(paper_models(), [&](const std::string& model) {
          return speedup_of(
              runs, fmt::format("drawn:{}:{}:{}", independent ? "uniform" : "paper", seed, last_trace(model)),
              "tensordash", one_tile("rows", rows));
        });
      };
      set_over_seeds(drawn, zeros[independent], rows_title(rows), of, kSeeds);
    }
  }
  for (const bool independent : {false, true}) {
    for (const char* rows : {"1", "4", "16"}) {
      const std::string title = rows_title(rows);
      drawn.compare(zeros[independent], title, fmt::format("fig17.rows{}", rows),
                    {fmt::format("how zeros cluster: {} {:.2f}x",
                                 independent ? "clustered as ours they give" : "independent ones give",
                                 drawn.at(zeros[!independent], title)),
                     {"A4"},
                     {fmt::format("potential/{}/{}", zeros[!independent], title)}});
    }
  }
  const char* clustered = zeros[0];
  for (const char* rows : {"1", "4", "16"}) {
    const std::string title = rows_title(rows);
    table.compare(kMeanRow, title, fmt::format("fig17.rows{}", rows),
                  {fmt::format("the level of zeros: at the paper's potential the same machine gives {:.2f}x",
                               drawn.at(clustered, title)),
                   {"A1", "A4"},
                   {fmt::format("potential/{}/{}", clustered, title)}});
  }
  return {{table, drawn}, {}};
}

FigureResult make_fig18(const FigureInputs& in) {
  const auto columns_of = [&](const char* tiles) {
    std::vector<Variant> variants;
    for (const char* columns : {"4", "8", "16"})
      variants.push_back(
          {fmt::format("{} columns", columns), "tensordash", {{"tiles", tiles}, {"columns", columns}}});
    return speedup_columns(in.runs, variants);
  };
  FigureTable chip = by_model(in.runs,
                              {.id = "chip",
                               .title = "Speedup by columns of PEs, 4 rows, 16 tiles",
                               .row_title = "model",
                               .unit = "x",
                               .digits = 3,
                               .chart = Chart::kLinesByRow},
                              columns_of("16"));
  const FigureTable tile = by_model(in.runs,
                                    {.id = "tile",
                                     .title = "The same with one tile",
                                     .row_title = "model",
                                     .unit = "x",
                                     .digits = 3,
                                     .chart = Chart::kNone},
                                    columns_of("1"));
  chip.set(kMeanRow, "16 columns / 4 columns",
           chip.at(kMeanRow, "16 columns") / chip.at(kMeanRow, "4 columns"), "fig18.columns");
  return {{chip, tile},
          {"With one tile and these layers the numbers of filters and channels are multiples of 16, so more "
           "columns cost nothing; on the chip, wider tiles leave fewer column groups to share out (A2)."}};
}

FigureResult make_fig19(const FigureInputs& in) {
  const Settings tile{{"tiles", "1"}};
  FigureTable table = by_model(
      in.runs,
      {.id = "depth",
       .title = "Speedup with staging buffers of 3 and 2 steps, and with other movements",
       .row_title = "model",
       .unit = "x"},
      speedup_columns(in.runs, {{"depth 3", "tensordash", tile},
                                {"depth 2", "tensordash", one_tile("depth", "2")},
                                {"decoupled rows", "tensordash", one_tile("sync", "decoupled")},
                                {"lookahead only", "tensordash-lookahead", tile},
                                {"full crossbar", "tensordash-crossbar", tile},
                                {"schedule=primary", "tensordash", one_tile("schedule", "primary")}}));
  FigureTable gain{.id = "gain",
                   .title = "Gain with depth 2 / gain with depth 3, of the mean",
                   .row_title = "of",
                   .unit = "%",
                   .digits = 0,
                   .chart = Chart::kNone};
  gain.set("speedup - 1", "left",
           100 * (table.at(kMeanRow, "depth 2") - 1) / (table.at(kMeanRow, "depth 3") - 1), "fig19.depth2");
  return {{table, gain},
          {"The paper measures the two depths only. Decoupled rows wait for each other at the end of an "
           "output only (A4); the crossbar is a bound; schedule=primary never skips zeros of weights (A1)."}};
}

}  // namespace

std::vector<Figure> tensordash_geometry_figures() {
  return {
      {"fig17", "Speedup of TensorDash by rows per tile", "tensordash", "Fig. 17, section 4.4", make_fig17},
      {"fig18", "Speedup of TensorDash by columns per tile", "tensordash", "Fig. 18, section 4.4",
       make_fig18},
      {"fig19", "Speedup of TensorDash by depth of the staging buffers", "tensordash", "Fig. 19, section 4.4",
       make_fig19}};
}

}  // namespace lacuna::reproduce
