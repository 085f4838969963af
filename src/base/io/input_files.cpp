#include "base/io/input_files.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>
#include <string>

#include "base/error.hpp"
#include "base/io/same_file.hpp"

namespace lacuna {
namespace {

std::atomic<bool> protects = false;
std::mutex mutex;

std::set<FileId>& registered() {
  static std::set<FileId> files;
  return files;
}

std::set<std::filesystem::path>& reserved() {
  static std::set<std::filesystem::path> names;
  return names;
}

struct Watched {
  std::set<const InputWatch*> now;
  std::string changed;  // one that is no longer watched
};

Watched& watched() {
  static auto* const files = new Watched;  // may be asked for while the process ends
  return *files;
}

std::filesystem::path whole_name(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::weakly_canonical(std::filesystem::absolute(path, ignored), ignored);
}

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

void reserve_name(const std::filesystem::path& path) {
  if (!protects) return;
  std::filesystem::path name = whole_name(path);
  const std::scoped_lock lock(mutex);
  reserved().insert(std::move(name));
}

bool is_reserved_name(const std::filesystem::path& path) {
  if (!protects) return false;
  const std::filesystem::path name = whole_name(path);
  const std::scoped_lock lock(mutex);
  return reserved().contains(name);
}

InputWatch::InputWatch(std::filesystem::path path, const struct stat& status)
    : path_(std::move(path)), status_(status) {
  const std::scoped_lock lock(mutex);
  watched().now.insert(this);
}

InputWatch::~InputWatch() {
  const std::scoped_lock lock(mutex);
  watched().now.erase(this);
  if (has_changed()) watched().changed = path_.string();
}

bool InputWatch::has_changed() const {
  struct stat now {};
  return ::stat(path_.c_str(), &now) == 0 && id_of(now) == id_of(status_) &&
         (now.st_size != status_.st_size || now.st_mtim.tv_sec != status_.st_mtim.tv_sec ||
          now.st_mtim.tv_nsec != status_.st_mtim.tv_nsec);
}

void check_watched_files() {
  const std::scoped_lock lock(mutex);
  std::string changed = watched().changed;
  const auto& now = watched().now;
  const auto found = std::ranges::find_if(now, [](const InputWatch* file) { return file->has_changed(); });
  if (found != now.end()) changed = (*found)->path().string();
  if (changed.empty()) return;
  throw InputError(changed, "the file was changed while it was read", "run again when it is complete");
}

}  // namespace lacuna
