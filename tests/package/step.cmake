# step(OUTPUT COMMAND...): runs a command, which must succeed, and keeps what it prints.
function(step output)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE failed OUTPUT_VARIABLE text ERROR_VARIABLE errors)
  if(failed)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command} failed (${failed}):\n${text}${errors}")
  endif()
  set(${output} "${text}" PARENT_SCOPE)
endfunction()
