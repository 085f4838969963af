// Sets of labelled images to train on. docs/datasets.md describes each kind.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace lacuna::dataset {

struct ImageShape {
  int channels = 0;
  int height = 0;
  int width = 0;

  int size() const { return channels * height * width; }
  bool operator==(const ImageShape&) const = default;
};

struct DatasetFacts {
  std::string name;  // "shapes", "cifar10", "cifar100", "mnist", "folder"
  ImageShape shape;
  std::vector<std::string> classes;  // at least two; a label is a place in it
  std::int64_t size = 0;             // at least one
};

// Labelled images of one size. Nothing changes after opening; read() may be called from many threads.
class Dataset {
 public:
  explicit Dataset(DatasetFacts facts) : facts_(std::move(facts)) {}
  virtual ~Dataset() = default;
  Dataset(const Dataset&) = delete;
  Dataset& operator=(const Dataset&) = delete;

  const std::string& name() const { return facts_.name; }
  ImageShape shape() const { return facts_.shape; }
  const std::vector<std::string>& classes() const { return facts_.classes; }
  std::int64_t size() const { return facts_.size; }

  // Writes image `index` (0 .. size()-1), shape().size() floats in the order channel, row, column, and
  // returns its label. A byte b of channel c becomes (b / 255 - mean[c]) / deviation[c], with figures of the
  // whole training part of the set (docs/datasets.md says which), so that values have about zero mean and
  // unit variance. Throws InputError if the image cannot be read (folders, where images are decoded here).
  virtual int read(std::int64_t index, float* image) const = 0;

 private:
  DatasetFacts facts_;
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
