#include "base/error.hpp"
#include "dataset/dataset.hpp"
#include "dataset/shapes.hpp"

namespace lacuna::dataset {

DatasetPair open_dataset(const std::string& text, const DatasetOptions& options) {
  if (text == "shapes") return open_shapes(options);
  throw InputError(text, "there is no such data set", "known: shapes");
}

}  // namespace lacuna::dataset
