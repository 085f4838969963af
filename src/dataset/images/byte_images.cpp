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

class ByteDataset final : public Dataset {
 public:
  ByteDataset(std::string name, std::vector<std::string> classes, ByteImages images,
              std::vector<std::int64_t> chosen, Normalisation normalisation, int image_size)
      : name_(std::move(name)),
        classes_(std::move(classes)),
        images_(std::move(images)),
        chosen_(std::move(chosen)),
        normalisation_(std::move(normalisation)),
        shape_(images_.shape),
        filter_(std::min(shape_.height, shape_.width), image_size == 0 ? 1 : image_size),
        resized_(image_size != 0 && (shape_.height != image_size || shape_.width != image_size)) {
    if (resized_) shape_.height = shape_.width = image_size;
  }

  const std::string& name() const override { return name_; }
  ImageShape shape() const override { return shape_; }
  const std::vector<std::string>& classes() const override { return classes_; }
  std::int64_t size() const override {
    return chosen_.empty() ? images_.size() : static_cast<std::int64_t>(chosen_.size());
  }

  int read(std::int64_t index, float* image) const override {
    const std::int64_t at = chosen_.empty() ? index : chosen_[static_cast<std::size_t>(index)];
    const ImageShape& stored = images_.shape;
    const std::uint8_t* pixels = images_.pixels.data() + at * stored.size();
    for (int c = 0; c < shape_.channels; ++c) {
      const std::uint8_t* plane = pixels + static_cast<std::ptrdiff_t>(c) * stored.height * stored.width;
      float* to = image + static_cast<std::ptrdiff_t>(c) * shape_.height * shape_.width;
      if (resized_) {
        const PlaneView view{plane, stored.height, stored.width, stored.width, 1};
        resize(view.centre_square(), filter_, filter_, to);
      } else {
        std::copy_n(plane, stored.height * stored.width, to);
      }
      normalisation_.apply(c, to, std::int64_t{shape_.height} * shape_.width);
    }
    return images_.labels[static_cast<std::size_t>(at)];
  }

 private:
  std::string name_;
  std::vector<std::string> classes_;
  ByteImages images_;
  std::vector<std::int64_t> chosen_;  // empty: all
  Normalisation normalisation_;
  ImageShape shape_;
  AxisFilter filter_;
  bool resized_;
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
  if (asked < 0 || asked > count) {
    throw InputError(where,
                     fmt::format("the {} part has only {} images, {} were asked for", part, count, asked),
                     fmt::format("ask for 1 to {}, or 0 for all", count));
  }
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
  std::vector<std::int64_t> of_train =
      choose_images(train.size(), options.train_size, options.seed, where, "training");
  std::vector<std::int64_t> of_test =
      choose_images(test.size(), options.test_size, options.seed, where, "test");
  return {std::make_unique<ByteDataset>(name, classes, std::move(train), std::move(of_train), normalisation,
                                        options.image_size),
          std::make_unique<ByteDataset>(name, classes, std::move(test), std::move(of_test), normalisation,
                                        options.image_size)};
}

}  // namespace lacuna::dataset
