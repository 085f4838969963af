"""The one error of the zoo."""

import os
from typing import Union


class ZooError(Exception):
    """Bad input: where, what is wrong, what to do."""


def need(path: Union[str, os.PathLike], what: str, remedy: str) -> str:
    """`path`, if it is there."""
    if not os.path.exists(path):
        raise ZooError(f"{path}: {what} is not there; {remedy}")
    return os.fspath(path)
