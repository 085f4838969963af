// The words and symbols of a condition.
#pragma once

#include <cstddef>
#include <string_view>

namespace lacuna::sweep {

struct Token {
  enum class Kind {
    kEnd,
    kNumber,    // begins like one; whether it is one is for the reader to say
    kText,      // 'text' or "text"
    kName,      // name or `name`
    kSymbol,    // an operator, a bracket or a comma
    kUnclosed,  // a quote without its end: all that follows it
    kUnknown,   // a character that begins nothing
  };

  Kind kind = Kind::kEnd;
  std::string_view text;  // as written; texts and quoted names without the quotes
  std::size_t column = 1;
  bool quoted = false;
};

// The token that begins at `at` or after the blanks there; moves `at` behind it.
Token next_token(std::string_view text, std::size_t& at);

}  // namespace lacuna::sweep
