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

  bool at_word(std::string_view word) const {
    return token_.kind == Kind::kName && !token_.quoted && token_.text == word;
  }
  bool at_symbol(std::string_view symbol) const {
    return token_.kind == Kind::kSymbol && token_.text == symbol;
  }
  bool take_symbol(std::string_view symbol) {
    if (!at_symbol(symbol)) return false;
    next();
    return true;
  }
  void expect_symbol(std::string_view symbol) {
    if (!take_symbol(symbol)) unexpected(quote_name(symbol));
  }

  // ---- nodes

  std::uint32_t add(Op op, std::size_t column, std::size_t left, std::size_t right = 0) {
    expression_.nodes_.push_back({op, static_cast<std::uint32_t>(left), static_cast<std::uint32_t>(right),
                                  static_cast<std::uint32_t>(column)});
    return static_cast<std::uint32_t>(expression_.nodes_.size() - 1);
  }
  std::uint32_t constant(Value value, std::size_t column) {
    expression_.constants_.push_back(std::move(value));
    return add(Op::kConstant, column, expression_.constants_.size() - 1);
  }
  std::uint32_t name(std::string_view text, std::size_t column) {
    auto& names = expression_.names_;
    const auto known = std::ranges::find(names, text, &Expression::Name::name);
    const auto index = static_cast<std::size_t>(known - names.begin());
    if (known == names.end()) names.push_back({std::string(text), column});
    return add(Op::kName, column, index);
  }

  // ---- grammar

  std::uint32_t disjunction() {
    std::uint32_t left = conjunction();
    while (at_word("or")) {
      const std::size_t column = token_.column;
      next();
      const std::uint32_t right = conjunction();
      left = add(Op::kOr, column, left, right);
    }
    return left;
  }

  std::uint32_t conjunction() {
    std::uint32_t left = negation();
    while (at_word("and")) {
      const std::size_t column = token_.column;
      next();
      const std::uint32_t right = negation();
      left = add(Op::kAnd, column, left, right);
    }
    return left;
  }

  std::uint32_t negation() {
    if (!at_word("not")) return comparison();
    const Deeper deeper(*this);
    const std::size_t column = token_.column;
    next();
    const std::uint32_t operand = negation();
    return add(Op::kNot, column, operand);
  }

  std::uint32_t comparison() {
    std::uint32_t left = sum();
    if (at_word("in")) {
      const std::size_t column = token_.column;
      next();
      return members(left, column);
    }
    if (at_word("not")) {
      const std::size_t column = token_.column;
      next();
      if (!at_word("in")) unexpected("'in'");
      next();
      const std::uint32_t found = members(left, column);
      return add(Op::kNot, column, found);
    }
    std::optional<std::uint32_t> all;
    while (const std::optional<Op> op = comparison_op()) {
      const std::size_t column = token_.column;
      next();
      const std::uint32_t right = sum();
      const std::uint32_t one = add(*op, column, left, right);
      all = all ? add(Op::kAnd, column, *all, one) : one;
      left = right;
    }
    return all.value_or(left);
  }

  std::optional<Op> comparison_op() const {
    static constexpr std::array<std::pair<std::string_view, Op>, 7> kOps = {{{"=", Op::kEqual},
                                                                             {"==", Op::kEqual},
                                                                             {"!=", Op::kNotEqual},
                                                                             {"<", Op::kLess},
                                                                             {"<=", Op::kLessEqual},
                                                                             {">", Op::kGreater},
                                                                             {">=", Op::kGreaterEqual}}};
    for (const auto& [symbol, op] : kOps) {
      if (at_symbol(symbol)) return op;
    }
    return std::nullopt;
  }

  // x in (a, b): x = a or x = b
  std::uint32_t members(std::uint32_t left, std::size_t column) {
    expect_symbol("(");
    std::optional<std::uint32_t> any;
    do {
      const std::uint32_t member = sum();
      const std::uint32_t one = add(Op::kEqual, column, left, member);
      any = any ? add(Op::kOr, column, *any, one) : one;
    } while (take_symbol(","));
    expect_symbol(")");
    return *any;
  }

  std::uint32_t sum() {
    std::uint32_t left = product();
    while (at_symbol("+") || at_symbol("-")) {
      const Op op = at_symbol("+") ? Op::kAdd : Op::kSubtract;
      const std::size_t column = token_.column;
      next();
      const std::uint32_t right = product();
      left = add(op, column, left, right);
    }
    return left;
  }

  std::uint32_t product() {
    std::uint32_t left = sign();
    while (at_symbol("*") || at_symbol("/") || at_symbol("%")) {
      const Op op = at_symbol("*") ? Op::kMultiply : at_symbol("/") ? Op::kDivide : Op::kRemainder;
      const std::size_t column = token_.column;
      next();
      const std::uint32_t right = sign();
      left = add(op, column, left, right);
    }
    return left;
  }

  std::uint32_t sign() {
    if (!at_symbol("-")) return primary();
    const Deeper deeper(*this);
    const std::size_t column = token_.column;
    next();
    const std::uint32_t operand = sign();
    return add(Op::kNegate, column, operand);
  }

  std::uint32_t primary() {
    const Token token = token_;
    if (take_symbol("(")) {
      const Deeper deeper(*this);
      const std::uint32_t inner = disjunction();
      expect_symbol(")");
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
    if (token.kind == Kind::kName) {
      if (!token.quoted && is_keyword(token.text)) unexpected("a value");
      next();
      if (token.quoted) return name(token.text, token.column);
      if (token.text == "on" || token.text == "true") return constant(true, token.column);
      if (token.text == "off" || token.text == "false") return constant(false, token.column);
      return at_symbol("(") ? call(token) : name(token.text, token.column);
    }
    unexpected("a name, a number or 'text'");
  }

  static bool is_keyword(std::string_view word) {
    return word == "and" || word == "or" || word == "not" || word == "in";
  }

  std::uint32_t call(const Token& function) {
    static constexpr std::array<std::pair<std::string_view, Op>, 6> kFunctions = {{{"min", Op::kMin},
                                                                                   {"max", Op::kMax},
                                                                                   {"abs", Op::kAbs},
                                                                                   {"log2", Op::kLog2},
                                                                                   {"floor", Op::kFloor},
                                                                                   {"ceil", Op::kCeil}}};
    const auto* known = std::ranges::find(kFunctions, function.text, &std::pair<std::string_view, Op>::first);
    if (known == kFunctions.end()) {
      fail(function.column, fmt::format("there is no function {}", quote_name(function.text)),
           suggest(function.text, {"min", "max", "abs", "log2", "floor", "ceil"}));
    }
    const Deeper deeper(*this);
    expect_symbol("(");
    std::uint32_t result = sum();
    const bool several = known->second == Op::kMin || known->second == Op::kMax;
    if (!several) result = add(known->second, function.column, result);
    while (several && take_symbol(",")) {
      const std::uint32_t right = sum();
      result = add(known->second, function.column, result, right);
    }
    expect_symbol(")");
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
