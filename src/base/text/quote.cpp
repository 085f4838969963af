#include "base/text/quote.hpp"

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>
#include <iterator>

namespace lacuna {
namespace {

// A character at the start of a text, in `bytes`; not UTF-8: one byte and kNone.
struct Character {
  static constexpr std::uint32_t kNone = 0xffffffff;
  std::uint32_t code = kNone;
  std::size_t bytes = 1;
};

Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const std::uint32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return {};
  std::uint32_t code = lead & (0xffU >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3fU);
  }
  constexpr std::uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kSmallest[bytes] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return {};
  return {code, bytes};
}

bool is_safe(std::uint32_t code) {
  if (code == Character::kNone || code < 0x20 || (code >= 0x7f && code < 0xa0)) return false;
  // Line and paragraph separators; marks of direction, after which text is shown elsewhere; and what is not
  // shown at all (Default_Ignorable_Code_Point of Unicode and U+FFF9 to U+FFFB), so that two names look
  // alike.
  constexpr std::pair<std::uint32_t, std::uint32_t> kUnsafe[] = {
      {0xad, 0xad},       {0x34f, 0x34f},    {0x61c, 0x61c},   {0x115f, 0x1160}, {0x17b4, 0x17b5},
      {0x180b, 0x180f},   {0x200b, 0x200f},  {0x2028, 0x202e}, {0x2060, 0x206f}, {0x3164, 0x3164},
      {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},  {0xffa0, 0xffa0}, {0xfff0, 0xfffb}, {0x1bca0, 0x1bca3},
      {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff}};
  return std::ranges::none_of(kUnsafe,
                              [&](const auto& range) { return code >= range.first && code <= range.second; });
}

// Copies the text, and calls hide(to, code, bytes) for what is unsafe.
template <typename Hide>
std::string copy_safe(std::string_view text, const Hide& hide) {
  std::string safe;
  safe.reserve(text.size());
  while (!text.empty()) {
    const Character next = first_character(text);
    const std::string_view bytes = text.substr(0, next.bytes);
    text.remove_prefix(next.bytes);
    if (is_safe(next.code)) {
      safe += bytes;
    } else {
      hide(safe, next.code, bytes);
    }
  }
  return safe;
}

}  // namespace

std::string escape_controls(std::string_view text) {
  return copy_safe(text, [](std::string& to, std::uint32_t code, std::string_view bytes) {
    if (bytes.size() == 1) {
      fmt::format_to(std::back_inserter(to), "\\x{:02x}", static_cast<unsigned char>(bytes[0]));
    } else {
      fmt::format_to(std::back_inserter(to), "\\u{:04x}", code);
    }
  });
}

std::string printable(std::string_view text) {
  return copy_safe(text, [](std::string& to, std::uint32_t, std::string_view) { to += '?'; });
}

std::string printable_lines(std::string_view text) {
  return copy_safe(text, [](std::string& to, std::uint32_t code, std::string_view) {
    to += code == '\n' || code == '\t' ? static_cast<char>(code) : '?';
  });
}

std::string one_line(std::string_view text, std::size_t longest) {
  if (text.size() <= longest) return escape_controls(text);
  // Not in the middle of a UTF-8 sequence.
  while (longest > 0 && (static_cast<unsigned char>(text[longest]) & 0xc0) == 0x80) --longest;
  return escape_controls(text.substr(0, longest)) + "...";
}

std::string quote_name(std::string_view name) { return fmt::format("'{}'", one_line(name)); }

}  // namespace lacuna
