#include "sweep/store/writer_lock.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <string_view>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.hpp"
#include "base/io/same_file.hpp"
#include "base/text/quote.hpp"

namespace lacuna::sweep {
namespace {

// Content of the lock file: "process 4711 on HOST".
constexpr char kOwner[] = "process ";
constexpr off_t kLongestOwner = 300;

std::string this_process() {
  char host[256] = "";
  ::gethostname(host, sizeof(host) - 1);
  return fmt::format("{}{} on {}", kOwner, ::getpid(), host);
}

std::string owner_of(int descriptor) {
  char text[kLongestOwner] = "";
  const ::ssize_t bytes = ::pread(descriptor, text, sizeof(text) - 1, 0);
  return bytes > 0 ? one_line({text, static_cast<std::size_t>(bytes)}, 280) : "another process";
}

// Every name of the file has the same lock. A hard link would be another file to SQLite, with a log of its
// own.
std::filesystem::path lock_path(const std::filesystem::path& file) {
  std::error_code ignored;
  struct stat status {};
  if (::stat(file.c_str(), &status) == 0) {
    if (S_ISREG(status.st_mode) && status.st_nlink > 1)
      throw InputError(file.string(), "the file has several names (hard links)",
                       "copy it, or remove the other names");
  } else if (std::filesystem::is_symlink(file, ignored)) {
    throw InputError(file.string(), "this link leads to no file", "remove it, or name the file itself");
  }
  return std::filesystem::weakly_canonical(file, ignored).string() + "-lock";
}

// Opens the lock, and tells a file that some sweep made from one that is there for another reason.
int open_lock(const std::filesystem::path& path) {
  const int descriptor =
      ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0666);
  struct stat status {};
  char text[sizeof(kOwner)] = "";
  const bool ours = descriptor >= 0 && ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) &&
                    status.st_nlink <= 1 && status.st_size < kLongestOwner &&
                    (status.st_size == 0 || (::pread(descriptor, text, sizeof(text) - 1, 0) > 0 &&
                                             std::string_view(kOwner) == text));
  if (ours) return descriptor;
  const int reason = descriptor < 0 ? errno : ELOOP;
  if (descriptor >= 0) ::close(descriptor);
  if (reason == ELOOP || reason == ENXIO || reason == EISDIR)
    throw InputError(path.string(), "this is not the lock of a sweep",
                     "remove it, or name another file of results");
  errno = reason;
  return -1;
}

}  // namespace

WriterLock::WriterLock(const std::filesystem::path& file) : path_(lock_path(file)) {
  for (;;) {
    descriptor_ = open_lock(path_);
    if (descriptor_ < 0) {
      throw InputError(file.string(), fmt::format("cannot write next to it: {}", std::strerror(errno)),
                       "check that its folder is there and can be written, or name another file");
    }
    if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
      const std::string owner = owner_of(descriptor_);
      ::close(descriptor_);
      throw InputError(file.string(), fmt::format("another sweep writes to it ({})", owner),
                       "wait for it to end, or name another file: files can be read meanwhile");
    }
    // The owner may have removed the file in between: then this locks a file without a name.
    if (still_names(path_, descriptor_)) break;
    ::close(descriptor_);
  }
  const std::string owner = this_process();
  if (::ftruncate(descriptor_, 0) != 0 ||
      ::pwrite(descriptor_, owner.data(), owner.size(), 0) != static_cast<::ssize_t>(owner.size())) {
    // A full disk: the name is only for messages.
  }
}

WriterLock::~WriterLock() {
  // Somebody may have removed it: what is there now is another sweep's.
  if (still_names(path_, descriptor_)) ::unlink(path_.c_str());
  ::close(descriptor_);
}

}  // namespace lacuna::sweep
