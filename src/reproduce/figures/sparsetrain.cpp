// SparseTrain's four networks, timed on this machine.
#include <cmath>
#include <fmt/format.h>
#include <span>

#include "dataset/dataset.hpp"
#include "reproduce/figure.hpp"
#include "train/graph/model_file.hpp"
#include "train/run/kernel_times.hpp"
#include "train/run/trainer.hpp"

namespace lacuna::reproduce {
namespace {

// docs/results/training.md has the same: a few steps of training, then pairs of steps with the same weights
// and batches, dense and zero-skipping interleaved.
struct TimedNetwork {
  const char* model;
  std::int64_t batch;
  std::int64_t steps;
  double rate;  // VGG16 diverges at higher rates within a few steps
};
constexpr TimedNetwork kTimedNetworks[] = {{"vgg16", 4, 20, 0.0005},
                                           {"resnet34", 8, 12, 0.005},
                                           {"resnet50", 8, 12, 0.005},
                                           {"fixup-resnet50", 8, 12, 0.005}};
struct Effort {
  int image_size;
  int pairs;
};
constexpr Effort kWhole{224, 5};
// One network, small: seconds.
constexpr TimedNetwork kQuickNetworks[] = {{"resnet34", 2, 2, 0.005}};
constexpr Effort kQuick{32, 1};

struct Stopped {};

struct TimedResult {
  train::KernelTimes times;
  train::ZeroReport zeros;
};

TimedResult time_network(const TimedNetwork& network, const Effort& effort, int threads,
                         const Progress& progress) {
  dataset::DatasetOptions options;
  options.image_size = effort.image_size;
  options.train_size = 200;
  options.test_size = 32;
  const dataset::DatasetPair data = dataset::open_dataset("shapes", options);
  const dataset::ImageShape image = data.train->shape();
  const train::ModelSettings settings{{"size", std::to_string(image.height)},
                                      {"channels", std::to_string(image.channels)},
                                      {"classes", std::to_string(data.train->classes().size())}};
  train::Network net(train::open_model(network.model, settings),
                     {network.batch, train::Kernels::kAuto, threads},
                     [&](double share) { progress(0.3 * share); });
  train::TrainOptions training;
  training.steps = network.steps;
  training.schedule.rate = network.rate;
  training.schedule.warmup = network.steps / 20;
  train::Trainer trainer(net, data, training);
  while (!trainer.done()) {
    trainer.run_step();
    progress(0.3 + 0.4 * static_cast<double>(trainer.step()) / static_cast<double>(network.steps));
  }
  const train::ZeroReport zeros = trainer.zeros();
  return {time_kernels(net, trainer, train::Kernels::kAuto, effort.pairs,
                       [&](double share) { progress(0.7 + 0.3 * share); }),
          zeros};
}

FigureResult make_sparsetrain(const FigureInputs& in) {
  const Effort& effort = in.quick ? kQuick : kWhole;
  FigureTable table{
      .id = "speedup",
      .title =
          fmt::format("Training with zero-skipping kernels over dense ones, images of {0} x {0}, wall clock",
                      effort.image_size),
      .row_title = "network",
      .unit = "x"};
  FigureTable zeros{.id = "zeros",
                    .title = "Zeros of the last training step, weighted by multiplications",
                    .row_title = "network",
                    .unit = "%",
                    .digits = 0,
                    .chart = Chart::kNone};
  double done = 0;
  const std::span<const TimedNetwork> networks =
      in.quick ? std::span<const TimedNetwork>(kQuickNetworks) : kTimedNetworks;
  const double part = 1.0 / static_cast<double>(networks.size());
  std::vector<std::string> notes;
  for (const TimedNetwork& network : networks) {
    TimedResult result;
    try {
      result = time_network(network, effort, in.threads, [&](double share) {
        if (in.stop()) throw Stopped();
        in.progress(done + share * part);
      });
    } catch (const Stopped&) {
      notes.push_back(fmt::format("Stopped after {:.0f} of {} networks.", done / part, networks.size()));
      break;
    }
    done += part;
    const double a = 100 * result.zeros.activations, g = 100 * result.zeros.gradients;
    table.set(network.model, "layers after the first", result.times.layers_speedup,
              in.quick ? "" : network.model,
              {fmt::format("{:.0f} % of A and {:.0f} % of G are zero after {} steps; the paper averages "
                           "whole trainings on ImageNet, which have more, on a Skylake against MKL-DNN",
                           a, g, network.steps),
               {"K1", "K2"},
               {fmt::format("zeros/{}/A", network.model), fmt::format("zeros/{}/G", network.model)}});
    table.set(network.model, "whole step", result.times.step_speedup);
    zeros.set(network.model, "A", a).set(network.model, "G", g);
  }
  if (in.quick) {
    notes.push_back(
        "A quick run of one network on small images: it shows that the timing works here. Nothing in it "
        "compares with the paper.");
  }
  notes.insert(notes.end(), {"Times of this machine, not simulated: they differ from run to run and mean "
                             "little while other programs run.",
                             "With batch normalisation between convolution and ReLU the gradients have no "
                             "zeros, so the input gradient stays dense."});
  return {{table, zeros}, notes};
}

}  // namespace

std::vector<Figure> sparsetrain_figures() {
  return {{"sparsetrain", "SparseTrain's networks on this CPU", "sparsetrain", "abstract", make_sparsetrain,
           true}};
}

}  // namespace lacuna::reproduce
