#include "bench/torch/torch_report.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text/csv.hpp"
#include "bench/columns.hpp"
#include "kernels/measure/measure.hpp"

namespace lacuna::bench {

using nlohmann::ordered_json;

namespace {

// Of the first step, in which only sums are in another order (bfloat16: and operands rounded), and of steps
// that start from weights that have begun to differ. ResNet-50's losses of 32x32 images, whose last norms see
// 32 values per channel, are 3 % apart after three steps of 0.01; PyTorch's own gradients are 1.7 % from
// those in double precision there.
constexpr double kSameLoss = 1e-2;
constexpr double kSameLossRounded = 5e-2;
constexpr double kSameCurve = 0.1;
// Share of the time that threads may wait for a core before a machine counts as busy. Alone on it: below
// 0.01.
constexpr double kBusy = 0.05;

std::size_t place(Side side) { return static_cast<std::size_t>(side); }

}  // namespace

const char* side_name(Side side) {
  switch (side) {
    case Side::kTorchContiguous:
      return "torch_contiguous";
    case Side::kTorchChannelsLast:
      return "torch_channels_last";
    case Side::kDense:
      return "dense";
    case Side::kAuto:
      break;
  }
  return "auto";
}

double TorchCase::speed(Side side) const { return kernels::median(speeds[place(side)]); }

Side TorchCase::best_torch() const {
  return speed(Side::kTorchContiguous) >= speed(Side::kTorchChannelsLast) ? Side::kTorchContiguous
                                                                          : Side::kTorchChannelsLast;
}

double TorchCase::ratio(Side side, Side other) const {
  std::vector<double> ratios;
  for (std::size_t round = 0; round < rounds(); ++round)
    ratios.push_back(speeds[place(side)][round] / speeds[place(other)][round]);
  return kernels::median(ratios);
}

bool TorchCase::losses_agree() const {
  return first_difference < (rounded ? kSameLossRounded : kSameLoss) && loss_difference < kSameCurve;
}

std::string TorchCase::title() const {
  return prune == "none" ? network : fmt::format("{}, {} {:.3g} %", network, prune, 100 * prune_zeros);
}

bool losses_agree(const TorchReport& report) {
  return std::ranges::all_of(report.cases, &TorchCase::losses_agree);
}

std::string torch_text(const TorchReport& report, const TextStyle& style) {
  std::string text = fmt::format("{}, {}, {}; PyTorch {} (Python {}{})\n", report.machine.cpu,
                                 report.machine.isa, report.machine.onednn, report.torch, report.python,
                                 report.blas.empty() ? "" : fmt::format(", BLAS: {}", report.blas));
  fmt::format_to(std::back_inserter(text),
                 "Images per second of whole training steps: forward, backward, SGD with momentum. {}, batch "
                 "{}, images of {}x{} ({}).\n",
                 counted(report.threads, "thread"), report.batch, report.image[1], report.image[2],
                 printable(report.data));
  TextTable table({{"network", Align::kLeft},
                   {"contiguous", Align::kRight, "PyTorch"},
                   {"channels last", Align::kRight, "PyTorch"},
                   {"dense", Align::kRight, "lacuna"},
                   {fmt::format("auto{}{}", report.exact ? ", exact" : "",
                                report.precision == "float32" ? "" : ", " + report.precision),
                    Align::kRight, "lacuna"},
                   {"PyTorch's best", Align::kRight, "auto over"},
                   {"dense", Align::kRight, "auto over"},
                   {"A", Align::kRight, "zeros"},
                   {"G", Align::kRight, "zeros"},
                   {"W", Align::kRight, "zeros"},
                   {"blocks x steps", Align::kRight},
                   {"agree to", Align::kRight, "losses"}});
  const auto percent = [](double share) { return fmt::format("{:.0f} %", 100 * share); };
  std::int64_t before = 0;
  int compared = 0;
  for (const TorchCase& c : report.cases) {
    std::vector<std::string> cells = {printable(c.title())};
    for (const Side side : kSides)
      cells.push_back(fmt::format("{:.{}f}", c.speed(side), c.speed(side) < 100 ? 1 : 0));
    for (const Side other : {c.best_torch(), Side::kDense})
      cells.push_back(fmt::format("{:.2f}x", c.ratio(Side::kAuto, other)));
    for (const double share : {c.activation_zeros, c.gradient_zeros, c.weight_zeros})
      cells.push_back(percent(share));
    cells.push_back(fmt::format("{} x {}", c.rounds(), c.block_steps));
    cells.push_back(fmt::format("{:.0e}", c.loss_difference));
    table.add_row(std::move(cells));
    before = c.steps_before;
    compared = c.compared_losses;
  }
  text += table.render(style);
  fmt::format_to(
      std::back_inserter(text),
      "dense: oneDNN through lacuna's engine; auto: zero-skipping kernels or oneDNN, chosen for each "
      "call. All four start from\nthe weights after {} and train on the same batches, interleaved block "
      "by block; medians over the blocks.\nNot counted: loading images, and {} of warm-up, whose "
      "losses are compared{}.\n",
      counted(before, "step"), counted(compared, "step"), losses_agree(report) ? ": they agree" : "");
  for (const TorchCase& c : report.cases)
    if (!c.losses_agree())
      fmt::format_to(std::back_inserter(text),
                     "{}: losses differ by {:.1e}: the two do not train the same network\n",
                     printable(c.title()), c.loss_difference);
  const auto busiest = std::ranges::max_element(report.cases, {}, &TorchCase::waited);
  if (busiest != report.cases.end() && busiest->waited > kBusy)
    fmt::format_to(
        std::back_inserter(text),
        "others used the cores meanwhile: in {} threads waited for one {:.0f} % of the time; measure "
        "again when the machine is idle\n",
        printable(busiest->title()), 100 * busiest->waited);
  if (report.blas == "reference")
    text +=
        "PyTorch uses the reference BLAS here, which makes its linear layers many times slower than they "
        "need "
        "be (Debian: apt install libopenblas0)\n";
  if (!report.complete) text += "stopped before the end; what was measured is above\n";
  return text;
}

ordered_json torch_json(const TorchReport& report) {
  ordered_json json = json_head(report.machine);
  json["torch"] = report.torch;
  json["python"] = report.python;
  if (!report.blas.empty()) json["blas"] = report.blas;
  json["data"] = report.data;
  json["image"] = report.image;
  json["batch"] = report.batch;
  json["threads"] = report.threads;
  json["lr"] = report.rate;
  json["precision"] = report.precision;
  json["exact"] = report.exact;
  json["complete"] = report.complete;
  json["networks"] = ordered_json::array();
  for (const TorchCase& c : report.cases) {
    ordered_json entry;
    entry["network"] = c.network;
    entry["settings"] = c.settings;
    entry["prune"] = c.prune;
    if (c.prune != "none") entry["prune_zeros"] = c.prune_zeros;
    entry["parameters"] = c.parameters;
    for (const Side side : kSides) entry["images_per_second"][side_name(side)] = c.speed(side);
    entry["best_torch"] = side_name(c.best_torch());
    entry["x_torch"] = c.ratio(Side::kAuto, c.best_torch());
    entry["x_dense"] = c.ratio(Side::kAuto, Side::kDense);
    entry["zeros"] = {{"A", c.activation_zeros}, {"G", c.gradient_zeros}, {"W", c.weight_zeros}};
    entry["winograd"] = c.winograd;
    entry["steps_before"] = c.steps_before;
    entry["warmup_steps"] = c.compared_losses;
    entry["waited"] = c.waited;
    entry["loss_difference"] = c.loss_difference;
    entry["losses_agree"] = c.losses_agree();
    entry["block_steps"] = c.block_steps;
    for (const Side side : kSides) entry["blocks"][side_name(side)] = c.speeds[place(side)];
    json["networks"].push_back(entry);
  }
  return json;
}

std::string torch_csv(const TorchReport& report) {
  const auto decimals = [](double value, int digits) { return fmt::format("{:.{}f}", value, digits); };
  std::vector<Column<TorchCase>> columns = {
      {{"network"}, [](const TorchCase& c) { return csv_text(c.network); }},
      {{"prune"}, [](const TorchCase& c) { return c.prune; }},
      {{"prune_zeros"},
       [](const TorchCase& c) { return c.prune == "none" ? "" : fmt::format("{}", c.prune_zeros); }}};
  const auto same = [&](const char* name, const auto& value) {
    columns.push_back({{name}, [text = fmt::format("{}", value)](const TorchCase&) { return text; }});
  };
  same("batch", report.batch);
  same("height", report.image[1]);
  same("width", report.image[2]);
  same("threads", report.threads);
  same("precision", report.precision);
  same("exact", report.exact ? 1 : 0);
  same("torch", csv_text(report.torch));
  for (const Side side : kSides)
    columns.push_back({{side_name(side)}, [=](const TorchCase& c) { return decimals(c.speed(side), 3); }});
  const auto add = [&](const char* name, std::function<std::string(const TorchCase&)> cell) {
    columns.push_back({{name}, std::move(cell)});
  };
  add("x_torch", [=](const TorchCase& c) { return decimals(c.ratio(Side::kAuto, c.best_torch()), 4); });
  add("x_dense", [=](const TorchCase& c) { return decimals(c.ratio(Side::kAuto, Side::kDense), 4); });
  add("zeros_a", [=](const TorchCase& c) { return decimals(c.activation_zeros, 4); });
  add("zeros_g", [=](const TorchCase& c) { return decimals(c.gradient_zeros, 4); });
  add("zeros_w", [=](const TorchCase& c) { return decimals(c.weight_zeros, 4); });
  add("steps_before", [](const TorchCase& c) { return std::to_string(c.steps_before); });
  add("blocks", [](const TorchCase& c) { return std::to_string(c.rounds()); });
  add("block_steps", [](const TorchCase& c) { return std::to_string(c.block_steps); });
  add("loss_difference", [](const TorchCase& c) { return fmt::format("{:.3e}", c.loss_difference); });
  add("waited", [=](const TorchCase& c) { return decimals(c.waited, 4); });
  return render_csv(report.cases, columns);
}

}  // namespace lacuna::bench
