#include "dataset/images/byte_images.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <utility>

#include "base/error.hpp"
#include "dataset/images/resize.hpp"
#include "dataset/streams.hpp"

namespace lacuna::dataset {
namespace {

class ByteDataset final : public ChosenImages {
 public:
  ByteDataset(DatasetFacts facts, std::vector<std::int64_t> chosen, ByteImages images,
              Normalisation normalisation)
      : ChosenImages(std::move(facts), std::move(chosen)),
        images_(std::move(images)),
        normalisation_(std::move(normalisation)),
        filter_(std::min(images_.shape.height, images_.shape.width), shape().height) {}

  int read(std::int64_t index, float* image) const override {
    const std::size_t at = place(index);
    const ImageShape& stored = images_.shape;
    const std::ptrdiff_t plane = std::ptrdiff_t{shape().height} * shape().width;
    for (int c = 0; c < stored.channels; ++c) {
      const std::ptrdiff_t first = static_cast<std::ptrdiff_t>(at) * stored.channels + c;
      const PlaneView view{images_.pixels.data() + first * stored.height * stored.width, stored.height,
                           stored.width, stored.width, 1};
      float* to = image + c * plane;
      if (stored == shape())
        std::copy_n(view.data, plane, to);
      else
        resize(view.centre_square(), filter_, filter_, to);
      normalisation_.apply(c, to, plane);
    }
    return images_.labels[at];
  }

 private:
  ByteImages images_;
  Normalisation normalisation_;
  AxisFilter filter_;
};

}  // namespace

Normalisation Normalisation::of(const ByteImages& images) {
  const ImageShape& shape = images.shape;
  const std::int64_t plane = std::int64_t{shape.height} * shape.width;
  const auto count = static_cast<double>(images.size() * plane);
  Normalisation result;
  for (int c = 0; c < shape.channels; ++c) {
    std::uint64_t sum = 0;
    std::uint64_t squares = 0;
    for (std::int64_t image = 0; image < images.size(); ++image) {
      const std::uint8_t* bytes = images.pixels.data() + image * shape.size() + c * plane;
      for (std::int64_t i = 0; i < plane; ++i) {
        sum += bytes[i];
        squares += static_cast<std::uint64_t>(bytes[i]) * bytes[i];
      }
    }
    const double mean = static_cast<double>(sum) / count;
    const double variance = static_cast<double>(squares) / count - mean * mean;
    result.mean.push_back(static_cast<float>(mean / 255));
    // All images have one colour: any finite scale will do.
    result.deviation.push_back(static_cast<float>(std::sqrt(std::max(variance, 1.0)) / 255));
  }
  return result;
}

void Normalisation::apply(int channel, float* values, std::int64_t count) const {
  const float shift = mean[static_cast<std::size_t>(channel)];
  const float scale = deviation[static_cast<std::size_t>(channel)];
  for (std::int64_t i = 0; i < count; ++i) values[i] = (values[i] / 255.0F - shift) / scale;
}

std::vector<std::int64_t> choose_images(std::int64_t count, std::int64_t asked, std::uint64_t seed,
                                        const std::string& where, const char* part) {
  if (asked < 0 || asked > count)
    throw InputError(where,
                     fmt::format("the {} part has only {} images, {} were asked for", part, count, asked),
                     fmt::format("ask for 1 to {}, or 0 for all", count));
  std::vector<std::int64_t> chosen;
  if (asked == 0 || asked == count) return chosen;
  const Permutation order(count, seed);
  for (std::int64_t i = 0; i < asked; ++i) chosen.push_back(order(i));
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

void check_image_size(int image_size, const std::string& where) {
  if (image_size < 0 || image_size > kLargestImageSize) {
    throw InputError(
        where, fmt::format("images cannot be made {0}x{0}", image_size),
        fmt::format("use an image size from 1 to {}, or 0 for the set's own", kLargestImageSize));
  }
}

DatasetPair make_byte_datasets(const std::string& name, const std::vector<std::string>& classes,
                               ByteImages train, ByteImages test, const DatasetOptions& options,
                               const std::string& where) {
  check_image_size(options.image_size, where);
  const Normalisation normalisation = Normalisation::of(train);
  const auto make = [&](ByteImages images, std::int64_t asked, const char* part) {
    DatasetFacts facts{name, images.shape, classes, images.size()};
    if (options.image_size != 0) facts.shape.height = facts.shape.width = options.image_size;
    std::vector<std::int64_t> chosen = choose_images(facts.size, asked, options.seed, where, part);
    return std::make_unique<ByteDataset>(std::move(facts), std::move(chosen), std::move(images),
                                         normalisation);
  };
  auto first = make(std::move(train), options.train_size, "training");
  return {std::move(first), make(std::move(test), options.test_size, "test")};
}

ChosenImages::ChosenImages(DatasetFacts facts, std::vector<std::int64_t> chosen)
    : Dataset([&] {
        if (!chosen.empty()) facts.size = static_cast<std::int64_t>(chosen.size());
        return std::move(facts);
      }()),
      chosen_(std::move(chosen)) {}

}  // namespace lacuna::dataset
