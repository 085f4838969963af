#include "report/citations.hpp"

#include <fmt/format.h>
#include <set>

#include "base/embedded_file.hpp"
#include "base/version.hpp"

namespace lacuna {

std::span<const EmbeddedFile> embedded_papers();

std::string_view bibtex_entry(std::string_view key) {
  const std::string_view papers = embedded_papers().front().bytes;
  const std::size_t name = papers.find(fmt::format("{{{},\n", key));
  if (name == std::string_view::npos) return {};
  const std::size_t begin = papers.rfind('@', name);
  const std::size_t end = papers.find("\n}\n", name);
  return papers.substr(begin, end + 3 - begin);
}

std::string bibtex(std::span<const AcceleratorModel* const> models, std::string_view commit) {
  std::string text = fmt::format(
      "@software{{lacuna,\n"
      "  title = {{Lacuna: zeros in the training of neural networks, and machines that skip them}},\n"
      "  author = {{{{The Lacuna maintainers}}}}, version = {{{}}}{}, year = {{2026}}\n}}\n",
      version(), commit.empty() ? "" : fmt::format(", note = {{commit {}}}", commit));
  std::set<std::string_view> cited;
  for (const AcceleratorModel* model : models) {
    for (const std::string& key : model->cites)
      if (cited.insert(key).second) text += fmt::format("\n{}", bibtex_entry(key));
  }
  return text;
}

}  // namespace lacuna
