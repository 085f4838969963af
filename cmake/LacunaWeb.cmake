# lacuna_web_page(VARIABLE): the page of `--html` (web/), bundled into one file of the build tree whose path goes into VARIABLE;
# empty where node or npm is missing. Packages are fetched at build time as web/package-lock.json names them. If that fails
# (no network) the file is empty, the program is built without the page and says so when it is asked for one. Configuring
# again tries again.
function(lacuna_web_page variable)
  set(${variable} "" PARENT_SCOPE)
  if(NOT LACUNA_WEB)
    return()
  endif()
  find_program(LACUNA_NODE node)
  find_program(LACUNA_NPM npm)
  mark_as_advanced(LACUNA_NODE LACUNA_NPM)
  if(NOT LACUNA_NODE OR NOT LACUNA_NPM)
    message(STATUS "node or npm not found: --html will not be available")
    return()
  endif()
  set(source ${PROJECT_SOURCE_DIR}/web)
  set(folder ${PROJECT_BINARY_DIR}/web)
  set(page ${folder}/report.html)
  if(EXISTS ${page})
    file(SIZE ${page} bytes)
    if(bytes EQUAL 0)
      file(REMOVE ${page})
    endif()
  endif()
  file(GLOB sources CONFIGURE_DEPENDS ${source}/src/*.ts ${source}/src/*/*.ts ${source}/src/*.css ${source}/src/*.html)
  add_custom_command(OUTPUT ${page}
    COMMAND ${CMAKE_COMMAND} -DNODE=${LACUNA_NODE} -DNPM=${LACUNA_NPM} -DSOURCE=${source} -DFOLDER=${folder} -DPAGE=${page}
            -P ${PROJECT_SOURCE_DIR}/cmake/web_page.cmake
    DEPENDS ${sources} ${PROJECT_SOURCE_DIR}/docs/assumptions.md ${source}/build.mjs ${source}/package.json ${source}/package-lock.json ${source}/.npmrc
            ${PROJECT_SOURCE_DIR}/cmake/web_page.cmake
    COMMENT "Bundling the report's page"
    VERBATIM)
  set(${variable} ${page} PARENT_SCOPE)
endfunction()
