// Seeds shaped like files that readers of this kind are slow or large on: zstd frames that declare no size,
// very many of them, long runs of one byte; texts that repeat one piece thousands of times.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lacuna {

// Empty if the fuzzer has none.
std::vector<std::string> hard_seeds(std::string_view fuzzer);

}  // namespace lacuna
