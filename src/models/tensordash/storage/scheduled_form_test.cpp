// The scheduled form of groups and tensors: exact round trips, its size, and what decoding refuses.
#include "models/tensordash/storage/scheduled_form.hpp"

#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include "base/ceil_div.hpp"
#include "base/error.hpp"
#include "base/random.hpp"
#include "base/testing.hpp"
#include "models/tensordash/engine/row_group.hpp"
#include "models/tensordash/testing.hpp"
#include "sim/testing/random_layer.hpp"

namespace lacuna::tensordash {
namespace {

// Values whose bits must survive: any pattern but a negative zero.
float random_value(Random& random) {
  switch (random.integer(0, 9)) {
    case 0:
      return std::bit_cast<float>(0x7f800001U + static_cast<std::uint32_t>(random.integer(0, 0x3fffff)));
    case 1:
      return std::bit_cast<float>(0xffc00000U | static_cast<std::uint32_t>(random.integer(0, 0x3fffff)));
    case 2:
      return std::numeric_limits<float>::denorm_min();
    case 3:
      return -std::numeric_limits<float>::infinity();
    default: {
      const auto bits = static_cast<std::uint32_t>(random.bits());
      return std::bit_cast<float>((bits << 1) == 0 ? 1U : bits);
    }
  }
}

std::vector<float> random_values(Random& random, std::int64_t count, double zeros) {
  std::vector<float> values(static_cast<std::size_t>(count), 0.0F);
  for (float& value : values) {
    if (!random.chance(zeros)) value = random_value(random);
  }
  return values;
}

std::vector<std::uint32_t> bits(const std::vector<float>& values) {
  std::vector<std::uint32_t> out;
  out.reserve(values.size());
  for (const float value : values) out.push_back(std::bit_cast<std::uint32_t>(value));
  return out;
}

GroupShape full_shape(std::int64_t steps, int lanes) {
  return GroupShape(static_cast<std::size_t>(steps), lanes);
}

TEST(LaneSelector, SelectsWhatTheSchedulerSelects) {
  Random random(11);
  for (const std::string& name : Connectivity::names()) {
    for (int lanes = 4; lanes <= 64; lanes += (lanes < 20 ? 1 : 11)) {
      for (const int depth : {1, 2, 3}) {
        const Scheduler scheduler(connect(name, lanes, depth));
        const LaneSelector selector(scheduler.connectivity());
        for (int trial = 0; trial < 40; ++trial) {
          std::array<std::uint64_t, kMaxDepth> plain{};
          const double zeros = random.uniform();
          for (int s = 0; s < depth; ++s) {
            for (int lane = 0; lane < lanes; ++lane)
              plain[static_cast<std::size_t>(s)] |= std::uint64_t{!random.chance(zeros)} << lane;
          }
          std::array<std::uint64_t, kMaxDepth> quick = plain;
          Selection expected;
          scheduler.select(plain.data(), expected);
          Selection selected;
          selected.fill(kIdle);
          selector.select(quick.data(), low_bits(lanes), [&](int movement, std::uint64_t chosen) {
            for (; chosen != 0; chosen &= chosen - 1)
              selected[static_cast<std::size_t>(std::countr_zero(chosen))] =
                  static_cast<std::int16_t>(movement);
          });
          ASSERT_EQ(selected, expected) << name << " lanes " << lanes << " depth " << depth;
          ASSERT_EQ(quick, plain);
        }
      }
    }
  }
}

TEST(ScheduledForm, RoundTripsEveryKindBitForBit) {
  Random random(1);
  for (const std::string& name : Connectivity::names()) {
    for (const int lanes : {4, 5, 8, 16, 17, 32, 63, 64}) {
      for (const int depth : {1, 2, 3}) {
        const ScheduledCodec codec(connect(name, lanes, depth));
        for (const double zeros : {0.0, 0.2, 0.5, 0.9, 0.99, 1.0}) {
          for (const std::int64_t steps : {0, 1, 2, 3, 9, 40}) {
            GroupShape shape = full_shape(steps, lanes);
            if (random.chance(0.5) && steps > 0)
              shape.back() = static_cast<std::int32_t>(random.integer(1, lanes));
            if (random.chance(0.3)) {  // tails anywhere
              for (std::int32_t& step : shape) step = static_cast<std::int32_t>(random.integer(1, lanes));
            }
            const std::vector<float> values = random_values(random, group_elements(shape), zeros);
            const ScheduledGroup group = codec.encode(shape, values);
            ASSERT_EQ(bits(codec.decode(shape, group, "test")), bits(values));
            // Never more rows than steps, nor more slots than elements.
            ASSERT_LE(group.rows(), steps);
            ASSERT_LE(group.slots(), group_elements(shape));
            if (zeros == 0.0) {
              bool full = true;
              for (const std::int32_t step : shape) full &= step == lanes;
              if (full) {
                ASSERT_EQ(group.slots(), group_elements(shape));
              }
            }
            if (zeros == 1.0) {
              ASSERT_EQ(group.rows(), ceil_div(steps, depth));
            }
          }
        }
      }
    }
  }
}

TEST(ScheduledForm, RowsAreTheCyclesOfTheOneSideScheduler) {
  Random random(2);
  for (int trial = 0; trial < 300; ++trial) {
    const int lanes = static_cast<int>(random.integer(4, 64));
    const int depth = static_cast<int>(random.integer(1, 3));
    const Scheduler scheduler(connect(Connectivity::names()[trial % 4], lanes, depth));
    const ScheduledCodec codec(scheduler.connectivity());
    const std::int64_t steps = random.integer(1, 30);
    GroupShape shape = full_shape(steps, lanes);
    shape.back() = static_cast<std::int32_t>(random.integer(1, lanes));
    const std::vector<float> values = random_values(random, group_elements(shape), random.uniform());
    GroupWords words(1, steps, depth);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (is_effectual(values[i]))
        words.row(0)[i / static_cast<std::size_t>(lanes)] |= std::uint64_t{1}
                                                             << (i % static_cast<std::size_t>(lanes));
    }
    ASSERT_EQ(codec.encode(shape, values).rows(), run_lockstep(scheduler, words));
  }
}

// Fig. 7: four lanes, depth 2; 7 effectual pairs of 16 in 2 rows.
TEST(ScheduledForm, PapersExample) {
  const ScheduledCodec codec(connect("[[0,0],[1,0],[1,-1],[1,1]]", 4, 2));
  const std::vector<float> values{0, 1, 2, 0, 3, 0, 0, 4, 0, 5, 0, 0, 6, 0, 7, 0};
  const ScheduledGroup group = codec.encode(full_shape(4, 4), values);
  EXPECT_EQ(group.advances, (std::vector<std::uint8_t>{2, 2}));
  EXPECT_EQ(group.values, (std::vector<float>{3, 1, 2, 4, 6, 5, 7, 0}));
  EXPECT_EQ(group.moves, (std::vector<std::uint16_t>{1, 0, 0, 1, 1, 0, 1, 0}));
  EXPECT_EQ(codec.bits().move, 2);
  EXPECT_EQ(codec.bits().advance, 1);
}

// Pairs alone do not say where a row begins: these two groups differ in nothing but AS.
TEST(ScheduledForm, PairsWithoutAdvanceAreAmbiguous) {
  const ScheduledCodec codec(connect("lookahead", 1, 2));
  const GroupShape shape = full_shape(3, 1);
  const ScheduledGroup late = codec.encode(shape, std::vector<float>{1, 0, 2});
  const ScheduledGroup early = codec.encode(shape, std::vector<float>{1, 2, 0});
  // Lane 0 takes the value one step ahead as well when its own is zero; here its own is not.
  EXPECT_EQ(late.values, early.values);
  EXPECT_EQ(late.moves, early.moves);
  EXPECT_NE(late.advances, early.advances);
}

TEST(ScheduledForm, NegativeZeroIsAZero) {
  const ScheduledCodec codec(connect("paper", 16, 3));
  std::vector<float> values(16, -0.0F);
  values[3] = 5;
  const ScheduledGroup group = codec.encode({16}, values);
  const std::vector<float> decoded = codec.decode({16}, group, "test");
  EXPECT_EQ(decoded[3], 5);
  EXPECT_FALSE(std::signbit(decoded[0]));
}

TEST(ScheduledForm, BitsOfTheFields) {
  const auto fields = [](const char* spec, int lanes, int depth) {
    const FormBits form = form_bits(connect(spec, lanes, depth));
    return std::pair(form.move, form.advance);
  };
  EXPECT_EQ(fields("paper", 16, 3), std::pair(3, 2));
  EXPECT_EQ(fields("paper", 16, 2), std::pair(3, 1));  // five movements
  EXPECT_EQ(fields("paper", 16, 1), std::pair(0, 0));
  EXPECT_EQ(fields("crossbar", 16, 3), std::pair(6, 2));
}

TEST(ScheduledForm, DecodingRefusesWhatCannotBe) {
  const ScheduledCodec codec(connect("paper", 16, 3));
  const GroupShape shape{16, 16, 16, 7};
  Random random(3);
  const ScheduledGroup good = codec.encode(shape, random_values(random, 55, 0.4));
  ASSERT_NO_THROW(codec.decode(shape, good, "test"));
  const auto refused = [&](auto change) {
    ScheduledGroup bad = good;
    change(bad);
    EXPECT_THROW(codec.decode(shape, bad, "test"), InputError);
  };
  refused([](ScheduledGroup& g) { g.moves[0] = 8; });
  refused([](ScheduledGroup& g) { g.moves[5] = 65535; });
  refused([](ScheduledGroup& g) { g.moves.pop_back(); });
  refused([](ScheduledGroup& g) { g.advances.pop_back(); });
  refused([](ScheduledGroup& g) { g.advances[0] = 0; });
  refused([](ScheduledGroup& g) { g.advances[0] = 4; });
  refused([](ScheduledGroup& g) { g.advances.push_back(1); });
  refused([](ScheduledGroup& g) { g.values.pop_back(), g.moves.pop_back(); });
  refused([](ScheduledGroup& g) { g.values.push_back(0), g.moves.push_back(0); });
  refused([](ScheduledGroup& g) { g = {}; });
  // The last row's value from a step that does not exist, and two values for one place.
  ScheduledGroup outside{std::vector<float>(16, 1.0F), std::vector<std::uint16_t>(16, 1), {1}};
  EXPECT_THROW(codec.decode({16}, outside, "test"), InputError);
  ScheduledGroup twice{std::vector<float>(32, 1.0F), std::vector<std::uint16_t>(32, 0), {1, 1}};
  twice.moves[0] = 1;
  EXPECT_THROW(codec.decode({16, 16}, twice, "test"), InputError);
  twice.moves[0] = 0;
  EXPECT_NO_THROW(codec.decode({16, 16}, twice, "test"));
  // A lane that has no element at that step.
  ScheduledGroup tail{std::vector<float>(16, 0.0F), std::vector<std::uint16_t>(16, 0), {2}};
  tail.values[15] = 1;
  tail.moves[15] = 1;
  EXPECT_THROW(codec.decode({16, 7}, tail, "test"), InputError);
}

// --- tensors ---

struct Sizes {
  std::int64_t rows, channels;
};
Sizes sizes(const LayerShape& shape, Operand role) {
  return role == Operand::kA   ? Sizes{shape.n * shape.input_positions(), shape.c}
         : role == Operand::kW ? Sizes{shape.k * shape.taps(), shape.c_per_group()}
                               : Sizes{shape.n * shape.output_positions(), shape.k};
}

TEST(TensorGroups, EveryElementIsInOneGroup) {
  Random random(4);
  for (int trial = 0; trial < 200; ++trial) {
    const LayerShape shape = testing::random_shape(random);
    const int lanes = static_cast<int>(random.integer(4, 64));
    for (const Operand role : kOperands) {
      const auto [rows, channels] = sizes(shape, role);
      for (const Grouping grouping : kGroupings) {
        const TensorGroups groups(shape, role, grouping, lanes);
        std::vector<int> seen(static_cast<std::size_t>(rows * channels), 0);
        std::vector<GroupStep> steps;
        for (std::int64_t g = 0; g < groups.count(); ++g) {
          groups.steps(g, steps);
          ASSERT_GT(steps.size(), 0U);
          ASSERT_LE(static_cast<std::int64_t>(steps.size()), groups.longest());
          for (const GroupStep& step : steps) {
            ASSERT_GE(step.lanes, 1);
            ASSERT_LE(step.channel + step.lanes, channels);
            for (std::int32_t lane = 0; lane < step.lanes; ++lane)
              ++seen.at(static_cast<std::size_t>(step.row * channels + step.channel + lane));
          }
        }
        ASSERT_TRUE(std::ranges::all_of(seen, [](int count) { return count == 1; }))
            << shape.describe() << " " << grouping_name(grouping);
      }
    }
  }
}

// Stride 2, 3x3, padding 1: windows begin at -1, 1, 3, ...; positions 1 and 2 are between two origins.
TEST(TensorGroups, MergedCellsBeginWhereWindowsBegin) {
  const LayerShape shape = LayerShape::conv2d(1, 4, 4, {5, 5}, {3, 3}, {2, 2}, {1, 1});
  const TensorGroups groups(shape, Operand::kA, Grouping::kMerged, 4);
  EXPECT_EQ(groups.count(), 9);
  std::vector<GroupStep> steps;
  groups.steps(0, steps);
  ASSERT_EQ(steps.size(), 1U);
  EXPECT_EQ(steps[0].row, 0);
  groups.steps(4, steps);
  ASSERT_EQ(steps.size(), 4U);
  EXPECT_EQ(steps[0].row, 6);
  EXPECT_EQ(steps[1].row, 7);
  EXPECT_EQ(steps[2].row, 11);
  EXPECT_EQ(steps[3].row, 12);
}

TEST(StoredTensor, RoundTripsEveryGroupingAndType) {
  Random random(5);
  for (std::uint64_t trial = 0; trial < std::max<std::uint64_t>(random_cases(60), 12); ++trial) {
    const LayerShape shape = testing::random_shape(random);
    const int lanes = static_cast<int>(random.integer(4, 64));
    const int depth = static_cast<int>(random.integer(1, 3));
    const ScheduledCodec codec(connect(Connectivity::names()[trial % 4], lanes, depth));
    for (const Operand role : kOperands) {
      const auto [rows, channels] = sizes(shape, role);
      for (const DataType type : {DataType::kFp32, DataType::kBfloat16}) {
        std::vector<float> values = random_values(random, rows * channels, random.uniform());
        if (type == DataType::kBfloat16) {
          for (float& value : values) value = round_to_bfloat16(value);
          for (float& value : values) value = value == 0 ? 0.0F : value;  // denormals that round to -0
        }
        for (const Grouping grouping : kGroupings) {
          const TensorGroups groups(shape, role, grouping, lanes);
          const StoredTensor stored = store_tensor(codec, groups, values, channels, type);
          ASSERT_EQ(bits(load_tensor(codec, groups, stored, rows, channels, type, "test")), bits(values));
          ASSERT_LE(stored.bits.size, rows * channels * (bits_of(type) + codec.bits().move) +
                                          rows * channels * codec.bits().advance);
        }
      }
    }
  }
}

TEST(StoredTensor, DamagedBitsAreRefusedOrDecodeToSomething) {
  Random random(6);
  const LayerShape shape = LayerShape::conv2d(1, 20, 3, {4, 5}, {3, 3});
  const ScheduledCodec codec(connect("paper", 16, 3));
  const TensorGroups groups(shape, Operand::kA, Grouping::kBlocks, 16);
  const std::vector<float> values = random_values(random, 400, 0.6);
  const StoredTensor good = store_tensor(codec, groups, values, 20, DataType::kFp32);
  const auto load = [&](const StoredTensor& stored) {
    return load_tensor(codec, groups, stored, 20, 20, DataType::kFp32, "test");
  };
  int refused = 0;
  for (int trial = 0; trial < 500; ++trial) {
    StoredTensor bad = good;
    bad.bits.bytes[static_cast<std::size_t>(random.integer(0, std::ssize(bad.bits.bytes) - 1))] ^=
        static_cast<std::uint8_t>(1U << random.integer(0, 7));
    try {
      EXPECT_EQ(load(bad).size(), values.size());
    } catch (const InputError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 0);
  for (std::int64_t size = 0; size < good.bits.size; size += 13) {
    StoredTensor cut = good;
    cut.bits.size = size;
    EXPECT_THROW(load(cut), InputError);
  }
  StoredTensor bad = good;
  bad.bits.size = std::ssize(bad.bits.bytes) * 8 + 1;
  EXPECT_THROW(load(bad), InputError);
  bad = good;
  bad.bits.bytes.push_back(0);
  bad.bits.size += 8;
  EXPECT_THROW(load(bad), InputError);
  bad = good;
  bad.pointers[1] += 1;
  EXPECT_THROW(load(bad), InputError);
  bad = good;
  bad.pointers.pop_back();
  EXPECT_THROW(load(bad), InputError);
  // FP32 values do not fit bfloat16.
  std::vector<float> wide(400, 1.000001F);
  EXPECT_THROW(store_tensor(codec, groups, wide, 20, DataType::kBfloat16), InputError);
}

}  // namespace
}  // namespace lacuna::tensordash
