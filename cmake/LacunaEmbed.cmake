# lacuna_embed(TARGET lacuna_train NAMESPACE lacuna::train FUNCTION embedded_models FILES a.yaml b.yaml)
# Puts files into the program as they are: `std::span<const EmbeddedFile> FUNCTION()` in NAMESPACE (`lacuna` by
# default) returns them, so nothing is looked up at run time. The assembler reads the files itself (.incbin), which
# is fast however large they are, unlike C++ source made of their bytes.
function(lacuna_embed)
  cmake_parse_arguments(ARG "" "TARGET;NAMESPACE;FUNCTION" "FILES" ${ARGN})
  if(NOT ARG_NAMESPACE)
    set(ARG_NAMESPACE lacuna)
  endif()
  set(blocks "")
  set(symbols "")
  set(entries "")
  set(index 0)
  foreach(file ${ARG_FILES})
    get_filename_component(path ${file} ABSOLUTE)
    get_filename_component(name ${file} NAME)
    set(symbol lacuna_${ARG_FUNCTION}_${index})
    string(APPEND blocks
      "asm(\".section .rodata,\\\"a\\\"\\n\"\n"
      "    \".balign 16\\n\"\n"
      "    \".global ${symbol}_begin\\n${symbol}_begin:\\n\"\n"
      "    \".incbin \\\"${path}\\\"\\n\"\n"
      "    \".global ${symbol}_end\\n${symbol}_end:\\n\"\n"
      "    \".byte 0\\n.previous\\n\");\n")
    string(APPEND symbols "extern \"C\" const char ${symbol}_begin[];\nextern \"C\" const char ${symbol}_end[];\n")
    string(APPEND entries "    {\"${name}\", {${symbol}_begin, ${symbol}_end}},\n")
    math(EXPR index "${index} + 1")
  endforeach()
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${ARG_FUNCTION}.cpp)
  if(entries)
    set(body "  static const EmbeddedFile files[] = {\n${entries}  };\n  return files;\n")
  else()
    set(body "  return {};\n")
  endif()
  file(GENERATE OUTPUT ${source} CONTENT
"// Made by lacuna_embed().
#include \"base/io/embedded_file.hpp\"
${blocks}${symbols}namespace ${ARG_NAMESPACE} {
std::span<const EmbeddedFile> ${ARG_FUNCTION}();
std::span<const EmbeddedFile> ${ARG_FUNCTION}() {
${body}}
}  // namespace ${ARG_NAMESPACE}
")
  # Compiled with others it would not be compiled again when a file changes.
  set_source_files_properties(${source} PROPERTIES OBJECT_DEPENDS "${ARG_FILES}" SKIP_UNITY_BUILD_INCLUSION ON)
  target_sources(${ARG_TARGET} PRIVATE ${source})
endfunction()
