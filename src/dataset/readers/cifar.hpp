// CIFAR-10 and CIFAR-100 in their binary form (Krizhevsky 2009): records of one or two bytes of label and 3 x
// 32 x 32 bytes of red, green and blue.
#pragma once

#include <filesystem>
#include <string>

#include "dataset/images/byte_images.hpp"

namespace lacuna::dataset {

enum class CifarKind { kCifar10, kCifar100 };

inline constexpr ImageShape kCifarShape{3, 32, 32};

// Appends the records of one file. The label of CIFAR-100 is the fine one. Throws InputError; `where` starts
// the message.
void parse_cifar(ByteView bytes, CifarKind kind, const std::string& where, ByteImages& images);

// True if the folder looks like one of that kind.
bool is_cifar(const std::filesystem::path& folder, CifarKind kind);

DatasetPair open_cifar(const std::filesystem::path& folder, CifarKind kind, const DatasetOptions& options);

}  // namespace lacuna::dataset
