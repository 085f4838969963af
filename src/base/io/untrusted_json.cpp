#include "base/io/untrusted_json.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/text/quote.hpp"

namespace lacuna {
namespace {

using nlohmann::json;

constexpr std::size_t kDeepestNesting = 8;
constexpr std::string_view kRemedy = "copy or record the file again";
constexpr int kNumberOutOfRange = 406;  // the library's number of that error

// Builds values from the parser's events. The library's own builder with a callback looks through the parent
// after each child, which takes quadratic time; its builder without one keeps the last of two equal keys.
class Builder {
 public:
  using Use = std::function<void(std::string key, const json& value)>;

  Builder(const std::string& where, std::string_view what) : where_(where), what_(what) {}
  // Hands over what the outermost object or list (`outermost` says which) holds and forgets it.
  Builder(const std::string& where, std::string_view what, json::value_t outermost, Use use)
      : where_(where), what_(what), outermost_(outermost), use_(std::move(use)) {}

  json& result() { return root_; }
  bool found_outermost() const { return found_outermost_; }

  bool null() { return add(nullptr); }
  bool boolean(bool value) { return add(value); }
  bool number_integer(json::number_integer_t value) { return add(value); }
  bool number_unsigned(json::number_unsigned_t value) { return add(value); }
  bool number_float(json::number_float_t value, const std::string&) { return add(value); }
  bool string(std::string& value) { return add(std::move(value)); }
  bool binary(json::binary_t&) { return false; }  // not in text

  bool start_object(std::size_t) { return open(json::value_t::object); }
  bool start_array(std::size_t) { return open(json::value_t::array); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }

  bool key(std::string& name) {
    if (streams(open_.size())) {
      key_ = std::move(name);
      return true;
    }
    auto& members = open_.back()->get_ref<json::object_t&>();
    const auto [at, added] = members.try_emplace(std::move(name), nullptr);
    if (!added) {
      throw InputError(where_, fmt::format("{} has the key {} twice", what_, quote_name(at->first)), kRemedy);
    }
    slot_ = &at->second;
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const json::exception& error) {
    if (error.id == kNumberOutOfRange) {
      throw InputError(where_, fmt::format("{} holds a number that is out of range", what_), kRemedy);
    }
    throw InputError(where_, fmt::format("{} is not JSON from byte {} on", what_, position), kRemedy);
  }

 private:
  // Inside the outermost object or list of a text that is handed over piece by piece.
  bool streams(std::size_t depth) const { return use_ && depth == 1; }

  // Target of the next value.
  json& place(json&& value) {
    if (use_ && ++values_ > kMostJsonValues) {
      throw InputError(
          where_, fmt::format("an entry of {} holds more than {} values", what_, kMostJsonValues), kRemedy);
    }
    if (open_.empty() || streams(open_.size())) return root_ = std::move(value);
    if (open_.back()->is_array()) {
      auto& items = open_.back()->get_ref<json::array_t&>();
      items.push_back(std::move(value));
      return items.back();
    }
    return *slot_ = std::move(value);
  }

  void finish() {
    if (!streams(open_.size())) return;
    use_(std::move(key_), root_);
    key_.clear();
    root_ = nullptr;
    values_ = 0;
  }

  template <typename Value>
  bool add(Value&& value) {
    place(json(std::forward<Value>(value)));
    finish();
    return true;
  }

  bool open(json::value_t kind) {
    if (open_.size() >= kDeepestNesting) {
      throw InputError(where_, fmt::format("{} is nested too deep", what_), kRemedy);
    }
    if (open_.empty() && use_) {
      if (kind != outermost_) return false;  // ends the parsing
      found_outermost_ = true;
      open_.push_back(nullptr);
    } else {
      open_.push_back(&place(json(kind)));
    }
    return true;
  }

  bool close() {
    open_.pop_back();
    finish();
    return true;
  }

  const std::string& where_;
  std::string_view what_;
  json::value_t outermost_ = json::value_t::null;
  Use use_;
  json root_;  // the whole text, or the member that is being read
  std::string key_;
  std::size_t values_ = 0;
  bool found_outermost_ = false;
  // Objects and lists that have begun and not ended. A list's items may move when it grows, but only when its
  // last item is complete and no longer here.
  std::vector<json*> open_;
  json* slot_ = nullptr;  // the value of the last key
};

void parse(std::string_view text, const std::string& where, std::string_view what, Builder& builder) {
  // The library silently takes a zero byte for the end and ignores what follows.
  if (const std::size_t zero = text.find('\0'); zero != text.npos) {
    throw InputError(where, fmt::format("{} is not JSON from byte {} on", what, zero + 1), kRemedy);
  }
  json::sax_parse(text.begin(), text.end(), &builder);
}

}  // namespace

json parse_untrusted_json(std::string_view text, const std::string& where, std::string_view what) {
  Builder builder(where, what);
  parse(text, where, what, builder);
  return std::move(builder.result());
}

bool parse_untrusted_members(std::string_view text, const std::string& where, std::string_view what,
                             const std::function<void(std::string key, const json& value)>& use) {
  Builder builder(where, what, json::value_t::object, use);
  parse(text, where, what, builder);
  return builder.found_outermost();
}

bool parse_untrusted_items(std::string_view text, const std::string& where, std::string_view what,
                           const std::function<void(const json& item)>& use) {
  Builder builder(where, what, json::value_t::array,
                  [&](const std::string&, const json& item) { use(item); });
  parse(text, where, what, builder);
  return builder.found_outermost();
}

}  // namespace lacuna
