#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "base/text/nearest.hpp"
#include "base/text/parse_number.hpp"
#include "base/text/quote.hpp"
#include "sweep/expression/expression.hpp"
#include "sweep/expression/tokens.hpp"

namespace lacuna::sweep {

namespace {

constexpr std::size_t kLongestExpression = 4096;
constexpr int kDeepestExpression = 64;  // brackets and signs within each other

}  // namespace

// Recursive descent; each method reads one level of precedence and returns the index of its node.
class ExpressionParser {
 public:
  using Op = Expression::Op;

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
    if (token_.kind == Kind::kEnd) fail(1, "the condition is empty", "write one such as 'area_mm2 < 40'");
    disjunction();
    if (token_.kind != Kind::kEnd) unexpected("'and', 'or' or the end");
    return std::move(expression_);
  }

 private:
  using Kind = Token::Kind;
  using Index = std::uint32_t;  // of a node
  struct Operator {
    std::string_view text;
    Op op;
  };

  [[noreturn]] void fail(std::size_t column, std::string_view cause, std::string_view remedy) const {
    expression_.fail(column, cause, remedy);
  }
  [[noreturn]] void unexpected(std::string_view wanted) const {
    const std::string found = token_.kind == Kind::kEnd ? "the end" : quote_name(token_.text);
    fail(token_.column, fmt::format("{} where {} should be", found, wanted), "correct the condition");
  }

  // ---- tokens

  void next() {
    token_ = next_token(expression_.text_, at_);
    if (token_.kind == Kind::kUnclosed) {
      fail(token_.column, fmt::format("{} is not closed", quote_name(token_.text)), "add the closing quote");
    }
    if (token_.kind == Kind::kUnknown) {
      fail(token_.column, fmt::format("{} means nothing in a condition", quote_name(token_.text)),
           "use names, numbers, 'text', + - * / %, comparisons, and, or, not");
    }
  }

  // A word or symbol that belongs to the language.
  bool at(std::string_view text) const {
    const bool is_language = token_.kind == Kind::kSymbol || (token_.kind == Kind::kName && !token_.quoted);
    return is_language && token_.text == text;
  }
  bool take(std::string_view text) {
    if (!at(text)) return false;
    next();
    return true;
  }
  std::optional<Op> take_one_of(std::span<const Operator> operators) {
    for (const Operator& one : operators) {
      if (take(one.text)) return one.op;
    }
    return std::nullopt;
  }
  void expect(std::string_view text) {
    if (!take(text)) unexpected(quote_name(text));
  }

  // ---- nodes

  Index add(Op op, std::size_t column, std::size_t left, std::size_t right = 0) {
    expression_.nodes_.push_back(
        {op, static_cast<Index>(left), static_cast<Index>(right), static_cast<std::uint32_t>(column)});
    return static_cast<Index>(expression_.nodes_.size() - 1);
  }
  Index constant(Value value, std::size_t column) {
    expression_.constants_.push_back(std::move(value));
    return add(Op::kConstant, column, expression_.constants_.size() - 1);
  }
  Index name(std::string_view text, std::size_t column) {
    auto& names = expression_.names_;
    const auto known = std::ranges::find(names, text, &Expression::Name::name);
    const auto index = static_cast<std::size_t>(known - names.begin());
    if (known == names.end()) names.push_back({std::string(text), column});
    return add(Op::kName, column, index);
  }

  // ---- grammar

  // operand, or operand OPERATOR operand OPERATOR ..., from left to right
  Index chain(Index (ExpressionParser::*operand)(), std::span<const Operator> operators) {
    Index left = (this->*operand)();
    for (;;) {
      const std::size_t column = token_.column;
      const std::optional<Op> op = take_one_of(operators);
      if (!op) return left;
      const Index right = (this->*operand)();
      left = add(*op, column, left, right);
    }
  }

  Index disjunction() {
    static constexpr Operator kOr[] = {{"or", Op::kOr}};
    return chain(&ExpressionParser::conjunction, kOr);
  }
  Index conjunction() {
    static constexpr Operator kAnd[] = {{"and", Op::kAnd}};
    return chain(&ExpressionParser::negation, kAnd);
  }
  Index sum() {
    static constexpr Operator kSums[] = {{"+", Op::kAdd}, {"-", Op::kSubtract}};
    return chain(&ExpressionParser::product, kSums);
  }
  Index product() {
    static constexpr Operator kProducts[] = {{"*", Op::kMultiply}, {"/", Op::kDivide}, {"%", Op::kRemainder}};
    return chain(&ExpressionParser::sign, kProducts);
  }

  Index negation() { return prefix("not", Op::kNot, &ExpressionParser::comparison); }
  Index sign() { return prefix("-", Op::kNegate, &ExpressionParser::primary); }

  // OPERATOR OPERATOR ... operand
  Index prefix(std::string_view text, Op op, Index (ExpressionParser::*operand)()) {
    if (!at(text)) return (this->*operand)();
    const Deeper deeper(*this);
    const std::size_t column = token_.column;
    next();
    const Index negated = prefix(text, op, operand);
    return add(op, column, negated);
  }

  Index comparison() {
    static constexpr Operator kComparisons[] = {
        {"=", Op::kEqual},      {"==", Op::kEqual},  {"!=", Op::kNotEqual},    {"<", Op::kLess},
        {"<=", Op::kLessEqual}, {">", Op::kGreater}, {">=", Op::kGreaterEqual}};
    Index left = sum();
    std::size_t column = token_.column;
    if (take("in")) return members(left, column);
    if (take("not")) {
      expect("in");
      const Index found = members(left, column);
      return add(Op::kNot, column, found);
    }
    std::optional<Index> all;
    while (const std::optional<Op> op = take_one_of(kComparisons)) {
      const Index right = sum();
      const Index one = add(*op, column, left, right);
      all = all ? add(Op::kAnd, column, *all, one) : one;
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
      const Index member = sum();
      const Index one = add(Op::kEqual, column, left, member);
      any = any ? add(Op::kOr, column, *any, one) : one;
    } while (take(","));
    expect(")");
    return *any;
  }

  Index primary() {
    const Token token = token_;
    if (take("(")) {
      const Deeper deeper(*this);
      const Index inner = disjunction();
      expect(")");
      return inner;
    }
    if (token.kind == Kind::kNumber) {
      const auto value = parse_number<double>(token.text);
      if (!value) {
        fail(token.column, fmt::format("{} is not a number", quote_name(token.text)),
             "write one such as 16, 0.5 or 1e9, and texts in quotes");
      }
      next();
      return constant(*value, token.column);
    }
    if (token.kind == Kind::kText) {
      next();
      return constant(std::string(token.text), token.column);
    }
    if (token.kind != Kind::kName) unexpected("a name, a number or 'text'");
    if (at("and") || at("or") || at("not") || at("in")) unexpected("a value");
    next();
    if (token.quoted) return name(token.text, token.column);
    if (token.text == "on" || token.text == "true") return constant(true, token.column);
    if (token.text == "off" || token.text == "false") return constant(false, token.column);
    return at("(") ? call(token) : name(token.text, token.column);
  }

  Index call(const Token& function) {
    static constexpr std::array<Operator, 6> kFunctions = {{{"min", Op::kMin},
                                                            {"max", Op::kMax},
                                                            {"abs", Op::kAbs},
                                                            {"log2", Op::kLog2},
                                                            {"floor", Op::kFloor},
                                                            {"ceil", Op::kCeil}}};
    const auto* known = std::ranges::find(kFunctions, function.text, &Operator::text);
    if (known == kFunctions.end()) {
      std::vector<std::string> names;
      for (const Operator& one : kFunctions) names.emplace_back(one.text);
      fail(function.column, fmt::format("there is no function {}", quote_name(function.text)),
           suggest(function.text, names));
    }
    const Deeper deeper(*this);
    expect("(");
    Index result = sum();
    const bool several = known->op == Op::kMin || known->op == Op::kMax;
    if (!several) result = add(known->op, function.column, result);
    while (several && take(",")) {
      const Index right = sum();
      result = add(known->op, function.column, result, right);
    }
    expect(")");
    return result;
  }

  struct Deeper {
    explicit Deeper(ExpressionParser& owner) : parser(owner) {
      if (++parser.depth_ > kDeepestExpression) {
        parser.fail(parser.token_.column, "the condition is too deeply nested",
                    fmt::format("use at most {} brackets within each other", kDeepestExpression));
      }
    }
    ~Deeper() { --parser.depth_; }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;
    ExpressionParser& parser;
  };

  Expression expression_;
  Token token_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

Expression Expression::parse(std::string_view text, const std::string& where) {
  return ExpressionParser(text, where).parse();
}

}  // namespace lacuna::sweep
