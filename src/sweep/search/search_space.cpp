#include "sweep/search/search_space.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace lacuna::sweep {

std::uint64_t SearchSpace::combinations() const {
  std::uint64_t product = 1;
  for (const Dimension& dimension : dimensions) {
    if (__builtin_mul_overflow(product, std::uint64_t{dimension.choices}, &product)) {
      return std::numeric_limits<std::uint64_t>::max();
    }
  }
  return product;
}

bool SearchSpace::admit(SearchPoint& point) const {
  if (settle) settle(point);
  return !allowed || allowed(point);
}

PointSampler::PointSampler(const SearchSpace& space, Random& random) : space_(space), random_(random) {
  if (space.combinations() > kListed) return;
  listed_ = true;
  std::set<SearchPoint> points;  // settled ones coincide
  const std::uint64_t combinations = space.combinations();
  for (std::uint64_t i = 0; i < combinations; ++i) {
    SearchPoint point;
    std::uint64_t rest = i;
    for (const SearchSpace::Dimension& dimension : space.dimensions) {
      point.push_back(static_cast<std::uint32_t>(rest % dimension.choices));
      rest /= dimension.choices;
    }
    if (space.admit(point)) points.insert(std::move(point));
  }
  list_.assign(points.begin(), points.end());
  for (std::size_t i = list_.size(); i > 1; --i) {
    const auto other = static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(i) - 1));
    std::swap(list_[i - 1], list_[other]);
  }
}

std::optional<SearchPoint> PointSampler::next(const std::set<SearchPoint>& seen) {
  if (listed_) {
    while (!list_.empty()) {
      SearchPoint point = std::move(list_.back());
      list_.pop_back();
      if (!seen.contains(point)) return point;
    }
    return std::nullopt;
  }
  SearchPoint point(space_.dimensions.size());
  for (int draw = 0; draw < kDraws; ++draw) {
    for (std::size_t d = 0; d < point.size(); ++d) {
      point[d] = static_cast<std::uint32_t>(random_.integer(0, space_.dimensions[d].choices - 1));
    }
    if (space_.admit(point) && !seen.contains(point)) return point;
  }
  return std::nullopt;
}

std::vector<SearchPoint> PointSampler::draw(std::uint64_t count) {
  std::vector<SearchPoint> points;
  std::set<SearchPoint> seen;
  while (points.size() < count) {
    std::optional<SearchPoint> point = next(seen);
    if (!point) break;
    seen.insert(*point);
    points.push_back(std::move(*point));
  }
  return points;
}

}  // namespace lacuna::sweep
