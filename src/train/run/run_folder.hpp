// The folder that a training run writes to: one run at a time.
#pragma once

#include <filesystem>
#include <map>
#include <vector>

#include "base/io/same_file.hpp"

namespace lacuna::train {

class RunFolder {
 public:
  enum class Use {
    kNew,      // a new folder, or one without a checkpoint
    kResume,   // one with a checkpoint
    kReplace,  // either: files of an earlier run are overwritten
  };
  // Throws InputError if the folder is not as `use` wants it, while another run writes there, or if one of
  // the files that a run writes is there as a link, a pipe, a device or a folder. Removes what a run that was
  // killed has left half-written.
  RunFolder(std::filesystem::path path, Use use);
  // Removes the folder if it was created here and is still empty.
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  // Notes the file that now has the name.
  void wrote(const std::filesystem::path& file);
  // Throws InputError if the folder itself, or one of `files` in it, is no longer there, or another file has
  // its name.
  void check(const std::vector<std::filesystem::path>& files) const;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path checkpoint() const { return path_ / "checkpoint.safetensors"; }
  std::filesystem::path log() const { return path_ / "log.csv"; }
  std::filesystem::path config() const { return path_ / "config.json"; }
  std::filesystem::path kernels() const { return path_ / "kernels.csv"; }
  std::filesystem::path trace(std::int64_t step) const;

 private:
  std::filesystem::path path_;
  bool made_ = false;
  int lock_ = -1;
  std::map<std::filesystem::path, FileId> written_;
};

}  // namespace lacuna::train
