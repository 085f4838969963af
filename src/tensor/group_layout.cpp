#include "tensor/group_layout.hpp"

namespace lacuna {

bool GroupLayout::contains(const Place& at) const {
  const auto inside = [](std::int64_t value, std::int64_t end) { return value >= 0 && value < end; };
  return inside(at.image, images) && inside(at.row, rows) && inside(at.column, columns) &&
         inside(at.channel, channels);
}

std::int64_t GroupLayout::offset(const Place& at) const {
  const std::int64_t line = at.image * rows + at.row;
  const std::int64_t group =
      (line * column_groups() + at.column / side) * channel_groups() + at.channel / side;
  return (group * side + at.column % side) * side + at.channel % side;
}

GroupLayout::Place GroupLayout::place(std::int64_t offset) const {
  const std::int64_t lane = offset % side;
  const std::int64_t block = offset / side % side;
  const std::int64_t group = offset / (side * side);
  const std::int64_t line = group / channel_groups() / column_groups();
  return {line / rows, line % rows, group / channel_groups() % column_groups() * side + block,
          group % channel_groups() * side + lane};
}

}  // namespace lacuna
