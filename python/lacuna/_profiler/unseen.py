"""Products that the profiler's hooks do not see, counted once: those outside of the layers that it watches."""

from typing import Any, Callable, Dict, List, Tuple

import torch
from torch import nn

from .._capture.dispatch import DispatchWatch
from .._capture.left_out import other_macs

_SHOWN = 4  # names in the warning
_LEAST = 0.005  # of the multiply-accumulates: less is not worth a warning


class UnseenCount:
    """Multiply-accumulates of one forward pass, by whether the innermost module that runs is a watched layer.

    Watches the dispatcher, as lacuna.capture does, but for one step only, because that slows every operation.
    """

    def __init__(self, model: nn.Module, watched: Tuple[type, ...]) -> None:
        self._model, self._watched = model, watched
        self._seen = 0
        self._unseen: Dict[str, int] = {}
        self._running: List[Tuple[str, nn.Module]] = []
        self._handles: List[Any] = []
        self._passes = 0

    def start(self) -> None:
        """Until `stop`, the first forward pass with gradients is counted."""
        for name, module in self._model.named_modules():
            if module is not self._model:
                self._handles.append(module.register_forward_pre_hook(self._enter(name)))
                self._handles.append(module.register_forward_hook(self._leave(module)))
        inner = self._model.forward
        self._had_own = self._model.__dict__.get("forward")

        def forward(*args: Any, **kwargs: Any) -> Any:
            if self._passes or not torch.is_grad_enabled():
                return inner(*args, **kwargs)
            self._passes = 1
            self._running = [("", self._model)]
            with DispatchWatch(self, lambda tensor: False):
                return inner(*args, **kwargs)

        self._model.forward = forward

    def stop(self) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        if self._had_own is not None:
            self._model.forward = self._had_own
        else:
            self._model.__dict__.pop("forward", None)

    def shares(self) -> Dict[str, float]:
        """By module, its part of all multiply-accumulates that is not measured, the largest first."""
        total = self._seen + sum(self._unseen.values())
        largest = sorted(self._unseen.items(), key=lambda one: -one[1])
        return {name: macs / total for name, macs in largest} if total else {}

    def message(self) -> str:
        """The warning; empty if almost everything is measured."""
        shares = self.shares()
        share = sum(shares.values())
        if share < _LEAST:
            return ""
        names = [f"{name} {100 * part:.2g} %" for name, part in list(shares.items())[:_SHOWN]]
        if len(shares) > _SHOWN:
            names.append(f"{len(shares) - _SHOWN} more")
        return (
            f"{100 * share:.2g} % of the multiply-accumulates are not measured, because they are not those of a "
            f"convolution or Linear module: {', '.join(names)}; lacuna.capture records them"
        )

    def _enter(self, name: str) -> Callable:
        return lambda module, args: self._running.append((name, module))

    def _leave(self, module: nn.Module) -> Callable:
        def leave(*_: Any) -> None:
            while len(self._running) > 1 and self._running.pop()[1] is not module:
                pass  # one that ended by an exception, which somebody caught

        return leave

    # Called by DispatchWatch.

    def before(self) -> bool:
        return True

    def matrices(self, a: torch.Tensor, b: torch.Tensor, output: torch.Tensor) -> None:
        self._add(lambda: a.numel() * (b.shape[-1] if b.dim() > 1 else 1))

    def convolution(self, args: tuple, output: torch.Tensor) -> None:
        transposed = args[6]
        self._add(lambda: (args[0] if transposed else output).numel() * args[1][0].numel())

    def other(self, name: str, args: tuple, output: Any) -> None:
        self._add(lambda: other_macs(name, args, output if isinstance(output, torch.Tensor) else output[0]) or 0)

    def _add(self, count: Callable[[], int]) -> None:
        try:
            macs = count()
        except Exception:  # an unforeseen kind of tensor must not end the training
            return
        name, module = self._running[-1]
        if isinstance(module, self._watched):
            self._seen += macs
        else:
            shown = f"{name} ({type(module).__name__})" if name else type(module).__name__
            self._unseen[shown] = self._unseen.get(shown, 0) + macs
