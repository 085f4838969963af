// Precedence climbing over the tokens of a condition.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "base/text/nearest.hpp"
#include "base/text/parse_number.hpp"
#include "base/text/quote.hpp"
#include "sweep/expression/expression.hpp"

namespace lacuna::sweep {
namespace {

constexpr std::size_t kLongestExpression = 4096;
constexpr int kDeepestExpression = 64;  // brackets and signs within each other
constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool starts_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool continues_name(char c) { return starts_name(c) || is_digit(c) || c == '.'; }

// "4x" is a typing error, not 4 and a name; a sign belongs to a number behind its 'e'.
std::size_t word_size(std::string_view text, bool number) {
  std::size_t end = 1;
  const auto is_sign = [&] {
    return number && (text[end] == '+' || text[end] == '-') && (text[end - 1] | 0x20) == 'e' &&
           end + 1 < text.size() && is_digit(text[end + 1]);
  };
  while (end < text.size() && (continues_name(text[end]) || is_sign())) ++end;
  return end;
}

}  // namespace

class ExpressionParser {
 public:
  ExpressionParser(std::string_view text, const std::string& where) {
    expression_.text_ = text.substr(0, kLongestExpression);
    expression_.where_ = where;
    if (text.size() > kLongestExpression) {
      fail(1, fmt::format("the condition has {} characters", text.size()),
           fmt::format("write one of at most {}", kLongestExpression));
    }
  }

  Expression parse() && {
    next();
    if (token_.kind == Token::kEnd) fail(1, "the condition is empty", "write one such as 'area_mm2 < 40'");
    parse(kDisjunction);
    if (token_.kind != Token::kEnd) unexpected("'and', 'or' or the end");
    return std::move(expression_);
  }

 private:
  using Index = std::uint32_t;  // of a node
  using Kind = Expression::Kind;
  struct Token {
    enum { kEnd, kNumber, kText, kName, kSymbol } kind = kEnd;
    std::string_view text;  // texts and quoted names without the quotes
    std::size_t column = 1;
    bool quoted = false;
  };
  // In the order of precedence, loosest first.
  enum Level { kDisjunction, kConjunction, kNegation, kComparison, kSum, kProduct, kSign, kPrimary };
  struct Symbol {
    std::string_view text;
    Level level;
    Expression::Operator op;
  };
  static constexpr Symbol kSymbols[] = {
      {"or", kDisjunction, {Kind::kOr}},
      {"and", kConjunction, {Kind::kAnd}},
      {"=", kComparison, {Kind::kCompare, Expression::kEqual}},
      {"==", kComparison, {Kind::kCompare, Expression::kEqual}},
      {"!=", kComparison, {Kind::kCompare, Expression::kLess | Expression::kGreater}},
      {"<", kComparison, {Kind::kCompare, Expression::kLess}},
      {"<=", kComparison, {Kind::kCompare, Expression::kLess | Expression::kEqual}},
      {">", kComparison, {Kind::kCompare, Expression::kGreater}},
      {">=", kComparison, {Kind::kCompare, Expression::kGreater | Expression::kEqual}},
      {"+", kSum, {Kind::kCalculate, 0, [](double a, double b) { return a + b; }}},
      {"-", kSum, {Kind::kCalculate, 0, [](double a, double b) { return a - b; }}},
      {"*", kProduct, {Kind::kCalculate, 0, [](double a, double b) { return a * b; }}},
      {"/", kProduct, {Kind::kCalculate, 0, [](double a, double b) { return b == 0 ? kNoNumber : a / b; }}},
      {"%", kProduct, {Kind::kCalculate, 0, [](double a, double b) { return std::fmod(a, b); }}}};
  static constexpr Expression::Operator kNot = {Kind::kNot};
  static constexpr Expression::Operator kNegate = {Kind::kCalculate, 0, [](double a, double) { return -a; }};
  struct Function {
    std::string_view name;
    bool several;  // arguments
    Expression::Calculate calculate;
  };
  static constexpr Function kFunctions[] = {
      {"min", true, [](double a, double b) { return std::min(a, b); }},
      {"max", true, [](double a, double b) { return std::max(a, b); }},
      {"abs", false, [](double a, double) { return std::abs(a); }},
      {"log2", false, [](double a, double) { return a > 0 ? std::log2(a) : kNoNumber; }},
      {"floor", false, [](double a, double) { return std::floor(a); }},
      {"ceil", false, [](double a, double) { return std::ceil(a); }}};

  [[noreturn]] void fail(std::size_t column, std::string_view cause, std::string_view remedy) const {
    expression_.fail(column, cause, remedy);
  }
  [[noreturn]] void unexpected(std::string_view wanted) const {
    const std::string found = token_.kind == Token::kEnd ? "the end" : quote_name(token_.text);
    fail(token_.column, fmt::format("{} where {} should be", found, wanted), "correct the condition");
  }

  // ---- tokens

  void next() {
    const std::string& text = expression_.text_;
    at_ = std::min(text.find_first_not_of(" \t\n", at_), text.size());
    const std::string_view rest = std::string_view(text).substr(at_);
    const std::size_t column = at_ + 1;
    const auto take = [&](auto kind, std::size_t size) {
      token_ = {kind, rest.substr(0, size), column};
      at_ += size;
    };
    if (rest.empty()) return take(Token::kEnd, 0);
    const char c = rest[0];
    if (c == '\'' || c == '"' || c == '`') {
      const std::size_t end = rest.find(c, 1);
      if (end == std::string_view::npos)
        fail(column, fmt::format("{} is not closed", quote_name(rest)), "add the closing quote");
      token_ = {c == '`' ? Token::kName : Token::kText, rest.substr(1, end - 1), column, true};
      at_ += end + 1;
      return;
    }
    if (starts_name(c)) return take(Token::kName, word_size(rest, false));
    if (is_digit(c) || (c == '.' && rest.size() > 1 && is_digit(rest[1])))
      return take(Token::kNumber, word_size(rest, true));
    const bool two = rest.size() > 1 && rest[1] == '=' && std::string_view("=!<>").find(c) != rest.npos;
    if (!two && std::string_view("=<>+-*/%(),").find(c) == rest.npos) {
      fail(column, fmt::format("{} means nothing in a condition", quote_name(rest.substr(0, 1))),
           "use names, numbers, 'text', + - * / %, comparisons, and, or, not");
    }
    take(Token::kSymbol, two ? 2 : 1);
  }

  // A word or symbol that belongs to the language.
  bool at(std::string_view text) const {
    const bool is_language = token_.kind == Token::kSymbol || (token_.kind == Token::kName && !token_.quoted);
    return is_language && token_.text == text;
  }
  bool take(std::string_view text) {
    if (!at(text)) return false;
    next();
    return true;
  }
  void expect(std::string_view text) {
    if (!take(text)) unexpected(quote_name(text));
  }
  const Expression::Operator* take_operator(Level level) {
    const auto* found =
        std::ranges::find_if(kSymbols, [&](const Symbol& one) { return one.level == level && at(one.text); });
    if (found == std::end(kSymbols)) return nullptr;
    next();
    return &found->op;
  }

  // ---- nodes

  Index add(const Expression::Operator& op, std::size_t column, std::size_t left, std::size_t right) {
    expression_.nodes_.push_back(
        {op, static_cast<Index>(left), static_cast<Index>(right), static_cast<std::uint32_t>(column)});
    return static_cast<Index>(expression_.nodes_.size() - 1);
  }
  Index constant(Value value, std::size_t column) {
    expression_.constants_.push_back(std::move(value));
    return add({Kind::kConstant}, column, expression_.constants_.size() - 1, 0);
  }
  Index name(std::string_view text, std::size_t column) {
    auto& names = expression_.names_;
    const auto known = std::ranges::find(names, text, &Expression::Name::name);
    const auto index = static_cast<std::size_t>(known - names.begin());
    if (known == names.end()) names.push_back({std::string(text), column});
    return add({Kind::kName}, column, index, 0);
  }

  // ---- grammar

  // Reads what binds at least as tightly as `level`: operands with operators between them, from left to
  // right.
  Index parse(Level level) {
    if (level == kNegation) return prefix("not", kNot, kComparison);
    if (level == kComparison) return comparison();
    if (level == kSign) return prefix("-", kNegate, kPrimary);
    if (level == kPrimary) return primary();
    const auto tighter = static_cast<Level>(level + 1);
    Index left = parse(tighter);
    for (;;) {
      const std::size_t column = token_.column;
      const Expression::Operator* op = take_operator(level);
      if (op == nullptr) return left;
      const Index right = parse(tighter);
      left = add(*op, column, left, right);
    }
  }

  // OPERATOR OPERATOR ... operand
  Index prefix(std::string_view text, const Expression::Operator& op, Level operand) {
    if (!at(text)) return parse(operand);
    return deeper([&] {
      const std::size_t column = token_.column;
      next();
      const Index operand_node = prefix(text, op, operand);
      return add(op, column, operand_node, operand_node);
    });
  }

  Index comparison() {
    Index left = parse(kSum);
    std::size_t column = token_.column;
    if (take("in")) return members(left, column);
    if (take("not")) {
      expect("in");
      const Index found = members(left, column);
      return add(kNot, column, found, found);
    }
    std::optional<Index> all;
    while (const Expression::Operator* op = take_operator(kComparison)) {
      const Index right = parse(kSum);
      const Index one = add(*op, column, left, right);
      all = all ? add({Kind::kAnd}, column, *all, one) : one;
      left = right;
      column = token_.column;
    }
    return all.value_or(left);
  }

  // x in (a, b): x = a or x = b
  Index members(Index left, std::size_t column) {
    expect("(");
    std::optional<Index> any;
    do {
      const Index member = parse(kSum);
      const Index one = add({Kind::kCompare, Expression::kEqual}, column, left, member);
      any = any ? add({Kind::kOr}, column, *any, one) : one;
    } while (take(","));
    expect(")");
    return *any;
  }

  Index primary() {
    const Token token = token_;
    if (take("(")) {
      return deeper([&] {
        const Index inner = parse(kDisjunction);
        expect(")");
        return inner;
      });
    }
    if (token.kind == Token::kNumber) {
      const auto value = parse_number<double>(token.text);
      if (!value) {
        fail(token.column, fmt::format("{} is not a number", quote_name(token.text)),
             "write one such as 16, 0.5 or 1e9, and texts in quotes");
      }
      next();
      return constant(*value, token.column);
    }
    if (token.kind == Token::kText) {
      next();
      return constant(std::string(token.text), token.column);
    }
    if (token.kind != Token::kName) unexpected("a name, a number or 'text'");
    if (at("and") || at("or") || at("not") || at("in")) unexpected("a value");
    next();
    if (token.quoted) return name(token.text, token.column);
    if (const Value flag = value_of_text(token.text); std::holds_alternative<bool>(flag))
      return constant(flag, token.column);
    return at("(") ? call(token) : name(token.text, token.column);
  }

  Index call(const Token& function) {
    const auto* known = std::ranges::find(kFunctions, function.text, &Function::name);
    if (known == std::end(kFunctions)) {
      std::vector<std::string> names;
      for (const Function& one : kFunctions) names.emplace_back(one.name);
      fail(function.column, fmt::format("there is no function {}", quote_name(function.text)),
           suggest(function.text, names));
    }
    const Expression::Operator op{Kind::kCalculate, 0, known->calculate};
    return deeper([&] {
      expect("(");
      Index result = parse(kSum);
      if (!known->several) result = add(op, function.column, result, result);
      while (known->several && take(",")) {
        const Index right = parse(kSum);
        result = add(op, function.column, result, right);
      }
      expect(")");
      return result;
    });
  }

  template <typename Read>
  Index deeper(const Read& read) {
    if (++depth_ > kDeepestExpression) {
      fail(token_.column, "the condition is too deeply nested",
           fmt::format("use at most {} brackets within each other", kDeepestExpression));
    }
    const Index inner = read();
    --depth_;
    return inner;
  }

  Expression expression_;
  Token token_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

Expression Expression::parse(std::string_view text, const std::string& where) {
  return ExpressionParser(text, where).parse();
}

}  // namespace lacuna::sweep
