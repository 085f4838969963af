// Sizes of stored tensors, the study that `lacuna storage` runs, and forms for the memory model.
#include "models/tensordash/storage/storage_footprint.hpp"

#include <algorithm>
#include <gtest/gtest.h>

#include "base/ceil_div.hpp"
#include "base/parallel.hpp"
#include "base/testing.hpp"
#include "models/tensordash/config.hpp"
#include "models/tensordash/storage/scheduled_form.hpp"
#include "models/tensordash/storage/storage_study.hpp"
#include "models/tensordash/storage/stored_memory.hpp"
#include "models/tensordash/testing.hpp"
#include "sim/catalog/registry.hpp"
#include "sim/simulation.hpp"
#include "sim/testing/random_layer.hpp"
#include "sim/workload/layer_values.hpp"
#include "trace/trace_builder.hpp"

namespace lacuna::tensordash {
namespace {

// Of the first layer's tensor on the paper's machine.
StorageCounts counts_of(const Trace& trace, Operand role, Grouping grouping) {
  const Layer& layer = trace.layers().front();
  return count_storage(layer.shape, role, layer.tensor(role).mask, LaneSelector(connect("paper", 16, 3)),
                       {.grouping = grouping});
}

// The study of `lacuna storage` on the default machine.
struct Study {
  std::unique_ptr<Accelerator> machine =
      AcceleratorRegistry::instance().find("tensordash")->make(Params("test", Config::params()));
  Params params{"test", storage_study_params()};

  StorageSizes sizes(const Trace& trace) const { return study_sizes(trace, *machine, params); }
};

// Entries of a zero run-length code, written out one element at a time.
std::int64_t plain_run_entries(const MaskView& mask, int run_bits) {
  std::int64_t entries = 0;
  std::int64_t run = 0;
  for (std::int64_t r = 0; r < mask.rows; ++r) {
    for (std::int64_t c = 0; c < mask.channels; ++c) {
      if (mask.bit(r, c) || run == (1 << run_bits) - 1) {
        ++entries;
        run = 0;
      } else {
        ++run;
      }
    }
  }
  return entries + (run > 0 ? 1 : 0);
}

// A tensor that is not recorded has no zeros, and is counted without a look at it.
TEST(StorageFootprint, WithoutZerosTheClosedFormIsTheStoredTensor) {
  Random random(22);
  for (std::uint64_t trial = 0; trial < random_cases(80); ++trial) {
    TraceBuilder builder("t");
    builder.add_layer("l", testing::random_shape(random, {.channels = 150}));
    const Trace trace = builder.build();
    const Layer& layer = trace.layers().front();
    const int lanes = random.chance(0.5) ? 16 : static_cast<int>(random.integer(4, 64));
    const ScheduledCodec codec(
        connect(Connectivity::names()[trial % 4], lanes, static_cast<int>(random.integer(1, 3))));
    for (const Operand role : kOperands) {
      const TensorValues values = tensor_values(layer.tensor(role), 1, 2);
      for (const Grouping grouping : kGroupings) {
        const StorageParams params{.grouping = grouping};
        const MaskView& mask = layer.tensor(role).mask;
        const StorageCounts counts = count_storage(layer.shape, role, mask, codec.selector(), params);
        ASSERT_EQ(counts.run_entries, plain_run_entries(mask, params.run_bits));
        const TensorGroups groups(layer.shape, role, grouping, lanes);
        std::int64_t all_steps = 0;
        std::vector<GroupStep> steps;
        for (std::int64_t g = 0; g < groups.count(); ++g) {
          groups.steps(g, steps);
          all_steps += std::ssize(steps);
        }
        ASSERT_EQ(counts.steps, all_steps);
        const StoredTensor stored =
            store_tensor(codec, groups, values.data, values.channels, DataType::kFp32);
        ASSERT_EQ(storage_bits(counts, codec.bits(), 32, params).scheduled,
                  static_cast<double>(stored.bits.size));
      }
    }
  }
}

TEST(StorageFootprint, AHugeTensorThatIsNotRecordedTakesNoTime) {
  TraceBuilder builder("t");
  builder.add_layer("l", LayerShape::conv2d(1, 16, 16, {1 << 18, 1 << 18}, {1, 1}));
  const Trace trace = builder.build();
  for (const Grouping grouping : kGroupings) {
    EXPECT_EQ(counts_of(trace, Operand::kA, grouping).rows, std::int64_t{1} << 36);
  }
}

// The steps of its groups would not fit into 63 bits if a cell were as large as the stride.
TEST(StorageFootprint, AStrideBeyondTheImageIsOneGroup) {
  constexpr std::int64_t kFar = std::int64_t{1} << 24;
  TraceBuilder builder("t");
  builder.add_layer("l", LayerShape::conv2d(1, 1 << 18, 1, {2, 2}, {1, 1}, {kFar, kFar}));
  builder.mask(Operand::kA, std::vector<bool>(4 << 18, false));
  const Trace trace = builder.build();
  const StorageCounts counts = counts_of(trace, Operand::kA, Grouping::kMerged);
  EXPECT_EQ(counts.groups, 1);
  EXPECT_EQ(counts.steps, 4 << 14);
}

TEST(StorageFootprint, CountsAreThoseOfTheStoredTensor) {
  Random random(21);
  for (std::uint64_t trial = 0; trial < random_cases(80); ++trial) {
    const Trace trace = testing::random_trace(trial, testing::random_shape(random, {.channels = 150}));
    const Layer& layer = trace.layers().front();
    const int lanes = random.chance(0.5) ? 16 : static_cast<int>(random.integer(4, 64));
    const Connectivity connectivity =
        connect(Connectivity::names()[trial % 4], lanes, static_cast<int>(random.integer(1, 3)));
    const ScheduledCodec codec(connectivity);
    for (const Operand role : kOperands) {
      const LayerTensor& tensor = layer.tensor(role);
      const TensorValues values = tensor_values(tensor, 1, 2);
      for (const Grouping grouping : kGroupings) {
        const StorageParams params{.grouping = grouping,
                                   .pointer_bits = static_cast<int>(random.integer(8, 40)),
                                   .run_bits = static_cast<int>(random.integer(1, 8))};
        const StorageCounts counts = count_storage(layer.shape, role, tensor.mask, codec.selector(), params);
        ASSERT_EQ(counts.elements, tensor.elements());
        ASSERT_EQ(counts.nonzeros, tensor.nonzeros);
        ASSERT_EQ(counts.run_entries, plain_run_entries(tensor.mask, params.run_bits));
        const TensorGroups groups(layer.shape, role, grouping, lanes);
        for (const DataType type : {DataType::kFp32, DataType::kBfloat16}) {
          const StoredTensor stored = store_tensor(codec, groups, values.data, values.channels, type);
          const StorageBits bits = storage_bits(counts, codec.bits(), bits_of(type), params);
          ASSERT_EQ(bits.scheduled, static_cast<double>(stored.bits.size));
          ASSERT_EQ(bits.scheduled_pointers - bits.scheduled,
                    static_cast<double>(std::ssize(stored.pointers) * params.pointer_bits));
          // Never worse than dense by more than the fields of rows and slots.
          ASSERT_LE(bits.scheduled, bits.worst_case);
          ASSERT_EQ(bits.worst_case, bits.dense + static_cast<double>(counts.elements * codec.bits().move +
                                                                      counts.steps * codec.bits().advance));
        }
      }
    }
  }
}

TEST(StorageFootprint, KnownTensor) {
  // One position, 64 channels, 16 lanes: 4 steps. Non-zero: channels 0 and 40.
  SyntheticSpec spec;
  spec.layers.push_back(
      {"l", LayerShape::linear(1, 64, 16), 1, ZeroSpec::all_zero(), ZeroSpec::dense(), ZeroSpec::dense()});
  const Trace trace = make_synthetic(spec);
  std::vector<std::uint8_t> bytes(8, 0);
  bytes[0] = 1;
  bytes[5] = 1;
  const MaskView mask{bytes.data(), 1, 64, 8};
  const Connectivity connectivity = connect("paper", 16, 3);
  const LaneSelector selector(connectivity);
  const StorageParams params{.grouping = Grouping::kChannels, .pointer_bits = 20, .run_bits = 5};
  const StorageCounts counts =
      count_storage(trace.layers().front().shape, Operand::kA, mask, selector, params);
  // Row 0 takes both values and drains three steps; row 1 is the last step, empty.
  EXPECT_EQ(counts.rows, 2);
  EXPECT_EQ(counts.slots, 32);
  EXPECT_EQ(counts.groups, 1);
  // 0; 32 zeros as one pair, then 7 zeros and a value; 23 zeros: four pairs.
  EXPECT_EQ(counts.run_entries, 4);
  const StorageBits bits = storage_bits(counts, form_bits(connectivity), 32, params);
  EXPECT_EQ(bits.dense, 64 * 32);
  EXPECT_EQ(bits.scheduled, 32 * 35 + 2 * 2);
  EXPECT_EQ(bits.scheduled_pointers, 32 * 35 + 2 * 2 + 20);
  EXPECT_EQ(bits.worst_case, 64 * 35 + 4 * 2);
  EXPECT_EQ(bits.run_length, 4 * 37);
  EXPECT_EQ(bits.bitmap, 64 + 2 * 32);
  EXPECT_EQ(bits.csr, 2 * (32 + 6) + 2 * 20);
}

TEST(StorageFootprint, SameForAnyNumberOfThreads) {
  const Trace trace =
      testing::random_trace(7, LayerShape::conv2d(2, 64, 96, {40, 40}, {3, 3}, {2, 2}, {1, 1}));
  const Study study;
  const auto counts = [&](int threads) {
    StorageSizes sizes;
    with_threads(threads, [&] { sizes = study.sizes(trace); });
    std::vector<std::vector<std::int64_t>> all;
    for (const StoredTensorSize& tensor : sizes.layers.front().tensors) all.push_back(tensor.counts);
    return all;
  };
  EXPECT_EQ(counts(1), counts(3));
}

// A is stored for the weight gradient and A_forward for the forward product; totals have both.
TEST(StorageFootprint, ActivationsOfTheForwardProduct) {
  TraceBuilder builder("swat");
  builder.add_layer("plain", LayerShape::linear(16, 32, 16));
  builder.add_layer("cut", LayerShape::linear(16, 32, 16))
      .mask(Operand::kA, std::vector<bool>(16 * 32, false));
  builder.mask(kAForward, std::vector<bool>(16 * 32, true));
  const StorageSizes sizes = Study().sizes(builder.build());
  ASSERT_EQ(sizes.layers[0].tensors.size(), 3U);
  ASSERT_EQ(sizes.layers[1].tensors.size(), 4U);
  EXPECT_EQ(sizes.layers[1].tensors[0].nonzeros, 0);
  EXPECT_EQ(sizes.layers[1].tensors[1].which, kAForward);
  EXPECT_EQ(sizes.layers[1].tensors[1].nonzeros, 16 * 32);
  const double one = 16 * 32 * 32;  // bits of a tensor; G is half as large
  EXPECT_EQ(sizes.total(kAForward, DataType::kFp32)[0], one);
  EXPECT_EQ(sizes.total(DataType::kFp32)[0], 3 * one + 2 * one + one);
}

// A trace trained with a batch of 8 and recorded with 2 samples: A and G count four times, W once.
TEST(StorageFootprint, TotalsOfATraceAreThoseOfItsBatch) {
  SyntheticSpec spec;
  spec.batch = 8;
  spec.layers.push_back({"c", LayerShape::conv2d(2, 20, 30, {6, 5}, {3, 3}), 1, ZeroSpec::uniform(0.6),
                         ZeroSpec::dense(), ZeroSpec::uniform(0.3)});
  spec.layers.push_back(
      {"l", LayerShape::linear(8, 50, 10), 1, ZeroSpec::uniform(0.9), ZeroSpec::dense(), ZeroSpec::dense()});
  const Trace trace = make_synthetic(spec);
  const StorageSizes sizes = Study().sizes(trace);
  const auto form = [&](std::string_view name) {
    return static_cast<std::size_t>(std::ranges::find(sizes.forms, name, &StorageForm::name) -
                                    sizes.forms.begin());
  };
  EXPECT_EQ(form("dense"), 0U);
  EXPECT_EQ(sizes.total(Operand::kA, DataType::kFp32)[0], (4 * 2 * 30 * 20 + 8 * 50) * 32);
  EXPECT_EQ(sizes.total(Operand::kW, DataType::kBfloat16)[0], (30 * 9 * 20 + 50 * 10) * 16);
  const StoredTensorSize& a = sizes.layers[1].tensors[0];
  const auto count = [&](std::string_view name) {
    return a.counts[static_cast<std::size_t>(std::ranges::find(sizes.count_names, name) -
                                             sizes.count_names.begin())];
  };
  EXPECT_EQ(a.bits.at(DataType::kFp32)[form("scheduled")],
            static_cast<double>(count("slots") * 35 + count("rows") * 2));
  EXPECT_EQ(a.bits.at(DataType::kBfloat16)[form("scheduled")],
            static_cast<double>(count("slots") * 19 + count("rows") * 2));
  EXPECT_LT(a.bits.at(DataType::kFp32)[form("scheduled")], a.bits.at(DataType::kFp32)[0]);
}

// A set of parameters is one name space on the command line.
TEST(StorageStudyOfTensorDash, SharesNoParameterWithTheMachine) {
  const Study study;
  for (const ParamSpec& spec : storage_study_params()) EXPECT_FALSE(study.machine->params().has(spec.name));
}

// Gradients of weights come out once per batch; the other outputs once per recorded sample.
TEST(StorageStudyOfTensorDash, BacksideLoadsAreThoseOfTheSimulatedTrace) {
  SyntheticSpec spec;
  spec.batch = 8;
  spec.layers.push_back({"c", LayerShape::conv2d(2, 20, 30, {6, 5}, {3, 3}), 1, ZeroSpec::uniform(0.6),
                         ZeroSpec::dense(), ZeroSpec::uniform(0.3)});
  const Trace trace = make_synthetic(spec);
  const Study study;
  const BacksideLoads loads = study_backside(trace, *study.machine, study.params, 1);
  const RunResult run = simulate_trace(trace, *study.machine, "t", {}, 1);
  ASSERT_EQ(loads.layers.size(), 1U);
  ASSERT_EQ(loads.layers[0].ops.size(), 2U);
  EXPECT_EQ(loads.measures[loads.cycles].name, "cycles");
  EXPECT_EQ(loads.measures[loads.stalls].name, "stalls");
  const BacksideOp& forward = loads.layers[0].ops[0];
  EXPECT_EQ(forward.batch_scale, 4);
  EXPECT_EQ(forward.values[loads.cycles], static_cast<double>(run.layers[0].ops[0].cycles));
  EXPECT_EQ(forward.values[0], 2 * 4 * 3 * 30);  // outputs
  const BacksideOp& weights = loads.layers[0].ops[1];
  EXPECT_EQ(weights.batch_scale, 1);
  EXPECT_EQ(weights.values[loads.cycles], 4.0 * static_cast<double>(run.layers[0].ops[1].cycles));
}

// --- forms for the memory model ---

TEST(StoredMemory, FormsOfStoredTensors) {
  const Trace trace = testing::random_trace(5, LayerShape::conv2d(2, 32, 48, {9, 9}, {3, 3}, {1, 1}, {1, 1}));
  const Layer& layer = trace.layers().front();
  Params params("test", Config::params());
  params.set("storage", "blocks", "test");
  params.set("arithmetic", "bfloat16", "test");
  const Config config = Config::from(params);
  const TileChip chip(params);
  const StoredForms forms =
      StoredMemory(config, chip).forms({layer, Operation::kForward}, Operand::kA, false);
  for (const Operand role : kOperands) {
    ASSERT_TRUE(forms[role]);
    const auto dense = static_cast<double>(layer.tensor(role).elements() * 2);
    EXPECT_GT(static_cast<double>(forms[role]->off_chip_bytes), forms[role]->on_chip_share * dense);
    EXPECT_LE(forms[role]->on_chip_share * 16, 20.1);  // 3 bits of idx, some of AS
  }
}

}  // namespace
}  // namespace lacuna::tensordash
