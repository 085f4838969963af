#include "models/sparten/engine/engine.hpp"

namespace lacuna::sparten {

ProductCounts& ProductCounts::operator+=(const ProductCounts& other) {
  cycles += other.cycles;
  join_cycles += other.join_cycles;
  occupied_cycles += other.occupied_cycles;
  matches_or_one += other.matches_or_one;
  broadcast_nonzeros += other.broadcast_nonzeros;
  held_nonzeros += other.held_nonzeros;
  empty_broadcasts += other.empty_broadcasts;
  held_units += other.held_units;
  return *this;
}

}  // namespace lacuna::sparten
