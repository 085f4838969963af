"""The program `lacuna`: `python -m lacuna ARGUMENT...`, and the command of a wheel that holds it."""

import os
import shutil
import sys

_PACKAGE = os.path.dirname(os.path.abspath(__file__))


def _program() -> str:
    clone = os.path.dirname(os.path.dirname(_PACKAGE))
    places = [os.path.join(_PACKAGE, "bin", "lacuna"), os.path.join(clone, "build", "release", "bin", "lacuna")]
    for place in places:
        if os.access(place, os.X_OK):
            return place
    # On the PATH, but not the script that runs this.
    found = shutil.which("lacuna")
    if found and not os.path.samefile(found, sys.argv[0]):
        return found
    raise SystemExit(
        f"lacuna: error: {places[0]}: the program is not there; install a wheel made by './run wheel', or build "
        "it with './run build' of a clone"
    )


def main() -> None:
    program = _program()
    os.execv(program, [program, *sys.argv[1:]])


if __name__ == "__main__":
    main()
