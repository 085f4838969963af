#include "kernels/choice/cost_model.hpp"

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <mutex>
#if !defined(LACUNA_WITHOUT_ONEDNN)
#include <oneapi/dnnl/dnnl.h>
#endif
#include <string_view>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.hpp"
#include "base/io/crc32.hpp"
#include "base/io/output_file.hpp"
#include "base/text/parse_number.hpp"
#include "base/version.hpp"

namespace lacuna::kernels {
namespace {

constexpr int kFormat = 12;  // version of the file and of the kernels: increase it when either changes

std::mutex& cache_mutex() {
  static std::mutex mutex;
  return mutex;
}

std::string cpu_model() {
  std::ifstream info("/proc/cpuinfo");
  std::string line, family, model, name;
  while (std::getline(info, line) && !line.empty()) {
    const auto colon = line.find(": ");
    if (colon == std::string::npos) continue;
    const std::string value = line.substr(colon + 2);
    if (line.starts_with("cpu family")) family = value;
    if (line.starts_with("model\t")) model = value;
    if (line.starts_with("model name")) name = value;
  }
  std::string key = name + " " + family + "." + model;
  std::replace(key.begin(), key.end(), '\t', ' ');
  return key;
}

// Returns true for the last kDaysKept days: libraries and systems change. Clocks may differ a little.
bool is_fresh(std::int64_t when) {
  constexpr std::int64_t kDay = 24 * 60 * 60;
  const auto now = static_cast<std::int64_t>(std::time(nullptr));
  return when > now - CostCache::kDaysKept * kDay && when < now + kDay;
}

// Held while the file is read, changed and replaced. Who holds it longer than five seconds is not waited for:
// the file stays whole, and at worst a measurement is repeated.
class FileLock {
 public:
  explicit FileLock(const std::string& path)
      : file_(::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW, 0644)) {
    for (int tries = 0; file_ >= 0 && tries < 250 && ::flock(file_, LOCK_EX | LOCK_NB) != 0; ++tries)
      ::usleep(20'000);
  }
  ~FileLock() {
    if (file_ >= 0) ::close(file_);
  }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int file_;
};

// A cache of ten thousand shapes has 2 MB. What is larger, or not a plain file (a pipe would be waited for, a
// device read for ever), is not a cache: it is neither read nor replaced.
constexpr std::uintmax_t kLargestCache = std::uintmax_t{16} << 20;
bool may_be_cache(const std::filesystem::path& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) return true;
  return std::filesystem::is_regular_file(status) &&
         std::filesystem::file_size(path, error) <= kLargestCache && !error;
}

// Cells between tabs, from the front.
class Cells {
 public:
  explicit Cells(std::string_view line) : rest_(line) {}
  std::string_view text() {
    const std::size_t tab = rest_.find('\t');
    const std::string_view cell = rest_.substr(0, tab);
    rest_ = tab == std::string_view::npos ? "" : rest_.substr(tab + 1);
    return cell;
  }
  // Reads a number of at least `low`.
  template <typename Number>
  bool read(Number& number, Number low) {
    const std::optional<Number> parsed = parse_number<Number>(text());
    number = parsed.value_or(low);
    return parsed && *parsed >= low && *parsed < Number{1'000'000'000'000};
  }
  bool ended() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

std::string sealed(const std::string& line) { return fmt::format("{}\t{:08x}\n", line, crc32(line)); }

// Lines: key TAB when TAB noise TAB contention TAB dense TAB sparse... TAB dense implementation TAB CRC-32 of
// all before; no tabs in keys. Nothing for a line that was damaged or is too old.
std::optional<CostCurve> read_line(std::string_view line, std::string_view key) {
  const std::size_t last = line.rfind('\t');
  if (last == line.npos || last <= key.size()) return std::nullopt;
  if (line.substr(last + 1) != fmt::format("{:08x}", crc32(line.substr(0, last)))) return std::nullopt;
  Cells cells(line.substr(key.size() + 1, last - key.size() - 1));
  constexpr double kShortest = 1e-9;  // seconds
  CostCurve curve;
  bool good = cells.read(curve.when, std::int64_t{0}) && is_fresh(curve.when) &&
              cells.read(curve.noise, 0.0) && cells.read(curve.contention, 0.0) && curve.contention <= 1 &&
              cells.read(curve.dense, kShortest);
  for (double& seconds : curve.sparse) good = good && cells.read(seconds, kShortest);
  const std::optional<Impl> impl = impl_named(std::string(cells.text()));
  if (!good || !impl || !cells.ended()) return std::nullopt;
  curve.dense_impl = *impl;
  return curve;
}

CostLines read_file(const std::string& path) {
  CostLines lines;
  std::error_code error;
  // Files of /proc have no size, and reading some of them waits or never ends: they count as empty.
  if (!may_be_cache(path) || std::filesystem::file_size(path, error) == 0) return lines;
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    const std::string key = line.substr(0, line.find('\t'));
    if (const auto curve = read_line(line, key)) {
      lines.curves[key] = *curve;
    } else if (key.starts_with(machine_key())) {
      lines.dropped.push_back(key);
    }
  }
  return lines;
}

}  // namespace

double CostCurve::sparse_at(double zeros) const {
  const double z = std::clamp(zeros, kZeros.front(), kZeros.back());
  std::size_t i = 1;
  while (i + 1 < kZeros.size() && z > kZeros[i]) ++i;
  const double t = (z - kZeros[i - 1]) / (kZeros[i] - kZeros[i - 1]);
  return sparse[i - 1] + t * (sparse[i] - sparse[i - 1]);
}

double contention_margin(double contention) {
  // Clocks that change look like a little of it.
  constexpr double kUsual = 0.15, kWeight = 0.3;
  return kWeight * std::max(0.0, contention - kUsual);
}

double CostCurve::crossover() const {
  for (int percent = 0; percent <= 100; ++percent)
    if (prefers_sparse(0.01 * percent)) return 0.01 * percent;
  return 2;
}

bool CostCurve::zeros_matter() const {
  const bool first = prefers_sparse(kZeros.front());
  return std::any_of(kZeros.begin(), kZeros.end(),
                     [&](double zeros) { return prefers_sparse(zeros) != first; });
}

std::optional<CostCurve> CostCache::find(const std::string& key) {
  const std::lock_guard lock(cache_mutex());
  if (path_.empty()) return std::nullopt;
  const CostLines& lines = read();
  const auto found = lines.curves.find(key);
  if (found == lines.curves.end()) return std::nullopt;
  return found->second;
}

CostLines CostCache::all() {
  const std::lock_guard lock(cache_mutex());
  if (path_.empty()) return {};
  return read();
}

const CostLines& CostCache::read() {
  struct stat status {};
  Stamp stamp;
  if (::stat(path_.c_str(), &status) == 0)
    stamp = {static_cast<std::int64_t>(status.st_ino), status.st_size, status.st_mtim.tv_sec,
             status.st_mtim.tv_nsec};
  if (stamp != stamp_ || stamp == Stamp{}) lines_ = read_file(path_), stamp_ = stamp;
  return lines_;
}

void CostCache::store(const std::string& key, const CostCurve& curve) {
  const std::lock_guard lock(cache_mutex());
  if (path_.empty()) return;
  if (!may_be_cache(path_)) return;
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(path_).parent_path(), ignored);
  const FileLock file_lock(path_ + ".lock");
  auto curves = read_file(path_).curves;
  curves[key] = curve;
  curves[key].when = static_cast<std::int64_t>(std::time(nullptr));
  std::string text;
  for (const auto& [name, value] : curves)
    text += sealed(fmt::format("{}\t{}\t{:.9g}\t{:.9g}\t{:.9g}\t{:.9g}\t{}", name, value.when, value.noise,
                               value.contention, value.dense, fmt::join(value.sparse, "\t"),
                               value.dense_impl.name));
  try {
    write_file(path_, text);
  } catch (const InputError&) {  // a cache that cannot be written is measured again
  }
}

std::string CostCache::default_path() {
  const auto folder = [](const char* variable, const char* rest) -> std::string {
    const char* value = std::getenv(variable);
    return value == nullptr || *value == '\0' ? "" : std::string(value) + rest;
  };
  for (const std::string& path :
       {folder("LACUNA_CACHE_DIR", "/kernels.txt"), folder("XDG_CACHE_HOME", "/lacuna/kernels.txt"),
        folder("HOME", "/.cache/lacuna/kernels.txt")})
    if (!path.empty()) return path;
  return "";
}

CostCache& CostCache::machine() {
  static CostCache cache(default_path());
  return cache;
}

std::string machine_key() {
  static const std::string key = [] {
#if defined(LACUNA_WITHOUT_ONEDNN)
    const std::string dense = "none";
#else
    const dnnl_version_t* version = dnnl_version();
    const std::string dense = std::to_string(version->major) + "." + std::to_string(version->minor) + "." +
                              std::to_string(version->patch);
#endif
    return std::to_string(kFormat) + " " + std::string(lacuna::version()) + " | " + cpu_model() +
           " | oneDNN " + dense;
  }();
  return key;
}

}  // namespace lacuna::kernels
