"""Errors that the caller can fix."""


class TraceError(ValueError):
    """A trace that cannot be read or written."""


class CaptureError(RuntimeError):
    """A training step that cannot be recorded."""


class CaptureWarning(UserWarning):
    """A part of a training step that was left out of the trace."""


class LibraryError(RuntimeError):
    """`liblacuna.so` is missing, damaged or of another version."""


class SimulationError(ValueError):
    """A machine, a parameter or a trace that cannot be simulated."""


class ConvertError(TypeError):
    """Something that is not a model whose layers could be converted."""


class NetworkError(TypeError):
    """A model that cannot be written as a network of `lacuna train`."""


class ProfilerError(RuntimeError):
    """A model that cannot be profiled, or a profiler used in a way that it cannot be."""


class ProfilerWarning(UserWarning):
    """A part of a training that the profiler did not measure."""
