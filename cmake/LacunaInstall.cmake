# The files that `cmake --install` installs, by component:
#   program  the program, its man page, completions for bash, zsh and fish, the license and the documents; liblacuna.so,
#            which the Python package loads
#   data     a few small traces to try it on
#   python   the package for PyTorch users
#   library  what other projects find with find_package(lacuna) and link as lacuna::trace, lacuna::energy, lacuna::sim and
#            lacuna::kernels, the header of liblacuna.so (<lacuna/lacuna.h>), and the examples
# `ninja uninstall` removes it again, `cpack` makes Debian packages of it (LacunaPackage.cmake).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/lacuna)
set(zsh_dir ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
set(fish_dir ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
set(bash_dir ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)

install(TARGETS lacuna RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
install(TARGETS lacuna_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT program NAMELINK_COMPONENT library)
install(FILES ${PROJECT_SOURCE_DIR}/src/capi/lacuna.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/lacuna COMPONENT library)

# The module that runs `lacuna sweep` under mpirun, where the program looks for it. It is not packaged, because it would
# pull in all of OpenMPI.
if(TARGET lacuna_mpi)
  install(TARGETS lacuna_mpi LIBRARY DESTINATION lib/lacuna COMPONENT mpi)
endif()

# The program itself writes what is said about it, so none of that can differ from what it does.
set(manual ${PROJECT_BINARY_DIR}/manual)
set(manual_files lacuna.1 lacuna.bash _lacuna lacuna.fish)
list(TRANSFORM manual_files PREPEND ${manual}/)
add_custom_command(OUTPUT ${manual_files}
  COMMAND ${CMAKE_COMMAND} -E make_directory ${manual}
  COMMAND lacuna help --man > ${manual}/lacuna.1
  COMMAND lacuna help --completion bash > ${manual}/lacuna.bash
  COMMAND lacuna help --completion zsh > ${manual}/_lacuna
  COMMAND lacuna help --completion fish > ${manual}/lacuna.fish
  DEPENDS lacuna VERBATIM COMMENT "Man page and completions")
add_custom_target(lacuna_manual ALL DEPENDS ${manual_files})
install(FILES ${manual}/lacuna.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT program)
install(FILES ${manual}/lacuna.bash DESTINATION ${bash_dir} RENAME lacuna COMPONENT program)
install(FILES ${manual}/_lacuna DESTINATION ${zsh_dir} COMPONENT program)
install(FILES ${manual}/lacuna.fish DESTINATION ${fish_dir} COMPONENT program)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/CHANGELOG.md
        DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program
        PATTERN site EXCLUDE)  # what makes the documentation site

# The traces that README.md and examples/ use, by the names they have in the repository.
set(traces alexnet_p100 gcn_p100 resnet18_p100 snli_p100 squeezenet_p100)
list(TRANSFORM traces REPLACE "(.+)" "${PROJECT_SOURCE_DIR}/data/\\1.safetensors.zst")
install(FILES ${traces} ${PROJECT_SOURCE_DIR}/data/README.md DESTINATION ${CMAKE_INSTALL_DATADIR}/lacuna/data COMPONENT data)

# Where Python looks depends on the prefix, which is known only while installing.
set(LACUNA_PYTHON_DIR "" CACHE STRING
  "Folder below the prefix for the Python package; empty: where python3 looks below the prefix, else lib/python3/dist-packages")
install(CODE "set(source \"${PROJECT_SOURCE_DIR}/python/lacuna\")\nset(python_dir \"${LACUNA_PYTHON_DIR}\")" COMPONENT python)
install(SCRIPT ${CMAKE_CURRENT_LIST_DIR}/install_python.cmake COMPONENT python)

# lacuna::sim is what our own programs link, so that it brings every machine; the archive without them is sim_core.
set(libraries options base yaml tensor trace energy outer_product machines kernels)
foreach(name ${libraries})
  set_target_properties(lacuna_${name} PROPERTIES EXPORT_NAME ${name})
endforeach()
set_target_properties(lacuna_sim PROPERTIES EXPORT_NAME sim_core)
set_target_properties(lacuna_models PROPERTIES EXPORT_NAME sim)
list(TRANSFORM libraries PREPEND lacuna_)
install(TARGETS ${libraries} lacuna_sim lacuna_models EXPORT lacuna
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT lacuna NAMESPACE lacuna:: FILE lacuna-targets.cmake DESTINATION ${package_dir} COMPONENT library)

# The first script writes the headers as they are installed, the second rule copies them.
set(staged_headers ${PROJECT_BINARY_DIR}/installed_headers)
install(CODE "set(source \"${PROJECT_SOURCE_DIR}/src\")\nset(staged \"${staged_headers}\")" COMPONENT library)
install(SCRIPT ${CMAKE_CURRENT_LIST_DIR}/stage_headers.cmake COMPONENT library)
install(DIRECTORY ${staged_headers}/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/lacuna COMPONENT library)

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/lacuna-config.cmake.in
  ${CMAKE_CURRENT_BINARY_DIR}/lacuna-config.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/lacuna-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/lacuna-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/lacuna-config-version.cmake
        DESTINATION ${package_dir} COMPONENT library)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/examples DESTINATION ${CMAKE_INSTALL_DATADIR}/lacuna COMPONENT library)

if(PROJECT_IS_TOP_LEVEL)
  add_custom_target(uninstall
    COMMAND ${CMAKE_COMMAND} -DMANIFEST=${CMAKE_BINARY_DIR}/install_manifest.txt -P ${CMAKE_CURRENT_LIST_DIR}/uninstall.cmake
    VERBATIM COMMENT "Removing what was installed")
  include(LacunaPackage)
endif()
