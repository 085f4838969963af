// Any bytes as a file of results: it is opened, listed and exported.
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <unistd.h>

#include "base/error.hpp"
#include "sweep/store/database.hpp"
#include "time_limit.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const lacuna::TimeLimit time;
  using namespace lacuna::sweep;
  static const std::string path =
      std::filesystem::temp_directory_path() / ("fuzz_database-" + std::to_string(::getpid()));
  std::ofstream(path, std::ios::binary) << std::string_view(reinterpret_cast<const char*>(data), size);
  try {
    const Reader reader(path);
    (void)reader.swept_parameters();
    (void)reader.other_programs({"0.1.0", 1, ""});
    for (const char* view : {"points", "by_network", "operations", "pareto"}) {
      export_csv(reader, view, [](std::string_view) {});
      export_json(reader, view, [](std::string_view) {});
    }
  } catch (const lacuna::InputError&) {
  }
  for (const char* companion : {"", "-journal", "-wal", "-shm"}) std::filesystem::remove(path + companion);
  return 0;
}
