#include "reproduce/data_folder.hpp"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>

#include "base/error.hpp"
#include "base/io/byte_source.hpp"
#include "base/io/sha256/sha256.hpp"
#include "base/text/csv.hpp"
#include "base/text/parse_number.hpp"

namespace lacuna::reproduce {
namespace {

constexpr std::string_view kSuffix = ".safetensors.zst";
constexpr const char* kManifest = "MANIFEST.csv";
constexpr const char* kWhereData =
    "give the folder data/ of a clone of the repository with --data DIR or the variable LACUNA_DATA";

std::size_t column(const CsvTable& table, const char* name, const std::string& where) {
  const auto found = std::ranges::find(table.columns, name);
  if (found == table.columns.end())
    throw InputError(where, fmt::format("there is no column '{}'", name),
                     "restore the file from the repository");
  return static_cast<std::size_t>(found - table.columns.begin());
}

}  // namespace

DataFolder::DataFolder(std::filesystem::path folder) : folder_(std::move(folder)) {
  const std::string where = (folder_ / kManifest).string();
  std::error_code error;
  if (!std::filesystem::is_regular_file(where, error))
    throw InputError(folder_.string(), "not a folder of recorded traces (MANIFEST.csv is missing)",
                     kWhereData);
  const CsvTable table = CsvTable::parse(ByteSource::open(where)->text(), where);
  const std::size_t file = column(table, "file", where), bytes = column(table, "bytes", where),
                    sum = column(table, "sha256", where), samples = column(table, "samples", where);
  for (const CsvTable::Row& row : table.rows) {
    std::string name = row.cells[file];
    if (!name.ends_with(kSuffix)) continue;
    name.resize(name.size() - kSuffix.size());
    entries_[name] = {std::strtod(row.cells[bytes].c_str(), nullptr), std::atoi(row.cells[samples].c_str()),
                      row.cells[sum]};
  }
}

DataFolder DataFolder::find(const std::string& given) {
  if (!given.empty()) return DataFolder(given);
  const char* variable = std::getenv("LACUNA_DATA");
  if (variable != nullptr && *variable != '\0') return DataFolder(variable);
  return DataFolder(LACUNA_DATA_FOLDER);
}

const DataFolder::Entry& DataFolder::entry(const std::string& name) const {
  const auto found = entries_.find(name);
  if (found == entries_.end()) {
    throw InputError((folder_ / kManifest).string(), fmt::format("it does not list '{}{}'", name, kSuffix),
                     kWhereData);
  }
  return found->second;
}

double DataFolder::bytes(const std::string& name) const { return entry(name).bytes; }

Trace DataFolder::open(const std::string& name) const {
  const Entry& listed = entry(name);
  const std::filesystem::path path = folder_ / (name + std::string(kSuffix));
  const auto source = ByteSource::open(path);
  const std::string sum = sha256_hex(source->bytes());
  if (sum != listed.sha256) {
    throw InputError(path.string(),
                     fmt::format("the file is damaged: its SHA-256 is {}..., MANIFEST.csv has {}...",
                                 sum.substr(0, 12), listed.sha256.substr(0, 12)),
                     "restore it from the repository");
  }
  return Trace::open(path);
}

}  // namespace lacuna::reproduce
