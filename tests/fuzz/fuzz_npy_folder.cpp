// Any bytes as a folder of arrays: layers.csv and three .npy files, divided by a separator line.
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/testing/temporary_folder.hpp"
#include "folder_in_memory.hpp"
#include "time_limit.hpp"
#include "trace/trace.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const lacuna::TimeLimit time;
  using namespace lacuna;
  static const TemporaryFolder folder(folder_in_memory());
  constexpr std::string_view kSeparator = "\n--8<--\n";
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  for (const char* name : {"layers.csv", "l.A.npy", "l.W.npy", "l.G.npy"}) {
    const std::size_t end = std::min(rest.find(kSeparator), rest.size());
    const std::string_view part = rest.substr(0, end);
    rest.remove_prefix(std::min(end + kSeparator.size(), rest.size()));
    std::filesystem::remove(folder / name);
    if (!part.empty()) folder.write(name, part);
  }
  try {
    const Trace trace = Trace::open(folder.path());
    for (const Layer& layer : trace.layers()) {
      if (layer.a.nonzeros > layer.a.elements()) std::abort();
    }
  } catch (const InputError&) {
  }
  return 0;
}
