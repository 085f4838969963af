#include "traces/recorded_traces.hpp"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>

namespace lacuna::testing {
namespace {

const std::filesystem::path kData = LACUNA_SOURCE_DIR "/data";

void add_folder(const std::filesystem::path& folder, std::map<std::string, std::filesystem::path>& traces) {
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".zst") traces.emplace(trace_name(entry.path()), entry.path());
  }
}

}  // namespace

CsvTable trace_manifest() {
  std::ifstream file(kData / "MANIFEST.csv");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return CsvTable::parse(text, "data/MANIFEST.csv");
}

std::vector<std::filesystem::path> recorded_traces() {
  std::map<std::string, std::filesystem::path> traces;
  add_folder(kData, traces);
  if (const char* folder = std::getenv("LACUNA_TRACES")) add_folder(folder, traces);
  std::vector<std::filesystem::path> paths;
  for (const auto& [name, path] : traces) paths.push_back(path);
  return paths;
}

std::filesystem::path shipped_trace(const std::string& name) { return kData / (name + ".safetensors.zst"); }

std::string trace_name(const std::filesystem::path& path) { return path.stem().stem().string(); }

}  // namespace lacuna::testing
