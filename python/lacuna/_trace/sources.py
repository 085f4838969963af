"""Everything that `lacuna.simulate` accepts as a trace, as a trace of the library."""

import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Tuple

from .._native.handles import TENSORS, TraceHandle
from ..errors import TraceError

if TYPE_CHECKING:
    import torch


@dataclass(repr=False)
class Step:
    """A training step in memory: what a trace file would hold. `lacuna.capture(model)` without a path records one."""

    metadata: Mapping[str, str]
    tensors: Mapping[str, "torch.Tensor"]  # "NAME/A.mask" and, with values, "NAME/A"; on the host

    def __repr__(self) -> str:
        layers = len(json.loads(self.metadata["layers"]))
        return f"<lacuna.Step of {self.metadata['model']}: {layers} layers>"

    def save(self, path: str) -> None:
        """Write it to a `.safetensors` or `.safetensors.zst`."""
        from .container import write_container

        write_container(os.path.abspath(os.fspath(path)), self.tensors, self.metadata)

    def _handle(self) -> TraceHandle:
        infos = json.loads(self.metadata["layers"])
        kept: List["torch.Tensor"] = []  # what the addresses below point into
        layers = []
        for info in infos:
            operands = {}
            for role in TENSORS:
                for kind, suffix in (("values", ""), ("mask", ".mask")):
                    tensor = self.tensors.get(f"{info['name']}/{role}{suffix}")
                    if tensor is not None and not (kind == "mask" and role in operands):
                        operands[role] = _operand(kind, tensor, kept, f"{info['name']}/{role}{suffix}")
            layers.append((info, operands))
        return TraceHandle.build("step in memory", _texts(self.metadata), layers)


def open_source(source: Any) -> TraceHandle:
    """A file name, a Step, a finished capture, a Trace of `read_trace`, or a trace that is open already."""
    if isinstance(source, TraceHandle):
        return source
    if isinstance(source, (str, os.PathLike)):
        return TraceHandle.open(os.fspath(source))
    if isinstance(source, Step):
        return source._handle()
    if hasattr(source, "layers") and hasattr(source, "metadata"):
        step = getattr(source, "step", None)
        if isinstance(step, Step):
            return step._handle()
        if getattr(source, "path", None):  # a capture that wrote a file
            return TraceHandle.open(source.path)
        if all(hasattr(layer, "masks") for layer in source.layers):
            return _of_trace(source)
    raise TraceError(
        f"a {type(source).__name__} is not a trace; give the name of one, a step of lacuna.capture(model) whose block "
        "has ended, or what lacuna.read_trace() returned"
    )


def _texts(metadata: Mapping[str, str]) -> Dict[str, str]:
    return {key: value for key, value in metadata.items() if key not in ("format", "version", "layers")}


def _packed(mask: Any) -> Any:
    if hasattr(mask, "data_ptr"):
        from .masks import pack

        return pack(mask)
    import numpy

    return numpy.packbits(mask != 0, axis=-1, bitorder="little")


def _operand(kind: str, tensor: Any, kept: List[Any], name: str) -> Tuple[str, int, int]:
    """(kind, address, count) of packed bits or of values, which `kept` keeps alive."""
    dtype = str(getattr(tensor, "dtype", type(tensor).__name__)).replace("torch.", "")
    if kind == "mask" and dtype != "uint8":
        raise TraceError(f"{name} is {dtype}; a mask is uint8, eight elements in a byte")
    if kind == "values" and "float" not in dtype:
        raise TraceError(f"{name} is {dtype}; values are floating-point numbers")
    if not hasattr(tensor, "data_ptr"):  # NumPy's
        import numpy

        kept.append(numpy.ascontiguousarray(tensor, dtype=numpy.float32 if kind == "values" else None))
        return kind, kept[-1].ctypes.data, kept[-1].size
    if tensor.device.type == "meta":
        raise TraceError(f"{name} is on the device 'meta', which has no data; record the step on a real device")
    tensor = tensor.detach().cpu()
    if kind == "values":
        tensor = tensor.float()  # exact for bfloat16
    kept.append(tensor.contiguous())
    return kind, kept[-1].data_ptr(), kept[-1].numel()


def _of_trace(trace: Any) -> TraceHandle:
    kept: List[Any] = []
    layers = []
    for layer in trace.layers:
        operands = {}
        for role in TENSORS:
            if role in layer.values:
                operands[role] = _operand("values", layer.values[role], kept, f"{layer.name}/{role}")
            elif role in layer.masks:
                operands[role] = _operand("mask", _packed(layer.masks[role]), kept, f"{layer.name}/{role}.mask")
        layers.append((layer.info, operands))
    metadata = _texts(trace.metadata)
    if trace.left_out:
        metadata["left_out"] = json.dumps(trace.left_out)
    return TraceHandle.build("trace in memory", metadata, layers)
