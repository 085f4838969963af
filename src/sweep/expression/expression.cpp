#include "sweep/expression/expression.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "base/error.hpp"
#include "base/text/nearest.hpp"
#include "base/text/parse_number.hpp"
#include "base/text/quote.hpp"

namespace lacuna::sweep {
namespace {

bool is_missing(const Value& value) { return std::holds_alternative<std::monostate>(value); }

const char* kind_name(const Value& value) {
  static constexpr const char* kNames[] = {"missing", "a condition", "a number", "a text"};
  return kNames[value.index()];
}

// NaN is missing.
Value known(Value value) {
  const auto* number = std::get_if<double>(&value);
  return number != nullptr && std::isnan(*number) ? Value() : value;
}

}  // namespace

Value value_of_text(std::string_view text) {
  if (text == "on" || text == "true") return true;
  if (text == "off" || text == "false") return false;
  if (const auto value = parse_number<double>(text); value && std::isfinite(*value)) return *value;
  return std::string(text);
}

// Operands come first, so nothing is recursive and a node that two comparisons share is computed once.
std::vector<Value> Expression::compute(std::span<const Value> values) const {
  std::vector<Value> results;
  results.reserve(nodes_.size());
  for (const Node& node : nodes_) {
    if (node.op.kind == Kind::kConstant || node.op.kind == Kind::kName) {
      results.push_back(known(node.op.kind == Kind::kName ? values[node.left] : constants_[node.left]));
      continue;
    }
    const Value& left = results[node.left];
    const Value& right = results[node.right];
    const bool missing = is_missing(left) || is_missing(right);
    if (node.op.kind == Kind::kCompare) {
      results.push_back(compare(node, left, right));
    } else if (node.op.kind == Kind::kCalculate) {
      for (const Value* side : {&left, &right}) require(*side, 0.0, node);
      results.push_back(missing ? Value()
                                : known(node.op.calculate(std::get<double>(left), std::get<double>(right))));
    } else {
      for (const Value* side : {&left, &right}) require(*side, true, node);
      results.push_back(combine(node, left, right));
    }
  }
  return results;
}

// Three-valued: a missing side decides nothing.
Value Expression::combine(const Node& node, const Value& left, const Value& right) const {
  if (node.op.kind == Kind::kNot) return is_missing(left) ? left : Value(!std::get<bool>(left));
  const Value deciding = node.op.kind == Kind::kOr;
  if (left == deciding || right == deciding) return deciding;
  return is_missing(left) ? left : right;
}

Value Expression::compare(const Node& node, const Value& left, const Value& right) const {
  if (is_missing(left) || is_missing(right)) return {};
  if (left.index() != right.index()) {
    fail(node.column, fmt::format("{} is compared with {}", kind_name(left), kind_name(right)),
         "compare numbers with numbers, texts with 'texts', flags with on or off");
  }
  const unsigned relations = node.op.relations;
  if (relations != kEqual && relations != (kLess | kGreater)) require(left, 0.0, node);
  return (relations & (left == right ? kEqual : left < right ? kLess : kGreater)) != 0;
}

void Expression::require(const Value& value, const Value& example, const Node& node) const {
  if (is_missing(value) || value.index() == example.index()) return;
  fail(node.column, fmt::format("{} where {} should be", kind_name(value), kind_name(example)),
       std::holds_alternative<bool>(example) ? "compare it with something, as in 'lanes = 16'"
                                             : "calculate with numbers only");
}

void Expression::fail(std::size_t column, std::string_view cause, std::string_view remedy) const {
  throw InputError(fmt::format("{}: column {}", where_, column), cause, remedy);
}

void Expression::unknown_name(const Name& name, const std::vector<std::string>& known) const {
  fail(name.column, fmt::format("there is no {}", quote_name(name.name)),
       fmt::format("{} (texts are written in quotes)", suggest(name.name, known)));
}

Value Expression::evaluate(std::span<const Value> values) const { return compute(values).back(); }

bool Expression::holds(std::span<const Value> values) const {
  const Value value = evaluate(values);
  if (is_missing(value)) return false;
  if (const auto* condition = std::get_if<bool>(&value)) return *condition;
  fail(1, fmt::format("{} is not a condition", quote_name(text_)),
       "compare it with something, as in 'lanes = 16'");
}

double Expression::shortfall(std::span<const Value> values) const {
  if (holds(values)) return 0;
  const std::vector<Value> results = compute(values);
  std::vector<double> missed;  // by each node
  for (const Node& node : nodes_) {
    const std::size_t i = missed.size();
    if (node.op.kind == Kind::kAnd) {
      missed.push_back(missed[node.left] + missed[node.right]);
    } else if (node.op.kind == Kind::kOr) {
      missed.push_back(std::min(missed[node.left], missed[node.right]));
    } else {
      missed.push_back(results[i] == Value(true) ? 0 : 1);
      if (node.op.kind != Kind::kCompare || results[i] != Value(false)) continue;
      const auto* left = std::get_if<double>(&results[node.left]);
      if (left == nullptr) continue;
      const double right = std::get<double>(results[node.right]);
      const double distance = std::abs(*left - right) / std::max(std::abs(*left), std::abs(right));
      // Two equal numbers that fail '<' are the nearest miss.
      if (std::isfinite(distance)) missed.back() = std::max(distance, 1e-9);
    }
  }
  return missed.back();
}

}  // namespace lacuna::sweep
