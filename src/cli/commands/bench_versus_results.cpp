#include "cli/commands/bench_versus_results.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text/csv_text.hpp"
#include "base/version.hpp"
#include "kernels/measure/measure.hpp"

namespace lacuna::cli {
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

std::size_t place(VersusSide side) { return static_cast<std::size_t>(side); }

}  // namespace

const char* versus_side_name(VersusSide side) {
  switch (side) {
    case VersusSide::kTorchContiguous:
      return "torch_contiguous";
    case VersusSide::kTorchChannelsLast:
      return "torch_channels_last";
    case VersusSide::kDense:
      return "dense";
    case VersusSide::kAuto:
      break;
  }
  return "auto";
}

double VersusCase::speed(VersusSide side) const { return kernels::median(speeds[place(side)]); }

VersusSide VersusCase::best_torch() const {
  return speed(VersusSide::kTorchContiguous) >= speed(VersusSide::kTorchChannelsLast)
             ? VersusSide::kTorchContiguous
             : VersusSide::kTorchChannelsLast;
}

double VersusCase::ratio(VersusSide side, VersusSide other) const {
  std::vector<double> ratios;
  for (std::size_t round = 0; round < rounds(); ++round)
    ratios.push_back(speeds[place(side)][round] / speeds[place(other)][round]);
  return kernels::median(ratios);
}

bool VersusCase::losses_agree() const {
  return first_difference < (rounded ? kSameLossRounded : kSameLoss) && loss_difference < kSameCurve;
}

std::string VersusCase::title() const {
  return prune == "none" ? network : fmt::format("{}, {} {:.3g} %", network, prune, 100 * prune_zeros);
}

std::string versus_table(const VersusReport& report, const TextStyle& style) {
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
  bool agree = true;
  std::int64_t before = 0;
  int compared = 0;
  for (const VersusCase& c : report.cases) {
    std::vector<std::string> cells = {printable(c.title())};
    for (const VersusSide side : kVersusSides)
      cells.push_back(fmt::format("{:.{}f}", c.speed(side), c.speed(side) < 100 ? 1 : 0));
    for (const VersusSide other : {c.best_torch(), VersusSide::kDense})
      cells.push_back(fmt::format("{:.2f}x", c.ratio(VersusSide::kAuto, other)));
    for (const double share : {c.activation_zeros, c.gradient_zeros, c.weight_zeros})
      cells.push_back(percent(share));
    cells.push_back(fmt::format("{} x {}", c.rounds(), c.block_steps));
    cells.push_back(fmt::format("{:.0e}", c.loss_difference));
    table.add_row(std::move(cells));
    agree = agree && c.losses_agree();
    before = c.steps_before;
    compared = c.compared_losses;
  }
  text += table.render(style);
  fmt::format_to(
      std::back_inserter(text),
      "dense: oneDNN through lacuna's engine; auto: zero-skipping kernels or oneDNN, chosen for each "
      "call. All four start from\nthe weights after {} and train on the same batches in turn, block "
      "by block; medians over the blocks.\nNot counted: loading images, and {} of warm-up, whose "
      "losses are compared{}.\n",
      counted(before, "step"), counted(compared, "step"), agree ? ": they agree" : "");
  for (const VersusCase& c : report.cases)
    if (!c.losses_agree())
      fmt::format_to(std::back_inserter(text),
                     "{}: losses differ by {:.1e}: the two do not train the same network\n",
                     printable(c.title()), c.loss_difference);
  const auto busiest = std::ranges::max_element(report.cases, {}, &VersusCase::waited);
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

std::string versus_json(const VersusReport& report) {
  using nlohmann::ordered_json;
  ordered_json json;
  json["schema"] = 1;
  json["lacuna"] = version();
  json["machine"] = {{"cpu", report.machine.cpu},
                     {"isa", report.machine.isa},
                     {"onednn", report.machine.onednn},
                     {"peak_gflops", report.machine.peak_gflops}};
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
  for (const VersusCase& c : report.cases) {
    ordered_json entry;
    entry["network"] = c.network;
    entry["settings"] = c.settings;
    entry["prune"] = c.prune;
    if (c.prune != "none") entry["prune_zeros"] = c.prune_zeros;
    entry["parameters"] = c.parameters;
    for (const VersusSide side : kVersusSides)
      entry["images_per_second"][versus_side_name(side)] = c.speed(side);
    entry["best_torch"] = versus_side_name(c.best_torch());
    entry["x_torch"] = c.ratio(VersusSide::kAuto, c.best_torch());
    entry["x_dense"] = c.ratio(VersusSide::kAuto, VersusSide::kDense);
    entry["zeros"] = {{"A", c.activation_zeros}, {"G", c.gradient_zeros}, {"W", c.weight_zeros}};
    entry["winograd"] = c.winograd;
    entry["steps_before"] = c.steps_before;
    entry["warmup_steps"] = c.compared_losses;
    entry["waited"] = c.waited;
    entry["loss_difference"] = c.loss_difference;
    entry["losses_agree"] = c.losses_agree();
    entry["block_steps"] = c.block_steps;
    for (const VersusSide side : kVersusSides)
      entry["blocks"][versus_side_name(side)] = c.speeds[place(side)];
    json["networks"].push_back(entry);
  }
  // The name of a file may hold any bytes.
  return json.dump(1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

std::string versus_csv(const VersusReport& report) {
  std::string text = "network,prune,prune_zeros,batch,height,width,threads,precision,exact,torch";
  for (const VersusSide side : kVersusSides) text += fmt::format(",{}", versus_side_name(side));
  text += ",x_torch,x_dense,zeros_a,zeros_g,zeros_w,steps_before,blocks,block_steps,loss_difference,waited\n";
  auto out = std::back_inserter(text);
  for (const VersusCase& c : report.cases) {
    fmt::format_to(out, "{},{},{},{},{},{},{},{},{},{}", csv_text(c.network), c.prune,
                   c.prune == "none" ? "" : fmt::format("{}", c.prune_zeros), report.batch, report.image[1],
                   report.image[2], report.threads, report.precision, report.exact ? 1 : 0,
                   csv_text(report.torch));
    for (const VersusSide side : kVersusSides) fmt::format_to(out, ",{:.3f}", c.speed(side));
    fmt::format_to(out, ",{:.4f},{:.4f},{:.4f},{:.4f},{:.4f},{},{},{},{:.3e},{:.4f}\n",
                   c.ratio(VersusSide::kAuto, c.best_torch()), c.ratio(VersusSide::kAuto, VersusSide::kDense),
                   c.activation_zeros, c.gradient_zeros, c.weight_zeros, c.steps_before, c.rounds(),
                   c.block_steps, c.loss_difference, c.waited);
  }
  return text;
}

}  // namespace lacuna::cli
