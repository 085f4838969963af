"""A feed-forward block of the library: plans, passes, one forward and one backward."""

import ctypes
import threading
import weakref
from ctypes import byref, c_double, c_void_p
from typing import List, NamedTuple, Optional, Sequence, Tuple

import torch

from .._convert.tensors import empty
from .._native.handles import Handle
from .._native.library import FfnOptions, FfnTensors, library

ACTIVATIONS = ("relu", "relu2", "threshold")


class Shape(NamedTuple):
    """What a plan is made for."""

    features: Tuple[int, int, int]  # in, hidden, out
    activation: str
    threshold: float
    threads: int


class Pass(Handle):
    """A `lacuna_ffn_pass`: the lists of a forward pass. Its memory goes back to the pool with it."""

    _FREE = "lacuna_ffn_pass_free"
    _MOST_FREE = 2  # that the pool keeps; more serve blocks whose backward passes are still to come

    def __init__(self, pool: "List[int]") -> None:
        lib = library()
        self._pool = pool
        try:
            pointer = pool.pop()
        except IndexError:
            pointer = lib.handle("lacuna_ffn_pass_new")
        super().__init__(lib, pointer)

    def __del__(self) -> None:
        if getattr(self, "pointer", None) and len(self._pool) < self._MOST_FREE:
            self._pool.append(self.pointer)
            self.pointer = None
        super().__del__()


class _Pool(List[int]):
    def __del__(self) -> None:
        for pointer in self:
            library().plain("lacuna_ffn_pass_free", pointer)


class Plan(Handle):
    """A `lacuna_ffn`."""

    _FREE = "lacuna_ffn_free"

    def __init__(self, shape: Shape) -> None:
        options = FfnOptions(struct_size=ctypes.sizeof(FfnOptions))
        options.in_features, options.hidden, options.out_features = shape.features
        options.activation = ACTIVATIONS.index(shape.activation)
        options.threshold, options.threads = shape.threshold, shape.threads
        super().__init__(library(), library().handle("lacuna_ffn_plan", byref(options)))
        self._features = shape.features
        self._pool = _Pool()
        self._lock = threading.Lock()

    def forward(
        self, hidden: torch.Tensor, down: torch.Tensor, bias: Optional[torch.Tensor]
    ) -> Tuple[torch.Tensor, Pass, float]:
        """The outputs, what the backward pass needs, and the share of hidden values that became zero."""
        output = empty((*hidden.shape[:-1], self._features[2]))
        kept, zeros = Pass(self._pool), c_double()
        tensors = _tensors(hidden=hidden, down=down, down_bias=bias, output=output)
        tokens = hidden.numel() // self._features[1]
        self.library.call("lacuna_ffn_forward", self.pointer, tokens, byref(tensors), kept.pointer, byref(zeros))
        return output, kept, zeros.value

    def backward(
        self, kept: Pass, grad: torch.Tensor, x: torch.Tensor, up: torch.Tensor, mask: Sequence[bool]
    ) -> List[Optional[torch.Tensor]]:
        """Gradients of the input, of the weights and bias of `up` and of the weights of `down`, if `mask` asks."""
        inputs, hidden, outs = self._features
        shapes = (x.shape, (hidden, inputs), (hidden,), (outs, hidden))
        results = [empty(shape) if asked else None for shape, asked in zip(shapes, mask)]
        names = ("input_grad", "up_grad", "up_bias_grad", "down_grad")
        tensors = _tensors(output_grad=grad, input=x, up=up, **dict(zip(names, results)))
        with self._lock:
            self.library.call("lacuna_ffn_backward", self.pointer, kept.pointer, byref(tensors))
        return results


def _tensors(**given: Optional[torch.Tensor]) -> FfnTensors:
    addresses = {name: c_void_p(tensor.data_ptr()) for name, tensor in given.items() if tensor is not None}
    return FfnTensors(struct_size=ctypes.sizeof(FfnTensors), **addresses)


# Blocks of one shape share a plan and the memory of its passes.
_shared: "weakref.WeakValueDictionary[Shape, Plan]" = weakref.WeakValueDictionary()
_shared_lock = threading.Lock()


def shared_plan(shape: Shape) -> Plan:
    with _shared_lock:
        plan = _shared.get(shape)
        if plan is None:
            plan = _shared[shape] = Plan(shape)
        return plan
