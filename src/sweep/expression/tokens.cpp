#include "sweep/expression/tokens.hpp"

#include <array>

namespace lacuna::sweep {

namespace {

using Kind = Token::Kind;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool starts_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool continues_name(char c) { return starts_name(c) || is_digit(c) || c == '.'; }
bool starts_number(std::string_view text) {
  return is_digit(text[0]) || (text[0] == '.' && text.size() > 1 && is_digit(text[1]));
}

std::size_t name_size(std::string_view text) {
  std::size_t end = 1;
  while (end < text.size() && continues_name(text[end])) ++end;
  return end;
}

std::size_t number_size(std::string_view text) {
  std::size_t end = 0;
  const auto digits = [&] {
    while (end < text.size() && is_digit(text[end])) ++end;
  };
  digits();
  if (end < text.size() && text[end] == '.') ++end;
  digits();
  if (end < text.size() && (text[end] == 'e' || text[end] == 'E')) {
    std::size_t sign = end + 1;
    if (sign < text.size() && (text[sign] == '+' || text[sign] == '-')) ++sign;
    if (sign < text.size() && is_digit(text[sign])) {
      end = sign;
      digits();
    }
  }
  // "4x" is a typing error, not 4 and a name.
  while (end < text.size() && continues_name(text[end])) ++end;
  return end;
}

std::size_t symbol_size(std::string_view text) {  // 0: none
  static constexpr std::array<std::string_view, 4> kTwo = {"==", "!=", "<=", ">="};
  for (const std::string_view symbol : kTwo) {
    if (text.starts_with(symbol)) return 2;
  }
  return std::string_view("=<>+-*/%(),").find(text[0]) != std::string_view::npos ? 1 : 0;
}

}  // namespace

Token next_token(std::string_view text, std::size_t& at) {
  while (at < text.size() && (text[at] == ' ' || text[at] == '\t' || text[at] == '\n')) ++at;
  const std::size_t column = at + 1;
  const std::string_view rest = text.substr(at);
  const auto take = [&](Kind kind, std::size_t size) {
    at += size;
    return Token{kind, rest.substr(0, size), column, false};
  };
  if (rest.empty()) return take(Kind::kEnd, 0);
  const char c = rest[0];
  if (c == '\'' || c == '"' || c == '`') {
    const std::size_t end = rest.find(c, 1);
    if (end == std::string_view::npos) return take(Kind::kUnclosed, rest.size());
    at += end + 1;
    return {c == '`' ? Kind::kName : Kind::kText, rest.substr(1, end - 1), column, true};
  }
  if (starts_name(c)) return take(Kind::kName, name_size(rest));
  if (starts_number(rest)) return take(Kind::kNumber, number_size(rest));
  if (const std::size_t size = symbol_size(rest)) return take(Kind::kSymbol, size);
  return take(Kind::kUnknown, 1);
}

}  // namespace lacuna::sweep
