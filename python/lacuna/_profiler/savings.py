"""Time that lacuna.convert would save in a step, from kernels timed on tensors with the measured zeros."""

import copy
from dataclasses import dataclass
from typing import Any, Dict, List, Tuple

import torch
from torch import nn

from .series import Zeros
from .._convert.convert import convert, why_not
from .._convert.report import report

_MOST_CALLS = 120  # of a layer until it has decided


@dataclass
class Savings:
    """Layers that `lacuna.convert` covers: `layer`, `pytorch_ms`, `lacuna_ms`, `saved_ms` and `state` of each."""

    layers: List[Dict[str, Any]]
    step_ms: float  # of a training step; NaN: none was timed

    @property
    def saved_ms(self) -> float:
        return sum(row["saved_ms"] for row in self.layers)

    def __str__(self) -> str:
        of = f"{self.step_ms:.3g} ms" if self.step_ms == self.step_ms else "an unknown time"
        lines = [f"lacuna.convert would save {self.saved_ms:.3g} ms of {of} per step"]
        width = max((len(row["layer"]) for row in self.layers), default=0)
        for row in sorted(self.layers, key=lambda row: -row["saved_ms"]):
            times = f"{row['pytorch_ms']:8.3g} ms  saves {row['saved_ms']:.3g}" if row["saved_ms"] else row["state"]
            lines.append(f"  {row['layer']:{width}}  {times}")
        return "\n".join(lines)


def savings(
    model: nn.Module, batch: int, layers: List[Tuple[str, Dict[str, Any], Tuple[str, ...], Zeros]], step_ms: float
) -> Savings:
    """`layers`: name, description, operations and zeros of each, as the last measured step had them."""
    modules = dict(model.named_modules())
    rows = []
    for name, info, operations, zeros in layers:
        module = modules.get(name.partition("#")[0])
        if module is not None and why_not(module) is None:
            rows.append({"layer": name, **_timed(module, info, batch, operations, zeros)})
    return Savings(rows, step_ms)


def _timed(
    module: Any, info: Dict[str, Any], batch: int, operations: Tuple[str, ...], zeros: Zeros
) -> Dict[str, Any]:
    module = copy.deepcopy(module)
    rows = batch * info.get("steps", 1)
    shape = (rows, info["in_features"]) if info["type"] == "linear" else (rows, info["in_channels"], *info["input_hw"])
    layout = torch.contiguous_format
    if info["type"] == "conv2d" and module.weight.is_contiguous(memory_format=torch.channels_last):
        layout = torch.channels_last
    x = _random(shape, zeros[0]).contiguous(memory_format=layout).requires_grad_("input_grad" in operations)
    module.requires_grad_("weight_grad" in operations)
    convert(module, dry_run=True, remember=False)
    trains = len(operations) > 1
    gradient = None
    for _ in range(_MOST_CALLS):
        with torch.set_grad_enabled(trains):
            y = module(x)
        if trains:
            if gradient is None:
                gradient = _random(y.shape, zeros[2]).contiguous(memory_format=layout)
            y.backward(gradient)
            x.grad = None
            module.zero_grad(set_to_none=True)
        states = {row["state"] for row in report(module).choices()}
        if "measuring" not in states:
            break
    found = report(module)
    state = next(iter(states), "left to PyTorch")
    gain = next(iter(found.gains()), {"pytorch_ms": 0.0, "lacuna_ms": 0.0, "saved_ms": 0.0})
    return {**{key: gain[key] for key in ("pytorch_ms", "lacuna_ms", "saved_ms")}, "state": state}


def _random(shape: Tuple[int, ...], zeros: float) -> torch.Tensor:
    # Its own generator: the training's random numbers stay what they are.
    draw = torch.Generator().manual_seed(1)
    return torch.randn(shape, generator=draw) * (torch.rand(shape, generator=draw) >= zeros)
