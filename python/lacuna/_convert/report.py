"""lacuna.report: the layers of a converted model, and the kernels that run them."""

from dataclasses import dataclass
from typing import Dict, List

from torch import nn

from .convert import checked, why_not
from .layers import LayerState


@dataclass(frozen=True)
class LeftLayer:
    """A layer that stays PyTorch's."""

    name: str
    type: str
    reason: str


class ConversionReport:
    """The layers of a model. `print` it, also during a training: it shows the kernel that runs each layer now."""

    def __init__(self, states: Dict[str, LayerState], left: List[LeftLayer]) -> None:
        self._states = states
        self.left = left

    @property
    def converted(self) -> List[str]:
        """Names of the converted layers."""
        return list(self._states)

    def choices(self) -> List[Dict[str, object]]:
        """One dict per layer, shape and operation that has run: the kernel that runs it now, and the zeros it knows of."""
        rows: List[Dict[str, object]] = []
        for name, state in self._states.items():
            for (geometry, channels_last, gradients, threads, _), call in list(state.calls.items()):
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
        return f"<lacuna.ConversionReport: {len(self._states)} layers converted, {len(self.left)} left to PyTorch>"

    def __str__(self) -> str:
        lines = [f"{len(self._states)} layers converted, {len(self.left)} left to PyTorch"]
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


def report(model: nn.Module) -> ConversionReport:
    """Return what `lacuna.convert` has made of a model: layers that it converted and how they run, and the others.

    >>> print(lacuna.report(model))
    """
    states: Dict[str, LayerState] = {}
    left: List[LeftLayer] = []
    for name, module in checked(model, "report").named_modules():
        name, kind = name or type(module).__name__, type(module).__name__
        state = module.__dict__.get("_lacuna")
        if state is not None:
            states[name] = state
            continue
        reason = why_not(module)
        if reason != "":
            left.append(LeftLayer(name, kind, reason or "was not converted"))
    return ConversionReport(states, left)
