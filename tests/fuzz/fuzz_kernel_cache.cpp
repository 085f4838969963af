// Any text as the cache of measured kernels: what is taken from it names a kernel and has times that are
// numbers, and storing keeps it.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <unistd.h>

#include "kernels/choice/cost_model.hpp"
#include "kernels/conv_kernel.hpp"
#include "time_limit.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const lacuna::TimeLimit time;
  using namespace lacuna::kernels;
  static const std::string path =
      std::filesystem::temp_directory_path() / ("fuzz_kernel_cache-" + std::to_string(::getpid()));
  std::ofstream(path, std::ios::binary) << std::string_view(reinterpret_cast<const char*>(data), size);
  const CostLines lines = CostCache(path).all();
  for (const auto& [key, curve] : lines.curves) {
    if (find_implementation(curve.dense_impl) == nullptr || !std::isfinite(curve.crossover())) std::abort();
    for (const double seconds : curve.sparse)
      if (!(seconds > 0 && std::isfinite(seconds))) std::abort();
  }
  if (!lines.curves.empty()) {
    CostCache(path).store("new", lines.curves.begin()->second);
    if (CostCache(path).all().curves.size() < lines.curves.size()) std::abort();
  }
  std::filesystem::remove(path);
  std::filesystem::remove(path + ".lock");
  return 0;
}
