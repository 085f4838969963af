#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <string_view>

#include "base/error.hpp"
#include "cli/commands.hpp"
#include "cli/commands/bench_versus_torch.hpp"

namespace lacuna::cli {
namespace {

constexpr const char* kGroup = "Options of --versus-torch";
constexpr std::array<std::string_view, 10> kOwn = {"python", "data",  "size",  "set",         "prune",
                                                   "init",   "after", "steps", "prune-zeros", "lr"};
constexpr std::array<std::string_view, 10> kShared = {"versus-torch", "batch", "threads", "rounds", "seconds",
                                                      "precision",    "exact", "json",    "csv",    "help"};

}  // namespace

void add_versus_options(CLI::App& bench, VersusOptions& options) {
  bench
      .add_option("--versus-torch", options.networks,
                  "Images per second of whole training steps: PyTorch (in a process of its own, both memory "
                  "formats), oneDNN and auto here, in turn, on the same images and weights. Built-in models "
                  "of lacuna train or .yaml files (default: vgg-small,vgg16,resnet18); batch 32 and all "
                  "cores unless given")
      ->delimiter(',')
      ->expected(0, 1000)
      ->type_name("NETWORK,...");
  const auto own = [](CLI::Option* option) { return option->group(kGroup); };
  own(bench.add_option("--python", options.python,
                       "The Python that has PyTorch (default: $PYTHON, python3, /usr/bin/python3)"))
      ->type_name("PROGRAM");
  own(bench.add_option("--data", options.data, "Images, as for lacuna train"))
      ->type_name("SET")
      ->capture_default_str();
  own(bench.add_option("--size", options.image_size,
                       "Height and width of the images (default: those of the data set)"))
      ->check(whole_number(8, 4096))
      ->type_name("N");
  own(bench.add_option("--set", options.settings, "Change a parameter of the models"))
      ->allow_extra_args(false)
      ->type_name("key=value");
  own(bench.add_option("--prune", options.prune,
                       "Zero weights as of lacuna train --prune, PyTorch's by masks: none, sm, ds; several: "
                       "each network with each"))
      ->delimiter(',')
      ->type_name("METHOD,...")
      ->capture_default_str();
  own(bench.add_option("--prune-zeros", options.prune_zeros, "Share of zero weights in the pruned layers"))
      ->check(CLI::Range(0.0, 0.999).description(""))
      ->type_name("X")
      ->capture_default_str();
  own(bench.add_option("--after", options.steps_before,
                       "Steps to train first, not timed: zeros are those of a training under way"))
      ->check(whole_number(0))
      ->type_name("N")
      ->capture_default_str();
  own(bench.add_option("--init", options.initial, "Begin with the parameters in this file (safetensors)"))
      ->type_name("FILE");
  own(bench.add_option("--steps", options.steps, "Timed steps of each (default: as many as --seconds holds)"))
      ->check(whole_number(1))
      ->type_name("N");
  own(bench.add_option("--lr", options.rate, "Learning rate"))
      ->check(CLI::PositiveNumber.description(""))
      ->type_name("X")
      ->capture_default_str();
}

bool wants_versus(const CLI::App& bench) {
  const bool wanted = bench.get_option("--versus-torch")->count() > 0;
  for (const CLI::Option* option : bench.get_options()) {
    if (option->count() == 0 || option->get_lnames().empty()) continue;
    const std::string& name = option->get_lnames().front();
    const bool own = std::ranges::find(kOwn, name) != kOwn.end();
    if (wanted && !own && std::ranges::find(kShared, name) == kShared.end())
      throw InputError("--" + name, "it does not go together with --versus-torch", "leave out one of them");
    if (!wanted && own)
      throw InputError("--" + name, "it belongs to --versus-torch", "add that, or leave it out");
  }
  return wanted;
}

VersusOptions with_shared(const CLI::App& bench, VersusOptions options) {
  const auto take = [&](const char* name, auto& value) {
    const CLI::Option* option = bench.get_option(name);
    if (option->count() > 0) option->results(value);
  };
  take("--batch", options.batch);
  take("--threads", options.threads);
  take("--rounds", options.rounds);
  take("--seconds", options.seconds);
  take("--precision", options.precision);
  take("--exact", options.exact);
  take("--json", options.json);
  take("--csv", options.csv);
  return options;
}

}  // namespace lacuna::cli
