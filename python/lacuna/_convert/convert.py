"""lacuna.convert and lacuna.unconvert: layers of a model for kernels that skip zeros, and back."""

from dataclasses import dataclass
from typing import Dict, List, Optional

import torch
from torch import nn

from . import layers
from .plans import FORWARD, SPARSE, Geometry, Plan, Setting
from ..errors import ConvertError

_CLASSES = {nn.Conv2d: layers.Conv2d, nn.Linear: layers.Linear}
_BACK = {
    **{ours: theirs for theirs, ours in _CLASSES.items()},
    layers.RestingConv2d: nn.Conv2d,
    layers.RestingLinear: nn.Linear,
}


@dataclass(frozen=True)
class LeftLayer:
    """A layer that stays PyTorch's."""

    name: str
    type: str
    reason: str


class Conversion:
    """The outcome of lacuna.convert. `print` it, also during a training: it shows the kernel that runs each layer now."""

    def __init__(self, model: nn.Module, converted: Dict[str, nn.Module], left: List[LeftLayer]) -> None:
        self.model = model
        self._converted = converted
        self.left = left

    @property
    def converted(self) -> List[str]:
        """Names of the converted layers."""
        return list(self._converted)

    def choices(self) -> List[Dict[str, object]]:
        """One dict per layer, shape and operation that has run: the kernel that runs it now, and the zeros it knows of."""
        rows: List[Dict[str, object]] = []
        for name, module in self._converted.items():
            state: Optional[layers.LayerState] = module.__dict__.get("_lacuna")
            for (geometry, channels_last, gradients, threads, _), call in list(state.calls.items() if state else ()):
                for operation, used, zeros in call.describe()[: 3 if gradients else 1]:
                    rows.append(
                        {
                            "layer": name,
                            "input": geometry.input[:2] if geometry.linear else geometry.input,
                            "channels_last": channels_last,
                            "threads": threads,
                            "training": gradients,
                            "operation": operation,
                            "runs": used,
                            "zeros": zeros,
                        }
                    )
        return rows

    def __repr__(self) -> str:
        lines = [f"{len(self._converted)} layers converted, {len(self.left)} left to PyTorch"]
        if self.left:
            width = max(len(layer.name) for layer in self.left)
            kind = max(len(layer.type) for layer in self.left)
            lines += [f"  {layer.name:{width}}  {layer.type:{kind}}  {layer.reason}" for layer in self.left]
        rows = self.choices()
        if rows:
            lines.append("what runs them now:")
            width = max(len(str(row["layer"])) for row in rows)
            shapes = ["x".join(map(str, row["input"])) for row in rows]
            shape_width = max(map(len, shapes))
            for row, shape in zip(rows, shapes):
                zeros = "" if row["zeros"] is None else f"{100 * row['zeros']:.0f}% zeros"
                layer = f"  {row['layer']:{width}}  {shape:{shape_width}}"
                lines.append(f"{layer}  {row['operation']:11}  {row['runs']:17} {zeros}".rstrip())
        return "\n".join(lines)


def convert(model: nn.Module, *, deterministic: bool = False) -> Conversion:
    """Let the faster of PyTorch and Lacuna run the `Conv2d` and `Linear` layers of a model on the CPU.

    The model is changed in place: its layers keep their parameters, names, hooks and `state_dict`, and are still
    instances of `Conv2d` and `Linear`. Each layer measures in its first steps, operation by operation, which kernel is
    faster at its shape and share of zeros, and looks again as the zeros change. Results differ by rounding alone.

    deterministic: choose by the share of zeros alone, never by time, so that two runs give the same bits. Also the case
        while `torch.use_deterministic_algorithms(True)` holds.

    Returns what was converted, what was left to PyTorch and why. `lacuna.unconvert(model)` restores the model.
    """
    if not isinstance(model, nn.Module):
        raise ConvertError(f"convert takes a torch.nn.Module, not {type(model).__name__}; give it the model itself")
    if isinstance(model, torch.jit.ScriptModule):
        raise ConvertError("a TorchScript model hides its layers; convert the Python model that it was made from")
    _try_library()
    converted: Dict[str, nn.Module] = {}
    left: List[LeftLayer] = []
    for name, module in model.named_modules():
        if type(module) in _BACK:
            module.__class__ = _CLASSES[_BACK[type(module)]]
            module._lacuna = layers.LayerState(deterministic)
            converted[name or type(module).__name__] = module
            continue
        reason = _why_not(module)
        if reason is None:
            module.__class__ = _CLASSES[type(module)]
            module._lacuna = layers.LayerState(deterministic)
            converted[name or type(module).__name__] = module
        elif reason:
            left.append(LeftLayer(name or type(module).__name__, type(module).__name__, reason))
    return Conversion(model, converted, left)


def unconvert(model: nn.Module) -> nn.Module:
    """Give a model that `lacuna.convert` has changed its own layers back. Parameters stay what they are.

    Returns the model. A model that was never converted is left as it is.
    """
    if not isinstance(model, nn.Module):
        raise ConvertError(f"unconvert takes a torch.nn.Module, not {type(model).__name__}; give it the model itself")
    for module in model.modules():
        back = _BACK.get(type(module))
        if back is not None:
            module.__class__ = back
            module.__dict__.pop("_lacuna", None)
    return model


def _why_not(module: nn.Module) -> Optional[str]:
    """None: it can be converted. Empty: not a layer that computes products. Else: why it is left to PyTorch."""
    kind = type(module)
    if not isinstance(module, (nn.Conv2d, nn.Linear)):
        if isinstance(module, (nn.modules.conv._ConvNd, nn.Bilinear, nn.RNNBase, nn.MultiheadAttention)):
            return "only Conv2d and Linear are covered"
        return ""
    if hasattr(module, "parametrizations"):
        return "its weight is computed from others (parametrize)"
    if kind not in _CLASSES:
        if isinstance(module, nn.modules.lazy.LazyModuleMixin):
            return "has no shape yet: run the model once, then convert it"
        return f"{kind.__name__} is another class, which may compute something else"
    if "forward" in module.__dict__:
        return "its forward was replaced"
    weight = module.weight
    if weight.device.type != "cpu":
        return f"is on {weight.device}: the kernels are for the CPU"
    if weight.dtype != torch.float32:
        return f"its weights are {str(weight.dtype).replace('torch.', '')}: the kernels are for float32"
    if isinstance(module, nn.Conv2d):
        if module.padding_mode != "zeros":
            return f"pads with '{module.padding_mode}'"
        if isinstance(module.padding, str) and module.padding != "valid":
            return f"padding='{module.padding}': give numbers"
        least = min(module.in_channels, module.out_channels) // module.groups
        if module.groups > 1 and least < 16:
            return f"groups of {least} channels: the kernels work on 16 at a time"
    return None


def _try_library() -> None:
    """An installation without a usable library is an error here, not in the first step."""
    geometry = Geometry((1, 16, 1, 1), 16, (1, 1), (1, 1), (0, 0), (1, 1), 1, True)
    Plan(geometry, Setting(FORWARD, SPARSE, False, True, False, False, 1))
