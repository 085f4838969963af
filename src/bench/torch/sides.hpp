// The four sides of `lacuna bench torch`: PyTorch in two memory formats, and this engine with dense kernels
// and with `auto`. They train the same batches from the same weights, interleaved.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "bench/control.hpp"
#include "bench/torch/torch_process.hpp"
#include "bench/torch/torch_report.hpp"
#include "dataset/dataset.hpp"
#include "train/run/trainer.hpp"

namespace lacuna::bench {

// Steps of one side.
struct Block {
  std::vector<double> seconds, losses;  // per step
  double whole = 0, waited = 0;  // seconds of the block, and those in which its threads waited for others
  double images_per_second(std::int64_t batch) const {
    double sum = 0;
    for (const double one : seconds) sum += one;
    return static_cast<double>(batch * static_cast<std::int64_t>(seconds.size())) / sum;
  }
};
using Round = std::array<Block, kSides.size()>;

class Sides {
 public:
  // Starts PyTorch's process. Both arguments must outlive this object.
  Sides(const TorchSpec& spec, const Control& control);
  ~Sides();

  const TorchProcess& torch() const { return torch_; }
  // The weights that all sides start from.
  std::filesystem::path checkpoint() const { return folder_.file("checkpoint.safetensors"); }

  // Builds the networks of all sides from the checkpoint; the former ones are freed first. Returns false if
  // told to stop.
  bool build(const train::Graph& graph, const dataset::DatasetPair& data, const train::TrainOptions& how,
             const train::NetworkOptions& dense, const train::NetworkOptions& chosen, bool dropout);
  // Runs a block of the same steps on each side; returns nothing once told to stop. Every other round is
  // reversed, so that a machine that slows down affects all alike.
  std::optional<Round> run(std::int64_t steps, bool reversed);

  train::Trainer& auto_trainer();
  // Returns Winograd's share of all products of `auto` so far.
  double winograd_share() const;

 private:
  class Ours;

  void write_batches(std::int64_t steps) const;
  std::optional<Block> run_block(Side side, std::int64_t steps);
  std::optional<Block> run_torch(Side side, std::int64_t steps);

  const TorchSpec& spec_;
  const Control& control_;
  ScratchFolder folder_;
  TorchProcess torch_;
  std::array<int, 3> image_{};  // channels, height, width
  std::unique_ptr<Ours> dense_, auto_;
};

}  // namespace lacuna::bench
