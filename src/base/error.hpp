// The errors of the library. Libraries throw these and never print; only src/cli turns them into one line and
// an exit code.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

namespace lacuna {

// Bad input: a file, a value or an option that cannot be used. The message is one line that says where, what
// is wrong and what to do about it. The program exits with 2.
class InputError : public std::runtime_error {
 public:
  // "resnet.safetensors: layer 'conv1': A.mask holds 12 bytes, its shape needs 16; record the trace again"
  InputError(std::string_view where, std::string_view cause, std::string_view remedy)
      : std::runtime_error(std::string(where) + ": " + std::string(cause) + "; " + std::string(remedy)),
        where_size_(where.size()),
        cause_size_(cause.size()),
        remedy_size_(remedy.size()) {}

  // The three parts of the message. They are valid as long as the error is.
  std::string_view where() const { return part(0, where_size_); }
  std::string_view cause() const { return part(where_size_ + 2, cause_size_); }
  std::string_view remedy() const { return part(where_size_ + cause_size_ + 4, remedy_size_); }

 private:
  std::string_view part(std::size_t at, std::size_t size) const { return {what() + at, size}; }

  // Sizes instead of strings: an exception must not throw when it is copied.
  std::size_t where_size_, cause_size_, remedy_size_;
};

}  // namespace lacuna
