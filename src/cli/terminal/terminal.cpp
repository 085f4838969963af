#include "cli/terminal/terminal.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/error.hpp"
#include "base/text/quote.hpp"

namespace lacuna::cli {
namespace {

void check_output(bool good) {
  if (good) return;
  const int reason = errno;
  if (reason == EPIPE) throw BrokenPipe{};
  throw InputError("standard output", fmt::format("cannot write: {}", std::strerror(reason)),
                   "free some space or write elsewhere");
}

// Block characters need more than ASCII: the first of these that is set decides, as for every program
// (POSIX, 8.2).
bool has_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    return ::strcasestr(value, "utf-8") != nullptr || ::strcasestr(value, "utf8") != nullptr;
  }
  return false;
}

// Lines as a terminal can show them. Colours are ours.
std::string printable_with_colours(std::string_view text) {
  std::string shown;
  for (;;) {
    const std::size_t begin = text.find("\x1b[");
    shown += printable_lines(text.substr(0, begin));
    if (begin == text.npos) return shown;
    const std::size_t end = text.find_first_not_of("0123456789;", begin + 2);
    const bool colour = end != text.npos && text[end] == 'm';
    const std::size_t size = colour ? end + 1 - begin : 1;
    shown += colour ? text.substr(begin, size) : "?";
    text.remove_prefix(begin + size);
  }
}

}  // namespace

void open_standard_streams() {
  // open() gives the lowest number that is free.
  int opened = 0;
  do opened = ::open("/dev/null", O_RDWR);
  while (opened >= 0 && opened <= STDERR_FILENO);
  if (opened > STDERR_FILENO) ::close(opened);
}

// Names in it may come from files. A pipe gets the bytes, a terminal only what it can show.
void print_text(std::string_view text) {
  static const bool terminal = ::isatty(STDOUT_FILENO) == 1;
  std::string shown;
  if (terminal) text = shown = printable_with_colours(text);
  check_output(std::fwrite(text.data(), 1, text.size(), stdout) == text.size());
}

void flush_output() { check_output(std::fflush(stdout) == 0); }

void print_error(std::string_view message) noexcept {
  try {
    const std::string line = "lacuna: " + escape_controls(message) + "\n";
    std::fwrite(line.data(), 1, line.size(), stderr);
  } catch (const std::bad_alloc&) {
    std::fputs("lacuna: error: out of memory\n", stderr);
  }
}

bool has_colour(std::FILE* stream) {
  // https://no-color.org: set to anything but the empty string.
  const char* no_colour = std::getenv("NO_COLOR");
  if (no_colour != nullptr && *no_colour != '\0') return false;
  const char* term = std::getenv("TERM");
  if (term == nullptr || std::strcmp(term, "dumb") == 0) return false;
  return ::isatty(::fileno(stream)) == 1;
}

std::string shell_quote(std::string_view text, bool fish) {
  std::string out = "'";
  for (const char c : text) {
    if (fish && (c == '\'' || c == '\\')) out += '\\';
    if (!fish && c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + "'";
}

TextStyle output_style() {
  TextStyle style;
  style.colour = has_colour(stdout);
  style.bars = style.colour && has_utf8();
  winsize size{};
  if (::isatty(STDOUT_FILENO) == 1 && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    style.width = size.ws_col;
  }
  return style;
}

}  // namespace lacuna::cli
