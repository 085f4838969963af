// Files embedded in the program (cmake/LacunaEmbed.cmake), and files on disk that take their place.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lacuna {

struct EmbeddedFile {
  std::string_view name;  // without its folder
  std::string_view bytes;

  std::string_view stem() const { return name.substr(0, name.rfind('.')); }  // the name that users give
};

// Returns the names that users give, sorted.
std::vector<std::string> stems(std::span<const EmbeddedFile> files);

struct NamedText {
  std::string file;  // for messages
  std::string text;
};
// Reads the embedded file that a user calls `name`, or the file `name` on disk if it has this extension.
// Throws InputError: "WHERE: there is no such WHAT; did you mean ..."
NamedText read_named(std::span<const EmbeddedFile> files, const std::string& name, std::string_view extension,
                     std::string_view where, std::string_view what);

}  // namespace lacuna
