// Names that come out of a file, made safe for a one-line message.
#pragma once

#include <string>
#include <string_view>

namespace lacuna {

// The name in single quotes; control characters become \xNN, and a long name is cut.
std::string quote_name(std::string_view name);

}  // namespace lacuna
