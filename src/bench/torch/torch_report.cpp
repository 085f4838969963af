#include "bench/torch/torch_report.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "bench/columns.hpp"
#include "kernels/measure/measure.hpp"

namespace lacuna::bench {

namespace {

// Largest differences of losses: of the first step, in which only sums are in another order (bfloat16: and
// operands rounded), and of steps that start from weights that have begun to differ. ResNet-50's losses of
// 32x32 images, whose last norms see 32 values per channel, are 3 % apart after three steps of 0.01;
// PyTorch's own gradients are 1.7 % from those in double precision there.
constexpr double kSameLoss = 1e-2;
constexpr double kSameLossRounded = 5e-2;
constexpr double kSameCurve = 0.1;
// Share of the time that threads may wait for a core before a machine counts as busy. Alone on it: below
// 0.01.
constexpr double kBusy = 0.05;

std::size_t place(Side side) { return static_cast<std::size_t>(side); }

}  // namespace

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
                 counted(report.spec.threads, "thread"), report.spec.batch, report.image[1], report.image[2],
                 printable(report.data));
  TextTable table({{"network", Align::kLeft},
                   {"contiguous", Align::kRight, "PyTorch"},
                   {"channels last", Align::kRight, "PyTorch"},
                   {"dense", Align::kRight, "lacuna"},
                   {fmt::format("auto{}{}", report.spec.exact ? ", exact" : "",
                                report.spec.precision == "float32" ? "" : ", " + report.spec.precision),
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
  std::string passive;
  for (const TorchCase& c : report.cases)
    if (c.passive) passive += (passive.empty() ? "" : ", ") + printable(c.title());
  if (!passive.empty())
    fmt::format_to(std::back_inserter(text), "OMP_WAIT_POLICY=passive for PyTorch{}: {}\n",
                   report.spec.wait == "auto" ? ", where that is faster for it" : "", passive);
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

namespace {

// The columns of CSV. JSON has those of the whole report once, and some in objects.
std::vector<Field<TorchCase>> case_fields(const TorchReport& report) {
  using Case = TorchCase;
  std::vector<Field<Case>> fields = {
      {"network", [](const Case& c) { return c.network; }},
      {"prune", [](const Case& c) { return c.prune; }},
      {"prune_zeros", [](const Case& c) { return c.prune == "none" ? Json() : Json(c.prune_zeros); }}};
  const auto csv = [&](const char* name, std::function<Json(const Case&)> value, const char* number = "{}") {
    fields.push_back({name, std::move(value), number, false});
  };
  const TorchSpec& spec = report.spec;
  csv("batch", [&](const Case&) { return spec.batch; });
  csv("height", [&](const Case&) { return report.image[1]; });
  csv("width", [&](const Case&) { return report.image[2]; });
  csv("threads", [&](const Case&) { return spec.threads; });
  csv("precision", [&](const Case&) { return spec.precision; });
  csv("exact", [&](const Case&) { return spec.exact; });
  csv("torch", [&](const Case&) { return report.torch; });
  for (const Side side : kSides)
    csv(
        side_name(side), [=](const Case& c) { return c.speed(side); }, "{:.3f}");
  const char* const ratio = "{:.4f}";
  fields.push_back({"x_torch", [](const Case& c) { return c.ratio(Side::kAuto, c.best_torch()); }, ratio});
  fields.push_back({"x_dense", [](const Case& c) { return c.ratio(Side::kAuto, Side::kDense); }, ratio});
  csv(
      "zeros_a", [](const Case& c) { return c.activation_zeros; }, ratio);
  csv(
      "zeros_g", [](const Case& c) { return c.gradient_zeros; }, ratio);
  csv(
      "zeros_w", [](const Case& c) { return c.weight_zeros; }, ratio);
  fields.push_back({"torch_wait", [](const Case& c) { return c.passive ? "passive" : "default"; }});
  fields.push_back({"steps_before", [](const Case& c) { return c.steps_before; }});
  csv("blocks", [](const Case& c) { return c.rounds(); });
  fields.push_back({"block_steps", [](const Case& c) { return c.block_steps; }});
  fields.push_back({"loss_difference", [](const Case& c) { return c.loss_difference; }, "{:.3e}"});
  fields.push_back({"waited", [](const Case& c) { return c.waited; }, ratio});
  return fields;
}

}  // namespace

Json torch_json(const TorchReport& report) {
  Json json = document_of(report.machine);
  json["torch"] = report.torch;
  json["python"] = report.python;
  if (!report.blas.empty()) json["blas"] = report.blas;
  json["data"] = report.data;
  json["image"] = report.image;
  json["batch"] = report.spec.batch;
  json["threads"] = report.spec.threads;
  json["lr"] = report.spec.rate;
  json["precision"] = report.spec.precision;
  json["exact"] = report.spec.exact;
  json["complete"] = report.complete;
  json["networks"] = Json::array();
  const std::vector<Field<TorchCase>> fields = case_fields(report);
  for (const TorchCase& c : report.cases) {
    Json entry;
    add_json(entry, c, fields);
    entry["settings"] = c.settings;
    entry["parameters"] = c.parameters;
    entry["best_torch"] = side_name(c.best_torch());
    entry["zeros"] = {{"A", c.activation_zeros}, {"G", c.gradient_zeros}, {"W", c.weight_zeros}};
    entry["winograd"] = c.winograd;
    entry["warmup_steps"] = c.compared_losses;
    entry["losses_agree"] = c.losses_agree();
    for (const Side side : kSides) {
      entry["images_per_second"][side_name(side)] = c.speed(side);
      entry["blocks"][side_name(side)] = c.speeds[place(side)];
    }
    json["networks"].push_back(entry);
  }
  return json;
}

std::string torch_csv(const TorchReport& report) { return render_csv(report.cases, case_fields(report)); }

}  // namespace lacuna::bench
