// The numbers that the repository records (data/papers/recorded.yaml): one line "key: number" each.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace lacuna::reproduce {

// A number that is not what was recorded.
struct Moved {
  std::string key;
  std::optional<double> recorded;  // nothing: not recorded yet
  std::optional<double> now;       // nothing: the figure no longer has it
};

class RecordedValues {
 public:
  // Throws InputError with file and line. A file that is not there has no values if it `may_be_missing`.
  static RecordedValues open(const std::filesystem::path& file, bool may_be_missing = false);

  void set(const std::string& key, double value) { values_[key] = value; }
  std::optional<double> find(const std::string& key) const;
  const std::map<std::string, double>& values() const { return values_; }

  // Returns the values that moved in the figures of `now`. Sums of energies may differ in their last bits
  // between compilers: 1e-9 apart is equal.
  std::vector<Moved> compare(const RecordedValues& now) const;
  // These values, with those of the figures that `now` holds replaced.
  RecordedValues replaced_by(const RecordedValues& now) const;
  std::string text() const;  // the file

 private:
  std::map<std::string, double> values_;
};

}  // namespace lacuna::reproduce
