#include "trace/import/npy.hpp"

#include <charconv>
#include <cstring>
#include <fmt/format.h>
#include <optional>
#include <string_view>

#include "base/error.hpp"
#include "base/io/safetensors.hpp"
#include "base/text/quote.hpp"

namespace lacuna {
namespace {

constexpr std::string_view kRemedy = "save the array again with numpy.save";

// The header's dictionary: {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }. Nothing else is
// accepted: numpy evaluates the header as Python, we do not.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& where) : text_(text), where_(where) {}

  void parse() {
    expect('{');
    while (!accept('}')) {
      const std::string key = string();
      expect(':');
      if (key == "descr" && !descr_) {
        descr_ = string();
      } else if (key == "fortran_order" && !fortran_) {
        fortran_ = boolean();
      } else if (key == "shape" && !shape_) {
        shape_ = tuple();
      } else {
        fail("has an unexpected or repeated key " + quote_name(key));
      }
      if (!accept(',') && peek() != '}') fail("is not a dictionary");
    }
    if (peek() != '\0') fail("continues after its dictionary");
    if (!descr_ || !fortran_ || !shape_) fail("lacks 'descr', 'fortran_order' or 'shape'");
  }

  const std::string& descr() const { return *descr_; }
  bool fortran() const { return *fortran_; }
  std::vector<std::int64_t>& shape() { return *shape_; }

 private:
  [[noreturn]] void fail(const std::string& cause) const {
    throw InputError(where_, fmt::format("the header {} (byte {} of it)", cause, at_), kRemedy);
  }

  char peek() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool accept(char wanted) {
    if (peek() != wanted) return false;
    ++at_;
    return true;
  }
  void expect(char wanted) {
    if (!accept(wanted)) fail(fmt::format("lacks a '{}'", wanted));
  }

  std::string string() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') fail("lacks a string");
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) fail("has a string without an end");
    std::string value(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return value;
  }

  bool boolean() {
    peek();
    for (const auto& [word, value] : {std::pair<std::string_view, bool>{"True", true}, {"False", false}}) {
      if (text_.substr(at_).starts_with(word)) {
        at_ += word.size();
        return value;
      }
    }
    fail("has neither True nor False for 'fortran_order'");
  }

  std::vector<std::int64_t> tuple() {
    std::vector<std::int64_t> values;
    expect('(');
    while (!accept(')')) {
      peek();
      std::int64_t value = -1;
      const auto [stop, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
      if (error != std::errc{} || value < 0) fail("has a dimension that is not a natural number");
      at_ = static_cast<std::size_t>(stop - text_.data());
      values.push_back(value);
      if (values.size() > 8) fail("has too many dimensions");
      if (!accept(',') && peek() != ')') fail("has a 'shape' that is not a tuple");
    }
    return values;
  }

  std::string_view text_;
  const std::string& where_;
  std::size_t at_ = 0;
  std::optional<std::string> descr_;
  std::optional<bool> fortran_;
  std::optional<std::vector<std::int64_t>> shape_;
};

}  // namespace

NpyArray NpyArray::parse(std::span<const std::uint8_t> bytes, const std::string& where) {
  constexpr std::string_view kMagic = "\x93NUMPY";
  if (bytes.size() < 10 || std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0) {
    throw InputError(where, "this is not a .npy file", kRemedy);
  }
  const unsigned version = bytes[6];
  if (version < 1 || version > 3) {
    throw InputError(where, fmt::format("version {} of the .npy format is unknown", version), kRemedy);
  }
  const std::size_t prefix = version == 1 ? 10 : 12;
  std::size_t length = 0;
  if (version == 1) {
    length = bytes[8] + (std::size_t{bytes[9]} << 8);
  } else if (bytes.size() >= prefix) {
    std::uint32_t wide = 0;
    std::memcpy(&wide, bytes.data() + 8, 4);
    length = wide;
  }
  if (bytes.size() < prefix || length > bytes.size() - prefix) {
    throw InputError(where, "the file ends inside its header", kRemedy);
  }
  HeaderParser header({reinterpret_cast<const char*>(bytes.data()) + prefix, length}, where);
  header.parse();
  if (header.descr() != "<f4") {
    throw InputError(where,
                     fmt::format("its elements are {}, only '<f4' is read", quote_name(header.descr())),
                     "save it with .astype('float32')");
  }
  if (header.fortran()) {
    throw InputError(where, "the array is in Fortran order", "save numpy.ascontiguousarray of it");
  }
  std::int64_t needed = 4;
  for (const std::int64_t size : header.shape()) {
    if (__builtin_mul_overflow(needed, size, &needed)) {
      throw InputError(where, "its shape multiplies to more than 2^63 bytes", kRemedy);
    }
  }
  const auto data = bytes.subspan(prefix + length);
  if (static_cast<std::uint64_t>(needed) != data.size()) {
    throw InputError(where,
                     fmt::format("shape {} needs {} bytes, the file holds {}", shape_text(header.shape()),
                                 needed, data.size()),
                     kRemedy);
  }
  return {std::move(header.shape()), data};
}

}  // namespace lacuna
