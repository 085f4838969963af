// CIFAR, MNIST and the code that they share.
#include <gtest/gtest.h>
#include <numeric>

#include "base/testing.hpp"
#include "dataset/readers/cifar.hpp"
#include "dataset/readers/gzip.hpp"
#include "dataset/readers/idx.hpp"
#include "dataset/testing/example_files.hpp"

namespace lacuna::dataset {
namespace {

using namespace testing;

constexpr const char* kCifar10Remedy =
    "; unpack the binary version (cifar-10-binary.tar.gz): data_batch_1.bin to data_batch_5.bin and "
    "test_batch.bin";
constexpr const char* kCifar100Remedy =
    "; unpack the binary version (cifar-100-binary.tar.gz): train.bin and test.bin";
constexpr const char* kIdxRemedy =
    "; the four files are train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte and "
    "t10k-labels-idx1-ubyte, each with .gz or without; get this one again";

void write(const TemporaryFolder& folder, const std::string& name, const Bytes& bytes) {
  folder.write(name, text_of(bytes));
}

Bytes joined(const Bytes& a, const Bytes& b) {
  Bytes both = a;
  both.insert(both.end(), b.begin(), b.end());
  return both;
}

// Two images per training file, labels 0 .. 9, and three test images.
void write_cifar10(const TemporaryFolder& folder) {
  for (std::uint8_t i = 0; i < 5; ++i) {
    const auto label = static_cast<std::uint8_t>(2 * i);
    write(folder, "data_batch_" + std::to_string(i + 1) + ".bin",
          joined(cifar_record({label}, i), cifar_record({static_cast<std::uint8_t>(label + 1)}, 100 + i)));
  }
  write(folder, "test_batch.bin",
        joined(cifar_record({9}, 7), joined(cifar_record({0}, 8), cifar_record({5}, 9))));
}

std::string open_error(const std::string& text, const DatasetOptions& options = {}) {
  return error_of([&] { open_dataset(text, options); });
}

TEST(Cifar, ReadsTheTenClasses) {
  const TemporaryFolder folder;
  write_cifar10(folder);
  // Also recognised by its files.
  for (const std::string& text : {"cifar10:" + folder.path().string(), folder.path().string()}) {
    const DatasetPair pair = open_dataset(text, {});
    EXPECT_EQ(pair.train->name(), "cifar10");
    EXPECT_EQ(pair.train->shape(), (ImageShape{3, 32, 32}));
    EXPECT_EQ(pair.train->size(), 10);
    EXPECT_EQ(pair.test->size(), 3);
    EXPECT_EQ(pair.train->classes()[3], "3");
    std::vector<float> first(3072);
    std::vector<float> image(3072);
    EXPECT_EQ(pair.train->read(0, first.data()), 0);
    EXPECT_EQ(pair.train->read(3, image.data()), 3);
    EXPECT_EQ(pair.test->read(0, image.data()), 9);
    // Bytes count up from 7 instead of 0, so the same value is seven places earlier.
    EXPECT_EQ(image[10], first[17]);
    EXPECT_EQ(image[1024], first[1031]);
  }
}

TEST(Cifar, NamesOfClasses) {
  const TemporaryFolder folder;
  write_cifar10(folder);
  folder.write("batches.meta.txt", "a\nb\nc\r\nd\ne\nf\ng\nh\ni\nj\n\n");
  EXPECT_EQ(open_dataset("cifar10:" + folder.path().string(), {}).test->classes()[2], "c");
  for (const char* names : {"a\nb\n", "a\nb\nc\n\ne\nf\ng\nh\ni\nj\n", ""}) {
    const auto file = folder.write("batches.meta.txt", names);
    EXPECT_EQ(open_error("cifar10:" + folder.path().string()),
              file.string() +
                  ": the file should hold 10 names, one per line; get it again, or remove it to "
                  "number the classes");
  }
}

TEST(Cifar, ReadsTheFineLabelsOfAHundredClasses) {
  const TemporaryFolder folder;
  write(folder, "train.bin", joined(cifar_record({19, 99}, 0), cifar_record({0, 42}, 1)));
  write(folder, "test.bin", cifar_record({3, 7}, 2));
  const DatasetPair pair = open_dataset(folder.path().string(), {});
  EXPECT_EQ(pair.train->name(), "cifar100");
  EXPECT_EQ(pair.train->classes().size(), 100u);
  std::vector<float> image(3072);
  EXPECT_EQ(pair.train->read(0, image.data()), 99);
  EXPECT_EQ(pair.train->read(1, image.data()), 42);
  EXPECT_EQ(pair.test->read(0, image.data()), 7);
}

TEST(Cifar, RefusesDamagedFiles) {
  const auto parse = [](const Bytes& bytes, CifarKind kind) {
    return error_of([&] {
      ByteImages images;
      parse_cifar(bytes, kind, "f", images);
    });
  };
  EXPECT_EQ(parse({}, CifarKind::kCifar10),
            std::string("f: the file holds 0 bytes, not a whole number of records of 3073") + kCifar10Remedy);
  Bytes bytes = joined(cifar_record({1}, 0), cifar_record({10}, 0));
  EXPECT_EQ(parse(bytes, CifarKind::kCifar10),
            std::string("f: record 1: label 10 is not from 0 to 9") + kCifar10Remedy);
  bytes.pop_back();
  EXPECT_EQ(
      parse(bytes, CifarKind::kCifar10),
      std::string("f: the file holds 6145 bytes, not a whole number of records of 3073") + kCifar10Remedy);
  EXPECT_EQ(parse(cifar_record({20, 0}, 0), CifarKind::kCifar100),
            std::string("f: record 0: coarse label 20 is not from 0 to 19") + kCifar100Remedy);
  EXPECT_EQ(parse(cifar_record({0, 100}, 0), CifarKind::kCifar100),
            std::string("f: record 0: label 100 is not from 0 to 99") + kCifar100Remedy);
  EXPECT_EQ(
      parse(cifar_record({0}, 0), CifarKind::kCifar100),
      std::string("f: the file holds 3073 bytes, not a whole number of records of 3074") + kCifar100Remedy);
}

TEST(Cifar, RefusesMissingFiles) {
  const TemporaryFolder folder;
  const std::string path = folder.path().string();
  EXPECT_EQ(open_error("cifar10:" + path), path + ": there is no data_batch_1.bin" + kCifar10Remedy);
  folder.write("data_batch_1", "a pickle");
  EXPECT_EQ(open_error("cifar10:" + path),
            path + ": this is the Python version of the set, without data_batch_1.bin" + kCifar10Remedy);
  write_cifar10(folder);
  std::filesystem::remove(folder / "data_batch_4.bin");
  EXPECT_EQ(open_error("cifar10:" + path), path + ": there is no data_batch_4.bin" + kCifar10Remedy);
  EXPECT_EQ(open_error("cifar100:" + path), path + ": there is no train.bin" + kCifar100Remedy);
  EXPECT_EQ(open_error("cifar10:" + path + "/none"),
            path + "/none: there is no such folder" + kCifar10Remedy);
}

TEST(ByteImages, NormalisedByTheTrainingPart) {
  const TemporaryFolder folder;
  write_cifar10(folder);
  const DatasetPair pair = open_dataset(folder.path().string(), {});
  std::vector<float> image(3072);
  for (std::size_t channel = 0; channel < 3; ++channel) {
    double sum = 0;
    double squares = 0;
    for (std::int64_t i = 0; i < 10; ++i) {
      pair.train->read(i, image.data());
      for (std::size_t at = channel * 1024; at < (channel + 1) * 1024; ++at) {
        sum += image[at];
        squares += image[at] * image[at];
      }
    }
    EXPECT_NEAR(sum / 10240, 0, 1e-4);
    EXPECT_NEAR(squares / 10240, 1, 1e-4);
  }
  ByteImages black{{1, 2, 2}, Bytes(8), Bytes(2)};
  EXPECT_FLOAT_EQ(Normalisation::of(black).deviation[0], 1.0F / 255);  // no division by zero
}

TEST(ByteImages, ASubsetIsChosenBySeedAndKeepsItsOrder) {
  const auto few = choose_images(100, 30, 1, "f", "test");
  EXPECT_EQ(few.size(), 30u);
  EXPECT_TRUE(std::is_sorted(few.begin(), few.end()));
  EXPECT_EQ(std::adjacent_find(few.begin(), few.end()), few.end());
  EXPECT_GT(few.back(), 60);
  EXPECT_NE(few, choose_images(100, 30, 2, "f", "test"));
  EXPECT_TRUE(choose_images(100, 0, 1, "f", "test").empty());
  EXPECT_TRUE(choose_images(100, 100, 1, "f", "test").empty());
  EXPECT_EQ(error_of([] { choose_images(100, 101, 1, "f", "test"); }),
            "f: the test part has only 100 images, 101 were asked for; ask for 1 to 100, or 0 for all");

  const TemporaryFolder folder;
  write_cifar10(folder);
  const DatasetPair pair = open_dataset(folder.path().string(), {.train_size = 4, .test_size = 1, .seed = 3});
  EXPECT_EQ(pair.train->size(), 4);
  EXPECT_EQ(pair.test->size(), 1);
  std::vector<float> image(3072);
  for (std::int64_t i = 0; i < 4; ++i) {
    EXPECT_EQ(pair.train->read(i, image.data()),
              choose_images(10, 4, 3, "f", "")[static_cast<std::size_t>(i)]);
  }
}

TEST(ByteImages, Resized) {
  const TemporaryFolder folder;
  write_cifar10(folder);
  const DatasetPair pair = open_dataset(folder.path().string(), {.image_size = 64});
  EXPECT_EQ(pair.train->shape(), (ImageShape{3, 64, 64}));
  std::vector<float> image(3 * 64 * 64);
  EXPECT_EQ(pair.train->read(9, image.data()), 9);
  EXPECT_EQ(
      open_error(folder.path().string(), {.image_size = 5000}),
      folder.path().string() +
          ": images cannot be made 5000x5000; use an image size from 1 to 4096, or 0 for the set's own");
  EXPECT_EQ(open_error(folder.path().string(), {.image_size = -1}),
            folder.path().string() +
                ": images cannot be made -1x-1; use an image size from 1 to 4096, or 0 for the set's own");
}

TEST(Gzip, RoundTripAndSeveralMembers) {
  Bytes bytes(100000);
  std::iota(bytes.begin(), bytes.end(), 0);
  const Bytes packed = gzipped(bytes);
  EXPECT_TRUE(is_gzip(packed));
  EXPECT_EQ(gunzip(packed, bytes.size(), "f"), bytes);
  EXPECT_EQ(gunzip(joined(packed, packed), 2 * bytes.size(), "f"), joined(bytes, bytes));
  EXPECT_EQ(gunzip_start(packed, 4, "f"), (Bytes{0, 1, 2, 3}));
  EXPECT_EQ(gunzip_start(gzipped({1, 2}), 4, "f"), (Bytes{1, 2}));
}

TEST(Gzip, RefusesDamagedFiles) {
  const Bytes bytes(1000, 7);
  const Bytes packed = gzipped(bytes);
  const auto error = [&](Bytes file, std::uint64_t size) {
    return error_of([&] { gunzip(file, size, "f"); });
  };
  const std::string remedy = "; get or copy the file again";
  EXPECT_EQ(error(packed, 999), "f: the file decompresses to more bytes, its header needs 999" + remedy);
  EXPECT_EQ(error(packed, 1001), "f: the file decompresses to 1000 bytes, its header needs 1001" + remedy);
  const std::string count = std::to_string(packed.size());
  EXPECT_EQ(error(packed, std::uint64_t{1} << 40),
            "f: " + count + " compressed bytes cannot hold 1099511627776" + remedy);
  // Truncated anywhere: always an error, never a short result.
  for (std::size_t length = 0; length < packed.size(); ++length) {
    EXPECT_EQ(error(Bytes(packed.begin(), packed.begin() + static_cast<std::ptrdiff_t>(length)), 1000),
              "f: the compressed data end too early" + remedy)
        << length;
  }
  Bytes sum = packed;
  sum[sum.size() - 8] ^= 1;
  EXPECT_EQ(error(sum, 1000), "f: the compressed data are damaged (incorrect data check)" + remedy);
  EXPECT_EQ(error(joined(packed, {1, 2, 3}), 1000),
            "f: the compressed data are damaged (incorrect header check)" + remedy);
  EXPECT_EQ(error({1, 2, 3}, 3), "f: the compressed data are damaged (incorrect header check)" + remedy);
}

TEST(Idx, RefusesDamagedFiles) {
  const auto error = [&](const Bytes& file, int rank) {
    return error_of([&] { parse_idx(file, rank, "f"); });
  };
  const Bytes good = idx_file({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(parse_idx(good, 2, "f").sizes, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(parse_idx(gzipped(good), 2, "f").bytes, (Bytes{1, 2, 3, 4, 5, 6}));

  EXPECT_EQ(error({}, 1), std::string("f: this is not an idx file: it does not start with 0 0") + kIdxRemedy);
  EXPECT_EQ(error(bytes_of("<html>"), 1),
            std::string("f: this is not an idx file: it does not start with 0 0") + kIdxRemedy);
  EXPECT_EQ(error(good, 3),
            std::string("f: type 8 with 2 sizes instead of type 8 (bytes) with 3") + kIdxRemedy);
  Bytes floats = good;
  floats[2] = 13;
  EXPECT_EQ(error(floats, 2),
            std::string("f: type 13 with 2 sizes instead of type 8 (bytes) with 2") + kIdxRemedy);
  EXPECT_EQ(error(Bytes(good.begin(), good.begin() + 11), 2),
            std::string("f: the file ends inside its header") + kIdxRemedy);
  EXPECT_EQ(error(idx_file({2, 3}, {1, 2, 3, 4, 5}), 2),
            std::string("f: its sizes need 6 bytes after the header, the file holds 5") + kIdxRemedy);
  EXPECT_EQ(error(idx_file({2, 3}, {1, 2, 3, 4, 5, 6, 7}), 2),
            std::string("f: its sizes need 6 bytes after the header, the file holds 7") + kIdxRemedy);
  EXPECT_EQ(error(idx_file({0, 28, 28}, {}), 3),
            std::string("f: its sizes are 0 x 28 x 28: nothing, or more than 2147483648 bytes") + kIdxRemedy);
  EXPECT_EQ(
      error(idx_file({0xffffffff, 0xffffffff, 0xffffffff}, {}), 3),
      std::string("f: its sizes are 4294967295 x 4294967295 x 4294967295: nothing, or more than 2147483648 "
                  "bytes") +
          kIdxRemedy);
  // A gzipped file that claims a gigabyte is refused before that is allocated.
  const Bytes claims = gzipped(idx_file({1024, 1024, 1024}, {1}));
  EXPECT_EQ(error(claims, 3), "f: " + std::to_string(claims.size()) +
                                  " compressed bytes cannot hold 1073741840; get or copy the file again");
  EXPECT_EQ(error(gzipped(idx_file({2, 3}, {1, 2, 3, 4, 5})), 2),
            "f: the file decompresses to 17 bytes, its header needs 18; get or copy the file again");
}

TEST(Mnist, ReadsPlainAndGzippedFiles) {
  const TemporaryFolder folder;
  write(folder, "train-images-idx3-ubyte", idx_file({3, 2, 2}, {0, 0, 0, 255, 1, 2, 3, 4, 5, 6, 7, 8}));
  write(folder, "train-labels-idx1-ubyte.gz", gzipped(idx_file({3}, {3, 0, 9})));
  write(folder, "t10k-images.idx3-ubyte.gz", gzipped(idx_file({1, 2, 2}, {255, 0, 0, 0})));
  write(folder, "t10k-labels-idx1-ubyte", idx_file({1}, {7}));
  for (const std::string& text : {folder.path().string(), "mnist:" + folder.path().string()}) {
    const DatasetPair pair = open_dataset(text, {});
    EXPECT_EQ(pair.train->name(), "mnist");
    EXPECT_EQ(pair.train->shape(), (ImageShape{1, 2, 2}));
    EXPECT_EQ(pair.train->classes().size(), 10u);
    std::vector<float> image(4);
    std::vector<float> other(4);
    EXPECT_EQ(pair.train->read(0, image.data()), 3);
    EXPECT_EQ(pair.train->read(2, other.data()), 9);
    EXPECT_EQ(pair.test->read(0, other.data()), 7);
    EXPECT_EQ(other[0], image[3]);
    EXPECT_EQ(other[1], image[0]);
  }
}

TEST(Mnist, RefusesFilesThatDoNotMatch) {
  const TemporaryFolder folder;
  const std::string path = folder.path().string();
  EXPECT_EQ(open_error("mnist:" + path), path + ": there is no train-images-idx3-ubyte" + kIdxRemedy);
  EXPECT_EQ(open_error("mnist:" + path + "/none"), path + "/none: there is no such folder" + kIdxRemedy);
  write(folder, "train-images-idx3-ubyte", idx_file({2, 2, 2}, Bytes(8)));
  EXPECT_EQ(open_error("mnist:" + path), path + ": there is no train-labels-idx1-ubyte" + kIdxRemedy);
  write(folder, "train-labels-idx1-ubyte", idx_file({1}, {0}));
  EXPECT_EQ(open_error("mnist:" + path), path +
                                             "/train-labels-idx1-ubyte: 1 labels for the 2 images of "
                                             "train-images-idx3-ubyte" +
                                             kIdxRemedy);
  write(folder, "train-labels-idx1-ubyte", idx_file({2}, {0, 10}));
  EXPECT_EQ(open_error("mnist:" + path),
            path + "/train-labels-idx1-ubyte: label 10 of image 1 is not from 0 to 9" + kIdxRemedy);
  write(folder, "train-labels-idx1-ubyte", idx_file({2}, {0, 1}));
  write(folder, "t10k-labels-idx1-ubyte", idx_file({1}, {0}));
  write(folder, "t10k-images-idx3-ubyte", idx_file({1, 1, 5000}, Bytes(5000)));
  EXPECT_EQ(open_error("mnist:" + path),
            path + "/t10k-images-idx3-ubyte: images of 1x5000 are too large; use images up to 4096x4096");
  write(folder, "t10k-images-idx3-ubyte", idx_file({1, 3, 2}, Bytes(6)));
  EXPECT_EQ(open_error("mnist:" + path), path +
                                             ": training images are 2x2, test images 3x2; put the files of "
                                             "one set into the folder");
}

TEST(OpenDataset, RefusesUnknownNames) {
  EXPECT_EQ(open_error("shaeps"),
            "shaeps: there is no such data set or folder; did you mean 'shapes'? known: shapes, cifar10, "
            "cifar100, mnist, folder");
  EXPECT_EQ(open_error("/no/such/folder"),
            "/no/such/folder: there is no such data set or folder; known: shapes, cifar10, cifar100, mnist, "
            "folder");
  EXPECT_EQ(open_error("cifar10"), "cifar10: this data set needs a folder; write cifar10:DIR");
  EXPECT_EQ(open_error("mnist:"), "mnist:: the folder is missing; write mnist:DIR");
  EXPECT_EQ(open_error("folder:/no/such"), "/no/such: there is no such folder; check the path");
  EXPECT_NE(open_error(""), "no error");
  EXPECT_NE(open_error("shapes:/tmp"), "no error");
  EXPECT_NE(open_error("a\nb"), "no error");
}

TEST(Files, RefusesUnreadableFiles) {
  const TemporaryFolder folder;
  EXPECT_EQ(error_of([&] { read_bytes(folder / "none", 10); }),
            (folder / "none").string() + ": there is no such file or folder; check the path");
  EXPECT_EQ(error_of([&] { read_bytes(folder.path(), 10); }),
            folder.path().string() + ": this is not a file; check the path");
  const auto file = folder.write("large", "0123456789a");
  EXPECT_EQ(error_of([&] { read_bytes(file, 10); }),
            file.string() + ": the file holds 11 bytes, more than 10; check that it is the file you mean");
  EXPECT_EQ(read_bytes(file, 11).size(), 11u);
  EXPECT_EQ(shown("a\nb\x7f"), "a\\x0ab\\x7f");
}

}  // namespace
}  // namespace lacuna::dataset
