// The state of a training between two steps, as a safetensors file: parameters under their own names (for the
// networks that torchvision has, torchvision's), the optimizer's states ("momentum/NAME"), which weights are
// pruned ("alive/NAME"), the gradients that ReSprop reuses ("previous/NAME"), the step. Everything random
// follows from the seed and the step, so nothing else is needed to continue exactly.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "train/sparsity/pruning.hpp"

namespace lacuna::train {

// One thing that a run was started with; a checkpoint of another run is refused.
struct Setting {
  std::string key, value;
  // The value that a checkpoint without this key had, if not empty; such a value is not written.
  std::string assumed{};
};
using Settings = std::vector<Setting>;

// The parts of a log line that a resumed run could not compute again; the line waits for its test.
struct UntestedLine {
  double activation_zeros = 0;
  double gradient_zeros = 0;
  double images_per_second = 0;
};

// Sums over the steps since the last line of the log: a resumed run must write the same next line.
struct LineSums {
  std::int64_t steps = 0;
  std::int64_t correct = 0;
  double loss = 0;
  std::optional<UntestedLine> untested = std::nullopt;  // the run was stopped during its test
};

// The parts of a training that a checkpoint reads and writes.
struct TrainingState {
  const std::vector<Parameter*>& parameters;
  Optimizer& optimizer;
  Pruning* pruning = nullptr;
  std::int64_t step = 0;  // the next step
  LineSums line{};
};

// Writes a checkpoint, which appears whole under its name or not at all; what was there before stays until
// then. Throws InputError, also when a parameter or a momentum is infinite or NaN: such a state must not
// replace a good one.
void write_checkpoint(const std::filesystem::path& path, const TrainingState& state,
                      const Settings& settings);

// Checks everything - format, checksum, names, sizes, settings - before it changes anything in `state`.
// Throws InputError.
void read_checkpoint(const std::filesystem::path& path, TrainingState& state, const Settings& settings);
// Parses the same from memory; `where` stands for the path in messages.
void parse_checkpoint(std::span<const std::uint8_t> bytes, const std::string& where, TrainingState& state,
                      const Settings& settings);

// Loads parameters by name from a checkpoint or any safetensors file with F32 tensors of the same names;
// other tensors (PyTorch's num_batches_tracked) are passed over. Throws InputError if one is missing or has
// another shape, or if the checksum of a checkpoint does not match.
void load_parameters(const std::filesystem::path& path, const std::vector<Parameter*>& parameters);
// Throws InputError for a file that load_parameters() would refuse for any network: damaged, NaN or infinite.
void check_parameters(const std::filesystem::path& path);

}  // namespace lacuna::train
