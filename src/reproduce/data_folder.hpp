// The folder data/ of a clone: recorded traces with their manifest, and the papers' numbers.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "trace/trace.hpp"

namespace lacuna::reproduce {

class DataFolder {
 public:
  // Reads MANIFEST.csv. Throws InputError if it is not there or is not such a list.
  explicit DataFolder(std::filesystem::path folder);

  // `given` (--data) if it is not empty, else the variable LACUNA_DATA, else the clone that this program was
  // built from.
  static DataFolder find(const std::string& given);

  const std::filesystem::path& path() const { return folder_; }
  std::filesystem::path papers() const { return folder_ / "papers"; }

  // Size of a trace ("alexnet_p100") in bytes. Throws InputError if the manifest does not list it.
  double bytes(const std::string& name) const;
  // Recorded samples of its convolutions.
  int samples(const std::string& name) const { return entry(name).samples; }
  // Opens a trace once its bytes have the manifest's checksum. Throws InputError.
  Trace open(const std::string& name) const;

 private:
  struct Entry {
    double bytes = 0;
    int samples = 1;
    std::string sha256;
  };
  const Entry& entry(const std::string& name) const;

  std::filesystem::path folder_;
  std::map<std::string, Entry> entries_;
};

}  // namespace lacuna::reproduce
