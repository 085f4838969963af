namespace lacuna::ant {
constexpr int kVectorBytes = 64;
}

#include "range_search_lanes.hpp"

namespace lacuna::ant {
constinit const RangeSearch kRangeSearchAvx512 = search;
}
