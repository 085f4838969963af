# Run by `cmake --install`: copies the headers for users from `source` (src) to `staged`. In the tree they include each
# other as "sim/result.hpp"; installed as <lacuna/sim/result.hpp>, so that a user's include path gets one folder,
# `lacuna`, and none called `base` or `sim` that could hide the user's own.
set(folders base tensor trace energy sim)
list(TRANSFORM folders REPLACE "(.+)" "${source}/\\1/*.hpp" OUTPUT_VARIABLE patterns)
file(GLOB_RECURSE headers RELATIVE ${source} ${patterns})
list(APPEND headers kernels/conv.hpp)  # the others are the kernels' own
# Not for users: what tests share, headers that need yaml-cpp's or nlohmann's, and sums of files and tensors, which only
# the program needs.
list(FILTER headers EXCLUDE REGEX "(^|/)testing[/.]|^base/io/(sha256/|yaml/|safetensors|untrusted_json)|^energy/cost_reader\\.|^trace/format/trace_checksum\\.")

file(REMOVE_RECURSE ${staged})
list(JOIN folders "|" in_folders)
foreach(header ${headers})
  file(READ ${source}/${header} text)
  string(REGEX REPLACE "#include \"((${in_folders}|kernels)/[^\"\n]+)\"" "#include <lacuna/\\1>" text "${text}")
  file(WRITE ${staged}/${header} "${text}")
endforeach()
