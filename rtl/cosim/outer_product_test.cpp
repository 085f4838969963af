// The PE of ANT and the SCNN-like one against the model: every issued vector, every product and output index,
// the cycles, and the plane that comes out.
#include <bit>
#include <gtest/gtest.h>

#include "Vant_pe.h"
#include "Vscnn_pe.h"
#include "accumulator_banks.hpp"
#include "bits.hpp"
#include "outer_product_reference.hpp"
#include "top.hpp"

namespace lacuna::rtl {
namespace {

constexpr std::size_t kLanes = 4, kWindow = 16, kIdx = 9, kPtr = 16;

// Where the members of outer_pkg's types begin: the last one is lowest.
constexpr std::size_t kX = 0, kY = kX + kLanes * kIdx, kValue = kY + kLanes * kIdx,
                      kThere = kValue + kLanes * 16;
constexpr std::size_t kMapX = 0, kMapY = 53, kMatrix = 106;

std::uint64_t bf16(float value) { return std::bit_cast<std::uint32_t>(value) >> 16; }

template <typename Top>
class OuterDriver {
 public:
  static constexpr bool kAnt = std::is_same_v<Top, Vant_pe>;

  explicit OuterDriver(std::uint64_t seed) : random_(seed) {
    top_->image_valid_i = 0;
    top_->out_ready_i = 1;
    reset(*top_);
  }

  // Runs one pair; the pipe is empty before and after. With `banks` the RTL's accumulators add the products
  // and hold the PE while they collide; else the driver does, with random stalls.
  void run(const PairWork& work, double stalls, AccumulatorBanks* banks = nullptr) {
    configure(work);
    if (banks != nullptr) banks->start(output_width(work));
    const std::vector<PairWork::Step>& steps = kAnt ? work.ant : work.scnn;
    const std::size_t elements = work.image.value.size();
    std::vector<float> output(work.output.size(), 0.0F);
    std::size_t next = 0, done = 0;
    bool waiting = false;  // a vector is on offer and was not taken: it must stand, bit for bit
    std::int64_t searches = 0, clocks = 0, idle = 0, held = 0;
    while (idle < 10) {
      ASSERT_LT(clocks, 1000000) << work.name;
      top_->image_valid_i = next < elements && (waiting || !random_.chance(stalls)) ? 1 : 0;
      top_->out_ready_i = (banks != nullptr ? !banks->offer(*top_) : random_.chance(stalls)) ? 0 : 1;
      for (std::size_t i = 0; i < kLanes && !waiting; ++i) {
        const bool there = next + i < elements;
        set_bits(top_->image_i, kThere + i, 1, there ? 1 : 0);
        // Lanes without an element may hold anything.
        set_bits(top_->image_i, kValue + i * 16, 16,
                 there ? bf16(work.image.value[next + i]) : random_.bits());
        set_bits(top_->image_i, kY + i * kIdx, kIdx, there ? work.image.row[next + i] : random_.bits());
        set_bits(top_->image_i, kX + i * kIdx, kIdx, there ? work.image.column[next + i] : random_.bits());
      }
      memories(work);
      const bool idle_now = next >= elements && done >= steps.size();
      if (top_->out_valid_o != 0 && top_->out_ready_i != 0) {
        ASSERT_LT(done, steps.size()) << work.name << ": more vectors than the model issues";
        check(work, steps[done], output);
        ++done;
      }
      held += top_->out_valid_o != 0 && top_->out_ready_i == 0 ? 1 : 0;
      if constexpr (kAnt) searches += top_->search_o;
      waiting = top_->image_valid_i != 0 && top_->image_ready_o == 0;
      if (top_->image_valid_i != 0 && top_->image_ready_o != 0) next += kLanes;
      tick(*top_);
      if (banks != nullptr) banks->clock();
      ++clocks;
      idle = idle_now ? idle + 1 : 0;
    }
    ASSERT_EQ(done, steps.size()) << work.name;
    ASSERT_EQ(output, work.output) << work.name;
    if (banks != nullptr) {
      ASSERT_EQ(banks->sums(output.size()), work.output) << work.name;
      ASSERT_EQ(held, kAnt ? work.ant_conflicts : work.scnn_conflicts) << work.name;
    }
    // From the first image vector to the last product. The model's fill: 5 cycles for ANT, 2 for SCNN.
    const std::int64_t cycles = kAnt ? work.ant_cycles : work.scnn_cycles;
    if constexpr (kAnt) {
      if (stalls == 0) {
        ASSERT_EQ(searches, cycles) << work.name;
      }
      // Bubbles behind the last product are not seen at the output.
    } else if (stalls == 0) {
      ASSERT_EQ(clocks - 10, 2 + cycles + held + 1) << work.name;
    }
  }

 private:
  static std::size_t output_width(const PairWork& work) {
    return work.matrix ? static_cast<std::size_t>(work.kernel.columns)
                       : static_cast<std::size_t>(work.x.output_last) + 1;
  }

  void configure(const PairWork& work) {
    set_bits(top_->map_i, kMatrix, 1, work.matrix ? 1 : 0);
    set_axis(kMapY, work.y);
    set_axis(kMapX, work.x);
    if constexpr (!kAnt) top_->kernel_count_i = static_cast<std::uint16_t>(work.kernel.value.size());
  }

  void set_axis(std::size_t at, const AxisInfo& axis) {
    const auto put = [&](std::size_t width, int value) {
      set_bits(top_->map_i, at, width, static_cast<std::uint64_t>(value));
      at += width;
    };
    put(kIdx, axis.output_last);
    put(2, axis.output_log2);
    put(kIdx, axis.kernel_last);
    put(2, axis.kernel_log2);
    put(kIdx + 5, axis.offset_low);
    put(kIdx + 5, axis.offset);
    put(3, axis.image_step);
  }

  // The kernel's buffers, read combinationally.
  void memories(const PairWork& work) {
    const PlaneInfo& kernel = work.kernel;
    top_->eval();
    const auto element = [&](std::size_t lane, std::size_t place) {
      const bool there = place < kernel.value.size();
      set_bits(top_->kernel_i, kValue + lane * 16, 16, there ? bf16(kernel.value[place]) : 0);
      set_bits(top_->kernel_i, kY + lane * kIdx, kIdx, there ? kernel.row[place] : 0);
      set_bits(top_->kernel_i, kX + lane * kIdx, kIdx, there ? kernel.column[place] : 0);
    };
    if constexpr (kAnt) {
      const auto pointer = [&](std::size_t row) {
        return row < kernel.pointers.size() ? kernel.pointers[row] : 0;
      };
      top_->pointer_first_i = static_cast<std::uint16_t>(pointer(top_->pointer_first_row_o));
      top_->pointer_end_i = static_cast<std::uint16_t>(pointer(top_->pointer_last_row_o + std::size_t{1}));
      for (std::size_t i = 0; i < kWindow; ++i) {
        const std::size_t place = top_->window_place_o + i;
        set_bits(top_->window_columns_i, i * kIdx, kIdx,
                 place < kernel.column.size() ? kernel.column[place] : 0);
      }
      for (std::size_t lane = 0; lane < kLanes; ++lane)
        element(lane, get_bits(top_->kernel_place_o, lane * kPtr, kPtr));
    } else {
      for (std::size_t lane = 0; lane < kLanes; ++lane) element(lane, top_->kernel_place_o + lane);
    }
    top_->eval();
  }

  void check(const PairWork& work, const PairWork::Step& step, std::vector<float>& output) {
    const std::size_t width = output_width(work);
    for (std::size_t i = 0; i < kLanes; ++i) {
      for (std::size_t j = 0; j < kLanes; ++j) {
        const std::size_t at = i * kLanes + j;
        const bool executed = step.first + i < step.end && j < step.hits.size();
        ASSERT_EQ(get_bits(top_->executed_o, at, 1) != 0, executed) << work.name;
        if (!executed) continue;
        const float product = work.image.value[step.first + i] * work.kernel.value[step.hits[j]];
        ASSERT_EQ(std::bit_cast<float>(static_cast<std::uint32_t>(get_bits(top_->product_o, at * 32, 32))),
                  product)
            << work.name;
        if (get_bits(top_->useful_o, at, 1) == 0) continue;
        const std::size_t place =
            get_bits(top_->output_y_o, at * kIdx, kIdx) * width + get_bits(top_->output_x_o, at * kIdx, kIdx);
        ASSERT_LT(place, output.size()) << work.name;
        output[place] += product;
      }
    }
  }

  Random random_;
  OwnedTop<Top> top_;
};

using MakePair = PairWork(Random&);

template <typename Top>
void check_random(int pairs, MakePair* make) {
  Random random(3);
  OuterDriver<Top> driver(4);
  for (int i = 0; i < pairs; ++i) {
    driver.run(make(random), random.chance(0.5) ? 0 : random.uniform() * 0.7);
    if (testing::Test::HasFatalFailure()) return;
  }
}

template <typename Top>
void check_recorded(const std::string& model, int pairs) {
  OuterDriver<Top> driver(5);
  const std::vector<PairWork> work = recorded_pairs(model, pairs);
  EXPECT_EQ(work.size(), static_cast<std::size_t>(pairs));
  for (const PairWork& pair : work) {
    driver.run(pair, 0);
    if (testing::Test::HasFatalFailure()) return;
  }
}

// Kernels that fill their buffers to the last places that a pointer reaches.
template <typename Top>
void check_last_places() {
  Random random(8);
  OuterDriver<Top> driver(9);
  for (const std::int64_t nonzeros : {65'520, 65'521, 65'532, 65'533, 65'534, 65'535}) {
    driver.run(last_place_pair(nonzeros, random), 0);
    if (testing::Test::HasFatalFailure()) return;
  }
}

// The accumulators of the RTL behind the PE: sums, and the cycles that colliding products cost.
template <typename Top>
void check_banks(int pairs, int large_pairs) {
  Random random(6);
  OuterDriver<Top> driver(7);
  AccumulatorBanks banks;
  std::int64_t conflicts = 0;
  for (int i = 0; i < pairs + large_pairs; ++i) {
    const PairWork work = i < pairs ? random_pair(random) : large_pair(random);
    driver.run(work, 0, &banks);
    if (testing::Test::HasFatalFailure()) return;
    conflicts += work.ant_conflicts;
  }
  for (const PairWork& work : recorded_pairs("squeezenet", 5)) {
    driver.run(work, 0, &banks);
    if (testing::Test::HasFatalFailure()) return;
    conflicts += work.ant_conflicts;
  }
  EXPECT_GT(conflicts, 0);
}

TEST(Ant, RandomPairs) { check_random<Vant_pe>(2000, random_pair); }
TEST(Ant, LargePairs) { check_random<Vant_pe>(50, large_pair); }
TEST(Ant, RecordedAlexnet) { check_recorded<Vant_pe>("alexnet", 10); }
TEST(Ant, RecordedSqueezenet) { check_recorded<Vant_pe>("squeezenet", 10); }
TEST(Ant, AccumulatorBanks) { check_banks<Vant_pe>(500, 20); }
TEST(Ant, LastPlaces) { check_last_places<Vant_pe>(); }
TEST(Scnn, LastPlaces) { check_last_places<Vscnn_pe>(); }
TEST(Scnn, RandomPairs) { check_random<Vscnn_pe>(2000, random_pair); }
TEST(Scnn, LargePairs) { check_random<Vscnn_pe>(50, large_pair); }
TEST(Scnn, RecordedSqueezenet) { check_recorded<Vscnn_pe>("squeezenet", 5); }
TEST(Scnn, AccumulatorBanks) { check_banks<Vscnn_pe>(500, 20); }

}  // namespace
}  // namespace lacuna::rtl
