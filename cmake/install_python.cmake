# Run by `cmake --install`: installs the Python package `source` below the prefix, into `python_dir` if one is given.
# Below /usr that is Debian's folder for every version of Python. Elsewhere it is a folder that python3 looks into, if one
# lies below the prefix (/usr/local, a virtual environment); else it has to be named by PYTHONPATH.
if(NOT python_dir)
  set(python_dir lib/python3/dist-packages)
  find_program(LACUNA_PYTHON3 python3)
  if(CMAKE_INSTALL_PREFIX STREQUAL "/usr")
    set(interpreters "")
  else()
    set(interpreters ${LACUNA_PYTHON3} /usr/bin/python3)
  endif()
  foreach(interpreter ${interpreters})
    set(folders "")
    execute_process(COMMAND ${interpreter} -c "import site; print(';'.join(site.getsitepackages()))"
      OUTPUT_VARIABLE folders OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE ignored)
    foreach(folder ${folders})
      cmake_path(IS_PREFIX CMAKE_INSTALL_PREFIX "${folder}" NORMALIZE below)
      if(below AND python_dir STREQUAL "lib/python3/dist-packages")
        cmake_path(RELATIVE_PATH folder BASE_DIRECTORY ${CMAKE_INSTALL_PREFIX} OUTPUT_VARIABLE python_dir)
      endif()
    endforeach()
  endforeach()
endif()
file(INSTALL ${source} DESTINATION ${CMAKE_INSTALL_PREFIX}/${python_dir} FILES_MATCHING
     PATTERN "*.py" PATTERN py.typed)
