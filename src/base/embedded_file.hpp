// A file embedded in the program (cmake/LacunaEmbed.cmake).
#pragma once

#include <span>
#include <string_view>

namespace lacuna {

struct EmbeddedFile {
  std::string_view name;  // without its folder
  std::string_view bytes;

  std::string_view stem() const { return name.substr(0, name.rfind('.')); }  // the name that users give
};

}  // namespace lacuna
