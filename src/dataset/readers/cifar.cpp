#include "dataset/readers/cifar.hpp"

#include <fmt/format.h>
#include <utility>

#include "base/error.hpp"

namespace lacuna::dataset {
namespace {

namespace fs = std::filesystem;

struct Format {
  const char* name;
  int coarse_classes;  // 0: no coarse label
  int classes;
  std::vector<const char*> train;
  const char* test;
  const char* class_names;
  const char* remedy;
};

const Format& format_of(CifarKind kind) {
  static const Format cifar10{
      "cifar10",
      0,
      10,
      {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin"},
      "test_batch.bin",
      "batches.meta.txt",
      "unpack the binary version (cifar-10-binary.tar.gz): data_batch_1.bin to data_batch_5.bin and "
      "test_batch.bin"};
  static const Format cifar100{"cifar100",
                               20,
                               100,
                               {"train.bin"},
                               "test.bin",
                               "fine_label_names.txt",
                               "unpack the binary version (cifar-100-binary.tar.gz): train.bin and test.bin"};
  return kind == CifarKind::kCifar10 ? cifar10 : cifar100;
}

constexpr std::uint64_t kMostBytes = std::uint64_t{4} << 30;

void read_part(const fs::path& file, CifarKind kind, ByteImages& images) {
  const Format& format = format_of(kind);
  std::error_code ignored;
  if (!fs::exists(file, ignored)) {
    fs::path without = file;
    const bool python = fs::exists(without.replace_extension(), ignored);
    throw InputError(
        shown(file.parent_path()),
        python ? fmt::format("this is the Python version of the set, without {}", file.filename().string())
               : fmt::format("there is no {}", file.filename().string()),
        format.remedy);
  }
  parse_cifar(read_bytes(file, kMostBytes), kind, shown(file), images);
}

}  // namespace

void parse_cifar(ByteView bytes, CifarKind kind, const std::string& where, ByteImages& images) {
  const Format& format = format_of(kind);
  const std::size_t head = format.coarse_classes > 0 ? 2 : 1;
  const auto pixels = static_cast<std::size_t>(kCifarShape.size());
  const std::size_t record = head + pixels;
  if (bytes.empty() || bytes.size() % record != 0) {
    throw InputError(
        where,
        fmt::format("the file holds {} bytes, not a whole number of records of {}", bytes.size(), record),
        format.remedy);
  }
  const std::size_t count = bytes.size() / record;
  images.shape = kCifarShape;
  images.pixels.reserve(images.pixels.size() + count * pixels);
  images.labels.reserve(images.labels.size() + count);
  for (std::size_t i = 0; i < count; ++i) {
    const ByteView at = bytes.subspan(i * record, record);
    const auto check = [&](std::uint8_t label, int classes, const char* kind_of_label) {
      if (label < classes) return;
      throw InputError(
          where, fmt::format("record {}: {} {} is not from 0 to {}", i, kind_of_label, label, classes - 1),
          format.remedy);
    };
    if (format.coarse_classes > 0) check(at[0], format.coarse_classes, "coarse label");
    check(at[head - 1], format.classes, "label");
    images.labels.push_back(at[head - 1]);
    images.pixels.insert(images.pixels.end(), at.begin() + static_cast<std::ptrdiff_t>(head), at.end());
  }
}

bool is_cifar(const fs::path& folder, CifarKind kind) {
  const Format& format = format_of(kind);
  std::error_code ignored;
  return fs::exists(folder / format.train.front(), ignored) || fs::exists(folder / format.test, ignored);
}

DatasetPair open_cifar(const fs::path& folder, CifarKind kind, const DatasetOptions& options) {
  const Format& format = format_of(kind);
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) {
    throw InputError(shown(folder), "there is no such folder", format.remedy);
  }
  ByteImages train;
  for (const char* file : format.train) read_part(folder / file, kind, train);
  ByteImages test;
  read_part(folder / format.test, kind, test);
  const fs::path names = folder / format.class_names;
  const std::vector<std::string> classes = fs::exists(names, ignored)
                                               ? read_names(names, static_cast<std::size_t>(format.classes))
                                               : numbered_classes(format.classes);
  return make_byte_datasets(format.name, classes, std::move(train), std::move(test), options, shown(folder));
}

}  // namespace lacuna::dataset
