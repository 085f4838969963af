#include "base/io/output_file.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.hpp"

namespace lacuna {
namespace {
constexpr std::string_view kPartial = ".partial-";  // then the process id, "-" and 16 random digits
constexpr std::size_t kDigits = 16;
constexpr mode_t kPermissions = 07777;

// Returns an unpredictable name in the folder of `target`, shortened to what file systems allow.
std::filesystem::path temporary_name(const std::filesystem::path& target) {
  std::uint64_t random = 0;
  while (::getrandom(&random, sizeof random, 0) != sizeof random && errno == EINTR) {
  }
  constexpr std::size_t kLongestStem = 200;
  const std::string stem = target.filename().string().substr(0, kLongestStem);
  return target.parent_path() / fmt::format("{}{}{}-{:0{}x}", stem, kPartial, ::getpid(), random, kDigits);
}

// The process that wrote a temporary file of that name; 0 if it is not the name of one.
pid_t writer_of(const std::string& name) {
  const std::size_t at = name.rfind(kPartial);
  if (at == std::string::npos || at == 0) return 0;
  const char* end = name.data() + name.size();
  pid_t process = 0;
  const auto [last, error] = std::from_chars(name.data() + at + kPartial.size(), end, process);
  const std::string_view rest(last, static_cast<std::size_t>(end - last));
  const bool random = rest.size() == kDigits + 1 && rest.front() == '-' &&
                      rest.find_first_not_of("0123456789abcdef", 1) == rest.npos;
  const bool older = rest.empty();  // version 0.1 ended with the process id
  return error == std::errc() && (random || older) ? std::max(process, 0) : 0;
}
}  // namespace

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
    // O_EXCL: what is there already, a link that somebody has planted among it, is neither opened nor
    // followed.
    do {
      temporary_ = temporary_name(target_);
      descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    } while (descriptor_ < 0 && errno == EEXIST);
    // A replaced file keeps its permissions.
    struct stat replaced {};
    if (descriptor_ >= 0 && ::stat(target_.c_str(), &replaced) == 0 && S_ISREG(replaced.st_mode))
      ::fchmod(descriptor_, replaced.st_mode & kPermissions);
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
    const pid_t process = writer_of(entry.path().filename().string());
    if (process <= 0) continue;
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
