#include "trace/byte_source.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <optional>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/error.hpp"
#include "base/memory.hpp"
#include "base/nearest.hpp"
#include "base/quote.hpp"

namespace lacuna {
namespace {

class OwnedBytes final : public ByteSource {
 public:
  explicit OwnedBytes(std::vector<std::uint8_t> bytes) : bytes_(std::move(bytes)) {}
  std::span<const std::uint8_t> bytes() const override { return bytes_; }

 private:
  std::vector<std::uint8_t> bytes_;
};

class MappedBytes final : public ByteSource {
 public:
  MappedBytes(void* address, std::size_t size) : address_(address), size_(size) {}
  ~MappedBytes() override { ::munmap(address_, size_); }
  MappedBytes(const MappedBytes&) = delete;
  MappedBytes& operator=(const MappedBytes&) = delete;
  std::span<const std::uint8_t> bytes() const override {
    return {static_cast<const std::uint8_t*>(address_), size_};
  }

 private:
  void* address_;
  std::size_t size_;
};

// Memory from malloc: unlike a vector it is not cleared first, and growing it moves pages, not bytes.
class HeapBytes final : public ByteSource {
 public:
  HeapBytes() = default;
  ~HeapBytes() override { std::free(data_); }
  HeapBytes(const HeapBytes&) = delete;
  HeapBytes& operator=(const HeapBytes&) = delete;
  std::span<const std::uint8_t> bytes() const override { return {data_, size_}; }

  bool resize(std::size_t size) {
    void* moved = std::realloc(data_, std::max<std::size_t>(size, 1));
    if (moved == nullptr) return false;
    data_ = static_cast<std::uint8_t*>(moved);
    size_ = size;
    return true;
  }
  std::uint8_t* data() { return data_; }

 private:
  std::uint8_t* data_ = nullptr;
  std::size_t size_ = 0;
};

class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return value_; }

 private:
  int value_;
};

[[noreturn]] void fail(const std::string& where, std::string_view action, int reason) {
  throw InputError(where, fmt::format("{}: {}", action, std::strerror(reason)),
                   "check the path and its permissions");
}

// For a name that does not exist, suggests the nearest one in its folder.
[[noreturn]] void fail_to_open(const std::filesystem::path& path, int reason) {
  if (reason == ENOENT) {
    std::vector<std::string> names;
    std::error_code error;
    const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
    for (std::filesystem::directory_iterator at(folder, error), end;
         !error && at != end && names.size() < 1000; at.increment(error)) {
      names.push_back(at->path().filename().string());
    }
    std::sort(names.begin(), names.end());
    const std::string near = nearest_name(path.filename().string(), names);
    if (!near.empty()) {
      throw InputError(path.string(), "there is no such file", "did you mean " + quote_name(near) + "?");
    }
    throw InputError(path.string(), "there is no such file", "check the path");
  }
  fail(path.string(), "cannot open", reason);
}

// A pipe, which may never end, is read up to half of the memory (the buffer grows by doubling). A device is
// refused: /dev/zero would fill the memory, and a terminal or a disk is not a trace.
std::unique_ptr<ByteSource> read_all(int descriptor, bool device, const std::string& where) {
  const std::uint64_t limit = device ? 0 : usable_memory() / 2;
  std::vector<std::uint8_t> bytes;
  std::size_t filled = 0;
  while (true) {
    if (filled == bytes.size()) bytes.resize(std::max<std::size_t>(1 << 16, filled * 2));
    const ssize_t got = ::read(descriptor, bytes.data() + filled, bytes.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(where, "cannot read", errno);
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
    if (device) throw InputError(where, "this is a device", "give a file or a pipe");
    if (filled > limit) {
      throw InputError(where, fmt::format("the pipe holds more than {} bytes", limit),
                       "write them to a file, which is mapped, not loaded");
    }
  }
  bytes.resize(filled);
  return ByteSource::own(std::move(bytes));
}

constexpr std::string_view kBrokenRemedy = "copy or record the file again";

[[noreturn]] void too_large(const std::string& where, std::uint64_t limit) {
  throw InputError(where, fmt::format("the file decompresses to more than {} bytes", limit),
                   "decompress it with `zstd -d` and open the .safetensors, which is mapped, not loaded");
}

[[noreturn]] void no_memory(const std::string& where, std::uint64_t bytes) {
  throw InputError(where, fmt::format("no memory for {} decompressed bytes", bytes),
                   "decompress it with `zstd -d` and open the .safetensors, which is mapped, not loaded");
}

struct FreeDecoder {
  void operator()(ZSTD_DCtx* decoder) const { ZSTD_freeDCtx(decoder); }
};
using Decoder = std::unique_ptr<ZSTD_DCtx, FreeDecoder>;

// The declared size of all frames together; empty if one of them declares none.
std::optional<std::uint64_t> declared_size(std::span<const std::uint8_t> compressed,
                                           const std::string& where) {
  // A block of at least 4 bytes (3 of header, 1 repeated byte) yields at most 128 KiB.
  constexpr std::uint64_t kLargestRatio = (std::uint64_t{128} << 10) / 4;
  std::uint64_t total = 0;
  for (std::size_t at = 0; at < compressed.size();) {
    const auto rest = compressed.subspan(at);
    const std::size_t length = ZSTD_findFrameCompressedSize(rest.data(), rest.size());
    const unsigned long long size = ZSTD_getFrameContentSize(rest.data(), rest.size());
    if (ZSTD_isError(length) != 0U || size == ZSTD_CONTENTSIZE_ERROR) {
      throw InputError(where, fmt::format("the zstd frame at byte {} is damaged or cut short", at),
                       kBrokenRemedy);
    }
    if (size == ZSTD_CONTENTSIZE_UNKNOWN) return std::nullopt;
    if (size / kLargestRatio > length) {
      throw InputError(where,
                       fmt::format("the zstd frame at byte {} declares {} bytes, which {} compressed bytes "
                                   "cannot hold",
                                   at, size, length),
                       kBrokenRemedy);
    }
    total += size;
    at += length;
  }
  return total;
}

// Frames without a declared size (written through a pipe): the buffer doubles as needed.
std::unique_ptr<ByteSource> decompress_stream(std::span<const std::uint8_t> compressed,
                                              const std::string& where, std::uint64_t limit) {
  const Decoder decoder(ZSTD_createDCtx());
  auto out = std::make_unique<HeapBytes>();
  ZSTD_inBuffer from{compressed.data(), compressed.size(), 0};
  std::size_t filled = 0;
  std::size_t pending = 0;
  do {
    if (filled == out->bytes().size()) {
      if (filled > limit) too_large(where, limit);
      const std::size_t wanted = std::max<std::size_t>(1 << 16, filled * 2);
      if (!out->resize(wanted)) no_memory(where, wanted);
    }
    ZSTD_outBuffer to{out->data(), out->bytes().size(), filled};
    pending = ZSTD_decompressStream(decoder.get(), &to, &from);
    if (ZSTD_isError(pending) != 0U) {
      throw InputError(where, fmt::format("byte {}: {}", from.pos, ZSTD_getErrorName(pending)),
                       kBrokenRemedy);
    }
    // All input is consumed, there is room for more output, and the frame has still not ended.
    if (from.pos == from.size && pending != 0 && to.pos < to.size) {
      throw InputError(where, "the compressed data ends in the middle of a frame", kBrokenRemedy);
    }
    filled = to.pos;
  } while (from.pos < from.size || pending != 0);
  if (filled > limit) too_large(where, limit);
  if (!out->resize(filled)) no_memory(where, filled);
  return out;
}

}  // namespace

std::unique_ptr<ByteSource> ByteSource::own(std::vector<std::uint8_t> bytes) {
  return std::make_unique<OwnedBytes>(std::move(bytes));
}

std::unique_ptr<ByteSource> ByteSource::open(const std::filesystem::path& path) {
  const std::string where = path.string();
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) fail_to_open(path, errno);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) fail(where, "cannot open", errno);
  if (S_ISDIR(status.st_mode)) fail(where, "cannot read", EISDIR);
  const auto size = static_cast<std::size_t>(status.st_size);
  if (S_ISREG(status.st_mode) && size > 0) {
    void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
    if (address != MAP_FAILED) return std::make_unique<MappedBytes>(address, size);
  }
  return read_all(file.get(), S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode), where);
}

bool is_zstd(std::span<const std::uint8_t> bytes) {
  if (bytes.size() < 4) return false;
  std::uint32_t magic = 0;
  std::memcpy(&magic, bytes.data(), 4);
  return magic == ZSTD_MAGICNUMBER || (magic & ZSTD_MAGIC_SKIPPABLE_MASK) == ZSTD_MAGIC_SKIPPABLE_START;
}

std::unique_ptr<ByteSource> decompress_zstd(std::span<const std::uint8_t> compressed,
                                            const std::string& where, std::uint64_t limit) {
  const std::optional<std::uint64_t> known = declared_size(compressed, where);
  if (!known) return decompress_stream(compressed, where, limit);
  const std::uint64_t declared = *known;
  if (declared > limit) too_large(where, limit);
  auto out = std::make_unique<HeapBytes>();
  if (!out->resize(declared)) no_memory(where, declared);
  const std::size_t got = ZSTD_decompress(out->data(), declared, compressed.data(), compressed.size());
  if (ZSTD_isError(got) != 0U) {
    throw InputError(where, fmt::format("decompression failed: {}", ZSTD_getErrorName(got)), kBrokenRemedy);
  }
  if (got != declared) {
    throw InputError(where, fmt::format("the zstd frame declares {} bytes and holds {}", declared, got),
                     kBrokenRemedy);
  }
  return out;
}

}  // namespace lacuna
