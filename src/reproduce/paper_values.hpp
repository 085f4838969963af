// Numbers that the papers print (data/papers/NAME.yaml), by key: "fig13.mean".
//   paper: TensorDash
//   citation: "..."
//   values:
//     fig13.mean: {value: 1.95, unit: x, figure: Fig. 13, section: "4.1", reading: "printed in the text"}
//     fig18.columns: {words: slight drops, at_least: 0.95, at_most: 1, ...}
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace lacuna::reproduce {

struct PaperValue {
  // A value, or a statement: bounds, which are ours where the paper has words.
  std::optional<double> value, at_least, at_most;
  std::string words;     // "slight drops"
  std::string circular;  // why ours cannot differ: it was made from this number
  std::string unit;      // "x", "%", "mm2", "mW", "pJ"
  std::string figure;    // "Fig. 13", "Table 3", "abstract"
  std::string section;   // of the paper, or where else it is
  std::string reading;   // how exactly it can be read

  // Returns true for a factor so near to 1 that its distance from 1 is what it says: a loss of 1 % is not
  // "within 5 %" of a loss of 0.01 %.
  bool is_effect() const;
  // ours / the paper's - 1, of effects the same of their distances from 1; of a statement 0 if it holds, else
  // the distance from the bound.
  double difference(double ours) const;
  bool holds(double ours) const { return difference(ours) == 0; }
  double number() const { return value ? *value : at_least ? *at_least : *at_most; }
  // "1.95", ">= 1.5", "slight drops (0.95 to 1.00)"
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
