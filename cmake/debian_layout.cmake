# Run by cpack between installing and packing: what Debian wants in another place or form than `cmake --install` has it.
# The license goes into a file `copyright`, the man page is compressed, each package has a Debian changelog, and zsh has a folder
# for packages.
file(GLOB trees LIST_DIRECTORIES ON ${CPACK_TEMPORARY_DIRECTORY}/*)
find_program(GZIP gzip REQUIRED)
set(packages_program lacuna)
set(packages_python python3-lacuna)
set(packages_library liblacuna-dev)
foreach(tree ${trees})
  cmake_path(GET tree FILENAME component)
  set(usr ${tree}/usr)
  if(NOT IS_DIRECTORY ${usr})
    continue()
  endif()
  set(doc ${usr}/share/doc/${packages_${component}})
  file(WRITE ${doc}/copyright
    "Lacuna\n\nCopyright (C) 2026 the Lacuna authors\n\nLicensed under the Apache License, Version 2.0. On Debian its text is in\n"
    "/usr/share/common-licenses/Apache-2.0.\n")
  file(REMOVE ${doc}/LICENSE)
  string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)  # that of SOURCE_DATE_EPOCH, if it is set
  file(WRITE ${doc}/changelog
    "lacuna (${CPACK_PACKAGE_VERSION}) unstable; urgency=low\n\n  * As CHANGELOG.md in the package lacuna says.\n\n"
    " -- ${CPACK_PACKAGE_CONTACT}  ${date}\n")
  file(GLOB compressed ${doc}/changelog ${usr}/share/man/man*/*.?)
  foreach(file ${compressed})
    execute_process(COMMAND ${GZIP} -9n ${file} COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
  if(EXISTS ${usr}/share/zsh/site-functions)
    file(RENAME ${usr}/share/zsh/site-functions ${usr}/share/zsh/vendor-completions)
  endif()
endforeach()
