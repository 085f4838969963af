# Targets lacuna_portable and lacuna_shared_portable: the program and liblacuna.so once more, from the same objects, linked for
# Linux systems as old as the one in LACUNA_OLD_SYSTEM (packaging/sysroot). Wheels and tarballs hold these.
set(LACUNA_OLD_SYSTEM "" CACHE PATH "An unpacked older Debian to link wheels and tarballs against (packaging/sysroot)")
if(NOT IS_DIRECTORY "${LACUNA_OLD_SYSTEM}")
  return()
endif()
set(packaging ${PROJECT_SOURCE_DIR}/packaging)

add_library(lacuna_old_system OBJECT ${packaging}/portable/fmt.cpp ${packaging}/portable/glibc.cpp)
lacuna_shareable(lacuna_old_system)
target_link_libraries(lacuna_old_system PRIVATE lacuna_options fmt::fmt)

# What oneDNN, which is packaged as a shared library alone, asks of newer C and C++ runtimes.
add_library(lacuna_runtime SHARED ${packaging}/portable/glibc.cpp)
target_link_libraries(lacuna_runtime PRIVATE lacuna_options)
target_link_options(lacuna_runtime PRIVATE
  LINKER:--version-script=${packaging}/portable/runtime.map LINKER:--undefined=_ZSt28__throw_bad_array_new_lengthv
  LINKER:--undefined=_ZNSt15__exception_ptr13exception_ptr9_M_addrefEv)

add_executable(lacuna_portable $<TARGET_OBJECTS:lacuna> $<TARGET_OBJECTS:lacuna_old_system>)
set_target_properties(lacuna_portable PROPERTIES OUTPUT_NAME lacuna)
target_link_options(lacuna_portable PRIVATE LINKER:--exclude-libs,ALL)  # oneDNN has a C++ runtime of its own
add_library(lacuna_shared_portable SHARED $<TARGET_OBJECTS:lacuna_shared> $<TARGET_OBJECTS:lacuna_old_system>)
set_target_properties(lacuna_shared_portable PROPERTIES OUTPUT_NAME lacuna SOVERSION 2)

foreach(target lacuna lacuna_shared)
  get_target_property(libraries ${target} LINK_LIBRARIES)
  get_target_property(options ${target} LINK_OPTIONS)
  target_link_libraries(${target}_portable PRIVATE ${libraries})
  if(options)
    target_link_options(${target}_portable PRIVATE ${options})
  endif()
endforeach()
foreach(target lacuna_portable lacuna_shared_portable lacuna_runtime)
  set_target_properties(${target} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/portable/bin LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/portable/lib
    RULE_LAUNCH_LINK "${packaging}/portable/link ${LACUNA_OLD_SYSTEM}")
endforeach()
