"""Tensors of a file as PyTorch's or NumPy's, whichever is installed."""

from typing import Any, Optional, Sequence

from ..errors import TraceError

# Bytes of an element, by the names of safetensors; the widest first.
SIZES = {"I64": 8, "F64": 8, "F32": 4, "I32": 4, "BF16": 2, "F16": 2, "U8": 1, "I8": 1, "BOOL": 1}


class TorchArrays:
    """As PyTorch's tensors."""

    def __init__(self) -> None:
        import torch

        self._torch = torch
        names = "int64 float64 float32 int32 bfloat16 float16 uint8 int8 bool".split()
        self.types = {key: getattr(torch, name) for key, name in zip(SIZES, names)}

    def of_bytes(self, kind: str, shape: Sequence[int], data: bytearray) -> Any:
        dtype = self.types[kind]
        return (self._torch.frombuffer(data, dtype=dtype) if data else self._torch.empty(0, dtype=dtype)).reshape(shape)

    def unpacked(self, packed: Any, channels: int) -> Any:
        from .masks import unpack

        return unpack(packed, channels)

    def ones(self, shape: Sequence[int]) -> Any:
        return self._torch.ones(tuple(shape), dtype=self._torch.bool)


class NumpyArrays:
    """As NumPy's arrays; bfloat16, which NumPy does not have, as float32."""

    def __init__(self) -> None:
        import numpy

        self._numpy = numpy
        names = "int64 float64 float32 int32 uint16 float16 uint8 int8 bool".split()
        self.types = {key: numpy.dtype(name) for key, name in zip(SIZES, names)}

    def of_bytes(self, kind: str, shape: Sequence[int], data: bytearray) -> Any:
        found = self._numpy.frombuffer(data, dtype=self.types[kind])
        if kind == "BF16":
            found = (found.astype(self._numpy.uint32) << 16).view(self._numpy.float32)
        return found.reshape(shape)

    def unpacked(self, packed: Any, channels: int) -> Any:
        return self._numpy.unpackbits(packed, axis=-1, bitorder="little")[..., :channels].astype(bool)

    def ones(self, shape: Sequence[int]) -> Any:
        return self._numpy.ones(tuple(shape), dtype=bool)


def installed_arrays(numpy: Optional[bool]) -> Any:
    """`numpy` None: PyTorch's, if it is installed."""
    for kind in (NumpyArrays,) if numpy else (TorchArrays, NumpyArrays) if numpy is None else (TorchArrays,):
        try:
            return kind()
        except ImportError as error:
            missing = error.name
    raise TraceError(f"reading a trace needs NumPy or PyTorch, and {missing} is not installed")
