// The folder that a training run writes to: one run at a time.
#pragma once

#include <filesystem>

namespace lacuna::cli {

class TrainFolder {
 public:
  // A new folder or one without a checkpoint; with `resume` one that has it. Throws InputError, also while
  // another run writes there, or if one of the files that a run writes is there as a pipe, a device or a
  // folder. Removes what a run that was killed has left half-written.
  TrainFolder(std::filesystem::path path, bool resume);
  // A folder that was made here and in which nothing was written disappears.
  ~TrainFolder();
  TrainFolder(const TrainFolder&) = delete;
  TrainFolder& operator=(const TrainFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path checkpoint() const { return path_ / "checkpoint.safetensors"; }

 private:
  std::filesystem::path path_;
  bool made_ = false;
  int lock_ = -1;
};

}  // namespace lacuna::cli
