#include "sweep/store/writer_lock.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.hpp"
#include "base/text/quote.hpp"

namespace lacuna::sweep {
namespace {

std::string this_process() {
  char host[256] = "";
  ::gethostname(host, sizeof(host) - 1);
  return fmt::format("process {} on {}", ::getpid(), host);
}

std::string owner_of(int descriptor) {
  char text[300] = "";
  const ::ssize_t bytes = ::pread(descriptor, text, sizeof(text) - 1, 0);
  return bytes > 0 ? one_line({text, static_cast<std::size_t>(bytes)}, 280) : "another process";
}

}  // namespace

WriterLock::WriterLock(const std::filesystem::path& file) : path_(file.string() + "-lock") {
  for (;;) {
    descriptor_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
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
    struct stat ours {
    }, there{};
    if (::fstat(descriptor_, &ours) == 0 && ::stat(path_.c_str(), &there) == 0 &&
        ours.st_ino == there.st_ino) {
      break;
    }
    ::close(descriptor_);
  }
  const std::string owner = this_process();
  if (::ftruncate(descriptor_, 0) != 0 ||
      ::pwrite(descriptor_, owner.data(), owner.size(), 0) != static_cast<::ssize_t>(owner.size())) {
    // A full disk: the name is only for messages.
  }
}

WriterLock::~WriterLock() {
  ::unlink(path_.c_str());
  ::close(descriptor_);
}

}  // namespace lacuna::sweep
