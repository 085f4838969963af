// Decoding, scaling and folders of images.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <numeric>
#include <set>

#include "base/testing.hpp"
#include "dataset/images/decode_image.hpp"
#include "dataset/images/resize.hpp"
#include "dataset/loader.hpp"
#include "dataset/readers/image_folder.hpp"
#include "dataset/testing/example_files.hpp"

namespace lacuna::dataset {
namespace {

using namespace testing;

constexpr const char* kRemedy = "; get the image again or remove it";

std::string decode_error(const Bytes& file) {
  return error_of([&] { decode_image(file, "f"); });
}

int largest_difference(const Bytes& a, const Bytes& b) {
  EXPECT_EQ(a.size(), b.size());
  int largest = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

TEST(Jpeg, ColourGreyAndProgressive) {
  const Bytes colour = soft_pixels(9, 17, 3);
  for (const bool progressive : {false, true}) {
    const RgbImage image = decode_image(jpeg_file(9, 17, colour, {.progressive = progressive}), "f");
    EXPECT_EQ(image.height, 9);
    EXPECT_EQ(image.width, 17);
    EXPECT_LE(largest_difference(image.pixels, colour), 3);
  }
  const Bytes grey = soft_pixels(9, 17, 1);
  const RgbImage image = decode_image(jpeg_file(9, 17, grey, {.space = JCS_GRAYSCALE}), "f");
  ASSERT_EQ(image.pixels.size(), 3 * grey.size());
  for (std::size_t i = 0; i < grey.size(); ++i) {
    EXPECT_NEAR(image.pixels[3 * i], grey[i], 3);
    EXPECT_EQ(image.pixels[3 * i], image.pixels[3 * i + 1]);
    EXPECT_EQ(image.pixels[3 * i], image.pixels[3 * i + 2]);
  }
}

TEST(Jpeg, CmykBecomesRgb) {
  // Half cyan, no magenta, full yellow, a fifth of black.
  Bytes inks;
  Bytes inverted;
  for (int i = 0; i < 64; ++i) {
    for (const int ink : {128, 0, 255, 51}) {
      inks.push_back(static_cast<std::uint8_t>(ink));
      inverted.push_back(static_cast<std::uint8_t>(255 - ink));
    }
  }
  for (const RgbImage& image :
       {decode_image(jpeg_file(8, 8, inks, {.space = JCS_CMYK}), "f"),
        decode_image(jpeg_file(8, 8, inverted, {.space = JCS_CMYK, .adobe = true}), "f")}) {
    ASSERT_EQ(image.pixels.size(), 192u);
    EXPECT_NEAR(image.pixels[0], 127 * 204 / 255.0, 3);
    EXPECT_NEAR(image.pixels[1], 204, 3);
    EXPECT_NEAR(image.pixels[2], 0, 3);
  }
}

TEST(Jpeg, RefusesDamagedFiles) {
  const Bytes good = jpeg_file(40, 40, soft_pixels(40, 40, 3));
  // A truncated file is always an error, never half an image. The last two bytes are the end marker.
  for (std::size_t length = 0; length < good.size() - 2; length += 7) {
    EXPECT_NE(decode_error(Bytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(length))),
              "no error")
        << length;
  }
  EXPECT_EQ(decode_error(Bytes(good.begin(), good.end() - 20)),
            std::string("f: this JPEG file cannot be decoded (Premature end of JPEG file)") + kRemedy);
  Bytes huge = good;
  const Bytes frame{0xff, 0xc0};
  const auto at = std::search(huge.begin(), huge.end(), frame.begin(), frame.end());
  ASSERT_NE(at, huge.end());
  std::fill(at + 5, at + 9, 0xfe);  // height and width
  EXPECT_EQ(decode_error(huge),
            "f: the image claims 65278 x 65278 pixels, outside 1..67108864; scale the image down, or "
            "remove it if it is damaged");
  EXPECT_EQ(decode_error({0xff, 0xd8, 0, 0, 0, 0}),
            std::string("f: this JPEG file cannot be decoded (Premature end of JPEG file)") + kRemedy);
  EXPECT_EQ(error_of([] { decode_jpeg({}, "f"); }), std::string("f: the file is empty") + kRemedy);
}

// A progressive file may have thousands of scans, each a pass over the whole image.
TEST(Jpeg, RefusesTooManyScans) {
  const Bytes once = jpeg_file(16, 16, soft_pixels(16, 16, 1), {.space = JCS_GRAYSCALE, .two_scans = true});
  // Repeats the second scan, from its tables (marker ff c4) to the end marker.
  const Bytes mark{0xff, 0xc4};
  const auto last = std::find_end(once.begin(), once.end(), mark.begin(), mark.end());
  ASSERT_NE(last, once.end());
  const Bytes scan(last, once.end() - 2);
  const auto repeated = [&](int times) {
    Bytes file(once.begin(), once.end() - 2);
    for (int i = 0; i < times; ++i) file.insert(file.end(), scan.begin(), scan.end());
    file.insert(file.end(), {0xff, 0xd9});
    return decode_error(file);
  };
  EXPECT_EQ(repeated(98), "no error");
  EXPECT_EQ(repeated(99), std::string("f: this JPEG file cannot be decoded (more than 100 scans)") + kRemedy);
  EXPECT_EQ(repeated(500),
            std::string("f: this JPEG file cannot be decoded (more than 100 scans)") + kRemedy);
}

TEST(Png, EveryColourTypeBecomesRgb) {
  const Bytes colour = soft_pixels(5, 7, 3);
  for (const bool interlaced : {false, true}) {
    EXPECT_EQ(decode_image(png_file(5, 7, colour, {.interlaced = interlaced}), "f").pixels, colour);
  }
  const auto pixels = [](const Bytes& rows, int width, const PngForm& form) {
    return decode_image(png_file(1, width, rows, form), "f").pixels;
  };
  EXPECT_EQ(pixels({10, 200}, 2, {.colour_type = PNG_COLOR_TYPE_GRAY}), (Bytes{10, 10, 10, 200, 200, 200}));
  // One bit per pixel: 1, 0, 1.
  EXPECT_EQ(pixels({0xa0}, 3, {.colour_type = PNG_COLOR_TYPE_GRAY, .depth = 1}),
            (Bytes{255, 255, 255, 0, 0, 0, 255, 255, 255}));
  // Sixteen bits: 0x8080 is 128.5 of 255, 0xffff is 255.
  EXPECT_EQ(pixels({0x80, 0x80, 0xff, 0xff}, 2, {.colour_type = PNG_COLOR_TYPE_GRAY, .depth = 16}),
            (Bytes{128, 128, 128, 255, 255, 255}));
  EXPECT_EQ(pixels({1, 0, 2, 0, 3, 0}, 1, {.depth = 16}), (Bytes{1, 2, 3}));
  EXPECT_EQ(pixels({1, 0}, 2, {.colour_type = PNG_COLOR_TYPE_PALETTE, .palette = {{1, 2, 3}, {4, 5, 6}}}),
            (Bytes{4, 5, 6, 1, 2, 3}));
  // Transparent pixels become white.
  EXPECT_EQ(
      pixels(
          {1, 0}, 2,
          {.colour_type = PNG_COLOR_TYPE_PALETTE, .palette = {{1, 2, 3}, {4, 5, 6}}, .palette_alpha = {0}}),
      (Bytes{4, 5, 6, 255, 255, 255}));
  EXPECT_EQ(pixels({100, 50, 0, 255, 100, 50, 0, 0, 100, 50, 0, 51}, 3, {.colour_type = PNG_COLOR_TYPE_RGBA}),
            (Bytes{100, 50, 0, 255, 255, 255, 224, 214, 204}));
  EXPECT_EQ(pixels({100, 255, 100, 0}, 2, {.colour_type = PNG_COLOR_TYPE_GRAY_ALPHA}),
            (Bytes{100, 100, 100, 255, 255, 255}));
}

TEST(Png, RefusesDamagedFiles) {
  const Bytes good = png_file(5, 7, soft_pixels(5, 7, 3));
  for (std::size_t length = 0; length < good.size(); ++length) {
    EXPECT_NE(decode_error(Bytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(length))),
              "no error")
        << length;
  }
  EXPECT_EQ(decode_error(Bytes(good.begin(), good.end() - 20)),
            std::string("f: this PNG file cannot be decoded (the file ends early)") + kRemedy);
  Bytes damaged = good;
  damaged[damaged.size() - 20] ^= 1;
  EXPECT_NE(decode_error(damaged).find("f: this PNG file cannot be decoded ("), std::string::npos);
  // A header that claims more, with a correct checksum.
  const auto claim = [&](std::uint32_t width, std::uint32_t height) {
    Bytes file = good;
    for (std::size_t i = 0; i < 4; ++i) {
      file[16 + i] = static_cast<std::uint8_t>(width >> (24 - 8 * i));
      file[20 + i] = static_cast<std::uint8_t>(height >> (24 - 8 * i));
    }
    const auto sum = static_cast<std::uint32_t>(crc32(0, file.data() + 12, 17));
    for (std::size_t i = 0; i < 4; ++i) file[29 + i] = static_cast<std::uint8_t>(sum >> (24 - 8 * i));
    return decode_error(file);
  };
  EXPECT_EQ(claim(7, 5), "no error");
  EXPECT_EQ(claim(500000, 500000),
            "f: the image claims 500000 x 500000 pixels, outside 1..67108864; scale the image down, or "
            "remove it if it is damaged");
  EXPECT_EQ(claim(8000, 8000),
            fmt::format("f: the image claims 8000 x 8000 pixels, which {} bytes cannot hold", good.size()) +
                kRemedy);
  EXPECT_NE(claim(7, 6), "no error");
  EXPECT_NE(claim(0, 5), "no error");
}

TEST(Decode, RefusesOtherFormats) {
  EXPECT_EQ(decode_error({}), "f: the file is empty; convert the image or remove it");
  EXPECT_EQ(decode_error(bytes_of("GIF89a")),
            "f: this is neither a JPEG nor a PNG file; convert the image or remove it");
}

// Filters one row.
std::vector<float> scaled(const Bytes& row, int to) {
  std::vector<float> result(static_cast<std::size_t>(to));
  const auto width = static_cast<int>(row.size());
  resize({row.data(), 1, width, width, 1}, AxisFilter(1, 1), AxisFilter(width, to), result.data());
  return result;
}

TEST(Resize, KnownValues) {
  EXPECT_EQ(scaled({1, 2, 3, 4}, 4), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(scaled({0, 100}, 4), (std::vector<float>{0, 25, 75, 100}));
  // Half the size: a triangle four pixels wide, weights 1 3 3 1 over 8, truncated at the ends (3 3 1 over 7).
  const std::vector<float> half = scaled({0, 0, 80, 80, 0, 0}, 3);
  EXPECT_NEAR(half[0], 80.0 / 7, 1e-4);
  EXPECT_NEAR(half[1], 60, 1e-4);
  EXPECT_NEAR(half[2], 80.0 / 7, 1e-4);
}

TEST(Resize, KeepsTheMeanAndDoesNotAlias) {
  // Stripes one pixel wide become a uniform grey at any size.
  Bytes stripes(90);
  for (std::size_t i = 0; i < stripes.size(); i += 2) stripes[i] = 200;
  for (const int to : {45, 30, 23, 10, 3}) {
    const auto row = scaled(stripes, to);
    for (std::size_t i = 1; i + 1 < row.size(); ++i) EXPECT_NEAR(row[i], 100, 12) << to;
  }
  for (const int to : {1, 3, 7, 64, 500}) {
    for (const float value : scaled(Bytes(64, 77), to)) EXPECT_NEAR(value, 77, 1e-3);
  }
}

TEST(Resize, CropsTheCentreSquare) {
  Bytes pixels(3 * 5 * 2);  // 3 x 5 pixels of two channels
  std::iota(pixels.begin(), pixels.end(), 0);
  const PlaneView view = PlaneView{pixels.data() + 1, 3, 5, 10, 2}.centre_square();
  EXPECT_EQ(view.height, 3);
  EXPECT_EQ(view.width, 3);
  std::vector<float> result(9);
  resize(view, AxisFilter(3, 3), AxisFilter(3, 3), result.data());
  EXPECT_EQ(result, (std::vector<float>{3, 5, 7, 13, 15, 17, 23, 25, 27}));
}

Bytes plain_png(std::uint8_t red, std::uint8_t green, std::uint8_t blue) {
  Bytes pixels;
  for (int i = 0; i < 12; ++i) pixels.insert(pixels.end(), {red, green, blue});
  return png_file(3, 4, pixels);
}

void put(const TemporaryFolder& folder, const std::string& name, const Bytes& bytes) {
  std::filesystem::create_directories((folder / name).parent_path());
  folder.write(name, text_of(bytes));
}

std::string folder_error(const TemporaryFolder& folder, const DatasetOptions& options = {}) {
  return error_of([&] { open_dataset(folder.path().string(), options); });
}

TEST(ImageFolder, ReadsTrainAndValFolders) {
  const TemporaryFolder folder;
  put(folder, "train/cat/b.png", plain_png(0, 0, 0));
  put(folder, "train/cat/a.JPEG", jpeg_file(8, 9, Bytes(216, 255)));
  put(folder, "train/ant/x.jpg", plain_png(255, 0, 0));  // a PNG with the wrong extension
  put(folder, "train/cat/notes.txt", {1});
  put(folder, "train/cat/.hidden.png", {1});
  put(folder, "val/cat/v.png", plain_png(0, 255, 0));
  put(folder, "val/ant/v.png", plain_png(0, 0, 255));
  put(folder, "test/nobody/v.png", plain_png(0, 0, 255));  // val is preferred
  const DatasetPair pair = open_dataset(folder.path().string(), {.image_size = 2});
  EXPECT_EQ(pair.train->name(), "folder");
  EXPECT_EQ(pair.train->classes(), (std::vector<std::string>{"ant", "cat"}));
  EXPECT_EQ(pair.train->shape(), (ImageShape{3, 2, 2}));
  ASSERT_EQ(pair.train->size(), 3);
  EXPECT_EQ(pair.test->size(), 2);
  std::vector<float> image(12);
  EXPECT_EQ(pair.train->read(0, image.data()), 0);  // ant/x.jpg
  EXPECT_NEAR(image[0], (1 - 0.485) / 0.229, 1e-5);
  EXPECT_NEAR(image[4], (0 - 0.456) / 0.224, 1e-5);
  EXPECT_NEAR(image[11], (0 - 0.406) / 0.225, 1e-5);
  EXPECT_EQ(pair.train->read(1, image.data()), 1);  // cat/a.JPEG
  EXPECT_NEAR(image[11], (1 - 0.406) / 0.225, 0.05);
  EXPECT_EQ(pair.train->read(2, image.data()), 1);  // cat/b.png
  EXPECT_NEAR(image[11], (0 - 0.406) / 0.225, 1e-5);
  EXPECT_EQ(open_dataset("folder:" + folder.path().string(), {}).test->shape(), (ImageShape{3, 224, 224}));
}

TEST(ImageFolder, SplitsByTheHashOfTheName) {
  const TemporaryFolder folder;
  for (int i = 0; i < 200; ++i) {
    put(folder, fmt::format("{}/{}.png", i % 2 == 0 ? "a" : "b", i),
        plain_png(static_cast<std::uint8_t>(i), 0, 0));
  }
  const auto contents = [&](const Dataset& data) {
    std::set<int> ids;
    std::vector<float> image(3);
    for (std::int64_t i = 0; i < data.size(); ++i) {
      const int label = data.read(i, image.data());
      const auto id = static_cast<int>(std::lround((image[0] * 0.229 + 0.485) * 255));
      EXPECT_EQ(label, id % 2);
      EXPECT_TRUE(ids.insert(id).second);
    }
    return ids;
  };
  const DatasetPair pair = open_dataset(folder.path().string(), {.image_size = 1});
  const auto train = contents(*pair.train);
  const auto test = contents(*pair.test);
  EXPECT_EQ(train.size() + test.size(), 200u);
  EXPECT_GT(test.size(), 8u);
  EXPECT_LT(test.size(), 35u);
  for (const int id : test) EXPECT_EQ(train.count(id), 0u);
  // Adding images does not move the others.
  for (int i = 200; i < 250; ++i) put(folder, fmt::format("a/{}.png", i), plain_png(1, 0, 0));
  const DatasetPair more = open_dataset(folder.path().string(), {.image_size = 1, .train_size = 20});
  EXPECT_EQ(more.train->size(), 20);
  const DatasetPair grown = open_dataset(folder.path().string(), {.image_size = 1});
  EXPECT_GE(grown.test->size(), static_cast<std::int64_t>(test.size()));
}

TEST(ImageFolder, NamesAnUnreadableImage) {
  const TemporaryFolder folder;
  put(folder, "train/a/1.png", plain_png(0, 0, 0));
  put(folder, "train/b/2.jpg", {0xff, 0xd8, 0xff});
  put(folder, "val/a/1.png", plain_png(0, 0, 0));
  put(folder, "val/b/1.png", plain_png(0, 0, 0));
  const DatasetPair pair = open_dataset(folder.path().string(), {.image_size = 1});
  const Loader loader(*pair.train, {.batch = 2, .threads = 2});
  std::vector<float> images(6);
  std::vector<std::int32_t> labels(2);
  EXPECT_EQ(error_of([&] { loader.load(0, images.data(), labels.data()); }),
            (folder / "train/b/2.jpg").string() +
                ": this JPEG file cannot be decoded (Premature end of JPEG file)" + kRemedy);
  std::filesystem::remove(folder / "train/b/2.jpg");
  EXPECT_EQ(error_of([&] { pair.train->read(1, images.data()); }),
            (folder / "train/b/2.jpg").string() + ": there is no such file or folder; check the path");
}

TEST(ImageFolder, RefusesUnusableFolders) {
  const std::string layout =
      "; give a folder with CLASS/*.jpg or .png, or with train/CLASS/* and val/CLASS/* (or test/CLASS/*)";
  const TemporaryFolder folder;
  const std::string path = folder.path().string();
  EXPECT_EQ(folder_error(folder), path + ": there are no class folders" + layout);
  std::filesystem::create_directories(folder / "a\nb");
  EXPECT_EQ(folder_error(folder), path +
                                      "/a\\x0ab: the folder of this class has no .jpg, .jpeg or .png images; "
                                      "put images there or remove the folder");
  put(folder, "a\nb/1.png", plain_png(0, 0, 0));
  EXPECT_EQ(folder_error(folder), path + ": there is only one class, 'a\\x0ab'" + layout);
  put(folder, "c/1.png", plain_png(0, 0, 0));
  EXPECT_NE(folder_error(folder).find("the split by name leaves"), std::string::npos);
  put(folder, "c/2.webp", {1});
  EXPECT_EQ(
      folder_error(folder),
      path + "/c/2.webp: webp images are not supported; convert the image to PNG or JPEG, or remove it");

  const TemporaryFolder parts;
  const std::string root = parts.path().string();
  put(parts, "train/a/1.png", plain_png(0, 0, 0));
  put(parts, "train/b/1.png", plain_png(0, 0, 0));
  EXPECT_EQ(folder_error(parts),
            root +
                ": there is a folder train, but no folder val or test; add one, or put the "
                "classes into the folder itself to have them divided");
  put(parts, "test/a/1.png", plain_png(0, 0, 0));
  put(parts, "test/c/1.png", plain_png(0, 0, 0));
  EXPECT_EQ(folder_error(parts), root + "/test: class 'b' of " + root +
                                     "/train is missing here; give both parts the same classes");
  put(parts, "test/b/1.png", plain_png(0, 0, 0));
  EXPECT_EQ(folder_error(parts), root + "/train: class 'c' of " + root +
                                     "/test is missing here; give both parts the same classes");
  put(parts, "train/c/1.png", plain_png(0, 0, 0));
  EXPECT_EQ(folder_error(parts), "no error");
  EXPECT_EQ(folder_error(parts, {.train_size = 4}),
            root + ": the training part has only 3 images, 4 were asked for; ask for 1 to 3, or 0 for all");
  EXPECT_NE(folder_error(parts, {.image_size = 4097}), "no error");
  std::filesystem::rename(parts / "train", parts / "val");
  EXPECT_EQ(folder_error(parts), root + ": there is a folder val, but no folder train" + layout);
}

}  // namespace
}  // namespace lacuna::dataset
