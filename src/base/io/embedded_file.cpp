#include "base/io/embedded_file.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>

#include "base/error.hpp"
#include "base/io/byte_source.hpp"
#include "base/text/nearest.hpp"

namespace lacuna {

std::vector<std::string> stems(std::span<const EmbeddedFile> files) {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : files) names.emplace_back(file.stem());
  std::ranges::sort(names);
  return names;
}

NamedText read_named(std::span<const EmbeddedFile> files, const std::string& name, std::string_view extension,
                     std::string_view where, std::string_view what) {
  const auto built_in = std::ranges::find(files, name, &EmbeddedFile::stem);
  if (built_in != files.end()) return {std::string(built_in->name), std::string(built_in->bytes)};
  if (std::filesystem::path(name).extension() != extension)
    throw InputError(where, fmt::format("there is no such {}", what),
                     fmt::format("{}, or give a {} file", suggest(name, stems(files)), extension));
  constexpr std::uint64_t kLargest = 1 << 20;
  std::string text = read_text_file(name, kLargest + 1);
  if (text.size() > kLargest)
    throw InputError(name, "larger than 1 MB", fmt::format("this is not a {}", what));
  return {name, std::move(text)};
}

}  // namespace lacuna
