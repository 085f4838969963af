// Files that this process has read as input: no output may replace one of them.
#pragma once

#include <filesystem>

namespace lacuna {

// Files are registered from now on, for programs, whose outputs must not destroy what they were given. A
// process that uses this library may well replace a file that it has read.
void protect_input_files();

// Registers an open file.
void add_input_file(int descriptor);
// Registers what the path leads to, if it is a plain file.
void add_input_file(const std::filesystem::path& path);
// Takes a file off the list: the state of a run, which reads it and replaces it.
void release_input_file(const std::filesystem::path& path);

// Returns true if the path leads to a registered file, by whatever name.
bool is_input_file(const std::filesystem::path& path);

}  // namespace lacuna
