#include "base/io/output_file.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <map>
#include <mutex>
#include <set>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "base/error.hpp"
#include "base/io/input_files.hpp"

namespace lacuna {
namespace {
constexpr std::string_view kPartial = ".partial-";  // then the process id, "-" and 16 random digits
constexpr std::size_t kDigits = 16;
constexpr mode_t kPermissions = 07777;

// Temporary files that are being written, for a handler of signals: no allocation, no lock.
struct PartialFile {
  std::atomic<bool> taken = false, complete = false;
  std::array<char, 4096> name{};
};
std::array<PartialFile, 32> partial_files;

// Returns the file's place in the list, or -1 if there is none left.
int list_partial_file(const std::string& name) {
  for (std::size_t i = 0; i < partial_files.size() && name.size() < partial_files[i].name.size(); ++i) {
    if (partial_files[i].taken.exchange(true)) continue;
    std::ranges::copy(name, partial_files[i].name.begin());
    partial_files[i].name[name.size()] = '\0';
    partial_files[i].complete = true;
    return static_cast<int>(i);
  }
  return -1;
}

// The name of the target as its temporary files begin, shortened to what file systems allow.
std::string stem_of(const std::filesystem::path& target) {
  constexpr std::size_t kLongestStem = 200;
  return target.filename().string().substr(0, kLongestStem);
}

// Returns an unpredictable name in the folder of `target`.
std::filesystem::path temporary_name(const std::filesystem::path& target) {
  std::uint64_t random = 0;
  while (::getrandom(&random, sizeof random, 0) != sizeof random && errno == EINTR) {
  }
  return target.parent_path() /
         fmt::format("{}{}{}-{:0{}x}", stem_of(target), kPartial, ::getpid(), random, kDigits);
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

// Returns true if no process writes the temporary file. The process that its name tells may be one of another
// container, so whoever writes also holds a lock.
bool is_abandoned(const std::filesystem::path& file, pid_t process) {
  // For a process of another user kill() fails with EPERM.
  if (::kill(process, 0) == 0 || errno != ESRCH) return false;
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (descriptor < 0) return true;
  const bool free = ::flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
  ::close(descriptor);
  return free;
}

// Returns true if temporary files whose names start like this were in the folder when this process first
// wrote there: a command that writes thousands of files lists their folder once.
bool had_leftovers(const std::filesystem::path& folder, const std::string& stem) {
  static std::mutex guard;
  static std::map<std::string, std::set<std::string>> by_folder;
  const std::scoped_lock lock(guard);
  std::error_code error;
  const auto [found, is_new] = by_folder.try_emplace(std::filesystem::absolute(folder, error).string());
  if (is_new) {
    for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end;
         at.increment(error)) {
      const std::string name = at->path().filename().string();
      if (writer_of(name) > 0) found->second.insert(name.substr(0, name.rfind(kPartial)));
    }
  }
  return found->second.contains(stem);
}
}  // namespace

OutputFile::OutputFile(std::filesystem::path path, Links links)
    : path_(std::move(path)), links_(links), target_(path_) {
  std::error_code ignored;
  if (std::filesystem::is_symlink(path_, ignored)) {
    if (links == Links::kRefuse)
      throw InputError(path_.string(), "this is a link, and may lead out of the folder",
                       "remove it, or put the file itself there");
    if (auto real = std::filesystem::weakly_canonical(path_, ignored); !ignored) target_ = std::move(real);
  }
  const auto status = std::filesystem::status(target_, ignored);
  if (std::filesystem::is_directory(status)) {
    throw InputError(path_.string(), "cannot write: it is a folder", "give the name of a file");
  }
  check_target();
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    descriptor_ = ::open(target_.c_str(), O_WRONLY | O_CLOEXEC);
  } else {
    open_temporary();
  }
  if (descriptor_ < 0) fail("cannot create");
}

// A simulation may open more inputs until it ends, so this is checked before the first byte and before the
// file takes its place.
void OutputFile::check_target() const {
  if (is_input_file(target_)) throw InputError(path_.string(), "this is an input", "write to another file");
  if (links_ == Links::kFollow && is_reserved_name(target_))
    throw InputError(path_.string(), "another result of this command goes there", "write to another file");
  check_watched_files();
}

void OutputFile::open_temporary() {
  const std::filesystem::path folder = target_.has_parent_path() ? target_.parent_path() : ".";
  if (had_leftovers(folder, stem_of(target_))) remove_abandoned_files(folder, stem_of(target_));
  // O_EXCL: what is there already, a link that somebody has planted among it, is neither opened nor followed.
  do {
    forget_temporary();
    temporary_ = temporary_name(target_);
    listed_ = list_partial_file(temporary_.string());
    descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  } while (descriptor_ < 0 && errno == EEXIST);
  if (descriptor_ < 0) return forget_temporary();
  ::flock(descriptor_, LOCK_EX | LOCK_NB);  // see is_abandoned()
  // A replaced file keeps its permissions.
  struct stat replaced {};
  if (::stat(target_.c_str(), &replaced) == 0 && S_ISREG(replaced.st_mode))
    ::fchmod(descriptor_, replaced.st_mode & kPermissions);
}

void OutputFile::forget_temporary() {
  if (listed_ < 0) return;
  PartialFile& file = partial_files[static_cast<std::size_t>(std::exchange(listed_, -1))];
  file.complete = false;
  file.taken = false;
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) {
    ::close(descriptor_);
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
  }
  forget_temporary();
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
  check_target();
  if (::fsync(descriptor_) != 0 && errno != EINVAL && errno != EROFS) fail("cannot write");
  const int descriptor = descriptor_;
  descriptor_ = -1;
  const bool closed = ::close(descriptor) == 0;
  if (closed && (temporary_.empty() || ::rename(temporary_.c_str(), target_.c_str()) == 0)) {
    if (links_ == Links::kRefuse) reserve_name(target_);
    return;
  }
  const int reason = errno;
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  errno = reason;
  fail("cannot write");
}

void remove_partial_files() noexcept {
  for (const PartialFile& file : partial_files)
    if (file.complete) ::unlink(file.name.data());
}

void remove_abandoned_files(const std::filesystem::path& folder, std::string_view target) {
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    const pid_t process = writer_of(name);
    if (process <= 0 || (!target.empty() && name.substr(0, name.rfind(kPartial)) != target)) continue;
    std::error_code ignored;
    if (is_abandoned(at->path(), process)) std::filesystem::remove(at->path(), ignored);
  }
}

void write_file(const std::filesystem::path& path, std::string_view text, OutputFile::Links links) {
  OutputFile file(path, links);
  file.write(text);
  file.commit();
}

}  // namespace lacuna
