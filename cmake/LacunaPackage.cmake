# `cpack --config build/release/CPackConfig.cmake` (or `./run package`): Debian packages.
#   lacuna           the program with its manual, completions, documents and traces
#   liblacuna-dev    the library: headers, archives, CMake package, examples
#   python3-lacuna   the package for PyTorch users
# What the program needs is read from the program (dpkg-shlibdeps).
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME lacuna)
set(CPACK_PACKAGE_CONTACT "The Lacuna authors <lacuna@localhost>" CACHE STRING "Maintainer in the Debian packages")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "what skipping zeros gives in neural-network training")
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/debian_layout.cmake)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL program data python library)
# program and data share a package.
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_COMPONENT_PROGRAM_GROUP program)
set(CPACK_COMPONENT_DATA_GROUP program)
set(CPACK_COMPONENT_PYTHON_GROUP python)
set(CPACK_COMPONENT_LIBRARY_GROUP library)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME lacuna)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SUGGESTS "liblacuna-dev, python3-lacuna")
set(CPACK_DEBIAN_PROGRAM_DESCRIPTION
"Most numbers that flow through a neural network while it trains are zeros.
Lacuna simulates accelerators that skip them (TensorDash, ANT and others) on
recorded training steps, and has CPU kernels that skip them, to be measured on
this machine. 'lacuna demo' needs nothing else.")

set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-lacuna)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
set(CPACK_DEBIAN_PYTHON_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "python3, python3-torch, lacuna (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_PYTHON_PACKAGE_SUGGESTS "python3-pandas, zstd")
set(CPACK_DEBIAN_PYTHON_DESCRIPTION
"For PyTorch: lacuna.capture() records the operands of a training step,
lacuna.simulate() puts accelerators on it, lacuna.Profiler() does both while a
training runs.")

set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME liblacuna-dev)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_DEPENDS
  "libfmt-dev, libyaml-cpp-dev, libzstd-dev, libdnnl-dev, ocl-icd-opencl-dev, pkg-config")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SUGGESTS "cmake (>= 3.24), lacuna")
set(CPACK_DEBIAN_LIBRARY_DESCRIPTION
"The library: headers, static archives and a CMake package. find_package(lacuna)
gives lacuna::trace, lacuna::energy, lacuna::sim and lacuna::kernels.")
include(CPack)
