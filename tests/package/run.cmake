# cmake -DBUILD=... -DSOURCE=... -DWORK=... -DFLAGS=... -DGENERATOR=... -DCOMPILER=... -P run.cmake: installs, builds the
# program with the tools that built the library (there may be no make), runs it.
function(step)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE failed OUTPUT_VARIABLE text ERROR_VARIABLE text)
  if(failed)
    message(FATAL_ERROR "${ARGN} failed (${failed}):\n${text}")
  endif()
endfunction()
file(REMOVE_RECURSE ${WORK})
step(${CMAKE_COMMAND} --install ${BUILD} --component kernels --prefix ${WORK}/prefix)
step(${CMAKE_COMMAND} -G ${GENERATOR} -S ${SOURCE} -B ${WORK}/build -DCMAKE_CXX_COMPILER=${COMPILER}
     -DCMAKE_PREFIX_PATH=${WORK}/prefix -DCMAKE_BUILD_TYPE=Release "-DCMAKE_CXX_FLAGS=${FLAGS}")
step(${CMAKE_COMMAND} --build ${WORK}/build)
step(${WORK}/build/user)
file(REMOVE_RECURSE ${WORK})
