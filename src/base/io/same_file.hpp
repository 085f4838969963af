// Checks whether a path still leads to an open file.
#pragma once

#include <filesystem>
#include <sys/stat.h>

namespace lacuna {

// Returns false if the file was removed, renamed or replaced, or the path is a link by now.
inline bool still_names(const std::filesystem::path& path, int descriptor) {
  struct stat named {
  }, opened{};
  return ::lstat(path.c_str(), &named) == 0 && ::fstat(descriptor, &opened) == 0 &&
         named.st_dev == opened.st_dev && named.st_ino == opened.st_ino;
}

}  // namespace lacuna
