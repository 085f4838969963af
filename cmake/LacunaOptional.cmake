# Libraries that Lacuna also builds without: LACUNA_WITH_NAME=OFF leaves one out, and one that is not found is left out, too.
# Then LACUNA_NAME is off and the code has LACUNA_WITHOUT_NAME, from which src/base/optional_libraries.hpp says what is missing.
# A macro: the variables and targets of find_package() are those of the caller.
set(lacuna_without "")
macro(lacuna_optional name library package found find)
  option(LACUNA_WITH_${name} "Use ${library} where it is found" ON)
  set(LACUNA_${name} OFF)
  if(LACUNA_WITH_${name})
    cmake_language(CALL ${find} ${ARGN})
    if(${found})
      set(LACUNA_${name} ON)
    endif()
  endif()
  if(NOT LACUNA_${name})
    message(STATUS "without ${library} (${package}): 'lacuna version' lists what is missing")
    list(APPEND lacuna_without LACUNA_WITHOUT_${name})
  endif()
endmacro()

lacuna_optional(ONEDNN oneDNN libdnnl-dev dnnl_FOUND find_package dnnl)
lacuna_optional(OPENMP OpenMP libgomp1 OpenMP_CXX_FOUND find_package OpenMP COMPONENTS CXX)
lacuna_optional(SQLITE SQLite libsqlite3-dev SQLite3_FOUND find_package SQLite3)
lacuna_optional(ZSTD zstd libzstd-dev zstd_FOUND pkg_check_modules zstd IMPORTED_TARGET libzstd)
lacuna_optional(JPEG libjpeg libjpeg62-turbo-dev JPEG_FOUND find_package JPEG)

# Nothing in the place of a target that libraries link.
if(NOT LACUNA_OPENMP)
  add_library(OpenMP::OpenMP_CXX INTERFACE IMPORTED)
  set_target_properties(OpenMP::OpenMP_CXX PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES ${CMAKE_CURRENT_LIST_DIR}/without_openmp
    INTERFACE_COMPILE_OPTIONS "-Wno-unknown-pragmas;-Wno-unused-parameter;-Wno-unused-variable")
endif()
foreach(target DNNL::dnnl PkgConfig::zstd JPEG::JPEG)
  if(NOT TARGET ${target})
    add_library(${target} INTERFACE IMPORTED)
  endif()
endforeach()
