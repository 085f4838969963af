# Toolchain for 64-bit ARM: cmake --preset arm64, with the libraries that packaging/sysroot unpacks into
# build/arm64-sysroot (or $LACUNA_ARM64_SYSROOT). Programs that the build or ctest starts run under qemu-user.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(triplet aarch64-linux-gnu)
set(CMAKE_C_COMPILER ${triplet}-gcc)
set(CMAKE_CXX_COMPILER ${triplet}-g++)
set(CMAKE_LIBRARY_ARCHITECTURE ${triplet})

if(DEFINED ENV{LACUNA_ARM64_SYSROOT})
  set(CMAKE_SYSROOT $ENV{LACUNA_ARM64_SYSROOT})
else()
  set(CMAKE_SYSROOT ${CMAKE_CURRENT_LIST_DIR}/../build/arm64-sysroot)
endif()
get_filename_component(CMAKE_SYSROOT ${CMAKE_SYSROOT} REALPATH)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -L ${CMAKE_SYSROOT})

set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${CMAKE_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR} ${CMAKE_SYSROOT}/usr/lib/${triplet}/pkgconfig:${CMAKE_SYSROOT}/usr/share/pkgconfig)
# mpicxx of this machine compiles for this machine.
set(CMAKE_DISABLE_FIND_PACKAGE_MPI ON)
