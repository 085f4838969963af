#include "base/output_file.hpp"

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/error.hpp"

namespace lacuna {
namespace {
constexpr std::string_view kPartial = ".partial-";  // then the process id
}

OutputFile::OutputFile(std::filesystem::path path) : path_(std::move(path)), target_(path_) {
  std::error_code ignored;
  if (std::filesystem::is_symlink(path_, ignored)) {
    if (auto real = std::filesystem::weakly_canonical(path_, ignored); !ignored) target_ = std::move(real);
  }
  const auto status = std::filesystem::status(target_, ignored);
  if (std::filesystem::is_directory(status)) {
    throw InputError(path_.string(), "cannot write: it is a folder", "give the name of a file");
  }
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    descriptor_ = ::open(target_.c_str(), O_WRONLY | O_CLOEXEC);
  } else {
    temporary_ = target_;
    temporary_ += fmt::format("{}{}", kPartial, ::getpid());
    descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  }
  if (descriptor_ < 0) fail("cannot create");
}

OutputFile::~OutputFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void OutputFile::fail(std::string_view action) const {
  const int reason = errno;
  std::string_view remedy = "check that the folder exists and can be written";
  if (reason == ENOSPC || reason == EDQUOT || reason == EFBIG)
    remedy = "free some space or write elsewhere; nothing was left behind";
  throw InputError(path_.string(), fmt::format("{}: {}", action, std::strerror(reason)), remedy);
}

void OutputFile::write(const void* data, std::size_t bytes) {
  const char* from = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = ::write(descriptor_, from, bytes);
    if (written < 0) {
      if (errno == EINTR) continue;
      fail("cannot write");
    }
    from += written;
    bytes -= static_cast<std::size_t>(written);
  }
}

void OutputFile::commit() {
  if (::fsync(descriptor_) != 0 && errno != EINVAL && errno != EROFS) fail("cannot write");
  const int descriptor = descriptor_;
  descriptor_ = -1;
  const bool closed = ::close(descriptor) == 0;
  if (closed && (temporary_.empty() || ::rename(temporary_.c_str(), target_.c_str()) == 0)) return;
  const int reason = errno;
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  errno = reason;
  fail("cannot write");
}

void remove_abandoned_files(const std::filesystem::path& folder) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    const std::size_t at = name.rfind(kPartial);
    if (at == std::string::npos || at == 0) continue;
    const char* end = name.data() + name.size();
    pid_t process = 0;
    const auto [last, error] = std::from_chars(name.data() + at + kPartial.size(), end, process);
    if (error != std::errc() || last != end || process <= 0) continue;
    // A live process may still be writing it; for one of another user kill() fails with EPERM.
    if (::kill(process, 0) != 0 && errno == ESRCH) std::filesystem::remove(entry.path(), ignored);
  }
}

void write_file(const std::filesystem::path& path, std::string_view text) {
  OutputFile file(path);
  file.write(text);
  file.commit();
}

}  // namespace lacuna
