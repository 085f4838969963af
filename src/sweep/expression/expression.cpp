#include "sweep/expression/expression.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>

#include "base/error.hpp"
#include "base/text/nearest.hpp"
#include "base/text/parse_number.hpp"
#include "base/text/quote.hpp"

namespace lacuna::sweep {

// One value per node, computed in the order of the nodes: operands come first, so nothing is recursive and a
// node that two comparisons share is computed once.
class ExpressionEvaluator {
 public:
  ExpressionEvaluator(const Expression& expression, std::span<const Value> values)
      : expression_(expression), values_(values), results_(expression.nodes_.size()) {}

  Value run() {
    compute_all();
    const Operand& last = results_.back();
    if (last.kind == Kind::kCondition) return last.number != 0;
    if (last.kind == Kind::kNumber) return last.number;
    return last.kind == Kind::kText ? Value(*last.text) : Value();
  }

  double shortfall() {
    compute_all();
    std::vector<double> missed(results_.size(), 0);
    for (std::size_t i = 0; i < results_.size(); ++i) missed[i] = missed_by(i, missed);
    return missed.back();
  }

 private:
  using Op = Expression::Op;
  using Node = Expression::Node;
  enum class Kind : std::uint8_t { kMissing, kCondition, kNumber, kText };
  struct Operand {
    Kind kind = Kind::kMissing;
    double number = 0;  // of a condition 0 or 1
    const std::string* text = nullptr;
  };

  void compute_all() {
    for (std::size_t i = 0; i < results_.size(); ++i) results_[i] = compute(expression_.nodes_[i]);
  }

  double missed_by(std::size_t index, const std::vector<double>& missed) const {
    const Node& node = expression_.nodes_[index];
    if (node.op == Op::kAnd) return missed[node.left] + missed[node.right];
    if (node.op == Op::kOr) return std::min(missed[node.left], missed[node.right]);
    const Operand& result = results_[index];
    if (result.kind == Kind::kCondition && result.number == 1) return 0;
    const bool comparison = node.op >= Op::kEqual && node.op <= Op::kGreaterEqual;
    if (!comparison || result.kind == Kind::kMissing) return 1;
    const Operand& left = results_[node.left];
    const Operand& right = results_[node.right];
    if (left.kind != Kind::kNumber) return 1;
    const double scale = std::max(std::abs(left.number), std::abs(right.number));
    // Two equal numbers that fail '<' are the nearest miss.
    const double distance = std::abs(left.number - right.number) / scale;
    return std::isfinite(distance) ? std::max(distance, 1e-9) : 1;
  }

  static Operand condition(bool holds) { return {Kind::kCondition, holds ? 1.0 : 0.0, nullptr}; }
  static Operand number(double value) {
    if (std::isnan(value)) return {};
    return {Kind::kNumber, value, nullptr};
  }
  static Operand operand(const Value& value) {
    if (const auto* text = std::get_if<std::string>(&value)) return {Kind::kText, 0, text};
    if (const auto* holds = std::get_if<bool>(&value)) return condition(*holds);
    if (const auto* amount = std::get_if<double>(&value)) return number(*amount);
    return {};
  }
  static const char* kind_name(Kind kind) {
    static constexpr const char* kNames[] = {"missing", "a condition", "a number", "a text"};
    return kNames[static_cast<std::size_t>(kind)];
  }

  void require(const Operand& value, Kind kind, const Node& node) const {
    if (value.kind == kind || value.kind == Kind::kMissing) return;
    expression_.fail(node.column,
                     fmt::format("{} where {} should be", kind_name(value.kind), kind_name(kind)),
                     kind == Kind::kCondition ? "compare it with something, as in 'lanes = 16'"
                                              : "calculate with numbers only");
  }

  Operand compute(const Node& node) const {
    if (node.op == Op::kConstant) return operand(expression_.constants_[node.left]);
    if (node.op == Op::kName) return operand(values_[node.left]);
    const Operand& left = results_[node.left];
    if (node.op == Op::kOr || node.op == Op::kAnd) return combine(node, left, results_[node.right]);
    if (node.op == Op::kNot) {
      require(left, Kind::kCondition, node);
      return left.kind == Kind::kMissing ? left : condition(left.number == 0);
    }
    if (node.op <= Op::kGreaterEqual) return compare(node, left, results_[node.right]);
    const Operand& right = node.op >= Op::kNegate ? left : results_[node.right];
    require(left, Kind::kNumber, node);
    require(right, Kind::kNumber, node);
    if (left.kind == Kind::kMissing || right.kind == Kind::kMissing) return {};
    return number(calculate(node.op, left.number, right.number));
  }

  // Returns NaN if there is none (a division by zero). Functions of one number ignore b.
  static double calculate(Op op, double a, double b) {
    constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
    switch (op) {
      case Op::kAdd:
        return a + b;
      case Op::kSubtract:
        return a - b;
      case Op::kMultiply:
        return a * b;
      case Op::kDivide:
        return b == 0 ? kNone : a / b;
      case Op::kRemainder:
        return b == 0 ? kNone : std::fmod(a, b);
      case Op::kMin:
        return std::min(a, b);
      case Op::kMax:
        return std::max(a, b);
      case Op::kNegate:
        return -a;
      case Op::kAbs:
        return std::abs(a);
      case Op::kLog2:
        return a > 0 ? std::log2(a) : kNone;
      case Op::kFloor:
        return std::floor(a);
      default:
        return std::ceil(a);
    }
  }

  // Three-valued: a missing side decides nothing.
  Operand combine(const Node& node, const Operand& left, const Operand& right) const {
    require(left, Kind::kCondition, node);
    require(right, Kind::kCondition, node);
    const double deciding = node.op == Op::kOr ? 1 : 0;
    for (const Operand* side : {&left, &right}) {
      if (side->kind == Kind::kCondition && side->number == deciding) return *side;
    }
    return left.kind == Kind::kMissing ? left : right;
  }

  Operand compare(const Node& node, const Operand& left, const Operand& right) const {
    if (left.kind == Kind::kMissing || right.kind == Kind::kMissing) return {};
    if (left.kind != right.kind) {
      expression_.fail(node.column,
                       fmt::format("{} is compared with {}", kind_name(left.kind), kind_name(right.kind)),
                       "compare numbers with numbers, texts with 'texts', flags with on or off");
    }
    const bool equal = left.kind == Kind::kText ? *left.text == *right.text : left.number == right.number;
    if (node.op == Op::kEqual) return condition(equal);
    if (node.op == Op::kNotEqual) return condition(!equal);
    require(left, Kind::kNumber, node);
    const bool less = left.number < right.number;
    return condition(node.op == Op::kLess        ? less
                     : node.op == Op::kLessEqual ? less || equal
                     : node.op == Op::kGreater   ? !less && !equal
                                                 : !less);
  }

  const Expression& expression_;
  std::span<const Value> values_;
  std::vector<Operand> results_;
};

Value value_of_text(std::string_view text) {
  if (text == "on" || text == "true") return true;
  if (text == "off" || text == "false") return false;
  if (const auto value = parse_number<double>(text); value && std::isfinite(*value)) return *value;
  return std::string(text);
}

void Expression::fail(std::size_t column, std::string_view cause, std::string_view remedy) const {
  throw InputError(fmt::format("{}: column {}", where_, column), cause, remedy);
}

void Expression::unknown_name(const Name& name, const std::vector<std::string>& known) const {
  fail(name.column, fmt::format("there is no {}", quote_name(name.name)),
       fmt::format("{} (texts are written in quotes)", suggest(name.name, known)));
}

Value Expression::evaluate(std::span<const Value> values) const {
  return ExpressionEvaluator(*this, values).run();
}

double Expression::shortfall(std::span<const Value> values) const {
  return holds(values) ? 0 : ExpressionEvaluator(*this, values).shortfall();
}

bool Expression::holds(std::span<const Value> values) const {
  const Value value = evaluate(values);
  if (std::holds_alternative<std::monostate>(value)) return false;
  if (const auto* condition = std::get_if<bool>(&value)) return *condition;
  fail(1, fmt::format("{} is not a condition", quote_name(text_)),
       "compare it with something, as in 'lanes = 16'");
}

}  // namespace lacuna::sweep
