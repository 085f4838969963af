// Numbers that the papers print (data/papers/NAME.yaml), by key: "fig13.mean".
//   paper: TensorDash
//   citation: "..."
//   values:
//     fig13.mean: {value: 1.95, unit: x, figure: Fig. 13, section: "4.1", reading: "printed in the text"}
#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace lacuna::reproduce {

struct PaperValue {
  enum class Kind {
    kValue,    // a number to compare with
    kAtLeast,  // "above 1.5x"
    kAtMost,   // "deviation below 5 %"
    kWords,    // "slight drops": nothing to compute a difference from
  };
  Kind kind = Kind::kValue;
  double number = 0;
  std::string words;
  std::string unit;     // "x", "%", "mm2", "mW", "pJ"
  std::string figure;   // "Fig. 13", "Table 3", "abstract"
  std::string section;  // of the paper, or where else it is
  std::string reading;  // how exactly it can be read

  // ours / the paper's - 1; 0 for a bound that holds, NaN for words.
  double difference(double ours) const;
  // "1.95", ">= 1.5", "slight drops"
  std::string text(int digits) const;
};

class PaperTable {
 public:
  PaperTable() = default;
  // Throws InputError with file, line and key.
  static PaperTable open(const std::filesystem::path& file);

  const std::string& name() const { return name_; }
  const std::string& citation() const { return citation_; }
  const std::string& file() const { return file_; }
  const std::map<std::string, PaperValue>& values() const { return values_; }
  // Throws InputError if the file has no such key.
  const PaperValue& at(const std::string& key) const;

 private:
  std::string file_, name_, citation_;
  std::map<std::string, PaperValue> values_;
};

}  // namespace lacuna::reproduce
