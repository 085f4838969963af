#include "sim/unit_record.hpp"

#include <gtest/gtest.h>

namespace lacuna {
namespace {

UnitSpan sum(const UnitRecord& record) {
  UnitSpan all{0, 0, {0, 0}};
  for (const UnitSpan& span : record.spans()) all.add(span);
  return all;
}

TEST(UnitRecord, KeepsSpansWhileThereAreFew) {
  UnitRecord record;
  record.add(10, std::vector<std::int64_t>{10, 4});
  record.add(7, std::vector<std::int64_t>{0, 7});
  ASSERT_EQ(record.spans().size(), 2U);
  EXPECT_EQ(record.spans()[0], (UnitSpan{1, 10, {10, 4}}));
  EXPECT_EQ(record.spans()[1], (UnitSpan{1, 7, {0, 7}}));
}

// However many products there are: their number stays bounded, sums stay exact, spans are about equally long.
TEST(UnitRecord, MergesNeighboursWhereThereAreMany) {
  for (const std::int64_t products : {64, 65, 128, 129, 1000, 12345}) {
    UnitRecord record;
    for (std::int64_t i = 0; i < products; ++i) record.add(i + 1, std::vector<std::int64_t>{i + 1, i / 2});
    EXPECT_LE(record.spans().size(), UnitRecord::kMost) << products;
    EXPECT_GE(record.spans().size(), UnitRecord::kMost / 2) << products;
    const UnitSpan all = sum(record);
    EXPECT_EQ(all.products, products);
    EXPECT_EQ(all.cycles, products * (products + 1) / 2);
    EXPECT_EQ(all.busy[0], all.cycles);
    std::int64_t least = products, most = 0;
    for (std::size_t i = 0; i + 1 < record.spans().size(); ++i) {
      least = std::min(least, record.spans()[i].products);
      most = std::max(most, record.spans()[i].products);
    }
    EXPECT_LE(most, 3 * least) << products;
  }
}

TEST(UnitRecord, AppendsRecords) {
  UnitRecord one, all;
  for (int i = 0; i < 200; ++i) one.add(3, std::vector<std::int64_t>{3, 1});
  for (int i = 0; i < 50; ++i) all.append(one);
  EXPECT_LE(all.spans().size(), UnitRecord::kMost);
  EXPECT_EQ(sum(all), (UnitSpan{10000, 30000, {30000, 10000}}));
}

TEST(UnitRecording, AddsToTheInnermostRecordOfTheThread) {
  UnitRecord outer, inner;
  const std::vector<std::int64_t> busy{1};
  UnitRecording::add(1, busy);  // nobody records
  {
    const UnitRecording recording(&outer);
    UnitRecording::add(1, busy);
    {
      const UnitRecording off(nullptr);
      UnitRecording::add(1, busy);
      const UnitRecording nested(&inner);
      UnitRecording::add(1, busy);
      UnitRecording::add(1, busy);
    }
    UnitRecording::add(1, busy);
  }
  EXPECT_EQ(outer.spans().size(), 2U);
  EXPECT_EQ(inner.spans().size(), 2U);
}

}  // namespace
}  // namespace lacuna
