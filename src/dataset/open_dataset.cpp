#include <algorithm>
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

const std::vector<std::string>& kinds() {
  static const std::vector<std::string> names{"shapes", "cifar10", "cifar100", "mnist", "folder"};
  return names;
}

DatasetPair open_kind(const std::string& kind, const fs::path& folder, const DatasetOptions& options) {
  if (kind == "cifar10") return open_cifar(folder, CifarKind::kCifar10, options);
  if (kind == "cifar100") return open_cifar(folder, CifarKind::kCifar100, options);
  if (kind == "mnist") return open_mnist(folder, options);
  return open_image_folder(folder, options);
}

std::string recognise(const fs::path& folder) {
  if (is_cifar(folder, CifarKind::kCifar10)) return "cifar10";
  if (is_cifar(folder, CifarKind::kCifar100)) return "cifar100";
  if (is_mnist(folder)) return "mnist";
  return "folder";
}

}  // namespace

DatasetPair open_dataset(const std::string& text, const DatasetOptions& options) {
  if (text == "shapes") return open_shapes(options);
  const std::size_t colon = text.find(':');
  const std::string kind = text.substr(0, colon);
  const bool known = std::find(kinds().begin(), kinds().end(), kind) != kinds().end();
  if (colon != std::string::npos && known && kind != "shapes") {
    const std::string folder = text.substr(colon + 1);
    if (folder.empty()) throw InputError(text, "the folder is missing", "write " + kind + ":DIR");
    return open_kind(kind, folder, options);
  }
  std::error_code ignored;
  if (fs::is_directory(text, ignored)) return open_kind(recognise(text), text, options);
  if (known && colon == std::string::npos) {
    throw InputError(text, "this data set needs a folder", "write " + kind + ":DIR");
  }
  throw InputError(shown(text), "there is no such data set or folder", suggest(kind, kinds()));
}

}  // namespace lacuna::dataset
