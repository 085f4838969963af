#!/usr/bin/env bash
# Verilates one top module into a static library. Called by CMake.
#   verilate.sh FOLDER PREFIX TOP PACKAGE [VERILATOR OPTION...]
# PACKAGE: the td_conn_pkg.sv to use. Writes FOLDER/PREFIX__ALL.a and FOLDER/PREFIX.h.
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
folder=$1 prefix=$2 top=$3 package=$4
shift 4
command -v ccache >/dev/null && export OBJCACHE=ccache
log=$folder/$prefix.log
mkdir -p -- "$folder"
# One compilation per top (VM_PARALLEL_BUILDS=0): reading Verilator's headers takes longer than compiling most of its files. A
# tile took 48 CPU seconds in 30 files and takes 7 in one.
# VERILATE_OPTIONS: for mutants. RTL_OPTIMIZE: -O0 compiles in a third of the time and runs four times slower.
if ! verilator --cc --build -j 1 -O3 --x-assign fast --x-initial unique --assert ${VERILATE_OPTIONS:-} -Wall --prefix "$prefix" \
  --Mdir "$folder" --top-module "$top" -CFLAGS "-std=c++20" -MAKEFLAGS "OPT_FAST=${RTL_OPTIMIZE:--O1} OPT_SLOW=-O0 VM_PARALLEL_BUILDS=0" \
  "$@" -y "$here/fp" -y "$here/tensordash" -y "$here/outer_product" -y "$here/layer" -y "$here/pkg" "$here/tb/tb_lint.vlt" "$package" "$here/pkg/outer_pkg.sv" "$here/pkg/td_layer_pkg.sv" \
  "$(ls "$here"/*/"$top".sv)" >"$log" 2>&1; then
  cat "$log" >&2
  exit 1
fi
