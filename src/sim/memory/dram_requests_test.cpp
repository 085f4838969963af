#include "sim/memory/dram_requests.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <set>

#include "base/random.hpp"
#include "sim/memory/dram.hpp"

namespace lacuna {
namespace {

std::vector<DramRequest> all(DramRequests requests) {
  std::vector<DramRequest> list;
  DramRequest request;
  while (requests.next(request)) list.push_back(request);
  return list;
}

DramRequests::Layout small(bool as_needed = false) {
  return {.request_bytes = 64, .turn_bytes = 128, .align = 1024, .as_needed = as_needed};
}

TEST(DramRequests, MovesTensorsSideBySideInTurns) {
  const auto requests = all(DramRequests(
      {{.name = "A", .bytes = 256, .reads = 1}, {.name = "output", .bytes = 200, .writes = 1}}, small()));
  std::string order;
  for (const DramRequest& request : requests)
    order += (request.write ? 'W' : 'R') + std::to_string(request.address) + ' ';
  EXPECT_EQ(order, "R0 R64 W1024 W1088 R128 R192 W1152 W1216 ");
}

// A group of 2 requests in 3 channels: 0 2 4 / 6 8 10 / 12 as they lie.
TEST(DramRequests, TakesGroupsAcrossChannelsWhereTheyAreNeeded) {
  const std::vector<DramTensor> tensors{
      {.name = "G", .bytes = 7 * 128, .reads = 1, .groups = 7, .channel_groups = 3}};
  std::vector<std::int64_t> places;
  for (const DramRequest& request : all(DramRequests(tensors, small(true))))
    places.push_back(request.address / 64);
  EXPECT_EQ(places, (std::vector<std::int64_t>{0, 1, 6, 7, 12, 13, 2, 3, 8, 9, 4, 5, 10, 11}));
}

// Whatever the order: each request of each pass once, and nothing else.
TEST(DramRequests, CoverEveryByteOnceInEachPass) {
  Random random(1);
  for (int i = 0; i < 300; ++i) {
    std::vector<DramTensor> tensors;
    for (const char* name : {"A", "W", "output"}) {
      DramTensor tensor{.name = name, .bytes = random.integer(0, 5000)};
      (tensors.size() == 2 ? tensor.writes : tensor.reads) = random.integer(0, 3);
      tensor.channel_groups = random.integer(1, 9);
      tensor.groups = tensor.channel_groups * random.integer(1, 40);
      tensors.push_back(tensor);
    }
    const DramRequests requests(tensors, small(random.chance(0.7)));
    const std::vector<DramRequest> list = all(requests);
    ASSERT_EQ(std::ssize(list), requests.count());
    std::map<std::int64_t, std::int64_t> times;
    for (const DramRequest& request : list) ++times[request.address];
    std::int64_t base = 0;
    for (const DramTensor& tensor : tensors) {
      const std::int64_t passes = tensor.reads + tensor.writes;
      for (std::int64_t at = 0; at < tensor.bytes; at += 64) {
        ASSERT_EQ(times[base + at], passes) << tensor.name << " " << at << " in case " << i;
        times.erase(base + at);
      }
      base += (tensor.bytes + 1023) / 1024 * 1024;
    }
    std::erase_if(times, [](const auto& entry) { return entry.second == 0; });
    ASSERT_TRUE(times.empty());
  }
}

TEST(DramRequests, WritesSumsBeforeItReadsThem) {
  const auto requests =
      all(DramRequests({{.name = "output", .bytes = 64, .reads = 2, .writes = 3}}, small()));
  std::string order;
  for (const DramRequest& request : requests) order += request.write ? 'W' : 'R';
  EXPECT_EQ(order, "WRWRW");
}

// Rows that the walk opens, with those of all parts side by side, are those that the model counts.
TEST(DramRequests, OpenAsManyRowsAsTheModelCounts) {
  Params params("memory", dram_params("", ""));
  params.set("dram_order", "needed", "test");
  const Dram dram(params);
  constexpr std::int64_t kRow = 2048 * 16, kParts = 16;
  Random random(7);
  for (int i = 0; i < 100; ++i) {
    DramTensor tensor{.name = "G", .reads = 1};
    tensor.channel_groups = std::int64_t{1} << random.integer(0, 7);
    tensor.groups = tensor.channel_groups * random.integer(8, 400);
    tensor.bytes = tensor.groups * random.integer(4, 8) * 128;  // at least a request in every channel
    DramRequests requests({tensor}, dram.layout());
    std::int64_t visits = 0, row = -1;
    DramRequest request;
    while (requests.next(request)) {
      if (request.address / kRow != row) ++visits;
      row = request.address / kRow;
    }
    const double counted = static_cast<double>(dram.activations(tensor)) / kParts;
    EXPECT_NEAR(counted, static_cast<double>(visits), 0.12 * static_cast<double>(visits) + 2)
        << tensor.channel_groups << " x " << tensor.groups / tensor.channel_groups << " of " << tensor.bytes;
  }
}

}  // namespace
}  // namespace lacuna
