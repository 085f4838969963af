// Any bytes as a tensor in scheduled form; the first five choose its shape and the machine. What is accepted
// must survive being stored and loaded again.
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "base/error.hpp"
#include "models/tensordash/storage/scheduled_form.hpp"
#include "time_limit.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const lacuna::TimeLimit time;
  using namespace lacuna;
  using namespace lacuna::tensordash;
  if (size < 5) return 0;
  const int lanes = 4 + data[0] % 61;
  const int depth = 1 + data[1] % 3;
  const auto names = Connectivity::names();
  const ScheduledCodec codec(Connectivity::parse(names[data[1] / 3 % names.size()], lanes, depth, "fuzz"));
  const LayerShape shape = LayerShape::conv2d(1, 1 + data[2] % 80, 1, {1 + data[3] % 4, 1 + data[3] / 4 % 20},
                                              {1, 1}, {1 + data[4] % 2, 1 + data[4] / 2 % 2});
  const auto grouping = static_cast<Grouping>(data[4] / 4 % 4);
  const DataType type = data[4] / 16 % 2 == 0 ? DataType::kFp32 : DataType::kBfloat16;
  const TensorGroups groups(shape, Operand::kA, grouping, lanes);
  const std::int64_t rows = shape.input_positions();
  try {
    StoredTensor stored;
    stored.bits.bytes.assign(data + 5, data + size);
    stored.bits.size = static_cast<std::int64_t>(size - 5) * 8;
    std::vector<GroupStep> steps;
    std::int64_t at = 0;
    for (std::int64_t g = 0; g < groups.count(); ++g) {  // the pointers that fit these bits
      groups.steps(g, steps);
      GroupShape group;
      for (const GroupStep& step : steps) group.push_back(step.lanes);
      stored.pointers.push_back(at);
      read_group(codec, group, stored.bits, at, type, "fuzz");
    }
    stored.bits.size = at;
    const std::vector<float> values = load_tensor(codec, groups, stored, rows, shape.c, type, "fuzz");
    const StoredTensor again = store_tensor(codec, groups, values, shape.c, type);
    const std::vector<float> loaded = load_tensor(codec, groups, again, rows, shape.c, type, "again");
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (std::bit_cast<std::uint32_t>(loaded[i]) != std::bit_cast<std::uint32_t>(values[i])) std::abort();
    }
  } catch (const InputError&) {
  }
  return 0;
}
