#include "sweep/expression/expression.hpp"

#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <map>

#include "base/random.hpp"
#include "base/testing.hpp"

namespace lacuna::sweep {
namespace {

using Values = std::map<std::string, Value>;

const Values kDesign = {{"columns", 4.0},
                        {"rows", 4.0},
                        {"area_mm2", 38.5},
                        {"machine", std::string("ant")},
                        {"gated", true},
                        {"nan", std::nan("")},
                        {"inf", std::numeric_limits<double>::infinity()},
                        {"two words", 7.0}};

Value value(const std::string& text, const Values& values = kDesign) {
  const Expression expression = Expression::parse(text, "--where");
  std::vector<Value> given;
  for (const Expression::Name& name : expression.names()) {
    const auto found = values.find(name.name);
    given.push_back(found == values.end() ? Value{} : found->second);
  }
  return expression.evaluate(given);
}

bool holds(const std::string& text) { return value(text) == Value(true); }
bool missing(const std::string& text) { return value(text) == Value{}; }
std::string error(const std::string& text) {
  return error_of([&] { value(text); });
}

TEST(Expression, ConditionsOfPlans) {
  EXPECT_TRUE(holds("columns * rows = 16"));
  EXPECT_TRUE(holds("columns*rows==16 and area_mm2<40"));
  EXPECT_FALSE(holds("area_mm2 < 38.5"));
  EXPECT_TRUE(holds("area_mm2 <= 38.5"));
  EXPECT_TRUE(holds("8 <= columns * rows <= 16"));
  EXPECT_FALSE(holds("8 <= columns * rows < 16"));
  EXPECT_TRUE(holds("machine = 'ant' and gated"));
  EXPECT_TRUE(holds("machine in ('scnn', \"ant\") and rows not in (1, 2)"));
  EXPECT_TRUE(holds("gated = on and not gated = off"));
  EXPECT_TRUE(holds("`two words` = 7"));
  EXPECT_TRUE(holds("log2(columns) % 2 = 0"));
}

TEST(Expression, Precedence) {
  EXPECT_EQ(value("1 + 2 * 3 - 4 / 2"), Value(5.0));
  EXPECT_EQ(value("-2 * -(3 - 1)"), Value(4.0));
  EXPECT_EQ(value("10 - 2 - 3"), Value(5.0));
  EXPECT_EQ(value("max(1, min(7, 5), 3) + abs(-1) + ceil(0.2) + floor(1.8)"), Value(8.0));
  EXPECT_TRUE(holds("false and false or true"));
  EXPECT_FALSE(holds("false and (false or true)"));
  EXPECT_FALSE(holds("not true or false"));
  EXPECT_EQ(value("1e3 + .5"), Value(1000.5));
}

TEST(Expression, MissingDecidesNothing) {
  EXPECT_TRUE(missing("lanes = 16"));
  EXPECT_TRUE(missing("not lanes = 16"));
  EXPECT_TRUE(missing("nan = nan"));
  EXPECT_TRUE(missing("1 / (columns - 4) > 0"));
  EXPECT_TRUE(missing("log2(0) < 1"));
  EXPECT_TRUE(missing("inf - inf = 0"));
  EXPECT_TRUE(holds("inf > 1e300"));
  EXPECT_TRUE(holds("lanes = 16 or rows = 4"));
  EXPECT_FALSE(holds("lanes = 16 and rows = 4"));
  EXPECT_EQ(value("lanes = 16 and rows = 5"), Value(false));
  const Expression expression = Expression::parse("lanes = 16", "--where");
  EXPECT_FALSE(expression.holds(std::vector<Value>{Value{}}));
}

TEST(Expression, Shortfall) {
  const auto shortfall = [](const std::string& text, const std::vector<Value>& values) {
    return Expression::parse(text, "w").shortfall(values);
  };
  EXPECT_EQ(shortfall("area < 40", {39.0}), 0);
  EXPECT_EQ(shortfall("area < 40", {50.0}), 0.2);
  EXPECT_EQ(shortfall("area < 40", {40.0}), 1e-9);
  EXPECT_EQ(shortfall("area < 0", {0.0}), 1);
  EXPECT_EQ(shortfall("area < 40", {Value{}}), 1);
  EXPECT_EQ(shortfall("area < 40", {std::numeric_limits<double>::infinity()}), 1);
  EXPECT_EQ(shortfall("area < 40 and power < 10", {50.0, 20.0}), 0.7);
  EXPECT_EQ(shortfall("area < 40 or power < 10", {50.0, 20.0}), 0.2);
  EXPECT_EQ(shortfall("machine = 'ant'", {std::string("scnn")}), 1);
  EXPECT_EQ(shortfall("not area < 40", {39.0}), 1);
}

TEST(Expression, NamesOnceInOrder) {
  const Expression expression = Expression::parse("rows * columns < 3 or rows > 7", "w");
  ASSERT_EQ(expression.names().size(), 2U);
  EXPECT_EQ(expression.names()[0].name, "rows");
  EXPECT_EQ(expression.names()[1].name, "columns");
  EXPECT_EQ(expression.names()[1].column, 8U);
  EXPECT_EQ(
      error_of([&] {
        expression.unknown_name(expression.names()[1], {"column", "lanes"});
      }),
      "w: column 8: there is no 'columns'; did you mean 'column'? known: column, lanes (texts are written in "
      "quotes)");
}

TEST(Expression, Errors) {
  EXPECT_EQ(error(""), "--where: column 1: the condition is empty; write one such as 'area_mm2 < 40'");
  EXPECT_EQ(error("area_mm2 <"),
            "--where: column 11: the end where a name, a number or 'text' should be; correct the condition");
  EXPECT_EQ(error("area_mm2 < 40 rows"),
            "--where: column 15: 'rows' where 'and', 'or' or the end should be; correct the condition");
  EXPECT_EQ(error("rows = 'four"), "--where: column 8: ''four' is not closed; add the closing quote");
  EXPECT_EQ(error("rows; drop table points"),
            "--where: column 5: ';' means nothing in a condition; use names, numbers, 'text', + - * / %, "
            "comparisons, and, or, not");
  EXPECT_EQ(error("rows = 4x"),
            "--where: column 8: '4x' is not a number; write one such as 16, 0.5 or 1e9, and texts in quotes");
  EXPECT_EQ(error("rows = '4'"),
            "--where: column 6: a number is compared with a text; compare numbers with numbers, texts with "
            "'texts', flags with on or off");
  EXPECT_EQ(error("machine < 'b'"),
            "--where: column 9: a text where a number should be; calculate with numbers only");
  EXPECT_EQ(error("rows and gated"),
            "--where: column 6: a number where a condition should be; compare it with something, as in "
            "'lanes = 16'");
  EXPECT_NE(error("sqrt(4) = 2").find("there is no function 'sqrt'"), std::string::npos);
  EXPECT_NE(error("(rows = 4").find("the end where ')' should be"), std::string::npos);
  EXPECT_NE(error("and = 3").find("'and' where a value should be"), std::string::npos);
  EXPECT_NE(error(std::string(5000, '1')).find("5000 characters"), std::string::npos);
  EXPECT_NE(error(std::string(2000, '(')).find("too deeply nested"), std::string::npos);
  EXPECT_NE(error(fmt::format("{:->2000}", 1)).find("too deeply nested"), std::string::npos);
  EXPECT_NE(
      error_of([] { Expression::parse("rows", "w").holds(std::vector<Value>{4.0}); }).find("not a condition"),
      std::string::npos);
}

// Random text of the language's own pieces: parsed or refused with one line, never anything else.
TEST(Expression, RandomTextIsParsedOrRefused) {
  const std::vector<std::string> pieces = {"a", "1", "<",  "=",   "(", ")",  "and", "not", "in", "'x'", "-",
                                           "*", ",", "or", "min", "`", "on", "%",   "1e",  ".",  " "};
  Random random(7);
  int parsed = 0;
  for (std::uint64_t i = 0; i < random_cases(20000); ++i) {
    std::string text;
    const std::int64_t size = random.integer(1, 9);
    for (std::int64_t k = 0; k < size; ++k) {
      text += pieces[static_cast<std::size_t>(random.integer(0, std::ssize(pieces) - 1))] + " ";
    }
    try {
      value(text, {{"a", 2.0}});
      ++parsed;
    } catch (const InputError& error) {
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    }
  }
  EXPECT_GT(parsed, 20);
}

TEST(Expression, WordsOfConfigurations) {
  EXPECT_EQ(value_of_text("16"), Value(16.0));
  EXPECT_EQ(value_of_text("0.5"), Value(0.5));
  EXPECT_EQ(value_of_text("on"), Value(true));
  EXPECT_EQ(value_of_text("lockstep"), Value(std::string("lockstep")));
  EXPECT_EQ(value_of_text("nan"), Value(std::string("nan")));
  EXPECT_EQ(value_of_text(""), Value(std::string()));
}

}  // namespace
}  // namespace lacuna::sweep
