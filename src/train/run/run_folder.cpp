#include "train/run/run_folder.hpp"

#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>
#include <utility>

#include "base/error.hpp"
#include "base/io/input_files.hpp"
#include "base/io/output_file.hpp"

namespace lacuna::train {
namespace {

// A pipe or a device in the place of a file would wait for a reader when it is opened, or swallow what is
// written. A link in a folder that was sent by someone leads to a file of this machine.
void refuse_unless_plain(const std::filesystem::path& file) {
  std::error_code ignored;
  const auto status = std::filesystem::symlink_status(file, ignored);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
    throw InputError(file.string(), "this is not a plain file", "remove it, or give another folder (--out)");
}

}  // namespace

RunFolder::RunFolder(std::filesystem::path path, Use use) : path_(std::move(path)) {
  std::error_code error;
  for (const auto& file : {checkpoint(), log(), config(), kernels()}) refuse_unless_plain(file);
  if (use == Use::kResume && !std::filesystem::exists(checkpoint(), error))
    throw InputError(checkpoint().string(), "there is no checkpoint to resume from",
                     "name the folder of the run (--resume DIR), or leave out --resume");
  if (use == Use::kNew && std::filesystem::exists(checkpoint(), error))
    throw InputError(checkpoint().string(), "a run has been saved there",
                     "continue it (--resume), give another folder (--out), or remove it");
  made_ = std::filesystem::create_directories(path_, error);
  if (error || !std::filesystem::is_directory(path_))
    throw InputError(path_.string(), "the folder cannot be created", "give another one with --out");
  // Held as long as this process lives, however it ends. File systems without locks are used unlocked.
  lock_ = ::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (lock_ >= 0 && ::flock(lock_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    ::close(lock_);
    throw InputError(path_.string(), "another run is writing there", "wait for it, or give another --out");
  }
  remove_abandoned_files(path_);
  for (const auto& file : {checkpoint(), log(), config(), kernels()}) reserve_name(file);
}

void RunFolder::wrote(const std::filesystem::path& file) { written_[file] = id_at(file); }

void RunFolder::check(const std::vector<std::filesystem::path>& files) const {
  std::error_code ignored;
  // The path may be a link: to the same folder as before.
  const bool moved = lock_ >= 0 && !still_names(std::filesystem::canonical(path_, ignored), lock_);
  if (moved || !std::filesystem::is_directory(path_, ignored))
    throw InputError(path_.string(), "the folder was removed or replaced while the run wrote to it",
                     "results of this run are lost: leave the folder alone and start again");
  for (const std::filesystem::path& file : files) {
    const char* lost = nullptr;
    const auto written = written_.find(file);
    if (!std::filesystem::is_regular_file(std::filesystem::symlink_status(file, ignored))) {
      lost = "it was removed while the run went on";
    } else if (written != written_.end() && written->second != id_at(file)) {
      lost = "it was replaced while the run went on";
    }
    if (lost != nullptr)
      throw InputError(file.string(), lost, "run the same command again, and leave the folder alone");
  }
}

RunFolder::~RunFolder() {
  std::error_code ignored;
  if (made_) std::filesystem::remove(path_, ignored);  // only if it is empty
  if (lock_ >= 0) ::close(lock_);
}

std::filesystem::path RunFolder::trace(std::int64_t step) const {
  return path_ / fmt::format("trace_{:06}.safetensors.zst", step);
}

}  // namespace lacuna::train
