// TensorDash's potential, its speedups by model and operation, why they are below the paper's, and over the
// training.
#include <algorithm>
#include <fmt/format.h>

#include "reproduce/figure.hpp"
#include "reproduce/figures/models.hpp"
#include "reproduce/figures/stand_ins.hpp"
#include "reproduce/paper_values.hpp"
#include "reproduce/runs.hpp"

namespace lacuna::reproduce {
namespace {

const Settings kOneTile{{"tiles", "1"}};
constexpr int kSeeds = 2;  // of drawn masks; their means differ by less than 0.01

Column potential_column(const Runs& runs, std::optional<Operation> op) {
  return {operation_title(op),
          [&runs, op](const std::string& trace) { return potential_of(runs, trace, op); }};
}

// Networks with the zeros of whole trainings on ImageNet, and our traces of the same networks.
struct WholeTraining {
  const char *network, *clustering, *ours;
};
constexpr WholeTraining kWholeTrainings[] = {
    {"vgg16", "measured", "vgg16_p100"},       {"vgg16", "uniform", "vgg16_p100"},
    {"resnet50", "measured", "resnet50_p100"}, {"resnet50", "uniform", "resnet50_p100"},
    {"resnet34", "measured", nullptr},         {"resnet34", "uniform", nullptr}};

FigureTable whole_trainings(const std::string& title,
                            const std::function<double(const std::string&, std::optional<Operation>)>& of) {
  FigureTable table{.id = "imagenet", .title = title, .row_title = "network, zeros", .unit = "x"};
  std::string ours;
  for (const WholeTraining& one : kWholeTrainings) {
    for (const auto op : kOperationsAndAll) {
      if (one.ours != nullptr && one.ours != ours)
        table.set(fmt::format("{}, our training", one.network), operation_title(op), of(one.ours, op));
    }
    if (one.ours != nullptr) ours = one.ours;
    for (const auto op : kOperationsAndAll) {
      set_over_seeds(
          table, fmt::format("{}, whole training on ImageNet, {}", one.network, one.clustering),
          operation_title(op),
          [&](int seed) {
            return of(fmt::format("imagenet:{}:{}:{}", one.network, one.clustering, seed), op);
          },
          kSeeds);
    }
  }
  return table;
}

FigureResult make_fig1(const FigureInputs& in) {
  const Runs& runs = in.runs;
  std::vector<Column> columns;
  for (const auto op : kOperationsAndAll) columns.push_back(potential_column(runs, op));
  FigureTable table = by_model(runs,
                               {.id = "potential",
                                .title = "All MACs / MACs whose targeted operand is not zero",
                                .row_title = "model",
                                .unit = "x"},
                               columns);
  const FigureTable trained = whole_trainings(
      "The same with zeros that SparseTrain's authors measured over whole trainings",
      [&](const std::string& trace, std::optional<Operation> op) { return potential_of(runs, trace, op); });
  const char* whole = "vgg16, whole training on ImageNet, measured";
  table.compare("squeezenet", "all", "fig1.squeezenet").compare("densenet121", "all", "fig1.densenet121");
  table.compare(
      kMeanRow, "all", "fig1.mean",
      {fmt::format("{:.1f} % of the MACs remain, {:.1f} % would at the paper's potential. Whole trainings on "
                   "ImageNet have more zeros: with theirs VGG16 has a potential of {:.2f}x, ours {:.2f}x",
                   100 / table.at(kMeanRow, "all"), 100 / in.paper.at("fig1.mean").number(),
                   trained.at(whole, "all"), table.at("vgg16", "all")),
       {"A1"},
       {fmt::format("imagenet/{}/all", whole), "potential/vgg16/all"}});
  // [TensorDash §2]: DenseNet-121 has "the least potential".
  const std::vector<std::string>& models = paper_models();
  const auto least = std::ranges::min_element(models, {}, [&](const std::string& model) {
    return model == "densenet121" ? 1e9 : table.at(model, "all");
  });
  FigureTable lowest{.id = "least",
                     .title = "The potential of DenseNet-121 / the least of the others",
                     .row_title = "model",
                     .unit = "x",
                     .digits = 3,
                     .chart = Chart::kNone};
  lowest.set(
      "densenet121", "ratio", table.at("densenet121", "all") / table.at(*least, "all"), "fig1.least",
      {fmt::format("{} has less, {:.2f}x: its convolutions have batch normalisation as well (W*G {:.2f}x), "
                   "and its A has fewer zeros (A*W {:.2f}x, DenseNet-121 {:.2f}x)",
                   *least, table.at(*least, "all"), table.at(*least, "W*G"), table.at(*least, "A*W"),
                   table.at("densenet121", "A*W")),
       {"A1"},
       {fmt::format("potential/{}/all", *least), fmt::format("potential/{}/A*W", *least)}});
  return {{table, lowest, trained},
          {"The batch trained with, here and below: layers recorded with fewer samples count as often as a "
           "training step multiplies them. Whole trainings: data/papers/imagenet_zeros, masks drawn, mean of "
           "two seeds; 'measured' clusters zeros as our trace of the network does, ResNet-34's as our trace "
           "of ResNet-18. ResNet-50 and ResNet-34 have no trace among the eight; their gradients have no "
           "zeros behind batch normalisation."}};
}

// The mean speedup of the eight with drawn masks (trace_sources.hpp), or as recorded.
double drawn_mean(const Runs& runs, const std::string& variant, int seed, const Settings& settings) {
  return mean_of(paper_models(), [&](const std::string& model) {
    const std::string trace = last_trace(model);
    return speedup_of(runs, variant.empty() ? trace : fmt::format("drawn:{}:{}:{}", variant, seed, trace),
                      "tensordash", settings);
  });
}

// From our mean speedup to the paper's: what each cause adds when the one above it is taken away, too.
FigureTable gap_table(const FigureInputs& in) {
  const Runs& runs = in.runs;
  FigureTable table{.id = "gap",
                    .title = "From our mean to the paper's: one cause after another taken away",
                    .row_title = "zeros of the eight networks",
                    .unit = "x",
                    .chart = Chart::kNone};
  const struct {
    const char *variant, *title;
  } steps[] = {{"", "as recorded"},
               {"own", "drawn: our shares and clustering (what drawing misses)"},
               {"level", "more zeros everywhere, until the mean potential is the paper's 3x (level)"},
               {"paper", "the same share in all networks, layers and operations (unevenness)"},
               {"uniform", "independent zeros (clustering)"}};
  double before = 0;
  for (const auto& step : steps) {
    const auto trace_of = [&](const std::string& model, int seed) {
      return *step.variant == '\0' ? last_trace(model)
                                   : fmt::format("drawn:{}:{}:{}", step.variant, seed, last_trace(model));
    };
    const int seeds = *step.variant == '\0' ? 1 : kSeeds;
    set_over_seeds(
        table, step.title, "potential",
        [&](int seed) {
          return mean_of(paper_models(),
                         [&](const std::string& m) { return potential_of(runs, trace_of(m, seed)); });
        },
        seeds);
    set_over_seeds(
        table, step.title, "speedup",
        [&](int seed) { return drawn_mean(runs, step.variant, seed, kOneTile); }, seeds);
    const double speedup = table.cells.back().ours;
    if (*step.variant != 0) table.set(step.title, "share of the gap", speedup - before);
    before = speedup;
  }
  const double paper = in.paper.at("fig13.mean").number();
  table.set("the paper", "potential", in.paper.at("fig1.mean").number());
  table.set("the paper", "speedup", paper).set("the paper", "share of the gap", paper - before);
  table.set("sum", "share of the gap", paper - table.at("as recorded", "speedup"));
  return table;
}

// Clustering, measured: as many non-zeros anywhere in the tensor.
FigureTable clustering_table(const Runs& runs) {
  std::vector<Column> columns;
  for (const auto op : kOperationsAndAll) {
    columns.push_back({std::string(operation_title(op)), [&runs, op](const std::string& trace) {
                         return speedup_of(runs, "moved:" + trace, "tensordash", kOneTile, op) /
                                speedup_of(runs, trace, "tensordash", kOneTile, op);
                       }});
  }
  FigureTable table =
      by_model(runs,
               {.id = "clustering",
                .title = "Speedup with each tensor's non-zeros moved anywhere in it / speedup as recorded",
                .row_title = "model",
                .unit = "x"},
               columns);
  // [TensorDash §4.4]: "more pronounced for A x G".
  table.set(kMeanRow, "A*G / A*W", table.at(kMeanRow, "A*G") / table.at(kMeanRow, "A*W"), "fig17.clustering");
  return table;
}

FigureResult make_fig13(const FigureInputs& in) {
  const Runs& runs = in.runs;
  std::vector<Column> columns;
  for (const auto op : kOperationsAndAll)
    columns.push_back(speedup_column(runs, {operation_title(op), "tensordash", kOneTile, op}));
  columns.push_back({"from zeros", [&](const std::string& trace) {
                       return runs.run({trace, "tensordash", kOneTile, true}).batch.all.speedup_from_zeros();
                     }});
  columns.push_back(speedup_column(runs, {"16 tiles", "tensordash", {}}));
  columns.push_back(speedup_column(runs, {"tensordash-2019", "tensordash-2019", {}}));
  FigureTable table = by_model(runs,
                               {.id = "speedup",
                                .title = "Speedup over the same tiles without TensorDash, one tile",
                                .row_title = "model",
                                .unit = "x"},
                               columns);
  const Settings waits{{"memory", "modelled"}}, transposes_all{{"memory", "modelled"}, {"transposed", "all"}};
  const FigureTable memory =
      by_model(runs,
               {.id = "memory",
                .title = "Speedup of the 16 tiles with and without waiting for memory",
                .row_title = "model",
                .unit = "x"},
               speedup_columns(runs, {{"memory=ideal", "tensordash", {}},
                                      {"memory=modelled", "tensordash", waits},
                                      {"modelled, transposed=all", "tensordash", transposes_all}}));
  const FigureTable stand_ins = stand_ins_table(runs);
  const FigureTable gap = gap_table(in);
  const auto share = [&](std::size_t row) { return gap.at(gap.rows[row], "share of the gap"); };
  const Reason reason{
      fmt::format(
          "{:.2f} of it is the level of zeros, {:.2f} that they are uneven over networks, layers and "
          "operations, {:.2f} clustering; drawing masks misses {:.2f}, and {:.2f} is left (table gap)",
          share(2), share(3), share(4), share(1), gap.at("the paper", "share of the gap")),
      {"A1", "A4", "A5"},
      {fmt::format("gap/{}/share of the gap", gap.rows[2]), "gap/the paper/share of the gap"}};
  const Reason tiles{fmt::format("as for one tile, and {:.2f} for tiles that wait for the slowest one",
                                 table.at(kMeanRow, "all") - table.at(kMeanRow, "16 tiles")),
                     {"A1", "A2", "A4", "A5"},
                     {fmt::format("speedup/{}/all", kMeanRow)}};
  const Reason rules{
      fmt::format(
          "the rules of the early simulator give {:.2f} more than the text's; the rest is as for one tile",
          table.at(kMeanRow, "tensordash-2019") - table.at(kMeanRow, "all")),
      {"A1", "A6"},
      {fmt::format("speedup/{}/all", kMeanRow), fmt::format("gap/{}/share of the gap", gap.rows[2])}};
  table.compare("densenet121", "W*G", "fig13.densenet121.input_grad")
      .compare(kMeanRow, "all", "fig13.mean", reason)
      .compare(kMeanRow, "16 tiles", "fig13.mean", tiles)
      .compare(kMeanRow, "tensordash-2019", "fig13.mean", rules);
  FigureTable least{.id = "least",
                    .title = "The slowest operation of any layer of any of these models",
                    .row_title = "machine",
                    .unit = "x",
                    .chart = Chart::kNone};
  const auto smallest = [&](const Settings& settings) {
    double value = 100;
    for (const std::string& model : paper_models())
      value = std::min(value, runs.run(last_trace(model), "tensordash", settings).least_speedup);
    return value;
  };
  least.set("one tile", "least", smallest(kOneTile), "fig13.least")
      .set("16 tiles", "least", smallest({}), "fig13.least");
  return {{table, stand_ins, memory, gap, clustering_table(runs),
           whole_trainings("Speedup with the zeros of whole trainings, one tile",
                           [&](const std::string& trace, std::optional<Operation> op) {
                             return speedup_of(runs, trace, "tensordash", kOneTile, op);
                           }),
           least},
          {"Empty lanes (the first layer's 3 channels in 16 lanes, ends of A*G's rows) are skipped as if "
           "they were zeros; 'from zeros' leaves out what they give. tensordash-2019: the rules of the "
           "authors' early simulator, one tile.",
           stand_ins_note(stand_ins),
           "Table memory: section 4 has a model for DRAM's latency, and does not say whether the speedups "
           "wait for it. transposed=all: A in A*G comes through transposers too, which section 3.4 does not "
           "say (A13).",
           "Table gap: masks of A and G are drawn, of W and of the image kept up to 'more zeros' and dense "
           "below; the clustering of each tensor is measured on the trace (trace/synthetic/clustering.hpp). "
           "The order of the steps decides how a joint effect is shared out."}};
}

struct Series {
  std::string row;
  std::string trace;  // without _pNNN
  std::vector<std::string> points;
};

const std::vector<Series>& series() {
  static const std::vector<std::string> kSix{"002", "010", "030", "050", "075", "100"};
  static const std::vector<Series> kSeries{{"alexnet", "alexnet", kSix},
                                           {"squeezenet", "squeezenet", kSix},
                                           {"vgg16", "vgg16_series", kSix},
                                           {"densenet121", "densenet121_series", kSix},
                                           {"resnet50_SM90", "resnet50_SM90_series", kSix},
                                           {"resnet50_DS90", "resnet50_DS90_series", kSix},
                                           {"img2txt", "img2txt", {"002", "050", "100"}}};
  return kSeries;
}

// A pruned training and its dense twin at two points: where zeros are, and what they give.
FigureTable pruned_table(const Runs& runs) {
  FigureTable table{.id = "pruned",
                    .title = "Pruned trainings and their dense twin: zeros in %, the rest factors",
                    .row_title = "model, point",
                    .unit = "",
                    .chart = Chart::kNone};
  for (const char* model : {"resnet50", "resnet50_SM90", "resnet50_DS90"}) {
    for (const char* point : {"002", "100"}) {
      const std::string trace = fmt::format("{}_series_p{}", model, point);
      const std::string row = fmt::format("{}, {} %", model, std::stoi(point));
      for (const Operand operand : {Operand::kA, Operand::kW, Operand::kG})
        table.set(row, fmt::format("zeros of {}", operand_name(operand)),
                  100 * runs.potential(trace).zero_share(operand));
      table.set(row, "potential", potential_of(runs, trace));
      for (const auto op : kOperationsAndAll)
        table.set(row, operation_title(op), speedup_of(runs, trace, "tensordash", kOneTile, op));
      table.set(row, "all, non-zeros moved", speedup_of(runs, "moved:" + trace, "tensordash", kOneTile));
    }
  }
  return table;
}

// [TensorDash §1]: pruning increases the zeros of activations and gradients as well.
FigureTable side_effects(const FigureTable& pruned) {
  FigureTable table{.id = "side_effects",
                    .title = "Zeros of pruned trainings at the end, and those of the dense one",
                    .row_title = "model",
                    .unit = "",
                    .chart = Chart::kNone};
  const char* const dense = "resnet50, 100 %";
  for (const char* model : {"resnet50_SM90", "resnet50_DS90"}) {
    const std::string row = fmt::format("{}, 100 %", model);
    table.set(
        model, "zeros of A, pruned / dense", pruned.at(row, "zeros of A") / pruned.at(dense, "zeros of A"),
        "prune.activations",
        {"the same network on the same images without pruning has more zeros of A, at the start and at the "
         "end; on CIFAR-10 DS90 raises them and SM90 does not (docs/results/pruning.md)",
         {},
         {fmt::format("pruned/{}/zeros of A", dense), fmt::format("pruned/{}/zeros of A", row)}});
    table.set(model, "zeros of G, pruned - dense, points",
              std::max(0.0, pruned.at(row, "zeros of G") - pruned.at(dense, "zeros of G")), "prune.gradients",
              {"batch normalisation fills them in both", {}, {fmt::format("pruned/{}/zeros of G", row)}});
  }
  return table;
}

// Why a pruned training is not where the paper's is, at its start and at its end.
Reason pruned_reason(const FigureTable& pruned, const std::string& model, const std::string& row,
                     bool start) {
  if (start) {
    return {fmt::format("its zeros could give {:.2f}x; how they cluster leaves A*G {:.2f}x, and with the "
                        "non-zeros moved the whole is {:.2f}x",
                        pruned.at(row, "potential"), pruned.at(row, "A*G"),
                        pruned.at(row, "all, non-zeros moved")),
            {"A1", "A4"},
            {fmt::format("pruned/{}/potential", row), fmt::format("pruned/{}/A*G", row),
             fmt::format("pruned/{}/all, non-zeros moved", row)}};
  }
  const std::string first = model + ", 2 %";
  return {fmt::format("the paper's decline is weights that are given back; here {:.1f} % of the products "
                      "with weights meet a zero at 2 % and {:.1f} % at the end, so A*W and W*G stay at "
                      "{:.2f}x and {:.2f}x, and A*G rises from {:.2f}x to {:.2f}x",
                      pruned.at(first, "zeros of W"), pruned.at(row, "zeros of W"), pruned.at(row, "A*W"),
                      pruned.at(row, "W*G"), pruned.at(first, "A*G"), pruned.at(row, "A*G")),
          {"A1", "A4"},
          {fmt::format("pruned/{}/zeros of W", first), fmt::format("pruned/{}/zeros of W", row),
           fmt::format("pruned/{}/A*G", first), fmt::format("pruned/{}/A*G", row)}};
}

// Which rows have no range, and how far the samples of the others are apart.
std::string ranges_note(const FigureTable& table) {
  std::vector<std::string> single;
  double apart = 0;
  for (const std::string& row : table.rows) {
    bool ranged = false;
    for (const Cell& cell : table.cells) {
      if (cell.row != row || !cell.range) continue;
      ranged = true;
      apart = std::max(apart, (cell.range->high - cell.range->low) / 2 / cell.ours);
    }
    if (!ranged) single.push_back(row);
  }
  return fmt::format(
      "Ranges: one sample per point was recorded of {}, so that they have none; parts of one sample would "
      "say "
      "how its layers and positions differ, not how samples do. The halves of the other rows' samples are at "
      "most {:.1f} % from their mean. Tables pruned and side_effects are of one sample as well.",
      fmt::join(single, ", "), 100 * apart);
}

FigureResult make_fig14(const FigureInputs& in) {
  const Runs& runs = in.runs;
  FigureTable table{.id = "speedup",
                    .title = "Speedup over the training, one tile",
                    .row_title = "model",
                    .unit = "x",
                    .chart = Chart::kLinesByRow};
  FigureTable shape{.id = "shape",
                    .title = "The highest point between the ends / the higher end, and the last quarter",
                    .row_title = "model",
                    .unit = "x",
                    .digits = 3,
                    .chart = Chart::kNone};
  const FigureTable pruned = pruned_table(runs);
  for (const Series& one : series()) {
    std::vector<double> speedups;
    for (const std::string& point : one.points) {
      const std::string trace = one.trace + "_p" + point;
      const std::string title = fmt::format("{} %", std::stoi(point));
      set_with_halves(runs, table, one.row, speedup_column(runs, {title, "tensordash", kOneTile}), trace);
      speedups.push_back(table.cells.back().ours);
      if (!one.row.starts_with("resnet50") || (point != "002" && point != "100")) continue;
      const std::string row = one.row + ", " + title;
      table.compare(one.row, title, fmt::format("fig14.{}.{}", one.row, point == "002" ? "first" : "last"),
                    pruned_reason(pruned, one.row, row, point == "002"));
    }
    if (one.row != "alexnet" && one.row != "vgg16") continue;
    const double inside = *std::max_element(speedups.begin() + 1, speedups.end() - 1);
    shape.set(one.row, "peak", inside / std::max(speedups.front(), speedups.back()), "fig14.dense")
        .set(one.row, "100 % / 75 %", speedups.back() / speedups.at(speedups.size() - 2), "fig14.settled");
  }
  return {{table, pruned, side_effects(pruned), shape},
          {"Each row is one training run. img2txt was recorded at three moments, snli at the end only. The "
           "methods keep the number "
           "of non-zero weights: they do not prune more at the start and give weights back, which is the "
           "paper's reason for its decline.",
           ranges_note(table)}};
}

}  // namespace

std::vector<Figure> tensordash_speedup_figures() {
  return {{"fig1", "What skipping the zeros of one operand could give at best", "tensordash",
           "Fig. 1, section 2", make_fig1},
          {"fig13", "Speedup of TensorDash by model and operation", "tensordash", "Fig. 13, section 4.1",
           make_fig13},
          {"fig14", "Speedup of TensorDash as training progresses", "tensordash", "Fig. 14, section 4.2",
           make_fig14}};
}

}  // namespace lacuna::reproduce
