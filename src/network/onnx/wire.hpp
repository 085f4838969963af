// The wire format of Protocol Buffers, field by field [protobuf.dev, "Encoding"].
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace lacuna::network {

// Reads the fields of one message. Inner messages, strings and packed numbers are spans of the file's bytes,
// so that nothing is copied or allocated. Throws InputError with the file and the byte.
class WireReader {
 public:
  WireReader(std::span<const std::uint8_t> message, const std::string& file, const std::uint8_t* begin)
      : rest_(message), file_(file), begin_(begin) {}
  WireReader(std::span<const std::uint8_t> file_bytes, const std::string& file)
      : WireReader(file_bytes, file, file_bytes.data()) {}

  // Moves to the next field; false at the end of the message.
  bool next();

  int field() const { return field_; }
  // Value of the field. A field of another type than asked for is an error.
  std::int64_t integer() const;
  std::string_view text() const;
  // Bytes of a repeated float field, packed or not.
  std::string_view floats() const;
  WireReader message() const;

  // Calls use(number) for a repeated integer field, packed or not.
  template <typename Use>
  void integers(const Use& use) const {
    if (type_ == Type::kVarint) return use(integer());
    WireReader packed = message();
    while (!packed.rest_.empty()) use(static_cast<std::int64_t>(packed.varint()));
  }

 private:
  enum class Type : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

  std::uint64_t varint();
  std::span<const std::uint8_t> take(std::uint64_t size);
  void expect(Type type) const;
  [[noreturn]] void fail(const char* cause) const;

  std::span<const std::uint8_t> rest_;
  const std::string& file_;
  const std::uint8_t* begin_;
  int field_ = 0;
  Type type_ = Type::kVarint;
  std::uint64_t number_ = 0;
  std::span<const std::uint8_t> bytes_;
};

}  // namespace lacuna::network
