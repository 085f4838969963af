// Any bytes as a folder of arrays: layers.csv and three .npy files, divided by a separator line.
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <unistd.h>

#include "base/error.hpp"
#include "trace/trace.hpp"

namespace {

std::filesystem::path make_folder() {
  // In memory where that is possible: each run writes four files.
  std::string name =
      std::filesystem::exists("/dev/shm") ? "/dev/shm/lacuna-fuzz-XXXXXX" : "/tmp/lacuna-fuzz-XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) std::abort();
  return name;
}

struct Folder {
  std::filesystem::path path = make_folder();
  ~Folder() { std::filesystem::remove_all(path); }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lacuna;
  static const Folder folder;
  constexpr std::string_view kSeparator = "\n--8<--\n";
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  for (const char* name : {"layers.csv", "l.A.npy", "l.W.npy", "l.G.npy"}) {
    const std::size_t end = std::min(rest.find(kSeparator), rest.size());
    const std::string_view part = rest.substr(0, end);
    rest.remove_prefix(std::min(end + kSeparator.size(), rest.size()));
    std::filesystem::remove(folder.path / name);
    if (part.empty()) continue;
    std::ofstream(folder.path / name, std::ios::binary)
        .write(part.data(), static_cast<std::streamsize>(part.size()));
  }
  try {
    const Trace trace = Trace::open(folder.path);
    for (const Layer& layer : trace.layers()) {
      if (layer.a.nonzeros > layer.a.elements()) std::abort();
    }
  } catch (const InputError&) {
  }
  return 0;
}
