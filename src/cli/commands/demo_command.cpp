// lacuna demo: trains a network here, records its zeros, and runs every machine and the CPU's own kernels on
// them. Needs nothing but this program.
#include <filesystem>
#include <regex>
#include <utility>

#include "base/clock.hpp"
#include "base/io/output_file.hpp"
#include "base/parallel.hpp"
#include "cli/commands.hpp"
#include "cli/terminal/output.hpp"
#include "cli/terminal/progress_bar.hpp"
#include "cli/terminal/terminal.hpp"
#include "report/html_report.hpp"
#include "report/result/potential_report.hpp"
#include "report/result/result_csv.hpp"
#include "report/result/result_json.hpp"
#include "report/study/demo_tables.hpp"
#include "train/run/train_run.hpp"

namespace lacuna::cli {
namespace {

// Adds to a text of several lines, on a new one where the last would get too long to read.
void append_word(std::string& text, const std::string& word) {
  constexpr std::size_t kLongest = 110;
  const std::size_t begin = text.rfind('\n') == std::string::npos ? 0 : text.rfind('\n') + 1;
  text += text.size() - begin + 1 + word.size() > kLongest ? "\n  " : " ";
  text += word;
}

struct DemoOptions {
  std::string out = "lacuna-demo";
  std::int64_t steps = 1000;
  std::uint64_t seed = 1;
  int threads = 0;
  std::string html;  // empty: report.html in the folder, if this program has the page
};

class Demo final : public train::RunObserver {
 public:
  explicit Demo(const DemoOptions& options)
      : options_(options), folder_(options.out), style_(output_style()) {
    check_html(options.html);
  }

  // Results are printed at the end: the answer first, then how it was found.
  void run() {
    train();
    simulate();
    time_cpu();
    save_page();
    const std::string details = std::exchange(text_, {});
    answer();
    text_ += details;
    conclude();
    static const std::regex kColours("\x1b\\[[0-9;]*m");
    write("summary.txt", std::regex_replace(text_, kColours, ""));
    run_->check_folder();
    run_->folder().check(written_);
    bar_.clear();
    print_text(text_);
  }

 private:
  void say(const std::string& text) { text_ += text; }
  void heading(const std::string& text) { say(bold_text(text, style_) + "\n"); }

  void train() {
    train::TrainSpec spec;
    spec.out = options_.out;
    spec.replaces_demo = true;
    spec.training.steps = options_.steps;
    spec.training.seed = options_.seed;
    spec.network.threads = options_.threads;
    // Kernels that are chosen by timing would round differently from run to run.
    spec.network.kernels = train::Kernels::kSparse;
    spec.report_every = std::max<std::int64_t>(1, options_.steps / 5);
    spec.test_every = spec.checkpoint_every = options_.steps;
    spec.record_steps = {recorded_step(0), recorded_step(1), recorded_step(2)};
    run_.emplace(std::move(spec), *this);
    run_->run();
    say(fmt::format("{:.1f} % of the {} test images right after {:.0f} s.\n", 100 * run_->test_accuracy(),
                    grouped_digits(run_->data().test->size()), last_step_ - start_));
  }

  void begin() override {
    const train::NetworkOptions& network = run_->network().options();
    heading("\n1. Training, here and now (measured)");
    say(fmt::format(
        "{}: six 3x3 convolutions and two linear layers, no batch norm; {} parameters. Built-in images of {} "
        "shapes,\nbatch {}, {}, zero-skipping kernels, {}.\n",
        run_->spec().model, grouped_digits(run_->network().graph().parameters()),
        run_->data().train->classes().size(), network.batch, counted(options_.steps, "step"),
        counted(network.threads, "thread")));
    say(fmt::format("{:>8} {:>8} {:>9} {:>9} {:>8} {:>8}\n", "steps", "loss", "accuracy", "images/s",
                    "zeros A", "zeros G"));
    start_ = seconds_now();
  }
  void progress(double share, const std::string& what) override {
    bar_.update(share, what);
    last_step_ = seconds_now();
  }
  void line(const train::TrainLine& line) override {
    say(fmt::format("{:>8} {:>8.4f} {:>7.1f} % {:>9.0f} {:>6.1f} % {:>6.1f} %\n", line.step, line.loss,
                    100 * line.accuracy, line.images_per_second, 100 * line.zeros.activations,
                    100 * line.zeros.gradients));
  }
  void recorded(const Trace& trace) override {
    written_.push_back(trace_file(traces_.size()));
    traces_.push_back(trace);
  }

  std::filesystem::path trace_file(std::size_t which) const {
    return run_->folder().trace(recorded_step(static_cast<int>(which)));
  }

  // Early, in the middle and the last one.
  std::int64_t recorded_step(int which) const {
    return which == 0 ? options_.steps / 20 : which == 1 ? options_.steps / 2 : options_.steps - 1;
  }

  void simulate() {
    DemoMachines machines;
    for (const Trace& trace : traces_)
      points_.push_back(machines.simulate(trace, resolve_threads(options_.threads),
                                          [&](double share) { bar_.update(share, "simulating"); }));
    heading("\n2. Where the zeros are (recorded at the last step)");
    say(zeros_table(points_.back(), style_));
    say("A: input activations, W: weights, G: gradients of the outputs. 'at best': the speedup if every\n"
        "multiplication whose sparser operand is zero took no time.\n");
    heading(fmt::format("\n3. Accelerators on that step (simulated cycle by cycle, {} multipliers each)",
                        grouped_digits(kDemoMultipliers)));
    say(machines_table(points_.back(), kDemoMultipliers, style_));
    say("Speedups by operation are from zeros. from zeros x without zeros = speedup over the dense machine:\n"
        "'without zeros' is what the machine would have if no value were zero, above 1 from lanes that\n"
        "channels, positions or samples do not fill and from borders of images.\n"
        "'useful': share of multiplier slots that did work with two non-zero operands.\n"
        "With memory, all machines wait for LPDDR4, and all but SCNN and ANT for SRAM; for transposers "
        "those\n"
        "of tiles alone. 'limited by': what bounds the time with memory; SCNN and ANT also: slots lost to\n"
        "products that fit no output, to vectors that are not full, to waiting.\n"
        "Energy: 65 nm, FP32, tables with sources ('lacuna arch area', docs/models).\n");
    say("\nOver the training:\n");
    say(progress_table(points_, style_));
    save_results();
  }

  void save_results() {
    const SimulationOutcome outcome = demo_outcome(points_);
    results_json_ = results_to_json(outcome, true);
    write("results.json", results_json_);
    write("results.csv", results_to_csv(outcome));
  }

  void write(const char* name, const std::string& text) {
    write_file(folder_ / name, text, OutputFile::Links::kRefuse);
    written_.push_back(folder_ / name);
  }

  void time_cpu() {
    const auto steps = static_cast<int>(std::clamp<std::int64_t>(options_.steps / 16, 3, 30));
    times_ = run_->time_kernels(train::Kernels::kSparse, steps);
    written_.push_back(run_->folder().kernels());
    heading("\n4. The same zeros on this CPU (measured, wall clock)");
    say(
        fmt::format("Dense: oneDNN's direct convolution; sparse: kernels that skip zeros. The trained "
                    "weights, {} batches, "
                    "interleaved;\nmedians. Results agree except for rounding.\n",
                    times_.steps));
    say(kernels_table(times_, style_));
    say(fmt::format("A whole step, forward and backward: {:.1f} ms dense, {:.1f} ms sparse, {:.2f}x.\n",
                    times_.dense_step_ms, times_.other_step_ms, times_.step_speedup));
  }

  void save_page() {
    if (!has_report_page()) return;
    const bool own = options_.html.empty();
    page_ = own ? folder_ / "report.html" : std::filesystem::path(options_.html);
    std::vector<Inspection> inspections;
    std::vector<std::string> files;
    for (std::size_t i = 0; i < points_.size(); ++i) {
      files.push_back(trace_file(i).string());
      inspections.push_back({points_[i].machines.front().ideal.trace, traces_[i].info(), traces_[i].batch(),
                             points_[i].potential});
    }
    write_html(page_, "demo",
               {{"simulate", results_json_},
                {"inspect", inspections_to_json(inspections)},
                {"files", files_part(files)},
                {"train", train_part(run_->config_json(), run_->folder().log())},
                {"kernels", kernels_part(times_)}},
               own ? OutputFile::Links::kRefuse : OutputFile::Links::kFollow);
    if (own) written_.push_back(page_);
  }

  void answer() {
    const DemoPoint& last = points_.back();
    const PotentialTotals& all = last.potential.per_batch;
    heading("How much of training is spent on zeros, and what does skipping them give?");
    say(fmt::format(
        "{:.0f} % of this training's multiplications are on zeros; skipping them all would be {}x faster.\n",
        100 * (1 - all.all.remaining / all.all.macs), ratio_text(all.all.macs, all.all.remaining)));
    std::string simulated = "Simulated, over the dense machine (from zeros):";
    for (std::size_t m = 1; m < last.machines.size(); ++m) {
      const CycleComparison cycles = demo_cycles(last.machines[m]);
      append_word(simulated, fmt::format("{} {} ({}){}", last.machines[m].title, times_text(cycles.speedup()),
                                         times_text(cycles.speedup_from_zeros()),
                                         m + 1 < last.machines.size() ? "," : ""));
    }
    append_word(simulated, "with ideal memory");
    const DemoMachine& dense = last.machines[0];
    const DemoMachine& headline = last.machines[kDemoHeadline];
    if (dense.energy && headline.energy) {
      simulated += ';';
      append_word(simulated, fmt::format("{} with its memory takes {}x less energy", headline.title,
                                         ratio_text(headline.energy->all.chip_efficiency())));
    }
    say(simulated);
    say(fmt::format(".\nMeasured: this CPU's kernels {:.2f}x in the layers after the first.\n",
                    times_.layers_speedup));
  }

  void conclude() {
    say(
        fmt::format("\nSaved in {}/: summary.txt, three traces, results.json and .csv, kernels.csv, log.csv, "
                    "the checkpoint.\n"
                    "Next: lacuna simulate {} --layers; lacuna train --help; lacuna arch list\n",
                    folder_.string(), (folder_ / "trace_*.zst").string()));
    if (!page_.empty()) say(fmt::format("The same in pictures: open {} in a browser.\n", page_.string()));
  }

  DemoOptions options_;
  std::filesystem::path folder_;
  TextStyle style_;
  ProgressBar bar_;
  std::string text_;
  std::optional<train::TrainRun> run_;
  double start_ = 0, last_step_ = 0;
  std::vector<Trace> traces_;
  std::vector<DemoPoint> points_;
  train::KernelTimes times_;
  std::string results_json_;
  std::filesystem::path page_;  // empty: none was written
  std::vector<std::filesystem::path> written_;
};

void run_demo(const DemoOptions& options) { Demo(options).run(); }

}  // namespace

void add_demo_command(CLI::App& app) {
  const auto [command, options] = add_command<DemoOptions>(
      app, "demo",
      "Train a small network, record its zeros, and run every machine and kernel on them (a minute)",
      run_demo);
  add(command, "--out", options.out, "DIR", "Folder for all results")->capture_default_str();
  add(command, "--steps", options.steps, "N", "Steps to train")
      ->check(CLI::Range(20, 1'000'000).description(""))
      ->capture_default_str();
  add_seed_option(command, options.seed, "Seed; the same seed gives the same numbers, except for timings");
  add_threads_option(command, options.threads);
  add_html_option(command, options.html);
  add_examples(command, {{"lacuna demo", "no data, no network needed; about 20 seconds on two cores"},
                         {"lacuna demo --steps 40 --out quick", "a first impression"}});
}

}  // namespace lacuna::cli
