#include "base/version.hpp"

namespace lacuna {

std::string_view version() { return LACUNA_VERSION; }

}  // namespace lacuna
