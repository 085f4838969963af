"""Builds liblacuna.so with CMake and puts it into the wheel, as lacuna/lib/liblacuna.so.2; the rest is pyproject.toml.

Nothing is downloaded. Takes the build folder of the clone (build/release) where there is one, else makes build/python.
With LACUNA_LIBRARY=FILE that file goes into the wheel and nothing is built. With LACUNA_BUNDLE=FOLDER (packaging/bundle) the
wheel also holds the program, the libraries that both need and a few traces, and installs on any Linux with that glibc.
"""

import os
import re
import shutil
import subprocess

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:  # before setuptools 70.1
    from wheel.bdist_wheel import bdist_wheel

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LIBRARY = "liblacuna.so.2"
BUNDLE = os.environ.get("LACUNA_BUNDLE")
LICENSES = "share/doc/lacuna/licenses"


def source_url() -> str:
    """The repository that the clone came from, for the wheel's metadata; empty if none is recorded."""
    try:
        done = subprocess.run(["git", "config", "remote.origin.url"], cwd=ROOT, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    url = re.sub(r"^(?:ssh://)?git@([^:/]+)[:/]", r"https://\1/", done.stdout.strip())
    return re.sub(r"\.git$", "", url) if url.startswith("https://") else ""


def run(*command: str) -> None:
    print(" ".join(command), flush=True)
    try:
        subprocess.run(command, check=True, cwd=ROOT)
    except FileNotFoundError:
        raise SystemExit(f"{command[0]} is missing; './run python' installs what the build needs on Debian") from None
    except subprocess.CalledProcessError:
        raise SystemExit(
            "building liblacuna failed (see above); './run python' installs what the build needs on Debian"
        ) from None


def built_library() -> str:
    named = os.environ.get("LACUNA_LIBRARY")
    if named:
        if not os.path.isfile(named):
            raise SystemExit(f"LACUNA_LIBRARY={named}: there is no such file")
        return os.path.realpath(named)
    if not os.path.isfile(os.path.join(ROOT, "src", "capi", "lacuna.h")):
        raise SystemExit("liblacuna is built from a clone of Lacuna; install the folder python/ of one, in place")
    folder = os.path.join(ROOT, "build", "release")
    if not os.path.isfile(os.path.join(folder, "build.ninja")):
        folder = os.path.join(ROOT, "build", "python")
        options = ["-DCMAKE_BUILD_TYPE=Release", "-DLACUNA_TESTS=OFF", "-DLACUNA_BENCH=OFF", "-DLACUNA_QUICK_BUILD=ON"]
        if shutil.which("ccache"):
            options.append("-DCMAKE_CXX_COMPILER_LAUNCHER=ccache")
        run("cmake", "-G", "Ninja", "-S", ROOT, "-B", folder, *options)
    run("cmake", "--build", folder, "--target", "lacuna_shared")
    return os.path.realpath(os.path.join(folder, "lib", LIBRARY))


class BuildWithLibrary(build_py):
    """The Python files and the library."""

    def run(self) -> None:
        super().run()
        if getattr(self, "editable_mode", False):
            return  # the package finds the library in the build folder
        licence = os.path.join(ROOT, "LICENSE")
        if os.path.isfile(licence):
            shutil.copy(licence, os.path.join(self.build_lib, "lacuna", "LICENSE"))
        folder = os.path.join(self.build_lib, "lacuna", "lib")
        self.mkpath(folder)
        if BUNDLE:
            for part, target in (("lib", "lib"), ("bin", "bin"), ("share/lacuna/data", "data"), (LICENSES, "licenses")):
                shutil.copytree(os.path.join(BUNDLE, part), os.path.join(self.build_lib, "lacuna", target), dirs_exist_ok=True)
            return
        # Without the lists of names for a debugger, where there is a `strip`.
        target = os.path.join(folder, LIBRARY)
        shutil.copy(built_library(), target)
        if shutil.which("strip"):
            subprocess.run(["strip", "--strip-unneeded", target], check=False)


class Wheel(bdist_wheel):
    """For this platform, and for every Python 3: ctypes needs no other."""

    def finalize_options(self) -> None:
        super().finalize_options()
        self.root_is_pure = False

    def get_tag(self):
        platform = super().get_tag()[2]
        if BUNDLE:
            with open(os.path.join(BUNDLE, "platform"), encoding="ascii") as file:
                glibc, machine = file.read().split()
            platform = f"manylinux_{glibc.replace('.', '_')}_{machine}"
        return "py3", "none", platform


class WithLibrary(Distribution):
    """Installed below platlib."""

    def has_ext_modules(self) -> bool:
        return True


setup(
    cmdclass={"build_py": BuildWithLibrary, "bdist_wheel": Wheel},
    distclass=WithLibrary,
    project_urls={"Source": source_url()} if source_url() else {},
)
