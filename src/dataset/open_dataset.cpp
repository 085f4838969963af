#include <algorithm>
#include <array>
#include <filesystem>

#include "base/error.hpp"
#include "base/text/nearest.hpp"
#include "dataset/dataset.hpp"
#include "dataset/readers/cifar.hpp"
#include "dataset/readers/idx.hpp"
#include "dataset/readers/image_folder.hpp"
#include "dataset/shapes.hpp"

namespace lacuna::dataset {
namespace {

namespace fs = std::filesystem;

// Sets that lie in a folder, in the order in which a folder is tried.
struct Kind {
  const char* name;
  bool (*recognises)(const fs::path& folder);
  DatasetPair (*open)(const fs::path& folder, const DatasetOptions& options);
};
template <CifarKind kKind>
constexpr Kind kCifar{
    kKind == CifarKind::kCifar10 ? "cifar10" : "cifar100",
    [](const fs::path& folder) { return is_cifar(folder, kKind); },
    [](const fs::path& folder, const DatasetOptions& options) { return open_cifar(folder, kKind, options); }};
constexpr std::array<Kind, 4> kKinds = {kCifar<CifarKind::kCifar10>,
                                        kCifar<CifarKind::kCifar100>,
                                        {"mnist", is_mnist, open_mnist},
                                        {"folder", [](const fs::path&) { return true; }, open_image_folder}};

}  // namespace

DatasetPair open_dataset(const std::string& text, const DatasetOptions& options) {
  if (text == "shapes") return open_shapes(options);
  const std::size_t colon = text.find(':');
  const std::string name = text.substr(0, colon);
  const auto* kind = std::ranges::find(kKinds, name, &Kind::name);
  if (colon != std::string::npos && kind != kKinds.end()) {
    const std::string folder = text.substr(colon + 1);
    if (folder.empty()) throw InputError(text, "the folder is missing", "write " + name + ":DIR");
    return kind->open(folder, options);
  }
  std::error_code ignored;
  if (fs::is_directory(text, ignored))
    return std::ranges::find_if(kKinds, [&](const Kind& one) { return one.recognises(text); })
        ->open(text, options);
  if (kind != kKinds.end()) throw InputError(text, "this data set needs a folder", "write " + name + ":DIR");
  std::vector<std::string> names{"shapes"};
  for (const Kind& one : kKinds) names.emplace_back(one.name);
  throw InputError(shown(text), "there is no such data set or folder", suggest(name, names));
}

}  // namespace lacuna::dataset
