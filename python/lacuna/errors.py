"""Errors that the caller can fix."""


class TraceError(ValueError):
    """A trace that cannot be read or written."""


class CaptureError(RuntimeError):
    """A training step that cannot be recorded."""


class CaptureWarning(UserWarning):
    """A part of a training step that was left out of the trace."""
