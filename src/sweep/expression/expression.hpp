// Conditions over named values, as plans and `--where` have them: "columns * rows = 16 and area_mm2 < 40".
//
//   or, and, not                      conditions
//   = == != < <= > >=                 comparisons; they chain: 16 <= columns * rows <= 64
//   in, not in                        machine in ('ant', 'scnn')
//   + - * / %                         numbers
//   min() max() abs() log2() floor() ceil()
//   'text' "text", 12, 1e-3, on, off, true, false
//   names of letters, digits, '_' and '.'; any other name in backticks: `two words`
//
// A missing value (no such parameter for this machine, NaN, a division by zero) makes everything that is
// computed from it missing, and a missing condition does not hold.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace lacuna::sweep {

// monostate: missing.
using Value = std::variant<std::monostate, bool, double, std::string>;

// A word of a configuration as a value: a number where it spells one, on and off as a condition, else text.
Value value_of_text(std::string_view text);

class Expression {
 public:
  // Throws InputError, which starts with `where` and the column: "--where: column 7: ...".
  static Expression parse(std::string_view text, const std::string& where);

  struct Name {
    std::string name;
    std::size_t column;  // of its first use, from 1
  };
  // The names it uses, each once, in the order of their first use. The caller checks that they exist:
  // unknown_name() is the error.
  const std::vector<Name>& names() const { return names_; }
  // "--where: column 3: there is no 'aera_mm2'; did you mean 'area_mm2'? known: ..."
  [[noreturn]] void unknown_name(const Name& name, const std::vector<std::string>& known) const;

  // `values` are those of names(), in that order. Throws InputError where kinds do not go together (a text
  // compared with a number).
  Value evaluate(std::span<const Value> values) const;
  // Returns true if the condition holds. Throws InputError if it is not a condition.
  bool holds(std::span<const Value> values) const;
  // 0 if it holds, else by how much it does not, so that a search can tell near misses: a comparison of
  // numbers misses by their distance relative to the larger one, anything else by 1; 'and' adds, 'or' takes
  // the least.
  double shortfall(std::span<const Value> values) const;

  const std::string& text() const { return text_; }

 private:
  friend class ExpressionParser;

  enum class Kind : std::uint8_t { kConstant, kName, kOr, kAnd, kNot, kCompare, kCalculate };
  // A comparison holds for these relations of its left side to its right side.
  enum Relations : std::uint8_t { kNone = 0, kLess = 1, kEqual = 2, kGreater = 4 };
  using Calculate = double (*)(double, double);  // NaN: no result
  struct Operator {
    Kind kind;
    std::uint8_t relations = kNone;  // of kCompare
    Calculate calculate = nullptr;   // of kCalculate; functions of one number get it twice
  };
  struct Node {
    Operator op;
    std::uint32_t left;   // a node; of a constant or name its index
    std::uint32_t right;  // a node: the left one where the operator takes one
    std::uint32_t column;
  };

  // The value of each node.
  std::vector<Value> compute(std::span<const Value> values) const;
  Value combine(const Node& node, const Value& left, const Value& right) const;
  Value compare(const Node& node, const Value& left, const Value& right) const;
  // Throws InputError for a value that is neither missing nor of the same kind as `example`.
  void require(const Value& value, const Value& example, const Node& node) const;
  [[noreturn]] void fail(std::size_t column, std::string_view cause, std::string_view remedy) const;

  std::string text_, where_;
  std::vector<Name> names_;
  std::vector<Value> constants_;
  std::vector<Node> nodes_;  // operands before what uses them; the last one is the whole
};

}  // namespace lacuna::sweep
