# One target per folder; the link lines follow the direction of the dependencies.

add_library(lacuna_options INTERFACE)
target_compile_features(lacuna_options INTERFACE cxx_std_20)
target_compile_options(lacuna_options INTERFACE
  $<BUILD_INTERFACE:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wnon-virtual-dtor>)
if(LACUNA_WERROR)
  target_compile_options(lacuna_options INTERFACE $<BUILD_INTERFACE:-Werror>)
endif()
# Some files silence warnings that only GCC has.
target_compile_options(lacuna_options INTERFACE
  $<BUILD_INTERFACE:$<$<CXX_COMPILER_ID:Clang>:-Wno-unknown-warning-option>>)
# Multiply-adds that round once would give other digits than x86-64, whose baseline has none. Only kernels have them.
if(NOT LACUNA_X86)
  target_compile_options(lacuna_options INTERFACE $<BUILD_INTERFACE:-ffp-contract=off>)
endif()
# Guards of stacks and of the C library's copies, and symbols bound at the start. Each costs less than can be measured
# (docs/installing.md).
if(NOT LACUNA_SANITIZE)
  target_compile_definitions(lacuna_options INTERFACE $<BUILD_INTERFACE:$<$<CONFIG:Release>:_FORTIFY_SOURCE=2>>)
  target_compile_options(lacuna_options INTERFACE $<BUILD_INTERFACE:$<$<CONFIG:Release>:-fstack-protector-strong>>)
  target_link_options(lacuna_options INTERFACE $<BUILD_INTERFACE:-Wl,-z,relro,-z,now>)
endif()
target_compile_definitions(lacuna_options INTERFACE ${lacuna_without})
target_include_directories(lacuna_options INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>)
if(LACUNA_SANITIZE)
  target_compile_options(lacuna_options INTERFACE -fsanitize=${LACUNA_SANITIZE} -fno-sanitize-recover=all
                                                  -fno-omit-frame-pointer)
  target_link_options(lacuna_options INTERFACE -fsanitize=${LACUNA_SANITIZE})
  # A program starts in 61 ms instead of 74 without a million relocations, and tests start it a thousand times.
  target_link_options(lacuna_options INTERFACE $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-no-pie>)
  find_program(LACUNA_LLD ld.lld)
  if(LACUNA_LLD AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")  # half a second for the program instead of three and a half
    target_link_options(lacuna_options INTERFACE -fuse-ld=lld)
  endif()
  # Loops that are asked to be vectorised cannot be while every access is checked.
  target_compile_options(lacuna_options INTERFACE $<BUILD_INTERFACE:$<$<CXX_COMPILER_ID:Clang>:-Wno-pass-failed>>)
endif()

# With LACUNA_QUICK_BUILD the files of a target are compiled together, a dozen at a time, so that the headers and templates
# they share are compiled once.
function(lacuna_unity target)
  if(LACUNA_QUICK_BUILD)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 12)
  endif()
endfunction()

# lacuna_alone(a.cpp...): compiled separately, because another file has the same local name.
function(lacuna_alone)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# lacuna_oracle(a.cpp...): code that only computes expected results. Sanitizing it would find nothing in the code under
# test, and its plain loops would take most of the time of such a test.
function(lacuna_oracle)
  if(LACUNA_SANITIZE)
    lacuna_alone(${ARGN})
    set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS "-fno-sanitize=all;-O2" SKIP_PRECOMPILE_HEADERS ON)
  endif()
endfunction()

# lacuna_cold(TARGET LEVEL): code off every hot path, which every build waits for: less optimisation than -O3, and none
# with sanitizers (clang: 43 s at -O1, 18 s at -O0 for a dozen commands).
function(lacuna_cold target level)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:${level}>)
  if(LACUNA_SANITIZE)
    target_compile_options(${target} PRIVATE -O0)
  elseif(level STREQUAL "-O0")  # the guarded copies need an optimiser
    target_compile_options(${target} PRIVATE -U_FORTIFY_SOURCE)
  endif()
endfunction()

# lacuna_shareable(TARGET): also goes into liblacuna.so, which hides its symbols (src/capi).
function(lacuna_shareable target)
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON
                        CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
endfunction()

# Branch coverage of the code that fuzzers can reach. It takes a third of the time of compiling a library.
function(lacuna_coverage target)
  if(LACUNA_FUZZ)
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
endfunction()

# The headers that every library reads, compiled once per level of optimisation: 2 s less for each dozen files with GCC. With
# clang and sanitizers they are 3 % of the time.
if(LACUNA_QUICK_BUILD AND NOT LACUNA_SANITIZE)
  file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/headers.cpp CONTENT "// Carries the libraries' precompiled headers.\n")
  foreach(headers lacuna_headers lacuna_headers_cold)
    add_library(${headers} OBJECT ${PROJECT_BINARY_DIR}/headers.cpp)
    lacuna_shareable(${headers})
    target_link_libraries(${headers} PRIVATE lacuna_options OpenMP::OpenMP_CXX fmt::fmt nlohmann_json::nlohmann_json)
    target_precompile_headers(${headers} PRIVATE
      <algorithm> <array> <cmath> <filesystem> <fstream> <functional> <map> <memory> <optional> <set> <span> <string> <vector>
      <fmt/format.h>)
  endforeach()
  target_precompile_headers(lacuna_headers_cold PRIVATE <nlohmann/json.hpp>)
  target_compile_options(lacuna_headers_cold PRIVATE $<$<CONFIG:Release>:-O1>)
endif()

function(lacuna_precompiled target cold)
  if(TARGET lacuna_headers)
    set(headers lacuna_headers)
    if(cold)
      set(headers lacuna_headers_cold)
    endif()
    # They are made with fmt's definitions, which a target that does not use fmt has to have as well.
    target_compile_definitions(${target} PRIVATE $<TARGET_PROPERTY:fmt::fmt,INTERFACE_COMPILE_DEFINITIONS>)
    target_precompile_headers(${target} REUSE_FROM ${headers})
  endif()
endfunction()

# lacuna_sources(FOLDER SOURCES_VARIABLE TESTS_VARIABLE [EXCEPT REGEX...]): the .cpp files below FOLDER and their tests
# (*_test.cpp), without those of subfolders that have a CMakeLists.txt and without testing/.
function(lacuna_sources folder sources_variable tests_variable)
  cmake_parse_arguments(ARG "" "" "EXCEPT" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS RELATIVE ${folder} ${folder}/*.cpp)
  file(GLOB_RECURSE inner CONFIGURE_DEPENDS RELATIVE ${folder} ${folder}/*/CMakeLists.txt)
  foreach(list ${inner})
    get_filename_component(inner_folder ${list} DIRECTORY)
    list(FILTER sources EXCLUDE REGEX "^${inner_folder}/")
  endforeach()
  foreach(pattern "(^|/)testing/" ${ARG_EXCEPT})
    list(FILTER sources EXCLUDE REGEX ${pattern})
  endforeach()
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$")
  set(${sources_variable} ${sources} PARENT_SCOPE)
  set(${tests_variable} ${tests} PARENT_SCOPE)
endfunction()

# lacuna_library(NAME sim PUBLIC lacuna_tensor PRIVATE fmt::fmt [SOURCES a.cpp...] [EXCEPT REGEX...] [COLD] [NOT_FUZZED]
#                [SEPARATE])
# The files of this folder (lacuna_sources), or SOURCES. Their tests become one executable `NAME_test`. COLD: as
# lacuna_cold(TARGET -O1). NOT_FUZZED: no fuzzer calls it. SEPARATE: each file is compiled alone, for code whose speed is
# measured.
function(lacuna_library)
  cmake_parse_arguments(ARG "COLD;NOT_FUZZED;SEPARATE" "NAME" "SOURCES;PUBLIC;PRIVATE;TESTS;EXCEPT" ${ARGN})
  if(NOT ARG_SOURCES)
    lacuna_sources(${CMAKE_CURRENT_SOURCE_DIR} ARG_SOURCES ARG_TESTS EXCEPT ${ARG_EXCEPT})
  endif()
  add_library(lacuna_${ARG_NAME} STATIC ${ARG_SOURCES})
  lacuna_shareable(lacuna_${ARG_NAME})
  if(NOT ARG_SEPARATE)
    lacuna_unity(lacuna_${ARG_NAME})
    lacuna_precompiled(lacuna_${ARG_NAME} ${ARG_COLD})
    if(NOT ARG_NOT_FUZZED)
      lacuna_coverage(lacuna_${ARG_NAME})
    endif()
  endif()
  if(ARG_COLD)
    lacuna_cold(lacuna_${ARG_NAME} -O1)
  endif()
  target_link_libraries(lacuna_${ARG_NAME} PUBLIC lacuna_options ${ARG_PUBLIC} PRIVATE ${ARG_PRIVATE})
  if(LACUNA_TESTS AND ARG_TESTS)
    lacuna_test(NAME ${ARG_NAME}_test SOURCES ${ARG_TESTS} LIBRARIES lacuna_${ARG_NAME} ${ARG_PRIVATE})
  endif()
endfunction()

# lacuna_model(NAME ant): an accelerator, the files of this folder (lacuna_sources). Its objects go into the archive
# `lacuna_machines`, which programs link whole, through `lacuna_models`, because nothing refers to the static object that
# registers it. With LACUNA_MODEL_FOR_TESTS_ONLY only its own tests link it, and those that add the objects of
# `lacuna_model_NAME`.
function(lacuna_model)
  cmake_parse_arguments(ARG "" "NAME" "" ${ARGN})
  lacuna_sources(${CMAKE_CURRENT_SOURCE_DIR} ARG_SOURCES ARG_TESTS)
  add_library(lacuna_model_${ARG_NAME} OBJECT ${ARG_SOURCES})
  lacuna_shareable(lacuna_model_${ARG_NAME})
  lacuna_unity(lacuna_model_${ARG_NAME})
  lacuna_precompiled(lacuna_model_${ARG_NAME} OFF)
  target_link_libraries(lacuna_model_${ARG_NAME} PUBLIC lacuna_sim PRIVATE fmt::fmt)
  if(LACUNA_MODEL_FOR_TESTS_ONLY)
    set_target_properties(lacuna_model_${ARG_NAME} PROPERTIES EXCLUDE_FROM_ALL ON)
    set(own_objects $<TARGET_OBJECTS:lacuna_model_${ARG_NAME}>)
  else()
    set_property(GLOBAL APPEND PROPERTY LACUNA_MODEL_OBJECTS $<TARGET_OBJECTS:lacuna_model_${ARG_NAME}>)
    target_sources(lacuna_machines PRIVATE $<TARGET_OBJECTS:lacuna_model_${ARG_NAME}>)
  endif()
  if(LACUNA_TESTS AND ARG_TESTS)
    lacuna_test(NAME ${ARG_NAME}_test SOURCES ${ARG_TESTS} ${own_objects} LIBRARIES lacuna_models fmt::fmt COMPUTES)
  endif()
endfunction()

# The headers that every test reads, compiled once.
if(LACUNA_TESTS AND LACUNA_QUICK_BUILD)
  file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/test_headers.cpp CONTENT "// Carries the tests' precompiled headers.\n")
  foreach(level -O0 -O1)
    set(headers lacuna_test_headers${level})
    add_library(${headers} OBJECT ${PROJECT_BINARY_DIR}/test_headers.cpp)
    target_link_libraries(${headers} PRIVATE lacuna_options OpenMP::OpenMP_CXX fmt::fmt GTest::gtest)
    target_precompile_headers(${headers} PRIVATE
      <algorithm> <cmath> <filesystem> <fstream> <map> <memory> <optional> <set> <string> <vector>
      <fmt/format.h> <gtest/gtest.h>)
    set_target_properties(${headers} PROPERTIES EXCLUDE_FROM_ALL ON)
    lacuna_cold(${headers} ${level})
  endforeach()
endif()

# lacuna_test(NAME x SOURCES ... LIBRARIES ... [LABEL quick|slow] [COMPUTES] [OPTIMIZED]): a GoogleTest executable, one ctest
# entry per test. The libraries are optimised, the tests themselves are not (ten files of src/trace in 10 instead of 14 s),
# unless they compute much: COMPUTES a little, OPTIMIZED as the libraries.
# Tests run concurrently: threads that spin while they wait would take the cores from those they wait for.
function(lacuna_test)
  cmake_parse_arguments(ARG "COMPUTES;OPTIMIZED" "NAME;LABEL" "SOURCES;LIBRARIES" ${ARGN})
  if(NOT ARG_LABEL)
    set(ARG_LABEL quick)
  endif()
  add_executable(${ARG_NAME} ${ARG_SOURCES})
  target_link_libraries(${ARG_NAME} PRIVATE ${ARG_LIBRARIES} fmt::fmt GTest::gtest_main)
  target_compile_definitions(${ARG_NAME} PRIVATE LACUNA_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  if(NOT ARG_OPTIMIZED)
    set(level -O0)
    if(ARG_COMPUTES AND NOT LACUNA_SANITIZE)
      set(level -O1)
    endif()
    lacuna_unity(${ARG_NAME})
    lacuna_cold(${ARG_NAME} ${level})
    if(LACUNA_QUICK_BUILD)
      target_precompile_headers(${ARG_NAME} REUSE_FROM lacuna_test_headers${level})
    endif()
  endif()
  if(ARG_LABEL STREQUAL "slow" AND NOT LACUNA_SLOW_TESTS)
    set_target_properties(${ARG_NAME} PROPERTIES EXCLUDE_FROM_ALL ON)
    return()
  endif()
  # Slow ones first, so that none is left running alone at the end.
  set(cost 1)
  if(ARG_LABEL STREQUAL "slow")
    set(cost 10)
  endif()
  gtest_discover_tests(${ARG_NAME} TEST_PREFIX ${ARG_NAME}. NO_PRETTY_VALUES DISCOVERY_TIMEOUT 60
                       PROPERTIES LABELS ${ARG_LABEL} TIMEOUT 300 COST ${cost} ENVIRONMENT OMP_WAIT_POLICY=passive)
endfunction()
