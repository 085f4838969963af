"""A profiled step by its products: attention, recurrent layers and functions too, as lacuna.capture sees them.

The dispatcher is watched while a module of the model runs, which slows every operation there. So the first measured
step is watched in both ways, and later ones by hooks on the layers alone where those see (nearly) all of the work.
"""

from typing import Any, Callable, List, Tuple, cast

import torch
from torch import nn

from .._capture.capture import Capture
from .._capture.operands import Limits, Stored
from .._capture.recorder import Call, Recorder, merged
from .._capture.modules import Names, Running
from .._native.handles import ROLES
from .._trace.masks import pack
from .watch import LAYERS, LayerCall

_LEAST = 0.005  # of the multiply-accumulates: less is not worth watching products
_CHECKED = 3  # gradients of this many products, the first to run, are looked through for NaN


class _MaskRecorder(Recorder):
    """Keeps masks on their device. Its faults must not end the training: they end up in `problem`."""

    def __init__(self, names: Names, limits: Limits) -> None:
        super().__init__(names, limits, None)
        self.problem = ""
        self.finite: List[torch.Tensor] = []
        self.seen = self.unseen = 0  # multiply-accumulates inside of layers that hooks see, and outside
        self._open = False

    def open(self) -> None:
        self._open = True  # the thread is watched while a module runs

    def close(self) -> None:
        self._open = False
        self.forget()

    def start(self, running: Running) -> None:
        first = not self._here.__dict__.get("running")
        super().start(running)
        if first and self._open:
            self._here.mode = self.watch.again()
            self._here.mode.__enter__()

    def stop(self) -> None:
        self._guarded(super().stop)
        if not self._here.running and self._here.__dict__.get("mode") is not None:
            mode, self._here.mode = self._here.mode, None
            mode.__exit__(None, None, None)

    def _guarded(self, work: Callable, *args: Any, **more: Any) -> None:
        try:
            work(*args, **more)
        except Exception as error:
            self.problem = self.problem or f"{type(error).__name__}: {error}"

    def matrices(self, *args: Any) -> None:
        self._guarded(super().matrices, *args)

    def convolution(self, *args: Any) -> None:
        self._guarded(super().convolution, *args)

    def other(self, *args: Any) -> None:
        self._guarded(super().other, *args)

    def _product(self, function: str, source: Any, factors: Any, output: Any, macs: Any, *rest: Any) -> None:
        stack = self._here.__dict__.get("running")
        counted = self._count
        super()._product(function, source, factors, output, macs, *rest)
        if stack and self._count > counted:
            if isinstance(stack[-1].module, LAYERS):
                self.seen += macs or 0
            else:
                self.unseen += macs or 0

    def _arrived(self, call: Call, gradient: torch.Tensor) -> None:
        def arrived() -> None:
            Recorder._arrived(self, call, gradient)
            if len(self.finite) < _CHECKED and call.order <= _CHECKED:
                self.finite.append(torch.isfinite(gradient).all().reshape(1))

        self._guarded(arrived)

    def _store(self, operand: torch.Tensor) -> Stored:
        with torch.no_grad():
            return Stored(pack(operand), None, -1, operand.numel())


class ProductWatch(Capture):
    """Watches one step, with the interface of StepWatch."""

    def __init__(self, model: nn.Module, samples: int) -> None:
        self._model, self._limits = model, Limits(None, samples, None)
        self._undo: List[Callable[[], None]] = []
        self._used = False
        self.problem = ""
        self.batch = 0
        self.unseen_share = 0.0  # of the multiply-accumulates, outside of layers that hooks see
        self.unfit: List[str] = []  # products that a trace cannot hold
        self._calls: List[LayerCall] = []
        self._finite: List[torch.Tensor] = []

    def _make_recorder(self) -> Recorder:
        return _MaskRecorder(self._names, self._limits)

    def start(self) -> None:
        self.__enter__()

    def stop(self) -> None:
        if self._undo:
            self.__exit__(None, None, None)

    def finish(self) -> Tuple[List[LayerCall], List[torch.Tensor]]:
        """The products that got a gradient or need none, in the order they ran, and flags of finite gradients."""
        self.stop()
        return self._calls, self._finite

    def _finish(self) -> None:
        recorder = cast(_MaskRecorder, self._recorder)
        self.problem = recorder.problem
        self.batch = self._limits.batch or 0
        total = recorder.seen + recorder.unseen
        self.unseen_share = recorder.unseen / total if total else 0.0
        calls = sorted((call for call in recorder.calls if call.done), key=lambda call: call.order)
        try:
            self._count_gaps(calls)
            recorded = sum(call.macs for call in calls)
            self.unfit = recorder.left_out.unfit(recorded)
            self._calls = [_layer_call(call) for call in merged(calls, recorder.left_out)]
        except Exception as error:  # of ours: the training continues
            self.problem = self.problem or f"{type(error).__name__}: {error}"
        self._finite = recorder.finite

    @property
    def sees_more(self) -> bool:
        """Are there products worth measuring that hooks on layers do not see?"""
        return self.unseen_share >= _LEAST and not self.problem


def _layer_call(call: Call) -> LayerCall:
    product = call.product
    masks = {role: stored.mask for role, stored in call.stored.items() if role in ROLES}
    return LayerCall(
        call.name, call.order, product.info, product.arrange, product.late, call.operations, call.forward_alone, masks
    )
