// A folder of JPEG and PNG images, one subfolder per class.
#pragma once

#include <filesystem>

#include "dataset/dataset.hpp"

namespace lacuna::dataset {

inline constexpr int kFolderImageSize = 224;

// DIR/train/CLASS/* and DIR/val/CLASS/* (or DIR/test/CLASS/* without a val); or DIR/CLASS/*, of which
// a tenth, by a hash of the name, is the test part. Images are decoded when they are read, their middle
// square is scaled to the image size.
DatasetPair open_image_folder(const std::filesystem::path& folder, const DatasetOptions& options);

}  // namespace lacuna::dataset
