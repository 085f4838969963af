// lacuna train: the built-in training engine.
#include <new>

#include "base/error.hpp"
#include "cli/commands.hpp"
#include "cli/commands/train_options.hpp"
#include "cli/commands/train_resume.hpp"
#include "cli/commands/train_run.hpp"
#include "cli/terminal/terminal.hpp"
#include "kernels/dense/onednn.hpp"

namespace lacuna::cli {
namespace {

void print_models() {
  TextTable table(
      {{"model", Align::kLeft}, {"about", Align::kLeft}, {"parameters, with --set", Align::kLeft}});
  for (const train::ModelSummary& model : train::built_in_models()) {
    std::string settings;
    for (const train::ModelParameter& parameter : model.parameters)
      settings += fmt::format("{}{}={}", settings.empty() ? "" : " ", parameter.name, parameter.value);
    table.add_row({model.name, model.about, settings});
  }
  print_text(table.render(output_style()));
}

// What is allocated beyond the estimate (oneDNN's own memory, other programs') may still fail.
void train(const TrainCommand& command) {
  const InputError out_of_memory("train", "out of memory",
                                 "use a smaller batch (--batch), smaller images (--size) or fewer threads");
  try {
    TrainRun(command).run();
  } catch (const std::bad_alloc&) {
    throw out_of_memory;
  } catch (const dnnl::error& error) {
    if (error.status == dnnl_out_of_memory) throw out_of_memory;
    throw;
  }
}

void settle_resume(CLI::App& command, TrainCommand& options) {
  options.resume = command.get_option("--resume")->count() > 0;
  if (!options.resume) return;
  if (!options.resumed.empty()) {
    if (!command.get_option("--out")->empty() && options.out != options.resumed)
      throw InputError("--out " + options.out,
                       fmt::format("a run goes on in its own folder, '{}'", options.resumed),
                       "leave out --out; to keep the old state, copy the folder first");
    options.out = options.resumed;
  }
  take_over_config(command, options);
}

}  // namespace

void add_train_command(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("train", "Train a network on this CPU, with dense or zero-skipping kernels");
  const auto options = std::make_shared<TrainCommand>();
  options->options.schedule.rate = 0.02;
  options->options.schedule.warmup = -1;
  add_train_options(*command, *options);
  add_examples(
      *command,
      {{"lacuna train", "the small network on the built-in images"},
       {"lacuna train --model resnet18 --data cifar10:cifar-10-batches-bin --flip --crop 4", "CIFAR-10"},
       {"lacuna train --record 100 --values", "with a trace of every hundredth step"},
       {"lacuna train --model my.yaml --data folder:images --size 224 --kernels sparse",
        "your own network and images"},
       {"lacuna train --model wrn-16-8 --data cifar10:cifar-10-batches-bin --sparsify swat --density 0.1 "
        "--record 100",
        "sparse training, recorded as it multiplies"},
       {"lacuna train --selective-backprop 0.5 --beside-dense",
        "learn from the harder half of each batch; accuracy beside dense training"},
       {"lacuna train --quantize 4 --record 100", "weights and activations of four bits"},
       {"lacuna train --resume", "continue after Ctrl-C"},
       {"lacuna train --resume lacuna-train --epochs 20", "train for longer than was asked for at first"},
       {"lacuna train --compare 20", "and measure at the end what skipping zeros gains on this CPU"}});
  command->callback([command, options] {
    if (options->list) return print_models();
    settle_resume(*command, *options);
    train(*options);
  });
}

}  // namespace lacuna::cli
