// A beginning, a piece that is repeated thousands of times with a running number in it, and an end: a text as
// large as its reader takes, from an input of some hundred bytes. A reader that compares every entry with
// every other shows here (TimeLimit), in small texts it does not. The first byte chooses the reader.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>
#include <zstd.h>

#include "base/error.hpp"
#include "base/testing/temporary_folder.hpp"
#include "bench/inputs/layer_list.hpp"
#include "energy/cost_table.hpp"
#include "folder_in_memory.hpp"
#include "report/result/result_json.hpp"
#include "sim/catalog/arch_catalog.hpp"
#include "time_limit.hpp"
#include "trace/format/layer_list.hpp"
#include "trace/trace.hpp"
#include "train/graph/model_file.hpp"

namespace {

using namespace lacuna;

using Bytes = std::vector<std::uint8_t>;

struct Pieces {
  std::string_view begin, repeated, end;
};

Pieces split(std::string_view text) {
  constexpr std::string_view kSeparator = "\n--8<--\n";
  std::array<std::string_view, 3> parts;
  for (std::string_view& part : parts) {
    const std::size_t length = std::min(text.find(kSeparator), text.size());
    part = text.substr(0, length);
    text.remove_prefix(std::min(length + kSeparator.size(), text.size()));
  }
  return {parts[0], parts[1], parts[2]};
}

// The piece for the n-th time: '@' stands for the number.
std::string numbered(std::string_view piece, std::size_t n) {
  std::string text;
  for (const char c : piece) {
    if (c == '@') {
      text += std::to_string(n);
    } else {
      text += c;
    }
  }
  return text;
}

std::string grow(const Pieces& pieces, std::size_t size) {
  std::string text(pieces.begin);
  for (std::size_t n = 0; text.size() < size && !pieces.repeated.empty(); ++n)
    text += numbered(pieces.repeated, n);
  return text + std::string(pieces.end);
}

// Eight bytes of length, the header, no tensors' bytes.
Bytes safetensors(const std::string& header) {
  Bytes bytes(8 + header.size());
  const std::uint64_t length = header.size();
  std::memcpy(bytes.data(), &length, 8);
  std::memcpy(bytes.data() + 8, header.data(), header.size());
  return bytes;
}

// Each part in a separate frame that does not declare its size.
Bytes many_frames(const Bytes& bytes, std::size_t part) {
  Bytes frames;
  Bytes room(ZSTD_compressBound(part));
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, 0);
  for (std::size_t at = 0; at < bytes.size(); at += part) {
    const std::size_t length = std::min(part, bytes.size() - at);
    const std::size_t got = ZSTD_compress2(context, room.data(), room.size(), bytes.data() + at, length);
    frames.insert(frames.end(), room.begin(), room.begin() + static_cast<std::ptrdiff_t>(got));
  }
  ZSTD_freeCCtx(context);
  return frames;
}

// Sizes that a linear reader takes a fraction of TimeLimit for, sanitized.
constexpr std::size_t kJson = 1 << 19;
constexpr std::size_t kYaml = 1 << 16;

void read_as(unsigned reader, const Pieces& pieces) {
  switch (reader % 9) {
    case 0:
      (void)Trace::parse("fuzz", safetensors(grow(pieces, kJson)));
      return;
    case 1:
      (void)Trace::parse("fuzz", many_frames(safetensors(grow(pieces, kJson / 16)), 16));
      return;
    case 2:
      (void)parse_layer_list(grow(pieces, kJson), "fuzz");
      return;
    case 3:
      (void)parse_results_json(grow(pieces, kJson), "fuzz");
      return;
    case 4: {
      static const TemporaryFolder folder(folder_in_memory());
      const std::string list = grow(pieces, kJson / 4);  // looks for three files per line
      folder.write("layers.csv", list);
      (void)Trace::open(folder.path());
      return;
    }
    case 5: {
      static const ArchCatalog catalog;
      (void)catalog.parse(grow(pieces, kYaml), "fuzz");
      return;
    }
    case 6:
      (void)bench::parse_shapes(grow(pieces, kYaml), "fuzz", 4);
      return;
    case 7:
      (void)CostTable::parse(grow(pieces, kYaml), "fuzz");
      return;
    default:
      (void)train::parse_model(grow(pieces, kYaml), "fuzz", {});
      return;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const TimeLimit time;
  try {
    read_as(data[0], split({reinterpret_cast<const char*>(data) + 1, size - 1}));
  } catch (const InputError&) {
  }
  return 0;
}
