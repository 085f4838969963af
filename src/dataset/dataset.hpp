// Sets of labelled images to train on. docs/datasets.md describes each kind.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace lacuna::dataset {

struct ImageShape {
  int channels = 0;
  int height = 0;
  int width = 0;

  int size() const { return channels * height * width; }
  bool operator==(const ImageShape&) const = default;
};

// Labelled images of one size. Nothing changes after opening; read() may be called from many threads.
class Dataset {
 public:
  Dataset() = default;
  virtual ~Dataset() = default;
  Dataset(const Dataset&) = delete;
  Dataset& operator=(const Dataset&) = delete;

  virtual const std::string& name() const = 0;  // "shapes", "cifar10", "cifar100", "mnist", "folder"
  virtual ImageShape shape() const = 0;
  virtual const std::vector<std::string>& classes() const = 0;  // at least two; a label is a place in it
  virtual std::int64_t size() const = 0;                        // at least one

  // Writes image `index` (0 .. size()-1), shape().size() floats in the order channel, row, column, and
  // returns its label. A byte b of channel c becomes (b / 255 - mean[c]) / deviation[c], with figures of the
  // whole training part of the set (docs/datasets.md says which), so that values have about zero mean and
  // unit variance. Throws InputError if the image cannot be read (folders, where images are decoded here).
  virtual int read(std::int64_t index, float* image) const = 0;
};

struct DatasetPair {
  std::unique_ptr<Dataset> train;
  std::unique_ptr<Dataset> test;
};

struct DatasetOptions {
  int image_size = 0;  // height and width; 0: the set's own. Files are resized, the built-in set is drawn so
  std::int64_t train_size = 0;  // images; 0: all of them, or the default of the built-in set. Fewer than all
  std::int64_t test_size = 0;   // are chosen by the seed and stay in their order
  std::uint64_t seed = 1;       // of the built-in set's images, and of the choice of fewer
};

// `text` is "shapes" (built in), "cifar10:DIR", "cifar100:DIR", "mnist:DIR" (Fashion-MNIST too: the same
// files), "folder:DIR", or a bare DIR, which is recognised by what lies in it. Throws InputError.
DatasetPair open_dataset(const std::string& text, const DatasetOptions& options);

}  // namespace lacuna::dataset
