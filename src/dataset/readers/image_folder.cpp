#include "dataset/readers/image_folder.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <fmt/format.h>
#include <memory>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/error.hpp"
#include "base/hash.hpp"
#include "base/text/quote.hpp"
#include "dataset/images/byte_images.hpp"
#include "dataset/images/decode_image.hpp"
#include "dataset/images/resize.hpp"

namespace lacuna::dataset {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMostBytes = std::uint64_t{256} << 20;  // of one image
constexpr const char* kLayout =
    "give a folder with CLASS/*.jpg or .png, or with train/CLASS/* and val/CLASS/* (or test/CLASS/*)";

struct Entry {
  std::string file;  // CLASS/NAME
  int label;
};

struct Listing {
  fs::path root;
  std::vector<std::string> classes;
  std::vector<Entry> entries;
};

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

std::string extension_of(const std::string& name) {
  std::string text = fs::path(name).extension().string();
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

// Other files (notes, lists) are ignored; images in formats that are not supported are an error, or a class
// would shrink unnoticed.
bool is_image(const fs::path& folder, const std::string& name) {
  static constexpr std::array<std::string_view, 6> kUnread{".bmp", ".gif", ".tif", ".tiff", ".webp", ".ppm"};
  const std::string extension = extension_of(name);
  if (extension == ".jpg" || extension == ".jpeg" || extension == ".png") return true;
  if (std::find(kUnread.begin(), kUnread.end(), extension) != kUnread.end()) {
    throw InputError(shown(folder / name), fmt::format("{} images are not supported", extension.substr(1)),
                     "convert the image to PNG or JPEG, or remove it");
  }
  return false;
}

Listing list_images(const fs::path& root) {
  Listing listing;
  listing.root = root;
  for (const std::string& name : names_in(root)) {
    const fs::path folder = root / name;
    if (!is_folder(folder)) continue;
    const std::size_t before = listing.entries.size();
    for (const std::string& file : names_in(folder)) {
      if (is_image(folder, file)) {
        listing.entries.push_back(
            {(fs::path(name) / file).string(), static_cast<int>(listing.classes.size())});
      }
    }
    if (listing.entries.size() == before) {
      throw InputError(shown(folder), "the folder of this class has no .jpg, .jpeg or .png images",
                       "put images there or remove the folder");
    }
    listing.classes.push_back(name);
  }
  if (listing.classes.size() < 2) {
    throw InputError(shown(root),
                     listing.classes.empty()
                         ? "there are no class folders"
                         : fmt::format("there is only one class, {}", quote_name(listing.classes[0])),
                     kLayout);
  }
  return listing;
}

// The part of an image depends on its name alone, so adding images moves no others.
bool goes_to_test(const std::string& file) { return (hash_text(file) >> 32) % 10 == 0; }

std::pair<Listing, Listing> split(const Listing& all) {
  std::pair<Listing, Listing> parts{{all.root, all.classes, {}}, {all.root, all.classes, {}}};
  for (const Entry& entry : all.entries) {
    (goes_to_test(entry.file) ? parts.second : parts.first).entries.push_back(entry);
  }
  std::vector<bool> trained(all.classes.size());
  for (const Entry& entry : parts.first.entries) trained[static_cast<std::size_t>(entry.label)] = true;
  const auto missing = std::find(trained.begin(), trained.end(), false);
  if (missing != trained.end() || parts.second.entries.empty()) {
    throw InputError(
        shown(all.root),
        missing != trained.end()
            ? fmt::format("the split by name leaves class {} without training images",
                          quote_name(all.classes[static_cast<std::size_t>(missing - trained.begin())]))
            : "the split by name leaves no test images",
        "add images, or divide them yourself into train/CLASS/* and val/CLASS/*");
  }
  return parts;
}

class ImageFolder final : public ChosenImages {
 public:
  ImageFolder(Listing listing, std::vector<std::int64_t> chosen, int image_size)
      : ChosenImages({"folder",
                      {3, image_size, image_size},
                      listing.classes,
                      static_cast<std::int64_t>(listing.entries.size())},
                     std::move(chosen)),
        listing_(std::move(listing)) {}

  int read(std::int64_t index, float* image) const override {
    const Entry& entry = listing_.entries[place(index)];
    const fs::path file = listing_.root / entry.file;
    const RgbImage decoded = decode_image(read_bytes(file, kMostBytes), shown(file));
    const int side = shape().height;
    const AxisFilter filter(std::min(decoded.height, decoded.width), side);
    const std::int64_t plane = std::int64_t{side} * side;
    for (int c = 0; c < 3; ++c) {
      const PlaneView view{decoded.pixels.data() + c, decoded.height, decoded.width,
                           std::ptrdiff_t{3} * decoded.width, 3};
      resize(view.centre_square(), filter, filter, image + c * plane);
      normalisation().apply(c, image + c * plane, plane);
    }
    return entry.label;
  }

 private:
  // Measuring them would mean decoding every image when the set is opened. These are ImageNet's, which suit
  // photographs.
  static const Normalisation& normalisation() {
    static const Normalisation figures{{0.485F, 0.456F, 0.406F}, {0.229F, 0.224F, 0.225F}};
    return figures;
  }

  Listing listing_;
};

void check_same_classes(const Listing& train, const Listing& test) {
  const auto lacks = [](const Listing& part, const Listing& other) {
    for (const std::string& name : other.classes) {
      if (!std::binary_search(part.classes.begin(), part.classes.end(), name)) {
        throw InputError(shown(part.root),
                         fmt::format("class {} of {} is missing here", quote_name(name), shown(other.root)),
                         "give both parts the same classes");
      }
    }
  };
  lacks(test, train);
  lacks(train, test);
}

}  // namespace

DatasetPair open_image_folder(const fs::path& folder, const DatasetOptions& options) {
  if (!is_folder(folder)) throw InputError(shown(folder), "there is no such folder", "check the path");
  check_image_size(options.image_size, shown(folder));
  Listing train;
  Listing test;
  const bool has_val = is_folder(folder / "val");
  const bool has_test = is_folder(folder / "test");
  if (is_folder(folder / "train")) {
    if (!has_val && !has_test) {
      throw InputError(shown(folder), "there is a folder train, but no folder val or test",
                       "add one, or put the classes into the folder itself to have them divided");
    }
    train = list_images(folder / "train");
    test = list_images(folder / (has_val ? "val" : "test"));
    check_same_classes(train, test);
  } else if (has_val) {
    throw InputError(shown(folder), "there is a folder val, but no folder train", kLayout);
  } else {
    std::tie(train, test) = split(list_images(folder));
  }
  const int image_size = options.image_size == 0 ? kFolderImageSize : options.image_size;
  const auto make = [&](Listing listing, std::int64_t asked, const char* part) {
    std::vector<std::int64_t> chosen = choose_images(static_cast<std::int64_t>(listing.entries.size()), asked,
                                                     options.seed, shown(folder), part);
    return std::make_unique<ImageFolder>(std::move(listing), std::move(chosen), image_size);
  };
  return {make(std::move(train), options.train_size, "training"),
          make(std::move(test), options.test_size, "test")};
}

}  // namespace lacuna::dataset
