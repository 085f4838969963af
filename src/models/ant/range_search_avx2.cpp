namespace lacuna::ant {
constexpr int kVectorBytes = 32;
}

#include "range_search_lanes.hpp"

namespace lacuna::ant {
constinit const RangeSearch kRangeSearchAvx2 = search;
}
