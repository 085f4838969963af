// The four sides of `lacuna bench --versus-torch`: PyTorch in two memory formats, and this engine with dense
// kernels and with `auto`. They train the same batches from the same weights, in turn.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "cli/commands/bench_torch_process.hpp"
#include "cli/commands/bench_versus_results.hpp"
#include "dataset/dataset.hpp"
#include "train/run/trainer.hpp"

namespace lacuna::cli {

struct VersusOptions;

// Steps of one side.
struct VersusBlock {
  std::vector<double> seconds, losses;  // per step
  double whole = 0, waited = 0;  // seconds of the block, and those in which its threads waited for others
  double images_per_second(std::int64_t batch) const {
    double sum = 0;
    for (const double one : seconds) sum += one;
    return static_cast<double>(batch * static_cast<std::int64_t>(seconds.size())) / sum;
  }
};
using VersusRound = std::array<VersusBlock, kVersusSides.size()>;

class VersusSides {
 public:
  // Starts PyTorch's process.
  explicit VersusSides(const VersusOptions& options);
  ~VersusSides();

  const TorchProcess& torch() const { return torch_; }
  // The weights that all sides start from.
  std::filesystem::path checkpoint() const { return folder_.file("checkpoint.safetensors"); }

  // Networks of both engines, started from the checkpoint; the former ones are freed first. False if a signal
  // stopped it.
  bool build(const train::Graph& graph, const dataset::DatasetPair& data, const train::TrainOptions& how,
             const train::NetworkOptions& dense, const train::NetworkOptions& chosen, bool dropout);
  // A block of the same steps on each side; nothing once a signal asks to stop. Every other round in reverse:
  // a machine that gets slower hits all alike.
  std::optional<VersusRound> run(std::int64_t steps, bool reversed);

  train::Trainer& auto_trainer();
  // Of all products of `auto` so far.
  double winograd_share() const;

 private:
  class Ours;

  void write_batches(std::int64_t steps) const;
  std::optional<VersusBlock> run_block(VersusSide side, std::int64_t steps);
  std::optional<VersusBlock> run_torch(VersusSide side, std::int64_t steps);

  const VersusOptions& o_;
  ScratchFolder folder_;
  TorchProcess torch_;
  std::array<int, 3> image_{};  // channels, height, width
  std::unique_ptr<Ours> dense_, auto_;
};

}  // namespace lacuna::cli
