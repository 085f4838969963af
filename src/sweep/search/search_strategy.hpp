// Search of a design space that is too large for a grid.
//
// A strategy proposes points, gets their scores, and proposes again. Its proposals depend on its seed and the
// scores alone, so an interrupted search is resumed by replaying it from the start with the stored scores. It
// knows neither simulator nor database.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sweep/search/pareto.hpp"
#include "sweep/search/search_space.hpp"

namespace lacuna::sweep {

struct Candidate {
  SearchPoint point;
  // How thoroughly to evaluate it: 0 is the cheapest rung, SearchOptions::rungs - 1 the whole. Always the
  // whole, but for successive halving.
  std::uint32_t rung = 0;

  bool operator==(const Candidate&) const = default;
};

class SearchStrategy {
 public:
  virtual ~SearchStrategy() = default;

  // The points to evaluate next; the same until tell(). No point twice on one rung. Empty: the search is
  // over.
  virtual const std::vector<Candidate>& propose() = 0;
  // Takes the scores of the proposed points, in their order. A point that failed has an infinite violation.
  virtual void tell(std::span<const Score> scores) = 0;
};

struct SearchOptions {
  std::string strategy = "nsga2";  // one of search_strategies()
  std::uint64_t seed = 1;
  std::uint32_t points = 100;      // random: how many; successive-halving: on the lowest rung
  std::uint32_t population = 32;   // nsga2
  std::uint32_t generations = 20;  // nsga2, the first one of random points included
  std::uint32_t keep_one_in = 3;   // successive-halving: how many points per one that goes up a rung
  std::uint32_t rungs = 1;         // successive-halving
};

const std::vector<std::string>& search_strategies();  // random, successive-halving, nsga2

// The most points the search evaluates, those on lower rungs included.
std::uint64_t largest_number_of_points(const SearchOptions& options);

// `space` must outlive it. The caller checks the options: each is at least 1, keep_one_in 2.
std::unique_ptr<SearchStrategy> make_search(const SearchOptions& options, const SearchSpace& space);

}  // namespace lacuna::sweep
