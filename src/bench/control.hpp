// Progress and stop requests of a long measurement.
#pragma once

#include <functional>
#include <string>

namespace lacuna::bench {

struct Control {
  std::function<void(double share, const std::string& what)> progress = [](double, const std::string&) {};
  // A line that the user should see while it runs.
  std::function<void(const std::string& line)> note = [](const std::string&) {};
  std::function<bool()> stop = [] { return false; };  // asked between rounds
};

}  // namespace lacuna::bench
