// RAMs with a size, halos and drains of SCNN's own mapping, against a second implementation that visits every
// element, output and cycle.
#include <gtest/gtest.h>

#include "base/testing.hpp"
#include "sim/outer_product/testing/machine_checks.hpp"
#include "sim/simulation.hpp"

namespace lacuna::scnn {
namespace {

using testing::Settings;

struct BruteConfig {
  std::int64_t side = 4, n = 4;  // 16 PEs of 4 x 4
  std::int64_t iaram = 1, fifo = 1, drain_values = 1, group_channels = 1;
  bool sized = true, charged = true, packed = false;

  Settings settings() const {
    return {{"mapping", "scnn-tiles"},
            {"multipliers", std::to_string(side * side * n * n)},
            {"group_channels", std::to_string(group_channels)},
            {"pe_memory", sized ? "sized" : "unlimited"},
            {"iaram_values", std::to_string(iaram)},
            {"fifo_entries", std::to_string(fifo)},
            {"drains", charged ? "charged" : "hidden"},
            {"drain_values", std::to_string(drain_values)},
            {"kernel_vectors", packed ? "group" : "kernel"}};
  }
};

struct BruteResult {
  std::int64_t cycles = 0, sent_again = 0, halos = 0;
  bool operator==(const BruteResult&) const = default;
};

std::int64_t up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// One operation of a convolution, from the description in docs/models/scnn.md.
class Brute {
 public:
  Brute(const Layer& layer, Operation op, const BruteConfig& config)
      : layer_(layer), s_(layer.shape), op_(op), config_(config) {
    image_ = op == Operation::kInputGrad ? s_.output : s_.input;
    outputs_ = op == Operation::kForward ? s_.output : op == Operation::kInputGrad ? s_.input : s_.kernel;
    images_ = op == Operation::kInputGrad ? s_.k_per_group() : s_.c_per_group();
    kernels_ = op == Operation::kInputGrad ? s_.c_per_group() : s_.k_per_group();
  }

  BruteResult run() {
    BruteResult result;
    drained_ = count_outputs(result);
    result.halos *= s_.n * s_.groups * kernels_ * (op_ == Operation::kWeightGrad ? images_ : 1);
    for (std::int64_t sample = 0; sample < s_.n; ++sample) {
      for (std::int64_t group = 0; group < s_.groups; ++group) block(sample, group, result);
    }
    if (now_ > 0) now_ += 2;  // the pipe
    result.cycles = now_ + (config_.charged ? left_ : 0);
    return result;
  }

 private:
  struct Tile {
    std::int64_t y0, y1, x0, x1;
    bool empty() const { return y0 > y1 || x0 > x1; }
  };
  Tile tile(std::int64_t pe) const {
    const std::int64_t h = up(image_.h, config_.side), w = up(image_.w, config_.side);
    const std::int64_t i = pe / config_.side, j = pe % config_.side;
    return {i * h, std::min((i + 1) * h, image_.h) - 1, j * w, std::min((j + 1) * w, image_.w) - 1};
  }
  bool owns(std::int64_t pe, std::int64_t y, std::int64_t x) const {
    return y / up(outputs_.h, config_.side) == pe / config_.side &&
           x / up(outputs_.w, config_.side) == pe % config_.side;
  }
  // Whether positions low..high of one axis have an accumulator for output o: whether they overlap the
  // stretch of positions that o's kernel spans, gaps of stride and dilation included.
  bool reaches(std::int64_t o, std::int64_t low, std::int64_t high, std::int64_t output, std::int64_t kernel,
               std::int64_t stride, std::int64_t padding, std::int64_t dilation) const {
    switch (op_) {
      case Operation::kForward: {
        const std::int64_t first = o * stride - padding;
        return first <= high && first + dilation * (kernel - 1) >= low;
      }
      case Operation::kInputGrad:
        return o >= low * stride - padding && o <= high * stride - padding + dilation * (kernel - 1);
      case Operation::kWeightGrad: {  // position = g * stride - padding + o * dilation for some g
        const std::int64_t first = o * dilation - padding;
        return first <= high && first + stride * (output - 1) >= low;
      }
    }
    return false;
  }
  bool reaches(const Tile& tile, std::int64_t y, std::int64_t x) const {
    return !tile.empty() &&
           reaches(y, tile.y0, tile.y1, s_.output.h, s_.kernel.h, s_.stride.h, s_.padding.h, s_.dilation.h) &&
           reaches(x, tile.x0, tile.x1, s_.output.w, s_.kernel.w, s_.stride.w, s_.padding.w, s_.dilation.w);
  }

  // Sums that pass the accumulators' port of the busiest PE for one kernel; halos of all PEs.
  std::int64_t count_outputs(BruteResult& result) const {
    const std::int64_t pes = config_.side * config_.side;
    std::vector<std::int64_t> passed(static_cast<std::size_t>(pes), 0);
    for (std::int64_t y = 0; y < outputs_.h; ++y) {
      for (std::int64_t x = 0; x < outputs_.w; ++x) {
        for (std::int64_t pe = 0; pe < pes; ++pe) {
          if (!reaches(tile(pe), y, x)) continue;
          ++passed[static_cast<std::size_t>(pe)];  // out of its accumulators
          for (std::int64_t owner = 0; owner < pes; ++owner) {
            if (owner == pe || !owns(owner, y, x)) continue;
            ++passed[static_cast<std::size_t>(owner)];  // into the owner's
            ++result.halos;
          }
        }
      }
    }
    return *std::ranges::max_element(passed);
  }

  std::int64_t image_nonzeros(std::int64_t sample, std::int64_t group, std::int64_t channel,
                              const Tile& tile) const {
    const Operation op = op_;
    const MaskView& mask = op == Operation::kInputGrad ? layer_.g.mask : layer_.a.mask;
    std::int64_t count = 0;
    for (std::int64_t y = tile.y0; y <= tile.y1; ++y) {
      for (std::int64_t x = tile.x0; x <= tile.x1; ++x) {
        count += mask.bit((sample * image_.h + y) * image_.w + x, group * images_ + channel);
      }
    }
    return count;
  }
  std::int64_t kernel_nonzeros(std::int64_t sample, std::int64_t group, std::int64_t image,
                               std::int64_t kernel) const {
    std::int64_t count = 0;
    if (op_ == Operation::kWeightGrad) {
      for (std::int64_t p = 0; p < s_.output.h * s_.output.w; ++p) {
        count += layer_.g.mask.bit(sample * s_.output.h * s_.output.w + p, group * kernels_ + kernel);
      }
      return count;
    }
    const std::int64_t filter = op_ == Operation::kForward ? kernel : image;
    for (std::int64_t tap = 0; tap < s_.taps(); ++tap) {
      count += layer_.w.mask.bit((group * s_.k_per_group() + filter) * s_.taps() + tap,
                                 op_ == Operation::kForward ? image : kernel);
    }
    return count;
  }

  void block(std::int64_t sample, std::int64_t group, BruteResult& result) {
    const std::int64_t pes = config_.side * config_.side;
    std::int64_t parts = 1;
    for (std::int64_t pe = 0; pe < pes; ++pe) {
      std::int64_t held = 0;
      for (std::int64_t i = 0; i < images_; ++i) held += image_nonzeros(sample, group, i, tile(pe));
      parts = std::max(parts, up(held, config_.iaram));
    }
    for (std::int64_t first = 0; first < kernels_; first += config_.group_channels) {
      const std::int64_t end = std::min(first + config_.group_channels, kernels_);
      std::vector<std::int64_t> busy(static_cast<std::size_t>(pes), 0);
      std::int64_t bus = 0, again = 0;
      for (std::int64_t i = 0; i < images_; ++i) {
        std::int64_t weights = 0, longest = 0;
        for (std::int64_t j = first; j < end; ++j) weights += kernel_nonzeros(sample, group, i, j);
        for (std::int64_t pe = 0; pe < pes; ++pe) {
          const std::int64_t vectors = up(image_nonzeros(sample, group, i, tile(pe)), config_.n);
          longest = std::max(longest, vectors);
          std::int64_t kernel_vectors = 0;
          for (std::int64_t j = first; j < end; ++j)
            kernel_vectors += up(kernel_nonzeros(sample, group, i, j), config_.n);
          if (config_.packed) kernel_vectors = up(weights, config_.n);
          busy[static_cast<std::size_t>(pe)] += vectors * kernel_vectors;
        }
        // The bus, one kernel vector at a time: all for the first image vector of a part, later what the FIFO
        // has not kept.
        for (std::int64_t vector = 0; vector < longest; ++vector) {
          for (std::int64_t entry = 0; entry < up(weights, config_.n); ++entry) {
            if (vector >= parts && entry < config_.fifo) continue;
            ++bus;
            again += vector > 0 ? 1 : 0;
          }
        }
      }
      const std::int64_t work = *std::ranges::max_element(busy);
      if (work == 0) continue;
      // The half of the accumulators that was filled before is emptied meanwhile; in the weight gradient also
      // the sums of this phase's own channels, except the last one's.
      const std::int64_t drain = up(drained_ * (end - first), config_.drain_values);
      const std::int64_t computed = now_ + std::max(work, config_.sized ? bus : 0);
      const std::int64_t emptied = now_ + left_ + (op_ == Operation::kWeightGrad ? (images_ - 1) * drain : 0);
      now_ = config_.charged ? std::max(computed, emptied) : computed;
      left_ = drain;
      if (config_.sized) result.sent_again += again;
    }
  }

  const Layer& layer_;
  const LayerShape& s_;
  Operation op_;
  BruteConfig config_;
  Size2 image_, outputs_;
  std::int64_t images_ = 1, kernels_ = 1;
  std::int64_t drained_ = 0;
  std::int64_t now_ = 0, left_ = 0;
};

TEST(ScnnMemory, EqualsTheBruteForceOnRandomLayers) {
  int waited = 0, again = 0;
  for (std::uint64_t seed = 1; seed <= random_cases(150); ++seed) {
    SCOPED_TRACE(seed);
    const Trace trace = testing::random_trace(seed, testing::RandomLayerLimits{8, 22, 2});
    const Layer& layer = trace.layers()[0];
    if (layer.shape.kind == LayerKind::kLinear) continue;
    Random random(seed);
    const BruteConfig config{.iaram = random.integer(1, 60),
                             .fifo = random.integer(1, 12),
                             .drain_values = random.integer(1, 8),
                             .group_channels = random.integer(1, 5),
                             .sized = random.chance(0.8),
                             .charged = random.chance(0.8),
                             .packed = random.chance(0.5)};
    for (const Operation op : kOperations) {
      const OpResult result = testing::simulate_one("scnn", config.settings(), layer, op);
      const BruteResult brute = Brute(layer, op, config).run();
      const BruteResult found{result.cycles,
                              config.sized ? testing::counter(result, "kernel_vectors_sent_again") : 0,
                              testing::counter(result, "halo_values")};
      ASSERT_EQ(found.cycles, brute.cycles) << operation_name(op);
      ASSERT_EQ(found.sent_again, brute.sent_again) << operation_name(op);
      ASSERT_EQ(found.halos, brute.halos) << operation_name(op);
      waited += config.charged && testing::counter(result, "drain_wait_cycles") > 0 ? 1 : 0;
      again += found.sent_again > 0 ? 1 : 0;
    }
  }
  EXPECT_GT(waited, static_cast<int>(random_cases(150) / 3));
  EXPECT_GT(again, static_cast<int>(random_cases(150) / 3));
}

// 16x16 without zeros, 2 channels, 10 filters of 3x3 in groups of 4: 2x2 positions per PE are one image
// vector. A group takes 2 x 4 x 3 cycles; its 36 weights per channel are 9 vectors, so the bus needs 18. A PE
// inside reaches 4x4 outputs and receives 12 halos: 28 sums per filter, 4 per cycle: 28 cycles for a group
// of 4.
TEST(ScnnMemory, DrainsByHand) {
  const Trace trace = testing::dense_trace(LayerShape::conv2d(1, 2, 10, {16, 16}, {3, 3}, {1, 1}, {1, 1}));
  const auto simulate = [&](Settings settings) {
    settings.insert(settings.end(),
                    {{"mapping", "scnn-tiles"}, {"group_channels", "4"}, {"drains", "charged"}});
    return testing::simulate_one("scnn", settings, trace.layers()[0], Operation::kForward);
  };
  // Groups of 24, 24 and 12 cycles; drains of 28, 28 and 14, the last one after everything.
  const OpResult result = simulate({});
  EXPECT_EQ(result.cycles, 24 + 28 + 28 + 14 + 2);
  EXPECT_EQ(testing::counter(result, "drain_wait_cycles"), 64 * (4 + 16 + 14));
  EXPECT_EQ(simulate({{"drain_values", "8"}}).cycles, 24 + 24 + 14 + 7 + 2);
  // An IARAM of 4 values holds half a tile: its two channels are parts, which the one vector of each does not
  // notice.
  EXPECT_EQ(simulate({{"pe_memory", "sized"}, {"iaram_values", "4"}}).cycles, result.cycles);
}

TEST(ScnnMemory, MoreMemoryIsNeverSlowerAndNeverSendsMore) {
  for (std::uint64_t seed = 1; seed <= random_cases(60); ++seed) {
    SCOPED_TRACE(seed);
    const Trace trace = testing::random_trace(seed, testing::RandomLayerLimits{12, 12, 2});
    for (const Operation op : kOperations) {
      const auto simulate = [&](std::int64_t iaram, std::int64_t fifo, std::int64_t drain,
                                const char* memory) {
        return testing::simulate_one("scnn",
                                     {{"mapping", "scnn-tiles"},
                                      {"multipliers", "256"},
                                      {"pe_memory", memory},
                                      {"iaram_values", std::to_string(iaram)},
                                      {"fifo_entries", std::to_string(fifo)},
                                      {"drains", "charged"},
                                      {"drain_values", std::to_string(drain)}},
                                     trace.layers()[0], op);
      };
      const OpResult small = simulate(3, 2, 2, "sized");
      std::int64_t cycles = small.cycles, again = testing::counter(small, "kernel_vectors_sent_again");
      for (const auto& [iaram, fifo, drain] : std::vector<std::array<std::int64_t, 3>>{
               {10, 2, 2}, {10, 6, 2}, {10, 6, 4}, {4096, 6, 4}, {4096, 50, 4}, {1 << 20, 1 << 20, 4}}) {
        const OpResult larger = simulate(iaram, fifo, drain, "sized");
        ASSERT_LE(larger.cycles, cycles);
        cycles = larger.cycles;
        ASSERT_LE(testing::counter(larger, "kernel_vectors_sent_again"), again);
        again = testing::counter(larger, "kernel_vectors_sent_again");
      }
      EXPECT_EQ(again, 0);  // all fits
      ASSERT_GE(cycles, simulate(1, 1, 4, "unlimited").cycles);
    }
  }
}

// A chain of convolutions as large as they are said to be, pooling after the second.
Trace chain(std::uint64_t seed, std::int64_t batch) {
  Random random(seed);
  SyntheticSpec spec;
  spec.seed = seed;
  spec.batch = batch;
  std::int64_t channels = random.integer(1, 12), side = random.integer(8, 24);
  for (int l = 0; l < 5; ++l) {
    const std::int64_t filters = random.integer(1, 12);
    const ZeroSpec zeros = ZeroSpec::uniform(random.uniform());
    spec.layers.push_back({"layer" + std::to_string(l),
                           LayerShape::conv2d(2, channels, filters, {side, side}, {3, 3}, {1, 1}, {1, 1}), 1,
                           zeros, zeros, zeros});
    channels = filters;
    if (l == 1) side /= 2;
  }
  return make_synthetic(spec);
}

struct ForwardTraffic {
  double bytes = 0;       // of the batch
  double compulsory = 0;  // weights and first input in, what is needed again out
  int from_memory = 0;    // inputs that were read
};

ForwardTraffic forward_traffic(const Trace& trace, const Settings& settings, bool inference) {
  Settings all = settings;
  all.emplace_back("mapping", "scnn-tiles");
  SimOptions options;
  if (inference) options.operations = {true, false, false};
  const RunResult run = simulate_trace(trace, *testing::make_machine("scnn", all), "scnn", options, 1);
  const auto bus = [](const LayerTensor& tensor) {
    return static_cast<double>(tensor.nonzeros * 4 + (tensor.elements() + 7) / 8);
  };
  ForwardTraffic traffic;
  for (std::size_t l = 0; l < run.layers.size(); ++l) {
    const Layer& layer = trace.layers()[l];
    const Activity& activity = *run.layers[l].ops[0].activity;
    const double scale = trace.batch_scale(layer);
    traffic.bytes +=
        static_cast<double>(activity.samples.dram_read_bytes + activity.samples.dram_write_bytes) * scale +
        static_cast<double>(activity.weights.dram_read_bytes);
    traffic.from_memory += activity.samples.dram_read_bytes > 0 ? 1 : 0;
    traffic.compulsory += bus(layer.w);
    if (l == 0) traffic.compulsory += bus(layer.a) * scale;
    if (!inference || l + 1 == run.layers.size()) traffic.compulsory += bus(layer.g) * scale;
  }
  return traffic;
}

TEST(ScnnMemory, ActivationsThatFitStayAndTrafficIsNeverBelowTheCompulsory) {
  int stayed = 0;
  for (std::uint64_t seed = 1; seed <= random_cases(12); ++seed) {
    SCOPED_TRACE(seed);
    const Trace trace = chain(seed, 1 + static_cast<std::int64_t>(seed % 3));
    for (const bool inference : {false, true}) {
      double before = forward_traffic(trace, {}, inference).bytes;  // every tensor once
      for (const char* values : {"1", "8", "30", "100", "4096"}) {
        const Settings sized{{"pe_memory", "sized"}, {"iaram_values", values}, {"oaram_values", values}};
        const ForwardTraffic traffic = forward_traffic(trace, sized, inference);
        ASSERT_LE(traffic.bytes, before) << values;
        ASSERT_GE(traffic.bytes, traffic.compulsory * (1 - 1e-12)) << values;
        before = traffic.bytes;
        stayed += 5 - traffic.from_memory;
      }
      // Both memories must hold them.
      const Settings one{{"pe_memory", "sized"}, {"oaram_values", "1"}};
      ASSERT_GE(forward_traffic(trace, one, inference).bytes, before);
    }
  }
  EXPECT_GT(stayed, 50);
}

TEST(ScnnMemory, NeedsScnnsOwnMapping) {
  EXPECT_THROW(testing::make_machine("scnn", {{"pe_memory", "sized"}}), InputError);
  EXPECT_THROW(testing::make_machine("ant", {{"drains", "charged"}}), InputError);
  EXPECT_THROW(testing::make_machine("scnn", {{"iaram_values", "0"}}), InputError);
  EXPECT_THROW(testing::make_machine("scnn", {{"kernel_vectors", "group"}}), InputError);
  EXPECT_THROW(testing::make_machine("ant", {{"mapping", "scnn-tiles"}, {"kernel_vectors", "group"}}),
               InputError);
}

}  // namespace
}  // namespace lacuna::scnn
