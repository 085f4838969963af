// Identity of files, by which a path is known to lead to the same file as before.
#pragma once

#include <filesystem>
#include <sys/stat.h>
#include <utility>

namespace lacuna {

// Device and inode.
using FileId = std::pair<dev_t, ino_t>;

inline FileId id_of(const struct stat& status) { return {status.st_dev, status.st_ino}; }
// Returns the identity of what is at a path, which may be a link; that of no file if nothing is there.
inline FileId id_at(const std::filesystem::path& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 ? id_of(status) : FileId{};
}

// Returns false if the file was removed, renamed or replaced, or the path is a link by now.
inline bool still_names(const std::filesystem::path& path, int descriptor) {
  struct stat opened {};
  return ::fstat(descriptor, &opened) == 0 && id_at(path) == id_of(opened);
}

}  // namespace lacuna
