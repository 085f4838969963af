// The version of the program, as written into results and shown by `lacuna --version`.
#pragma once

#include <string_view>

namespace lacuna {

std::string_view version();  // "0.1.0"

}  // namespace lacuna
