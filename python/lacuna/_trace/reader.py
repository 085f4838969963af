"""Read traces: for tests and notebooks. The format is docs/trace-format.md."""

import json
import math
import os
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Union

from .arrays import installed_arrays
from .container import read_container
from .._native.handles import TENSORS, TraceHandle
from ..errors import TraceError

@dataclass(repr=False)
class Layer:
    """One layer: `info` as the trace describes it, and its operands with the channels last.

    A: [N, H, W, C], W: [K, kh, kw, C/groups], G: [N, Ho, Wo, K]; linear: A [rows, C], W [K, C], G [rows, K].
    "A_forward", where the trace has it: A as the forward product multiplies it, if weight_grad multiplies another.
    """

    name: str
    info: Dict[str, Any]
    masks: Dict[str, Any] = field(default_factory=dict)  # True where the value is not zero
    values: Dict[str, Any] = field(default_factory=dict)  # empty in a trace of masks

    def __repr__(self) -> str:
        zeros = ", ".join(f"{100 * self.zeros(role):.0f} % of {role}" for role in self.masks)
        return f"<lacuna.Layer {self.name!r}, {self.info['type']}: zeros {zeros}>"

    def zeros(self, role: str) -> float:
        """The share of zeros of "A", "W" or "G", counted; of "A_forward" that of A if there is no other."""
        role = "A" if role == "A_forward" and role not in self.masks else role
        return 1 - float(self.masks[role].sum()) / math.prod(self.masks[role].shape)


@dataclass(repr=False)
class Trace:
    """A trace: `metadata` as strings, `layers` in the order of execution."""

    metadata: Dict[str, str]
    layers: List[Layer]
    left_out: List[Dict[str, Any]] = field(default_factory=list)  # name, type and, where known, macs

    def __repr__(self) -> str:
        return f"<lacuna.Trace of {self.metadata.get('model')}: {len(self.layers)} layers>"

    def __getitem__(self, name: str) -> Layer:
        for layer in self.layers:
            if layer.name == name:
                return layer
        raise KeyError(name)

    @property
    def names(self) -> List[str]:
        return [layer.name for layer in self.layers]


def read_trace(path: Union[str, os.PathLike], numpy: Optional[bool] = None) -> Trace:
    """Read a trace from `.safetensors` or `.safetensors.zst`.

    >>> trace = lacuna.read_trace("step.safetensors")
    >>> trace["conv1"].zeros("A"), trace["conv1"].masks["G"].shape

    numpy: masks and values as NumPy's arrays; by default they are PyTorch's tensors if that is installed.

    The library checks the file first, as for `lacuna.simulate`: what one refuses, the other refuses.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise TraceError(f"a {type(path).__name__} is not the name of a trace")
    path = os.fspath(path)
    TraceHandle.open(path)
    arrays = installed_arrays(numpy)
    tensors, metadata = read_container(path, arrays)
    if metadata.get("format") != "training-trace" or metadata.get("version") not in ("1", "2", "3"):
        raise TraceError(f"{path}: not a training trace of version 1 to 3")
    try:
        entries = json.loads(metadata["layers"])
        layers = [_read_layer(entry, tensors, path, arrays) for entry in entries]
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, TraceError):
            raise
        raise TraceError(f"{path}: the list of layers is damaged ({error})") from error
    left_out = _read_left_out(metadata.get("left_out", "[]"), path)
    texts = {key: value for key, value in metadata.items() if key not in ("layers", "left_out", "checksum")}
    return Trace(texts, layers, left_out)


def operand_shape(info: Dict[str, Any], role: str) -> List[int]:
    """The shape of an operand with its channels last."""
    role = role[0]  # A_forward is as A
    if info["type"] == "linear":
        rows, c, k = info["batch"], info["in_features"], info["out_features"]
        return {"A": [rows, c], "W": [k, c], "G": [rows, k]}[role]
    if info["type"] == "matmul":
        batch, rows, c, k = info["batch"], info["rows"], info["in_features"], info["out_features"]
        return {"A": [batch, rows, c], "W": [batch, k, c], "G": [batch, rows, k]}[role]
    n, c, k = info["batch"], info["in_channels"], info["out_channels"]
    return {
        "A": [n, *info["input_hw"], c],
        "W": [k, *info["kernel"], c // info["groups"]],
        "G": [n, *info["output_hw"], k],
    }[role]


def _read_left_out(text: str, path: str) -> List[Dict[str, Any]]:
    try:
        parts = json.loads(text)
    except ValueError:
        parts = None
    if not isinstance(parts, list) or not all(isinstance(part, dict) and "name" in part for part in parts):
        raise TraceError(f"{path}: the list of what was left out is damaged")
    return parts


def _read_layer(info: Dict[str, Any], tensors: Dict[str, Any], path: str, arrays: Any) -> Layer:
    layer = Layer(info["name"], info)
    for role in TENSORS:
        shape = operand_shape(info, role)
        name = f"{layer.name}/{role}"
        values: Optional[Any] = tensors.get(name)
        packed: Optional[Any] = tensors.get(name + ".mask")
        if values is not None:
            _check(values.shape, shape, f"{path}: {name}")
            layer.values[role] = values
        if packed is not None:
            _check(packed.shape, shape[:-1] + [(shape[-1] + 7) // 8], f"{path}: {name}.mask")
            layer.masks[role] = arrays.unpacked(packed, shape[-1])
        elif values is not None:
            layer.masks[role] = values != 0
        elif role != "A_forward":
            layer.masks[role] = arrays.ones(shape)  # absent: no zeros
    return layer


def _check(shape, needed: List[int], place: str) -> None:
    if list(shape) != needed:
        raise TraceError(f"{place} has the shape {list(shape)}, the layer needs {needed}")
