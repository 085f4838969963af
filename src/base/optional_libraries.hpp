// Libraries that Lacuna also builds without (CMakeLists.txt, LACUNA_WITH_*), with fewer commands or files.
#pragma once

#include <array>
#include <string_view>

#include "base/error.hpp"

namespace lacuna {

struct OptionalLibrary {
  std::string_view name;
  std::string_view package;  // Debian's
  std::string_view use;      // what is missing without it
  bool present;
};

#if defined(LACUNA_WITHOUT_ONEDNN)
inline constexpr bool kHasOneDnn = false;
#else
inline constexpr bool kHasOneDnn = true;
#endif
#if defined(LACUNA_WITHOUT_OPENMP)
inline constexpr bool kHasOpenMp = false;
#else
inline constexpr bool kHasOpenMp = true;
#endif
#if defined(LACUNA_WITHOUT_SQLITE)
inline constexpr bool kHasSqlite = false;
#else
inline constexpr bool kHasSqlite = true;
#endif
#if defined(LACUNA_WITHOUT_ZSTD)
inline constexpr bool kHasZstd = false;
#else
inline constexpr bool kHasZstd = true;
#endif
#if defined(LACUNA_WITHOUT_JPEG)
inline constexpr bool kHasJpeg = false;
#else
inline constexpr bool kHasJpeg = true;
#endif

inline constexpr OptionalLibrary kOneDnn{"oneDNN", "libdnnl-dev", "demo, train, bench", kHasOneDnn};
inline constexpr OptionalLibrary kOpenMp{"OpenMP", "libgomp1", "more than one thread", kHasOpenMp};
inline constexpr OptionalLibrary kSqlite{"SQLite", "libsqlite3-dev", "sweep", kHasSqlite};
inline constexpr OptionalLibrary kZstd{"zstd", "libzstd-dev", "traces that end in .zst", kHasZstd};
inline constexpr OptionalLibrary kJpeg{"libjpeg", "libjpeg62-turbo-dev", "JPEG images to train on", kHasJpeg};
inline constexpr std::array kOptionalLibraries{kOneDnn, kOpenMp, kSqlite, kZstd, kJpeg};

// The error of what needs a library that is not there. `instead`: another way, ", or ..." of the remedy.
inline InputError missing_library(const OptionalLibrary& library, std::string_view where,
                                  std::string_view instead = "") {
  const std::string name(library.name);
  return {where, "this program was built without " + name,
          "install " + std::string(library.package) + " and build it again" + std::string(instead)};
}

}  // namespace lacuna
