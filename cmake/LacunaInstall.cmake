# What `cmake --install` puts where: the program (component `program`) and the library (component `library`), which other
# projects find with find_package(lacuna) and link as lacuna::trace, lacuna::energy, lacuna::sim and lacuna::kernels.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/lacuna)

install(TARGETS lacuna RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)

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
