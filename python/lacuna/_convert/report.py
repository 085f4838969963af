"""lacuna.report: the layers of a converted model, and the kernels that run them."""

from dataclasses import dataclass
from typing import Callable, Dict, List

from torch import nn

from .calls import Call
from .convert import checked, why_not
from .layers import LayerState
from .memory import workspaces


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
        """One dict per layer, shape and operation that has run.

        `runs`: the kernel that runs it now; `zeros` that it knows of; `ms` by kernel, the least measured; `state`:
        "measuring", "ours", "lost" (PyTorch's, until it looks again), "resting" (lost at every shape), "too small" to
        be measured, "would win" (a dry run), "by zeros" (deterministic).
        """
        rows: List[Dict[str, object]] = []
        for name, state in self._states.items():
            for (_, channels_last, gradients, threads, *_), call in list(state.calls.items()):
                geometry = call.geometry
                for operation, used, zeros, seconds in call.describe()[: 3 if gradients else 1]:
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
                            "state": _state(state, call),
                            "ms": {name: 1e3 * time for name, time in seconds.items()},
                        }
                    )
        return rows

    def gains(self) -> List[Dict[str, object]]:
        """One dict per layer that was compared with PyTorch as a whole: `pytorch_ms`, `lacuna_ms`, `saved_ms` of a call.

        Of a layer with several shapes, their mean by number of calls; of one that trains, forward and backward.
        """
        rows: List[Dict[str, object]] = []
        for name, state in self._states.items():
            calls = [(key[2], call) for key, call in list(state.calls.items()) if call.all_calls]
            trains = any(gradients for gradients, _ in calls)
            calls = [call for gradients, call in calls if gradients == trains]
            compared = [call for call in calls if call.compared is not None]
            if not compared:
                continue
            whole = sum(call.all_calls for call in calls)

            def mean(of: Callable[[Call], float], among: List[Call]) -> float:
                return 1e3 * sum(of(call) * call.all_calls for call in among) / whole

            torchs, saved = mean(lambda call: call.compared[0], compared), mean(lambda call: call.saved, compared)
            rows.append({"layer": name, "pytorch_ms": torchs, "lacuna_ms": torchs - saved, "saved_ms": saved})
        return rows

    def blocks(self) -> List[Dict[str, object]]:
        """One dict per feed-forward block that was found, by its second layer: `activation`, `runs`, `zeros`, `ms`.

        `runs`: "measuring", "two layers" or "one block".
        """
        return [
            {
                "layer": name,
                "activation": block.activation,
                "runs": block.runs,
                "zeros": max(block.call.choice.zeros.values(), default=None),
                "ms": {("one block" if c else "two layers"): 1e3 * t for c, t in block.call.choice.times.items()},
            }
            for name, state in self._states.items()
            for block in list(state.blocks.values())
        ]

    @property
    def memory(self) -> Dict[str, int]:
        """Bytes: `workspace` that the converted layers of this process share now, `needed` by the largest of these."""
        return {"workspace": workspaces.held_bytes, "needed": max((c.workspace_bytes for c in self._calls()), default=0)}

    def too_large(self) -> List[Dict[str, object]]:
        """Kernels that were not tried because their workspace is larger than the limit: `layer`, `kernel`, `bytes`."""
        return [
            {"layer": name, "kernel": kernel, "bytes": size}
            for name, state in self._states.items()
            for call in list(state.calls.values())
            for kernel, size in call.too_large.items()
        ]

    def _calls(self) -> List[Call]:
        return [call for state in self._states.values() for call in list(state.calls.values())]

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
            lines.append("kernels that run them now:")
            width = max(len(str(row["layer"])) for row in rows)
            shapes = ["x".join(map(str, row["input"])) for row in rows]
            shape_width = max(map(len, shapes))
            for row, shape in zip(rows, shapes):
                zeros = "" if row["zeros"] is None else f"{100 * row['zeros']:.0f}% zeros"
                layer = f"  {row['layer']:{width}}  {shape:{shape_width}}"
                times = "  ".join(f"{name} {ms:.3g} ms" for name, ms in row["ms"].items())
                line = f"{layer}  {row['operation']:11}  {row['runs']:17} {row['state']:10} {zeros:10} {times}"
                lines.append(line.rstrip())
        if rows:
            lines.append(f"{self.memory['workspace'] / 1e6:.3g} MB of workspace, which all layers share")
        lines += [f"  {r['layer']}: {r['kernel']} needs {r['bytes'] / 1e6:.3g} MB: not tried" for r in self.too_large()]
        for row in self.blocks():
            times = "  ".join(f"{name} {ms:.3g} ms" for name, ms in row["ms"].items())
            lines.append(f"  {row['layer']} with the layer before it, {row['activation']}: {row['runs']}  {times}".rstrip())
        gains = [row for row in self.gains() if row["saved_ms"] > 0]
        if gains:
            saved, torchs = sum(row["saved_ms"] for row in gains), sum(row["pytorch_ms"] for row in gains)
            verb = "would save" if any(state.manner.dry_run for state in self._states.values()) else "save"
            lines.append(f"{len(gains)} layers {verb} {saved:.3g} of {torchs:.3g} ms, if each is called once")
        return "\n".join(lines)


def _state(state: LayerState, call: Call) -> str:
    return "resting" if call.state == "lost" and state.left > 0 else call.state


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
