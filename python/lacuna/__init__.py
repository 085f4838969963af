"""What skipping zeros would give your PyTorch training, on your own network.

    import lacuna

    with lacuna.capture(model) as step:  # one training step as it is, recorded in memory
        loss = criterion(model(images), labels)
        loss.backward()

    lacuna.simulate(step, machines=["dense", "tensordash"], energy=True)

`lacuna.Profiler(model)` does the same while a training runs, every few steps. `lacuna.capture(model,
"step.safetensors")` writes a file, which the program reads too (`lacuna inspect`, `lacuna simulate`).

`model = lacuna.convert(model)` trains faster on a CPU: its layers run kernels that skip zeros wherever those win.

torch is imported when something needs it: `simulate`, `machines` and `parameters` do not.
"""

from typing import TYPE_CHECKING, List

from ._simulate import Result, machines, parameters, simulate
from ._trace.sources import Step
from .errors import (
    CaptureError,
    CaptureWarning,
    ConvertError,
    LibraryError,
    NetworkError,
    ProfilerError,
    ProfilerWarning,
    SimulationError,
    TraceError,
)

if TYPE_CHECKING:
    from ._capture.capture import Capture, capture
    from ._capture.operands import multiplied
    from . import nn
    from ._convert.convert import convert, converted, unconvert
    from ._convert.report import ConversionReport, report
    from ._network.network import save_network
    from ._profiler.profiler import Profiler
    from ._trace.reader import Layer, Trace, read_trace
    from ._trace.weights import load_weights, save_weights

__version__ = "0.1.0"

# Loaded when they are used: most need torch.
_LAZY = {
    "Capture": "_capture.capture",
    "capture": "_capture.capture",
    "multiplied": "_capture.operands",
    "ConversionReport": "_convert.report",
    "convert": "_convert.convert",
    "converted": "_convert.convert",
    "report": "_convert.report",
    "unconvert": "_convert.convert",
    "nn": "nn",
    "Profiler": "_profiler.profiler",
    "Layer": "_trace.reader",
    "Trace": "_trace.reader",
    "read_trace": "_trace.reader",
    "save_network": "_network.network",
    "load_weights": "_trace.weights",
    "save_weights": "_trace.weights",
}

__all__ = [
    "Capture",
    "CaptureError",
    "CaptureWarning",
    "ConversionReport",
    "ConvertError",
    "Layer",
    "LibraryError",
    "NetworkError",
    "Profiler",
    "ProfilerError",
    "ProfilerWarning",
    "Result",
    "SimulationError",
    "Step",
    "Trace",
    "TraceError",
    "capture",
    "convert",
    "converted",
    "load_weights",
    "machines",
    "multiplied",
    "nn",
    "parameters",
    "read_trace",
    "report",
    "save_network",
    "save_weights",
    "simulate",
    "unconvert",
    "__version__",
]


def __getattr__(name: str) -> object:
    if name not in _LAZY:
        raise AttributeError(f"module 'lacuna' has no attribute '{name}'")
    import importlib

    place = f"{__name__}.{_LAZY[name]}"
    try:
        module = importlib.import_module(place)
        value = module if name == "nn" else getattr(module, name)
    except ImportError as error:
        if (error.name or "").partition(".")[0] != "torch":  # it is missing, or too old to have what is imported
            raise
        from ._without_torch import placeholder, placeholder_module

        return placeholder_module(place) if name == "nn" else placeholder(name, place)
    globals()[name] = value
    return value


def __dir__() -> List[str]:
    of_typing = {"List", "TYPE_CHECKING"}
    return sorted({*globals(), *__all__} - of_typing)
