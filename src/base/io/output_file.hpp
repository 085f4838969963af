// Output that appears whole or not at all: written next to its final name, renamed at the end.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace lacuna {

// A file being written. Nothing appears under the final name until commit(); without commit() (an exception,
// a full disk) the temporary file is removed. Every error is an InputError with the path and the system's
// reason. The temporary file is always a new one with an unpredictable name, so that a link planted next to
// the target leads nowhere; a file that is replaced keeps its permissions. What exists and is not a plain
// file (a device, a pipe) is written directly, since a rename would replace it. An input
// (base/io/input_files.hpp) is never replaced. Temporary files that killed processes have left for the same
// target are removed.
class OutputFile {
 public:
  // A link as the target: a user may well name one, but one in a folder that the program keeps (a run's)
  // comes from whoever sent the folder. The names of the latter are kept: no output that a user names may
  // replace one of those files.
  enum class Links { kFollow, kRefuse };

  explicit OutputFile(std::filesystem::path path, Links links = Links::kFollow);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(const void* data, std::size_t bytes);
  void write(std::string_view text) { write(text.data(), text.size()); }
  void commit();  // flush to the disk, close, rename

 private:
  [[noreturn]] void fail(std::string_view action) const;
  void check_target() const;
  void open_temporary();
  void forget_temporary();

  std::filesystem::path path_;
  Links links_;
  std::filesystem::path target_;     // where the path's links lead
  std::filesystem::path temporary_;  // empty if the target is written directly
  int listed_ = -1;                  // its place in the list of files to remove; -1: none
  int descriptor_ = -1;
};

// Removes the temporary files that this process is writing. For handlers of signals that end it.
void remove_partial_files() noexcept;

// Removes temporary files that killed processes have left in a folder: all, or those of one target.
void remove_abandoned_files(const std::filesystem::path& folder, std::string_view target = {});

void write_file(const std::filesystem::path& path, std::string_view text,
                OutputFile::Links links = OutputFile::Links::kFollow);

}  // namespace lacuna
