"""Kernels of the library for one convolution or linear layer: what to compute, plans, one run of a plan."""

import ctypes
import math
import threading
import weakref
from ctypes import byref, c_double
from functools import lru_cache
from typing import NamedTuple, Tuple

import torch

from .memory import workspaces
from .._native.handles import Handle
from .._native.library import ConvOptions, ConvTensors, library
from ..errors import SimulationError

FORWARD, INPUT_GRAD, WEIGHT_GRAD = range(3)
SPARSE, DENSE, BFLOAT16 = 1, 2, 5  # lacuna_impl
_NCHW, _NHWC = 0, 1
NOTHING, ACTIVATIONS, GRADIENTS, WEIGHTS = range(4)  # lacuna_operand


class Geometry(NamedTuple):
    """Shape of one call of a layer. `linear`: rows times a matrix; the rest of the shape is then 1."""

    input: Tuple[int, int, int, int]
    out_channels: int
    kernel: Tuple[int, int]
    stride: Tuple[int, int]
    padding: Tuple[int, int]
    dilation: Tuple[int, int]
    groups: int
    linear: bool = False

    def output(self) -> Tuple[int, int, int, int]:
        n, _, h, w = self.input
        size = [
            (extent + 2 * pad - dilation * (kernel - 1) - 1) // stride + 1
            for extent, pad, dilation, kernel, stride in zip(
                (h, w), self.padding, self.dilation, self.kernel, self.stride
            )
        ]
        return (n, self.out_channels, size[0], size[1])

    def macs(self) -> int:
        """Multiply-accumulates of one of the three operations, without looking at zeros."""
        n, k, h, w = self.output()
        return n * k * h * w * (self.input[1] // self.groups) * self.kernel[0] * self.kernel[1]


    def like(self) -> "Geometry":
        """Shapes that choices are shared among: extents within a factor of the square root of two."""
        n, channels, h, w = self.input
        return self._replace(input=(_step(n), channels, _step(h), _step(w)))


def _step(extent: int) -> int:
    return round(2 * math.log2(max(1, extent)))


class Setting(NamedTuple):
    """Settings of a plan, besides the geometry."""

    op: int
    impl: int
    skipped: int  # the operand whose zeros a sparse kernel skips; weight_grad by WEIGHTS: of the non-zero ones alone
    channels_last: bool
    ohwi: bool
    bias: bool
    threads: int


class Plan(Handle):
    """A `lacuna_conv`. One run at a time: `run` is false, with nothing computed, while another thread runs it."""

    _FREE = "lacuna_conv_free"

    def __init__(self, geometry: Geometry, setting: Setting) -> None:
        options = ConvOptions(struct_size=ctypes.sizeof(ConvOptions))
        options.batch, options.in_channels = geometry.input[:2]
        options.out_channels = geometry.out_channels
        options.input_hw[:] = geometry.input[2:]
        options.kernel[:] = geometry.kernel
        options.stride[:] = geometry.stride
        options.padding[:] = geometry.padding
        options.dilation[:] = geometry.dilation
        options.groups = geometry.groups
        options.linear = geometry.linear
        options.op, options.impl = setting.op, setting.impl
        options.layout = _NHWC if setting.channels_last else _NCHW
        options.skipped = setting.skipped
        options.ohwi_weights = setting.ohwi
        options.bias = setting.bias
        options.threads = setting.threads
        options.borrow_workspace = True
        super().__init__(library(), library().handle("lacuna_conv_plan", byref(options)))
        self.workspace_bytes: int = self.library.plain("lacuna_conv_workspace", self.pointer)
        workspaces.plans_in_use(1)
        self._tensors = ConvTensors(struct_size=ctypes.sizeof(ConvTensors))
        self._lock = threading.Lock()

    def __del__(self) -> None:
        if workspaces is not None and hasattr(self, "_tensors"):  # the interpreter is not shutting down
            workspaces.plans_in_use(-1)
        super().__del__()

    def run(self, **tensors: torch.Tensor) -> bool:
        """Tensors of the operation by their names in lacuna.h, in the layouts of the plan."""
        if not self._lock.acquire(blocking=False):
            return False
        try:
            with workspaces.lent(self.workspace_bytes) as memory:
                if memory is None:
                    return False
                for name, tensor in tensors.items():
                    setattr(self._tensors, name, tensor.data_ptr())
                self._tensors.workspace = memory.address
                self.library.call("lacuna_conv_run", self.pointer, byref(self._tensors), -1.0, None)
        finally:
            self._lock.release()
        return True


@lru_cache(maxsize=None)
def has_bfloat16() -> bool:
    """Return true if this machine multiplies in bfloat16."""
    try:
        Plan(
            Geometry((1, 16, 1, 1), 16, (1, 1), (1, 1), (0, 0), (1, 1), 1, True),
            Setting(FORWARD, BFLOAT16, NOTHING, True, False, False, 1),
        )
    except SimulationError:
        return False
    return True


# Layers of the same shape share a plan. It lives as long as a layer keeps it.
_shared: "weakref.WeakValueDictionary[Tuple[Geometry, Setting], Plan]" = weakref.WeakValueDictionary()
_shared_lock = threading.Lock()


def shared_plan(geometry: Geometry, setting: Setting) -> Plan:
    key = (geometry, setting)
    with _shared_lock:
        plan = _shared.get(key)
    if plan is None:
        plan = Plan(geometry, setting)
        with _shared_lock:
            _shared[key] = plan
    return plan


def trim_workspaces() -> None:
    """Give back what no plan in use needs."""
    with _shared_lock:
        plans = list(_shared.values())
    workspaces.trim(max((plan.workspace_bytes for plan in plans), default=0))


def zeros_of(tensor: torch.Tensor) -> float:
    """The share of zeros of a dense float32 tensor on the CPU, whatever the order of its dimensions; from a sample."""
    share = c_double()
    library().call("lacuna_sample_zeros", tensor.data_ptr(), tensor.numel(), byref(share))
    return share.value
