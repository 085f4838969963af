"""Record the zeros of PyTorch training for Lacuna.

    import lacuna

    with lacuna.capture(model, "step.safetensors", samples=2):
        loss = criterion(model(images), labels)
        loss.backward()

`lacuna inspect step.safetensors` and `lacuna simulate step.safetensors` take it from there.
"""

from ._capture import Capture, capture
from .errors import CaptureError, CaptureWarning, TraceError
from ._trace import Layer, Trace, read_trace
from ._weights import load_weights, save_weights

__version__ = "0.1.0"
__all__ = [
    "Capture",
    "CaptureError",
    "CaptureWarning",
    "Layer",
    "Trace",
    "TraceError",
    "capture",
    "load_weights",
    "read_trace",
    "save_weights",
    "__version__",
]
