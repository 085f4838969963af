// Staged values that each multiplier's multiplexer can reach, and the scheduler levels that follow from them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lacuna::tensordash {

inline constexpr int kMaxDepth = 8;
inline constexpr int kMaxLanes = 64;

// One input of a lane's multiplexer: the value `step` rows ahead in lane (own + offset), lanes forming a ring
// [TensorDash §3.1, Fig. 9].
struct Movement {
  int step = 0;
  int offset = 0;
  bool operator==(const Movement&) const = default;
};

// The movements of every lane in priority order, and the levels in which lanes choose.
class Connectivity {
 public:
  // `spec` is a name (see names()) or a list of [step, offset] pairs as in YAML:
  // "[[0,0],[1,0],[1,-1],[1,1]]". Throws InputError (`origin` starts the message) for anything else, a step
  // beyond the staging depth, a list that does not begin with the dense movement [0,0], or a named form at a
  // depth it is not defined for.
  static Connectivity parse(std::string_view spec, int lanes, int depth, std::string_view origin);
  static std::vector<std::string> names();

  int lanes() const { return lanes_; }
  int depth() const { return depth_; }
  // Equal movements at few lanes (offsets are modulo lanes) are kept once, the first.
  const std::vector<Movement>& movements() const { return movements_; }
  // Lanes by level. Inside a level no two lanes can reach the same value, so all of a level choose at once.
  const std::vector<std::vector<int>>& levels() const { return levels_; }
  // The same as bit masks.
  const std::vector<std::uint64_t>& level_masks() const { return level_masks_; }

 private:
  Connectivity(const std::vector<Movement>& movements, int lanes, int depth);

  int lanes_ = 0;
  int depth_ = 0;
  std::vector<Movement> movements_;
  std::vector<std::vector<int>> levels_;
  std::vector<std::uint64_t> level_masks_;
};

}  // namespace lacuna::tensordash
