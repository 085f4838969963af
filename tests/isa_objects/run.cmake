# cmake -DNM=nm -DOBJECTS=a.o,b.o -P run.cmake
# The objects compiled for an instruction set beyond the baseline must keep it to themselves. The linker keeps one copy of
# an inline function or template that several objects define: if it is the one compiled for AVX-512, the whole program
# needs AVX-512. And what runs before main(), or to decide which kernel to call, must run on any CPU.
# So these objects define no weak symbol, have no static initialiser, and call nothing but the C library's memory functions
# (a check of the CPU or a guarded static would show up as a call).
string(REPLACE "," ";" objects "${OBJECTS}")
set(checked 0)
foreach(object ${objects})
  if(NOT object MATCHES "avx[0-9]+[^/]*$")
    continue()
  endif()
  execute_process(COMMAND ${NM} -P ${object} OUTPUT_VARIABLE symbols RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "${NM} ${object} failed")
  endif()
  math(EXPR checked "${checked} + 1")
  string(REGEX MATCHALL "[^\n]+" lines "${symbols}")
  foreach(line ${lines})
    string(REGEX MATCH "^([^ ]+) ([A-Za-z])" _ "${line}")
    set(name "${CMAKE_MATCH_1}")
    set(type "${CMAKE_MATCH_2}")
    if(name MATCHES "^(DW[.]ref[.])?__gxx_personality_v0$")  # unwind tables of an unoptimised build: data, not code
      continue()
    elseif(type MATCHES "[WVu]")
      message(SEND_ERROR "${object}: ${name} is weak: the linker may keep this copy for the whole program")
    elseif(name MATCHES "_GLOBAL__sub_I_|__cxx_global_var_init")
      message(SEND_ERROR "${object}: ${name} runs before main(), on any CPU")
    elseif(type MATCHES "[Uw]" AND NOT name MATCHES "^(memcpy|memset|memmove|__stack_chk_fail|_GLOBAL_OFFSET_TABLE_)$")
      message(SEND_ERROR "${object}: ${name} is used from outside; move what needs it to a file compiled for any CPU")
    endif()
  endforeach()
endforeach()
if(checked LESS 4)
  message(FATAL_ERROR "${checked} objects checked, 4 expected: ${OBJECTS}")
endif()
