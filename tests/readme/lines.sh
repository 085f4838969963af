# What the tests of documents share, to be sourced: a folder that looks like a clone, a Python with torch, the options of commands.

root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
failed=0 ran=0 left_out=0

# enter_clone PROGRAM: into a new folder with everything of the repository but its builds, where `lacuna` is the program.
enter_clone() {
  local program entry work
  program=$(readlink -f -- "$1")
  work=$(mktemp -d)
  # shellcheck disable=SC2064 # this folder, whatever the variable is later
  trap "rm -rf -- '$work'" EXIT
  cd -- "$work" || exit 1
  for entry in "$root"/*; do
    [ "${entry##*/}" = build ] || ln -s -- "$entry" .
  done
  mkdir -p build/release/bin && ln -s -- "$program" build/release/bin/lacuna
  export PATH=$work/build/release/bin:$PATH HOME=$work PYTHONPATH=$root/python PYTHONDONTWRITEBYTECODE=1
}

# find_torch: $python is the first Python that has it, or empty.
find_torch() {
  local candidate
  python=
  for candidate in ${PYTHON:+"$PYTHON"} python3 /usr/bin/python3; do
    "$candidate" -c 'import importlib.util as u, sys; sys.exit(u.find_spec("torch") is None)' 2>/dev/null || continue
    python=$candidate
    return
  done
}

fail() { echo "FAILED: $1"; sed 's/^/    /' output; failed=1; }

# check_options LINE: each --option of a call of lacuna is one of that command.
declare -A helps=()
check_options() {
  local word command
  command=$(cut -d ' ' -f 2 <<<"$1")
  # These have subcommands: `arch area`, `bench layers`, `sweep best`.
  if [[ $1 =~ ^lacuna\ (arch|bench|sweep)\ [a-z]+(\ |$) ]]; then command=$(cut -d ' ' -f 2,3 <<<"$1"); fi
  if [ -z "${helps[$command]:-}" ]; then
    # shellcheck disable=SC2086 # `arch area` is two words
    helps[$command]=$(lacuna $command --help 2>output) || { fail "$1"; return; }
  fi
  for word in $(grep -oE -- '(^|[ []|\()--[a-z-]+' <<<"$1" | tr -d ' [('); do
    grep -qE -- "^  (-.,)? *$word( |$)" <<<"${helps[$command]}" || { echo "no option $word" >output; fail "$1"; }
  done
}
