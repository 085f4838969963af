// The errors of the library. Libraries throw these and never print; only src/cli turns them into one line and
// an exit code.
#pragma once

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
      : std::runtime_error(std::string(where) + ": " + std::string(cause) + "; " + std::string(remedy)) {}
};

}  // namespace lacuna
