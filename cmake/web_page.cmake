# Fetches the packages of web/ into FOLDER and bundles PAGE; an empty PAGE where that cannot be done. See LacunaWeb.cmake.
file(MAKE_DIRECTORY ${FOLDER})
function(give_up step output)
  string(STRIP "${output}" output)
  string(REGEX REPLACE "\n.*" "" first "${output}")
  message(NOTICE "the report's page is left out, --html will say so: ${step}: ${first}")
  file(WRITE ${PAGE} "")
endfunction()

# Only where they changed: a change of the page alone needs no network.
file(READ ${SOURCE}/package-lock.json lock)
string(SHA256 wanted "${lock}")
set(there "")
if(EXISTS ${FOLDER}/packages.sha256)
  file(READ ${FOLDER}/packages.sha256 there)
endif()
if(NOT there STREQUAL wanted)
  file(COPY ${SOURCE}/package.json ${SOURCE}/package-lock.json ${SOURCE}/.npmrc DESTINATION ${FOLDER})
  execute_process(
    COMMAND ${NPM} ci --omit=dev --prefer-offline --no-progress --loglevel=error --fetch-retries=1 --fetch-timeout=30000
    WORKING_DIRECTORY ${FOLDER} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    give_up("npm could not fetch the packages" "${output}")
    return()
  endif()
  file(WRITE ${FOLDER}/packages.sha256 "${wanted}")
endif()
execute_process(COMMAND ${NODE} ${SOURCE}/build.mjs ${PAGE} ${FOLDER}
  RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(NOT status EQUAL 0)
  # Packages of another version of node or another processor, or a mistake in the page.
  message(FATAL_ERROR "bundling the report's page failed:\n${output}")
endif()
