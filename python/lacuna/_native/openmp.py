"""One OpenMP runtime per process.

In a wheel, liblacuna.so.2 and oneDNN name no OpenMP runtime to load: they use one that the process has. With two, each would
keep its own threads, and those that spin while they wait would take the cores from the others.
"""

import ctypes
import glob
import importlib.util
import os
from typing import List, Optional

# GCC's runtime and those that offer its interface: LLVM's, Intel's.
_NAMES = ("libgomp", "libiomp5", "libomp")


def _is_runtime(path: str) -> bool:
    name = os.path.basename(path)
    return ".so" in name and name.startswith(tuple(prefix + end for prefix in _NAMES for end in (".", "-")))


def _in_process() -> Optional[str]:
    """The file of a runtime that is loaded."""
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
            paths = {line.split(maxsplit=5)[-1].strip() for line in maps if "/" in line}
    except OSError:
        return None
    return next((path for path in sorted(paths) if _is_runtime(path)), None)


def _of_torch() -> List[str]:
    """The runtimes that PyTorch brings and would load when it is imported."""
    try:
        torch = importlib.util.find_spec("torch")
    except (ImportError, ValueError):
        return []
    if torch is None or torch.origin is None:
        return []
    folder = os.path.dirname(torch.origin)
    inside = glob.glob(os.path.join(glob.escape(folder), "lib", "*.so*")) + glob.glob(
        os.path.join(glob.escape(folder + ".libs"), "*.so*")
    )
    return sorted(path for path in inside if _is_runtime(path))


def load_for(library: str) -> None:
    """Make a runtime's functions visible to `library`, if it is one of a wheel."""
    own = os.path.join(os.path.dirname(library), "libgomp.so.1")
    if not os.path.exists(own):
        return  # it loads its own
    for path in (_in_process(), *_of_torch(), own):
        if path is None:
            continue
        try:
            ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
        except OSError:
            continue
        return
