"""The metadata of a trace, checked as the program checks it when it reads them."""

import math
from typing import Any, Dict, Mapping

from ..errors import CaptureError

_TEXTS = ("model", "dataset")
# the range that the program accepts
_NUMBERS = {
    "progress": (0, 1),
    "epoch": (0, 1e9),
    "batch": (1, 1 << 24),
    "accuracy": (0, 1),
    "loss": (-1e30, 1e30),
}
_INTEGERS = ("batch",)


def checked_metadata(given: Mapping[str, Any]) -> Dict[str, str]:
    """`given` as strings; raises CaptureError for a key or a value that a trace cannot have."""
    texts: Dict[str, str] = {}
    for key, value in given.items():
        if value is None:
            continue
        if key in _TEXTS:
            texts[key] = str(value)
        elif key in _NUMBERS:
            texts[key] = _number(key, value)
        else:
            raise CaptureError(f"unknown metadata '{key}'; a trace has {', '.join([*_TEXTS, *_NUMBERS])}")
    return texts


def _number(key: str, value: Any) -> str:
    low, high = _NUMBERS[key]
    try:
        number = float(value)  # also a tensor of one element
    except (TypeError, ValueError):
        number = math.nan
    if not low <= number <= high or (key in _INTEGERS and number != int(number)):
        kind = "an integer" if key in _INTEGERS else "a number"
        raise CaptureError(f"metadata '{key}' is {value!r}, not {kind} from {low} to {high}")
    return str(int(number)) if key in _INTEGERS else repr(number)
