// One writer per file of results: a lock next to it ("results.sqlite-lock") that ends with the process.
#pragma once

#include <filesystem>

namespace lacuna::sweep {

class WriterLock {
 public:
  // Throws InputError if another process has it (and says which), or the folder cannot be written.
  explicit WriterLock(const std::filesystem::path& file);
  ~WriterLock();
  WriterLock(const WriterLock&) = delete;
  WriterLock& operator=(const WriterLock&) = delete;

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
};

}  // namespace lacuna::sweep
