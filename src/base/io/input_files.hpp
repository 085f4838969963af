// Files that this process has read as input, and names that it keeps for itself: no output may replace one of
// them.
#pragma once

#include <filesystem>
#include <sys/stat.h>

namespace lacuna {

// Files are registered from now on, for programs, whose outputs must not destroy what they were given. A
// process that uses this library may well replace a file that it has read.
void protect_input_files();

// Registers an open file.
void add_input_file(int descriptor);
// Registers what the path leads to, if it is a plain file.
void add_input_file(const std::filesystem::path& path);
// Takes a file off the list: the state of a run, which reads it and replaces it.
void release_input_file(const std::filesystem::path& path);

// Returns true if the path leads to a registered file, by whatever name.
bool is_input_file(const std::filesystem::path& path);

// Keeps a name for what this process writes there by itself (the checkpoint of a run, the log of a database),
// whether it exists yet or not: no output that a user names may go there.
void reserve_name(const std::filesystem::path& path);
bool is_reserved_name(const std::filesystem::path& path);

// Watches a file whose bytes are read where they are, while the object lives: what has been checked must not
// change before it is used.
class InputWatch {
 public:
  InputWatch(std::filesystem::path path, const struct stat& status);
  ~InputWatch();
  InputWatch(const InputWatch&) = delete;
  InputWatch& operator=(const InputWatch&) = delete;

  const std::filesystem::path& path() const { return path_; }
  // Returns true if the file was written to. One that was replaced by another is still there for its readers.
  bool has_changed() const;

 private:
  std::filesystem::path path_;
  struct stat status_;
};

// Throws InputError if a watched file was changed. Whoever writes results asks first.
void check_watched_files();

}  // namespace lacuna
