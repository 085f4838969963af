# The one list of Debian packages, and how to get them. Sourced by ./run and .ci/run.

build_packages=(
  ca-certificates cmake g++ ninja-build pkg-config
  libbenchmark-dev libcli11-dev libdnnl-dev libfmt-dev libgtest-dev libjpeg62-turbo-dev libpng-dev libsqlite3-dev
  libyaml-cpp-dev libzstd-dev nettle-dev nlohmann-json3-dev zlib1g-dev
  ocl-icd-opencl-dev # the CMake file of libdnnl-dev asks for OpenCL, the package does not bring it
)
docs_packages=(mkdocs-material)
test_packages=(python3)
# What only some tests need, which are skipped without it: schemas, compressed traces, the documentation site, completions
# and the man page, the Python package installed by pip, its notebook, its type hints, texts for language models.
python_packages=(python3 python3-pip python3-setuptools python3-venv python3-wheel) # for ./run python
notebook_packages=(python3-ipykernel python3-nbclient)
optional_test_packages=(mypy python3-jsonschema python3-sentencepiece zstd "${docs_packages[@]}" fish groff-base zsh
  "${python_packages[@]}" "${notebook_packages[@]}")
web_packages=(nodejs npm)   # the page of --html
browser_packages=(chromium) # its tests
torch_packages=(python3-torch python3-torchvision) # half a gigabyte: only where no Python has torch
cluster_packages=(libopenmpi-dev openmpi-bin) # optional: `lacuna sweep` under mpirun; tests/sweep/slurm also needs slurm-wlm and munge
silicon_packages=(make opensta python3 python3-yaml qflow-tech-osu018 verilator yosys) # for ./run silicon; Verilator calls make
wheel_packages=(binutils patchelf) # for wheels and tarballs
old_system_packages=(debootstrap) # an older Debian to link wheels and tarballs against
arm64_packages=(debootstrap g++-aarch64-linux-gnu qemu-user-static) # to build for 64-bit ARM and run the result
packing_packages=(dpkg-dev file gzip) # for Debian packages
check_packages=(clang clang-format clang-tidy git libclang-rt-dev libomp-dev lld)

# install_packages NAME...: does nothing if all are there. Without the means to install, names them and exits with 2.
install_packages() {
  local missing=() name
  if command -v dpkg-query >/dev/null; then
    for name in "$@"; do
      [ "$(dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null || true)" = installed ] || missing+=("$name")
    done
    [ ${#missing[@]} -eq 0 ] && return
  elif command -v cmake >/dev/null && command -v ninja >/dev/null && command -v c++ >/dev/null; then
    return # not Debian: trust what is there; CMake names a library that is not
  else
    missing=("$@")
  fi

  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    if command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
      as_root=(sudo -n env DEBIAN_FRONTEND=noninteractive)
    else
      as_root=(no)
    fi
  fi
  if ! command -v apt-get >/dev/null || [ "${as_root[*]}" = no ]; then
    printf 'these packages (Debian 12 names) are missing and cannot be installed from here; install them and try again:\n  %s\n' \
      "${missing[*]}" >&2
    exit 2
  fi

  printf 'installing %s packages ...\n' "${#missing[@]}" >&2
  local log
  log=$(mktemp)
  export DEBIAN_FRONTEND=noninteractive
  # Waits for an apt that is at work already.
  if ! { "${as_root[@]}" apt-get update -qq &&
    "${as_root[@]}" apt-get -o DPkg::Lock::Timeout=300 install -y -qq --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
    cat "$log" >&2
    rm -f "$log"
    printf 'installing failed; these packages are needed: %s\n' "${missing[*]}" >&2
    exit 2
  fi
  rm -f "$log"
}

# install_web_packages [browser]: what bundles the page of --html, and what its tests open it with. A node from elsewhere is
# as good as Debian's; without the means to install, everything else goes on.
install_web_packages() {
  local wanted=()
  command -v node >/dev/null && command -v npm >/dev/null || wanted+=("${web_packages[@]}")
  [ "${1:-}" = browser ] && ! command -v chromium >/dev/null && wanted+=("${browser_packages[@]}")
  [ ${#wanted[@]} -eq 0 ] && return
  if ! command -v dpkg-query >/dev/null || ! (install_packages "${wanted[@]}"); then
    printf 'going on without %s: no --html, or no test of it\n' "${wanted[*]}" >&2
  fi
}

# install_test_packages: what the tests need beside the build. Where what only some need is missing and cannot be installed,
# those are skipped.
install_test_packages() {
  install_packages "${test_packages[@]}"
  install_web_packages browser
  if command -v dpkg-query >/dev/null && ! (install_packages "${optional_test_packages[@]}"); then
    printf 'going on without them; the tests that need them are skipped\n' >&2
  fi
  local python
  for python in ${PYTHON:+"$PYTHON"} python3 /usr/bin/python3; do
    "$python" -c 'import importlib.util as u, sys; sys.exit(u.find_spec("torch") is None)' 2>/dev/null && return
  done
  if command -v dpkg-query >/dev/null && ! (install_packages "${torch_packages[@]}"); then
    printf 'going on without PyTorch; the tests that need it are skipped\n' >&2
  fi
}
