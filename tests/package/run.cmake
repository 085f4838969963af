# cmake -DROOT=... -DBUILD=... -DWORK=... -DFLAGS=... -DGENERATOR=... -DCOMPILER=... -DLAUNCHER=... -P run.cmake
# Installs what BUILD holds into a folder of its own and checks what is there, builds examples/ and this folder against it as a
# user would, with the tools that built the library (there may be no make), runs the programs, checks what they print, and
# uninstalls.
include(${CMAKE_CURRENT_LIST_DIR}/step.cmake)
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})
set(prefix ${WORK}/prefix)

# The list of installed files is this test's; that of an installation from this build is put back.
set(manifest ${BUILD}/install_manifest.txt)
if(EXISTS ${manifest})
  file(RENAME ${manifest} ${WORK}/manifest_before.txt)
endif()
step(ignored ${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix})
file(RENAME ${manifest} ${WORK}/install_manifest.txt)
if(EXISTS ${WORK}/manifest_before.txt)
  file(RENAME ${WORK}/manifest_before.txt ${manifest})
endif()

# Program, man page, completions, license, documents, data, Python package, library, examples.
foreach(file bin/lacuna share/man/man1/lacuna.1 share/bash-completion/completions/lacuna share/zsh/site-functions/_lacuna
             share/fish/vendor_completions.d/lacuna.fish share/doc/lacuna/LICENSE share/doc/lacuna/docs/output.md
             share/lacuna/data/README.md lib/python3/dist-packages/lacuna/_capture.py include/lacuna/trace/trace.hpp
             share/lacuna/examples/CMakeLists.txt)
  file(GLOB found ${prefix}/${file})
  if(NOT found)
    message(FATAL_ERROR "${file} is not installed")
  endif()
  file(SIZE ${found} size)
  if(size LESS 100)
    message(FATAL_ERROR "${found} is installed, but holds ${size} bytes")
  endif()
endforeach()
# The installed program writes the man page that lies beside it.
step(page ${prefix}/bin/lacuna help --man)
file(READ ${prefix}/share/man/man1/lacuna.1 installed_page)
if(NOT page STREQUAL installed_page)
  message(FATAL_ERROR "the installed man page is not that of the installed program")
endif()
# One version everywhere.
step(version ${prefix}/bin/lacuna version)
string(REGEX MATCH "[0-9.]+" version "${version}")
file(READ ${prefix}/lib/python3/dist-packages/lacuna/__init__.py python)
file(READ ${ROOT}/python/pyproject.toml pyproject)
if(NOT python MATCHES "__version__ = \"${version}\"" OR NOT pyproject MATCHES "\nversion = \"${version}\"")
  message(FATAL_ERROR "the program is version ${version}, the Python package is not")
endif()
# The traces that README.md names are installed.
file(READ ${ROOT}/README.md readme)
string(REGEX MATCHALL "data/[a-z0-9_]+\\.safetensors\\.zst" traces "${readme}")
if(NOT traces)
  message(FATAL_ERROR "README.md names no traces")
endif()
foreach(trace ${traces})
  if(NOT EXISTS ${prefix}/share/lacuna/${trace})
    message(FATAL_ERROR "README.md names ${trace}, which is not installed")
  endif()
endforeach()

# Our warnings are not the user's, and no path of this tree is left.
file(GLOB_RECURSE package_files ${prefix}/lib*/cmake/lacuna/*.cmake)
if(NOT package_files)
  message(FATAL_ERROR "no CMake package was installed")
endif()
foreach(file ${package_files})
  file(READ ${file} text)
  if(text MATCHES "-Wall|-Werror")
    message(FATAL_ERROR "${file} passes ${CMAKE_MATCH_0} on to users")
  endif()
  string(FIND "${text}" "${ROOT}" at)
  if(NOT at EQUAL -1)
    message(FATAL_ERROR "${file} refers to ${ROOT}")
  endif()
endforeach()

# One project, so that the compiler is looked for once; examples/ is a project of its own in it.
if(NOT readme MATCHES "```cmake\n([^`]+)```")
  message(FATAL_ERROR "README.md shows no lines for a CMakeLists.txt")
endif()
file(WRITE ${WORK}/readme.cmake "${CMAKE_MATCH_1}")
string(STRIP "${FLAGS} -Wall -Wextra -Wpedantic -Werror" flags)
step(ignored ${CMAKE_COMMAND} -G ${GENERATOR} -S ${ROOT}/tests/package -B ${WORK}/build -DCMAKE_CXX_COMPILER=${COMPILER}
     -DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER} -DCMAKE_PREFIX_PATH=${prefix} "-DCMAKE_CXX_FLAGS=${flags}" -DROOT=${ROOT} -DREADME_CMAKE=${WORK}/readme.cmake)
step(ignored ${CMAKE_COMMAND} --build ${WORK}/build)

# The examples print what their README shows, and stay short.
file(READ ${ROOT}/examples/README.md readme)
set(trace ${ROOT}/data/alexnet_p100.safetensors.zst)
set(arguments_of_zeros ${trace})
set(arguments_of_design_point ${trace})
set(arguments_of_own_machine ${trace})
foreach(program zeros design_point own_machine kernel)
  step(output ${WORK}/build/examples/${program} ${arguments_of_${program}})
  string(FIND "${readme}" "${output}" at)
  if(output STREQUAL "" OR at EQUAL -1)
    message(FATAL_ERROR "examples/README.md does not show what ${program} prints:\n${output}")
  endif()
  file(READ ${ROOT}/examples/${program}.cpp text)
  string(REGEX MATCHALL "\n" lines "${text}")
  list(LENGTH lines count)
  if(count GREATER 40)
    message(FATAL_ERROR "examples/${program}.cpp has ${count} lines; keep examples to 40")
  endif()
endforeach()

# A user's program has the machines that the program has.
step(machines ${WORK}/build/mine)
step(json ${prefix}/bin/lacuna arch list --json)
set(expected "")
string(JSON count LENGTH "${json}" machines)
math(EXPR last "${count} - 1")
foreach(index RANGE ${last})
  string(JSON kind GET "${json}" machines ${index} kind)
  string(JSON name GET "${json}" machines ${index} name)
  if(kind STREQUAL "model")
    string(APPEND expected "${name}\n")
  endif()
endforeach()
if(NOT machines STREQUAL expected OR NOT machines MATCHES "tensordash")
  message(FATAL_ERROR "lacuna::sim brings these machines:\n${machines}the program has:\n${expected}")
endif()

# Uninstalled, no file is left and no folder of ours; what is not ours stays.
file(WRITE ${prefix}/share/lacuna/data/mine.txt "kept")
step(ignored ${CMAKE_COMMAND} -DMANIFEST=${WORK}/install_manifest.txt -P ${ROOT}/cmake/uninstall.cmake)
file(GLOB_RECURSE left LIST_DIRECTORIES ON RELATIVE ${prefix} ${prefix}/*)
list(FILTER left INCLUDE REGEX "lacuna")
list(SORT left)
if(NOT left STREQUAL "share/lacuna;share/lacuna/data;share/lacuna/data/mine.txt")
  message(FATAL_ERROR "uninstalling leaves: ${left}")
endif()

file(REMOVE_RECURSE ${WORK})
