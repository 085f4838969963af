// Checked configuration. A parameter is declared once - name, kind, unit, default, range, help, citation -
// and parsing, validation, `lacuna arch show`, `--help` and the configuration stored in results all come from
// that.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lacuna {

struct ParamSpec {
  enum class Kind { kInteger, kNumber, kFlag, kText };

  std::string name;
  Kind kind = Kind::kInteger;
  std::string unit;           // "" for a pure number
  std::string default_value;  // as it would be written on the command line
  double min = 0;             // kInteger and kNumber: both ends included
  double max = 0;
  std::vector<std::string> choices;  // kText: the allowed words; empty means any text (the model checks it)
  std::string help;
  std::string citation;  // where the rule or the default comes from

  static ParamSpec integer(std::string name, std::int64_t value, std::int64_t min, std::int64_t max,
                           std::string unit, std::string help, std::string citation);
  static ParamSpec number(std::string name, double value, double min, double max, std::string unit,
                          std::string help, std::string citation);
  static ParamSpec flag(std::string name, bool value, std::string help, std::string citation);
  static ParamSpec choice(std::string name, std::string value, std::vector<std::string> choices,
                          std::string help, std::string citation);
  static ParamSpec text(std::string name, std::string value, std::string help, std::string citation);

  // "4..64", "on | off", "lockstep | decoupled"
  std::string allowed() const;
};

// A set of parameters (of a model, of a synthetic trace) and their values. Every value has passed its spec.
class Params {
 public:
  Params() = default;
  Params(std::string owner, std::vector<ParamSpec> specs);

  // Sets one value from text. `origin` says where it was written ("--set", "my.yaml"); it starts the error
  // message. Throws InputError for an unknown key (with the nearest known one) or a value that is not
  // allowed.
  void set(std::string_view key, std::string_view value, std::string_view origin);

  std::int64_t integer(std::string_view key) const;
  double number(std::string_view key) const;
  bool flag(std::string_view key) const;
  const std::string& text(std::string_view key) const;

  bool has(std::string_view key) const;
  const std::string& owner() const { return owner_; }
  const std::vector<ParamSpec>& specs() const { return specs_; }
  // In the order of declaration; the resolved configuration that results carry.
  std::vector<std::pair<std::string, std::string>> values() const;
  bool is_default(std::string_view key) const;

 private:
  std::size_t find(std::string_view key) const;
  const std::string& value(std::string_view key, ParamSpec::Kind kind) const;

  std::string owner_;
  std::vector<ParamSpec> specs_;
  std::vector<std::string> values_;
};

// Splits "key=value" as given to `--set`. Throws InputError if there is no '='.
std::pair<std::string, std::string> split_assignment(std::string_view text, std::string_view origin);

}  // namespace lacuna
