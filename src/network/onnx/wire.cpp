#include "network/onnx/wire.hpp"

#include <fmt/format.h>

#include "base/error.hpp"

namespace lacuna::network {

bool WireReader::next() {
  if (rest_.empty()) return false;
  const std::uint64_t key = varint();
  if (key >> 3 == 0 || key >> 3 > 0x1fffffff) fail("the number of a field is impossible");
  field_ = static_cast<int>(key >> 3);
  type_ = static_cast<Type>(key & 7);
  switch (type_) {
    case Type::kVarint:
      number_ = varint();
      break;
    case Type::kFixed64:
      bytes_ = take(8);
      break;
    case Type::kBytes:
      bytes_ = take(varint());
      break;
    case Type::kFixed32:
      bytes_ = take(4);
      break;
    default:
      fail("a field has a type that ONNX does not use");
  }
  return true;
}

std::int64_t WireReader::integer() const {
  expect(Type::kVarint);
  return static_cast<std::int64_t>(number_);
}

std::string_view WireReader::text() const {
  expect(Type::kBytes);
  return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()};
}

std::string_view WireReader::floats() const {
  if (type_ != Type::kFixed32) return text();
  return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()};
}

WireReader WireReader::message() const {
  expect(Type::kBytes);
  return {bytes_, file_, begin_};
}

std::uint64_t WireReader::varint() {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const std::uint8_t byte = take(1)[0];
    value |= static_cast<std::uint64_t>(byte & 0x7fU) << shift;
    if (byte < 0x80) return value;
  }
  fail("a number has too many bytes");
}

std::span<const std::uint8_t> WireReader::take(std::uint64_t size) {
  if (size > rest_.size()) fail("the file ends inside a field");
  const auto taken = rest_.first(static_cast<std::size_t>(size));
  rest_ = rest_.subspan(static_cast<std::size_t>(size));
  return taken;
}

void WireReader::expect(Type type) const {
  if (type_ != type) fail("a field has another type than ONNX gives it");
}

void WireReader::fail(const char* cause) const {
  throw InputError(fmt::format("{}: byte {}", file_, rest_.data() - begin_), cause,
                   "check that it is an ONNX model and was copied whole");
}

}  // namespace lacuna::network
