// The configuration of a design, as the file has it, as values for conditions.
#pragma once

#include <map>
#include <string>

#include "sweep/expression/expression.hpp"

namespace lacuna::sweep {

// Every parameter of the JSON, machine and model.
std::map<std::string, Value> settings_of(const std::string& configuration, const std::string& machine,
                                         const std::string& model);

}  // namespace lacuna::sweep
