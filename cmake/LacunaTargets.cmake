# One target a folder: the link lines are the dependency rules of STYLE, so a wrong #include does not build.

add_library(lacuna_options INTERFACE)
target_compile_features(lacuna_options INTERFACE cxx_std_20)
target_compile_options(lacuna_options INTERFACE
  $<BUILD_INTERFACE:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wnon-virtual-dtor;-Werror>)
# Some files silence warnings that only GCC has.
target_compile_options(lacuna_options INTERFACE
  $<BUILD_INTERFACE:$<$<CXX_COMPILER_ID:Clang>:-Wno-unknown-warning-option>>)
target_include_directories(lacuna_options INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src> $<INSTALL_INTERFACE:include/lacuna>)
if(LACUNA_SANITIZE)
  target_compile_options(lacuna_options INTERFACE -fsanitize=${LACUNA_SANITIZE} -fno-sanitize-recover=all
                                                  -fno-omit-frame-pointer)
  target_link_options(lacuna_options INTERFACE -fsanitize=${LACUNA_SANITIZE})
  # Loops that are asked to be vectorised cannot be while every access is checked.
  target_compile_options(lacuna_options INTERFACE $<BUILD_INTERFACE:$<$<CXX_COMPILER_ID:Clang>:-Wno-pass-failed>>)
endif()

# lacuna_library(NAME sim SOURCES a.cpp b.cpp PUBLIC lacuna_tensor PRIVATE fmt::fmt)
# Tests that live beside the code (*_test.cpp) become one executable `NAME_test`, unless the folder has none.
function(lacuna_library)
  cmake_parse_arguments(ARG "" "NAME" "SOURCES;PUBLIC;PRIVATE;TESTS" ${ARGN})
  add_library(lacuna_${ARG_NAME} STATIC ${ARG_SOURCES})
  target_link_libraries(lacuna_${ARG_NAME} PUBLIC lacuna_options ${ARG_PUBLIC} PRIVATE ${ARG_PRIVATE})
  if(LACUNA_TESTS AND ARG_TESTS)
    lacuna_test(NAME ${ARG_NAME}_test SOURCES ${ARG_TESTS} LIBRARIES lacuna_${ARG_NAME} ${ARG_PRIVATE})
  endif()
endfunction()

# lacuna_model(NAME ant SOURCES ... TESTS ...): an accelerator. It is an object library, so that its registration
# (a static object nobody names) is linked into every program that links `lacuna_models`.
function(lacuna_model)
  cmake_parse_arguments(ARG "" "NAME" "SOURCES;TESTS" ${ARGN})
  add_library(lacuna_model_${ARG_NAME} OBJECT ${ARG_SOURCES})
  target_link_libraries(lacuna_model_${ARG_NAME} PUBLIC lacuna_sim PRIVATE fmt::fmt)
  target_link_libraries(lacuna_models INTERFACE lacuna_model_${ARG_NAME} $<TARGET_OBJECTS:lacuna_model_${ARG_NAME}>)
  if(LACUNA_TESTS AND ARG_TESTS)
    lacuna_test(NAME ${ARG_NAME}_test SOURCES ${ARG_TESTS} LIBRARIES lacuna_models fmt::fmt)
  endif()
endfunction()

# lacuna_test(NAME x SOURCES ... LIBRARIES ... [LABEL quick|slow]): a GoogleTest executable, one ctest entry a test.
# Tests run beside each other: threads that spin while they wait would take the cores from those they wait for.
function(lacuna_test)
  cmake_parse_arguments(ARG "" "NAME;LABEL" "SOURCES;LIBRARIES" ${ARGN})
  if(NOT ARG_LABEL)
    set(ARG_LABEL quick)
  endif()
  add_executable(${ARG_NAME} ${ARG_SOURCES})
  target_link_libraries(${ARG_NAME} PRIVATE ${ARG_LIBRARIES} GTest::gtest_main)
  target_compile_definitions(${ARG_NAME} PRIVATE LACUNA_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  gtest_discover_tests(${ARG_NAME} TEST_PREFIX ${ARG_NAME}. NO_PRETTY_VALUES DISCOVERY_TIMEOUT 60
                       PROPERTIES LABELS ${ARG_LABEL} TIMEOUT 300 ENVIRONMENT OMP_WAIT_POLICY=passive)
endfunction()
