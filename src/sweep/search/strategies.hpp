// Strategies that search_strategy.cpp chooses from.
#pragma once

#include <memory>

#include "sweep/search/search_strategy.hpp"

namespace lacuna::sweep {

std::unique_ptr<SearchStrategy> make_successive_halving(const SearchOptions& options,
                                                        const SearchSpace& space);
std::unique_ptr<SearchStrategy> make_nsga2(const SearchOptions& options, const SearchSpace& space);

}  // namespace lacuna::sweep
