// Data sets kept in memory as bytes (CIFAR, MNIST), and code that all data sets read from files share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dataset/dataset.hpp"
#include "dataset/readers/file_bytes.hpp"

namespace lacuna::dataset {

// Largest `image_size` for sets read from files.
inline constexpr int kLargestImageSize = 4096;

// Image after image, each as planes; one byte per label.
struct ByteImages {
  ImageShape shape;
  Bytes pixels;
  Bytes labels;

  std::int64_t size() const { return static_cast<std::int64_t>(labels.size()); }
};

// The figures that turn a byte into a value: (byte / 255 - mean) / deviation of its channel.
struct Normalisation {
  std::vector<float> mean;
  std::vector<float> deviation;

  // Measures all pixels. Sums of bytes are exact, so the figures do not depend on the order.
  static Normalisation of(const ByteImages& images);
  // value: 0 .. 255, whole or (after resizing) not.
  void apply(int channel, float* values, std::int64_t count) const;
};

// Chooses `asked` of `count` images, in their order; returns nothing if all are used. Throws InputError if
// there are fewer; `where` and `part` start the message.
std::vector<std::int64_t> choose_images(std::int64_t count, std::int64_t asked, std::uint64_t seed,
                                        const std::string& where, const char* part);

// Data sets of which only some images may be used.
class ChosenImages : public Dataset {
 protected:
  // `facts.size` is that of the set.
  ChosenImages(DatasetFacts facts, std::vector<std::int64_t> chosen);
  // Returns the index of a chosen image in the whole set.
  std::size_t place(std::int64_t index) const {
    return static_cast<std::size_t>(chosen_.empty() ? index : chosen_[static_cast<std::size_t>(index)]);
  }

 private:
  std::vector<std::int64_t> chosen_;  // empty: all
};

// Throws InputError if the option is out of range.
void check_image_size(int image_size, const std::string& where);

// Makes data sets of both parts; the training part's figures normalise both. `where` (the folder) is for
// messages.
DatasetPair make_byte_datasets(const std::string& name, const std::vector<std::string>& classes,
                               ByteImages train, ByteImages test, const DatasetOptions& options,
                               const std::string& where);

}  // namespace lacuna::dataset
