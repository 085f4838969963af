// Results that go to a file or, for "-", to standard output.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lacuna::cli {

inline constexpr std::string_view kStandardOutput = "-";

// Writes the text: whole or not at all (OutputFile). Throws InputError.
void write_result(const std::string& file, std::string_view text);

// Throws InputError if the file's folder is not there or cannot be written, so that this is known before a
// long simulation and not after it. `option` starts the message.
// Nor may it be one of the `inputs`, which would be lost.
void check_can_write(const std::string& file, std::string_view option,
                     const std::vector<std::string>& inputs = {});

// The same for --json and --csv, which must not meet in one place.
void check_result_files(const std::string& json, const std::string& csv,
                        const std::vector<std::string>& inputs);

}  // namespace lacuna::cli
