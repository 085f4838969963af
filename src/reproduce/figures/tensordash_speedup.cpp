// TensorDash's potential, its speedups by model and operation, and over the training.
#include <algorithm>
#include <fmt/format.h>

#include "reproduce/figure.hpp"
#include "reproduce/figures/models.hpp"
#include "reproduce/paper_values.hpp"
#include "reproduce/runs.hpp"

namespace lacuna::reproduce {
namespace {

const Settings kOneTile{{"tiles", "1"}};

double potential_of(const Runs& runs, const std::string& model) {
  return runs.potential(last_trace(model)).per_batch.all.speedup().value_or(0);
}

std::vector<RunKey> potential_runs() {
  std::vector<RunKey> keys;
  for (const std::string& model : paper_models()) keys.push_back({last_trace(model), kPotential});
  return keys;
}

// Why less can be skipped in our traces than in the paper's.
std::string data_sentence() {
  return "our networks trained for minutes on 10 classes of ImageNet, a subset of SNLI and 3,314 images with "
         "captions, "
         "the paper's to convergence on the whole sets";
}

FigureResult make_fig1(const FigureInputs& in) {
  const Runs& runs = in.runs;
  FigureTable table{.id = "potential",
                    .title = "All MACs / MACs whose targeted operand is not zero",
                    .row_title = "model",
                    .unit = "x"};
  for (const std::string& model : paper_models()) {
    const PotentialTotals& totals = runs.potential(last_trace(model)).per_batch;
    for (const Operation op : kOperations)
      table.set(model, kOperationTitles[op], totals.ops[op].speedup().value_or(0));
    Reason reason;
    std::string paper;
    if (model == "squeezenet" || model == "densenet121") {
      paper = "fig1." + model;
      reason = {fmt::format("{:.0f} % of A and {:.0f} % of G are zero in our training step: {}",
                            100 * runs.potential(last_trace(model)).zero_share(Operand::kA),
                            100 * runs.potential(last_trace(model)).zero_share(Operand::kG), data_sentence()),
                {}};
    }
    table.set(model, "all", totals.all.speedup().value_or(0), paper, reason);
  }
  const double mean = mean_of(paper_models(), [&](const std::string& m) { return potential_of(runs, m); });
  const double work_left =
      mean_of(paper_models(), [&](const std::string& m) { return 1 / potential_of(runs, m); });
  table.set(kMeanRow, "all", mean, "fig1.mean",
            {fmt::format(
                 "{:.0f} % of the MACs remain on average, {:.0f} % would at the paper's potential: {}; batch "
                 "normalisation leaves the gradients of densenet121 and img2txt without zeros",
                 100 * work_left, 100 / in.paper.at("fig1.mean").number, data_sentence()),
             {"A1"}});
  return {{table}, {}};
}

FigureResult make_fig13(const FigureInputs& in) {
  const Runs& runs = in.runs;
  FigureTable table{.id = "speedup",
                    .title = "Speedup over the same tiles without TensorDash, one tile",
                    .row_title = "model",
                    .unit = "x"};
  const auto one = [&](const std::string& m) -> const Run& {
    return runs.run(last_trace(m), "tensordash", kOneTile);
  };
  const auto chip = [&](const std::string& m) -> const Run& { return runs.run(last_trace(m), "tensordash"); };
  for (const std::string& model : paper_models()) {
    for (const Operation op : kOperations) {
      const bool compared = model == "densenet121" && op == Operation::kInputGrad;
      table.set(model, kOperationTitles[op], one(model).batch.of(op).speedup(),
                compared ? "fig13.densenet121.input_grad" : "");
    }
    table.set(model, "all", one(model).batch.all.speedup());
    table.set(model, "from zeros", one(model).batch.all.speedup_from_zeros());
    table.set(model, "16 tiles", chip(model).batch.all.speedup());
  }
  const double left =
      mean_of(paper_models(), [&](const std::string& m) { return 1 / potential_of(runs, m); });
  const Reason reason{
      fmt::format("{:.0f} % of the MACs of our traces remain when zeros are skipped, about {:.0f} % of the "
                  "paper's (Fig. 1): {}",
                  100 * left, 100 / in.paper.at("fig1.mean").number, data_sentence()),
      {"A1", "A4", "A5"}};
  for (const auto& [row, models] :
       {std::pair{kMeanRow, paper_models()}, std::pair{kMeanOfSevenRow, first_seven_models()}}) {
    const bool compared = row == std::string(kMeanRow);
    table.set(row, "all", mean_of(models, [&](const std::string& m) { return one(m).batch.all.speedup(); }),
              compared ? "fig13.mean" : "", compared ? reason : Reason{});
    table.set(row, "from zeros",
              mean_of(models, [&](const std::string& m) { return one(m).batch.all.speedup_from_zeros(); }));
    table.set(row, "16 tiles",
              mean_of(models, [&](const std::string& m) { return chip(m).batch.all.speedup(); }),
              compared ? "fig13.mean" : "",
              compared ? Reason{reason.text + "; tiles that wait for the slowest one cost the rest",
                                {"A1", "A2", "A4", "A5"}}
                       : Reason{});
  }
  FigureTable least{.id = "least",
                    .title = "The slowest operation of any layer of any of these models",
                    .row_title = "machine",
                    .unit = "x",
                    .chart = Chart::kNone};
  const auto smallest = [&](const auto& run_of) {
    double value = 100;
    for (const std::string& model : paper_models()) value = std::min(value, run_of(model).least_speedup);
    return value;
  };
  least.set("one tile", "least", smallest(one), "fig13.least")
      .set("16 tiles", "least", smallest(chip), "fig13.least");
  return {{table, least},
          {"Lanes that hold no element (the first layer's 3 channels in 16 lanes, ends of A*G's rows) are "
           "skipped as if they "
           "were zeros; 'from zeros' leaves out what they give."}};
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

std::string percent_title(const std::string& point) { return fmt::format("{} %", std::stoi(point)); }

FigureResult make_fig14(const FigureInputs& in) {
  const Runs& runs = in.runs;
  FigureTable table{.id = "speedup",
                    .title = "Speedup over the training, one tile",
                    .row_title = "model",
                    .unit = "x",
                    .chart = Chart::kLinesByRow};
  // Columns in order, whichever model comes first.
  for (const Series& one : series()) {
    for (const std::string& point : one.points) {
      const Run& run = runs.run(one.trace + "_p" + point, "tensordash", kOneTile);
      std::string paper;
      Reason reason;
      if (one.row.starts_with("resnet50") && (point == "002" || point == "100")) {
        paper = fmt::format("fig14.{}.{}", one.row, point == "002" ? "first" : "last");
        reason = {fmt::format("the pruned weights give A*W {:.2f}x and W*G {:.2f}x, but A*G, in which they "
                              "take no part, has {:.2f}x; {}",
                              run.batch.forward.speedup(), run.batch.input_grad.speedup(),
                              run.batch.weight_grad.speedup(), data_sentence()),
                  {"A1"}};
      } else if (point == "050" && (one.row == "alexnet" || one.row == "vgg16")) {
        paper = "fig14.dense";
      }
      table.set(one.row, percent_title(point), run.batch.all.speedup(), paper, reason);
    }
  }
  return {{table}, {"Each row is one training run. img2txt was recorded at three moments."}};
}

}  // namespace

std::vector<Figure> tensordash_speedup_figures() {
  Figure fig1{.id = "fig1",
              .title = "What skipping the zeros of one operand could give at best",
              .paper = "tensordash",
              .place = "Fig. 1, section 2",
              .runs = potential_runs(),
              .make = make_fig1};
  Figure fig13{.id = "fig13",
               .title = "Speedup of TensorDash by model and operation",
               .paper = "tensordash",
               .place = "Fig. 13, section 4.1",
               .runs = potential_runs(),
               .make = make_fig13};
  for (const std::string& model : paper_models()) {
    fig13.runs.push_back({last_trace(model), "tensordash", kOneTile, true});
    fig13.runs.push_back({last_trace(model), "tensordash"});
  }
  Figure fig14{.id = "fig14",
               .title = "Speedup of TensorDash as training progresses",
               .paper = "tensordash",
               .place = "Fig. 14, section 4.2",
               .make = make_fig14};
  for (const Series& one : series()) {
    for (const std::string& point : one.points)
      fig14.runs.push_back({one.trace + "_p" + point, "tensordash", kOneTile});
  }
  return {fig1, fig13, fig14};
}

}  // namespace lacuna::reproduce
