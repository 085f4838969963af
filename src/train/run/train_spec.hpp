// Everything that a training run is asked to do, and the one table that describes each option. The command
// line, config.json, --resume, the settings in a checkpoint, the schema and the table in docs/training.md are
// made from that table: a new option is a member and a line here, and the code that uses it.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/params.hpp"
#include "train/graph/model_file.hpp"
#include "train/run/trainer.hpp"

namespace lacuna::train {

struct TrainSpec {
  TrainSpec();  // with the defaults of train_options()

  std::string model;
  std::vector<std::string> model_settings;  // key=value
  std::string initial;                      // file with the parameters to start from; empty: they are drawn
  std::string data;
  dataset::DatasetOptions images;
  NetworkOptions network;
  TrainOptions training;  // `steps` of zero: `epochs` passes over the data
  double epochs = 0;
  std::optional<bool> exact;  // no Winograd; nothing: settle() decides
  std::string out;
  // Intervals in steps. Zero: settle() chooses those of reports, tests and checkpoints; no traces.
  std::int64_t report_every = 0;
  std::int64_t test_every = 0;
  std::int64_t checkpoint_every = 0;
  std::int64_t record_every = 0;
  std::vector<std::int64_t> record_steps;  // more steps to record
  RecordOptions record;
  int compare_steps = 0;        // to time with dense kernels and these at the end
  bool beside_dense = false;    // trains once more, dense, at the end
  bool resume = false;          // continues the run in `out`
  bool replaces_demo = false;   // is `lacuna demo`, which writes over another demo in `out`
  std::set<std::string> given;  // options set by name: on the command line or by config.json

  bool prunes() const { return training.pruning.method != PruningOptions::Method::kNone; }
  bool sparsifies() const { return network.sparsify.method != SparsifyOptions::Method::kNone; }
};

struct TrainOption {
  ParamSpec spec;                       // name: without "--"; an empty default: unset, which `help` explains
  std::string group;                    // heading in --help; empty: not on the command line
  std::string placeholder;              // "N"
  std::string config;                   // JSON pointer into config.json; empty: not recorded
  bool may_change = false;              // when a run is resumed
  std::optional<std::string> before{};  // value meant by files of versions without this option
  std::string checkpoint{};             // key in the settings of a checkpoint; empty: it has none
  // Text in a checkpoint, where it is not that of the value.
  std::string (*checkpoint_text)(const TrainSpec&) = nullptr;
  // Omitted from checkpoints at its default, so that those of earlier versions stay valid: for new options.
  bool newer = false;

  std::function<std::optional<std::string>(const TrainSpec&)> get{};  // nothing: unset
  std::function<void(TrainSpec&, const std::string&)> set{};          // unchecked

  void checkpoint_as(const char* key, std::string (*text)(const TrainSpec&)) {
    checkpoint = key;
    checkpoint_text = text;
  }
  void checkpoint_if_changed(const char* key) {
    checkpoint = key;
    newer = true;
  }

  bool is_flag() const { return spec.kind == ParamSpec::Kind::kFlag; }
  // Returns why `text` is not a value, or nothing: "give a whole number from 1 to 65536".
  std::string problem(const std::string& text) const;
  // Sets a value and notes that it was given. Throws InputError.
  void give(TrainSpec& spec, const std::string& text) const;
};

// Parses `assignments` (key=value) for `model`, a built-in model or a .yaml file, and adds size, channels,
// classes and stem of the data where they are not given. Throws InputError.
ModelSettings fit_model(const std::string& model, const std::vector<std::string>& assignments,
                        const dataset::Dataset& data);
// "classes=10 size=32"
std::string describe_settings(const ModelSettings& settings);

// Returns the options in the order of --help.
const std::vector<TrainOption>& train_options();

// Checks what needs no data: combinations of options, and the CPU. Throws InputError.
void check(const TrainSpec& spec);
// Fills in the defaults that depend on the data and on other options.
void settle(TrainSpec& spec, std::int64_t steps_per_epoch);

// Returns the options that decide what is learnt, as a checkpoint records them.
Settings checkpoint_settings(const TrainSpec& spec);

}  // namespace lacuna::train
