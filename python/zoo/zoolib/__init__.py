"""Code shared by the scripts of this folder: data sets, networks, sparse training, the training loop and the recorder."""

import os
import sys

try:
    import lacuna  # noqa: F401
except ImportError:  # not installed: use the package of this repository
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
