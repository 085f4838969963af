#include "base/io/input_files.hpp"

#include <atomic>
#include <mutex>
#include <set>
#include <sys/stat.h>
#include <utility>

namespace lacuna {
namespace {

using FileId = std::pair<dev_t, ino_t>;

std::atomic<bool> protects = false;
std::mutex mutex;

std::set<FileId>& registered() {
  static std::set<FileId> files;
  return files;
}

FileId id_of(const struct stat& status) { return {status.st_dev, status.st_ino}; }

// Devices (/dev/null) do not change by what is written to them.
void add(const struct stat& status) {
  if (!S_ISREG(status.st_mode)) return;
  const std::scoped_lock lock(mutex);
  registered().insert(id_of(status));
}

}  // namespace

void protect_input_files() { protects = true; }

void add_input_file(int descriptor) {
  struct stat status {};
  if (protects && ::fstat(descriptor, &status) == 0) add(status);
}

void add_input_file(const std::filesystem::path& path) {
  struct stat status {};
  if (protects && ::stat(path.c_str(), &status) == 0) add(status);
}

void release_input_file(const std::filesystem::path& path) {
  struct stat status {};
  if (!protects || ::stat(path.c_str(), &status) != 0) return;
  const std::scoped_lock lock(mutex);
  registered().erase(id_of(status));
}

bool is_input_file(const std::filesystem::path& path) {
  struct stat status {};
  if (!protects || ::stat(path.c_str(), &status) != 0) return false;
  const std::scoped_lock lock(mutex);
  return registered().contains(id_of(status));
}

}  // namespace lacuna
