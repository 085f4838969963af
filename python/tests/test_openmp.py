"""The OpenMP runtime that liblacuna.so of a wheel gets."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

from lacuna._native import openmp

# A wheel's library next to which a runtime lies, loaded by a fresh Python that has or has not another runtime.
_SCRIPT = """
import ctypes, re, sys
from lacuna._native import openmp
own, other = sys.argv[1:]
if other:
    ctypes.CDLL(other)
openmp.load_for(own)
paths = {line.split(maxsplit=5)[-1].strip() for line in open("/proc/self/maps") if "gomp" in line}
print(*sorted(paths))
print(hasattr(ctypes.CDLL(None), "GOMP_parallel"))
"""


def _system_runtime() -> str:
    names = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, check=False).stdout
    paths = [line.split()[-1] for line in names.splitlines() if "libgomp.so.1" in line]
    return os.path.realpath(paths[0]) if paths else ""


@unittest.skipUnless(shutil.which("ldconfig") and _system_runtime(), "no libgomp.so.1 here")
class OneRuntime(unittest.TestCase):
    def loaded(self, own: str, other: str) -> list:
        # Not what this process has: PyTorch's folder is not looked at.
        script = "import importlib.util\nimportlib.util.find_spec = lambda name: None\n" + _SCRIPT
        done = subprocess.run(
            [sys.executable, "-c", script, own, other], capture_output=True, text=True, check=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        return done.stdout.splitlines()

    def test_the_loaded_one_is_shared(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            own = shutil.copy(_system_runtime(), os.path.join(folder, "libgomp.so.1"))
            library = os.path.join(folder, "liblacuna.so.2")
            # As PyTorch's wheel names it.
            other = shutil.copy(_system_runtime(), os.path.join(folder, "libgomp-a34b3233.so.1"))
            self.assertEqual(self.loaded(library, other), [other, "True"])
            self.assertEqual(self.loaded(library, ""), [own, "True"])

    def test_a_library_without_one_next_to_it_loads_its_own(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            paths, visible = self.loaded(os.path.join(folder, "liblacuna.so.2"), "")
            self.assertEqual((paths, visible), ("", "False"))

    def test_names_of_runtimes(self) -> None:
        for name in ("libgomp.so.1", "libgomp-a34b3233.so.1", "libiomp5.so", "libomp.so.5"):
            self.assertTrue(openmp._is_runtime("/x/" + name), name)
        for name in ("libgompx.so", "libompi.so", "gomp.so", "libgomp.a"):
            self.assertFalse(openmp._is_runtime("/x/" + name), name)


if __name__ == "__main__":
    unittest.main()
