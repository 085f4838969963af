#include <algorithm>
#include <dirent.h>
#include <fmt/format.h>
#include <glob.h>
#include <map>
#include <memory>
#include <optional>
#include <sys/stat.h>

#include "base/text/nearest.hpp"
#include "base/text/parse_number.hpp"
#include "base/text/quote.hpp"
#include "sweep/plan/plan_parts.hpp"
#include "trace/synthetic/synthetic_text.hpp"

namespace lacuna::sweep {
namespace {

constexpr std::size_t kMostTraces = 10'000;

// Limits the folders that glob() reads. "*/../*/../*" leads to the same folders again and again: in a folder
// of ten files, ten times more often with each pair. They are counted, and after the last one all are empty.
constexpr int kMostFolders = 10'000;
thread_local int folders_read = 0;
void* open_folder(const char* path) { return ++folders_read > kMostFolders ? nullptr : ::opendir(path); }
::dirent* read_folder(void* folder) {
  return folders_read > kMostFolders ? nullptr : ::readdir(static_cast<::DIR*>(folder));
}
void close_folder(void* folder) { ::closedir(static_cast<::DIR*>(folder)); }

// Returns nothing if the pattern asks for too much.
std::optional<std::vector<std::string>> matches(const std::string& pattern) {
  ::glob_t found{};
  found.gl_opendir = open_folder;
  found.gl_readdir = read_folder;
  found.gl_closedir = close_folder;
  found.gl_lstat = ::lstat;
  found.gl_stat = ::stat;
  const std::unique_ptr<::glob_t, decltype(&::globfree)> free(&found, &::globfree);
  folders_read = 0;
  std::vector<std::string> paths;
  if (::glob(pattern.c_str(), GLOB_ALTDIRFUNC, nullptr, &found) == 0) {
    for (std::size_t i = 0; i < found.gl_pathc; ++i) paths.emplace_back(found.gl_pathv[i]);
  }
  if (folders_read > kMostFolders) return std::nullopt;
  return paths;
}

class TraceListReader {
 public:
  TraceListReader(const YamlReader& yaml, bool read_files) : yaml_(yaml), read_files_(read_files) {}

  std::vector<PlanTrace> read(const YAML::Node& at, const YAML::Node& list,
                              const std::vector<std::uint64_t>& seeds) {
    const auto take = [&](const YAML::Node& entry) {
      if (entry.IsMap()) return add_synthetic(entry, seeds);
      add_files(entry, yaml_.text(entry, "traces", entry));
    };
    if (list.IsScalar()) {
      take(list);
    } else if (list.IsSequence() && list.size() > 0) {
      for (const YAML::Node& entry : list) take(entry);
    } else {
      yaml_.fail(at, "'traces' has no entries", "write a list: [FILE, 'folder/*.zst']");
    }
    return std::move(traces_);
  }

 private:
  void add(const YAML::Node& at, PlanTrace trace) {
    if (std::ranges::find(traces_, trace.origin, &PlanTrace::origin) != traces_.end()) {
      yaml_.fail(at, fmt::format("the trace {} is there twice", quote_name(trace.origin)),
                 "name each one once");
    }
    if (traces_.size() == kMostTraces)
      yaml_.fail(at, fmt::format("more than {} traces", kMostTraces), "leave some out");
    traces_.push_back(std::move(trace));
  }

  void add_files(const YAML::Node& at, const std::string& pattern) {
    const std::filesystem::path path = std::filesystem::path(yaml_.file()).parent_path() / pattern;
    if (pattern.find_first_of("*?[") == std::string::npos || !read_files_) {
      std::error_code ignored;
      if (read_files_ && !std::filesystem::exists(path, ignored)) {
        yaml_.fail(at, fmt::format("there is no file {}", quote_name(path.string())),
                   "check the name; paths are relative to the plan's folder");
      }
      return add(at, {path, std::nullopt, path.string(), yaml_.place(at)});
    }
    const std::optional<std::vector<std::string>> files = matches(path.string());
    if (!files) {
      yaml_.fail(at,
                 fmt::format("the pattern {} leads to more than {} folders", quote_name(path.string()),
                             kMostFolders),
                 "write one with fewer '*'");
    }
    if (files->empty()) {
      yaml_.fail(at, fmt::format("no file matches {}", quote_name(path.string())),
                 "check the pattern; paths are relative to the plan's folder");
    }
    for (const std::string& file : *files) add(at, {file, std::nullopt, file, yaml_.place(at)});
  }

  void add_synthetic(const YAML::Node& map, const std::vector<std::uint64_t>& seeds) {
    SyntheticSpec spec;
    ZeroTexts zeros;
    std::vector<std::pair<std::string, std::string>> layers;  // text and place
    const std::map<std::string, std::string*> texts{
        {"synthetic", &spec.name}, {"A", &zeros.a}, {"W", &zeros.w}, {"G", &zeros.g}};
    yaml_.each(map, "a synthetic trace",
               [&](const std::string& key, const YAML::Node& key_at, const YAML::Node& value) {
                 if (texts.contains(key)) {
                   *texts.at(key) = yaml_.text(key_at, key, value);
                   if (key != "synthetic") parse_zeros(*texts.at(key), yaml_.place(value));
                 } else if (key == "layers") {
                   if (!value.IsSequence() || value.size() == 0 || value.size() > kMostTraces) {
                     yaml_.fail(key_at, "'layers' is not a list of layers",
                                "write ['conv2d in=64 out=64 kernel=3 input=56']");
                   }
                   for (const YAML::Node& layer : value) {
                     layers.emplace_back(yaml_.text(layer, key, layer), yaml_.place(layer));
                   }
                 } else if (key == "batch") {
                   spec.batch = parse_number<std::int64_t>(yaml_.text(key_at, key, value));
                   if (!spec.batch || *spec.batch < 1 || *spec.batch > 1 << 24)
                     yaml_.fail(value, "'batch' is not a number of samples", "write for example 64");
                 } else {
                   yaml_.fail(key_at, fmt::format("a synthetic trace has no {}", quote_name(key)),
                              suggest(key, {"synthetic", "layers", "A", "W", "G", "batch"}));
                 }
               });
    if (layers.empty() || spec.name == "synthetic") {
      yaml_.fail(map, "a synthetic trace has a name and layers",
                 "write {synthetic: NAME, layers: ['conv2d in=64 out=64 kernel=3 input=56'], A: 0.6}");
    }
    std::string command =
        fmt::format("lacuna synth --model {} --A {} --W {} --G {}", spec.name, zeros.a, zeros.w, zeros.g);
    if (spec.batch) command += fmt::format(" --batch {}", *spec.batch);
    for (const auto& [text, where] : layers) {
      spec.layers.push_back(parse_synthetic_layer(text, spec.layers.size(), zeros, where));
      command += fmt::format(" --layer '{}'", text);
    }
    for (const std::uint64_t seed : seeds.empty() ? std::vector<std::uint64_t>{1} : seeds) {
      spec.seed = seed;
      add(map, {{}, spec, fmt::format("{} --seed {}", command, seed), yaml_.place(map)});
    }
  }

  const YamlReader& yaml_;
  bool read_files_;
  std::vector<PlanTrace> traces_;
};

}  // namespace

std::vector<PlanTrace> read_traces(const YamlReader& yaml, bool read_files, const YAML::Node& at,
                                   const YAML::Node& list, const std::vector<std::uint64_t>& seeds) {
  return TraceListReader(yaml, read_files).read(at, list, seeds);
}

}  // namespace lacuna::sweep
