"""Conv2d and Linear whose operations are PyTorch's or ours, call by call."""

import threading
from functools import lru_cache
from typing import Callable, Dict, Optional, Set, Tuple

import torch
import torch.nn.functional as F
from torch import nn
from torch.jit import is_scripting

from .blocks import Block, block_output
from .calls import Call, LayerFunction, Manner
from .history import machine
from .needed import discards_zeros
from .plans import Geometry
from .tensors import differentiates_forward, dispatch_is_watched, is_plain, look_for_hooks, saving_is_watched, uses_channels_last

# Multiply-accumulates per thread below which PyTorch's call takes as long as the overhead of ours.
_FEWEST_MACS = 1_000_000
_MOST_SHAPES = 24  # of one layer, those that are like one another counted once; then the longest unused is forgotten
_MOST_INPUTS = 512  # shapes of inputs whose call is found without its geometry


_machine = lru_cache(maxsize=None)(machine)


class LayerState:
    """Calls of a converted layer. Not part of its state_dict; a copy of the layer starts without any."""

    def __init__(self, manner: Manner = Manner(), mask: Optional[torch.Tensor] = None) -> None:
        self.manner = manner
        self.mask = mask  # of the weights that are kept, if the caller gave one
        # Without and with gradients, without and with autocast.
        self.fast: Dict[Tuple[bool, bool], Dict[torch.Size, Call]] = {
            (gradients, casts): {} for gradients in (False, True) for casts in (False, True)
        }
        self.calls: Dict[tuple, Call] = {}
        self.blocks: Dict[Tuple[int, int, str], Block] = {}  # that this layer is the second of
        self.left = 0  # calls of a layer at rest until it looks again
        _in_use(1)

    def __del__(self) -> None:
        if _in_use is not None:  # the interpreter is not shutting down
            _in_use(-1)

    def __deepcopy__(self, memo: object) -> "LayerState":
        return LayerState(self.manner, self.mask)

    def __reduce__(self):
        return (LayerState, (self.manner, self.mask))

    def call(
        self,
        geometry: Geometry,
        channels_last: bool,
        gradients: bool,
        pruned: bool,
        dtype: torch.dtype,
        discards: bool = False,
    ) -> Call:
        manner = self.manner
        if torch.are_deterministic_algorithms_enabled():
            manner = manner._replace(deterministic=True)
        threads, precision = torch.get_num_threads(), (dtype, manner.bfloat16)
        key = (geometry.like(), channels_last, gradients, threads, manner.deterministic, pruned, *precision)
        key = (*key, "needed only") if discards else key
        found = self.calls.pop(key, None)
        if found is None:
            known = f"{_machine()} | {key}" if manner.remember and not manner.deterministic else ""
            found = Call(geometry, channels_last, threads, manner, pruned, dtype, known, discards)
            while len(self.calls) >= _MOST_SHAPES:  # the longest unused
                self.calls.pop(next(iter(self.calls), None), None)
        self.calls[key] = found
        return found

    def rest(self) -> None:
        """Leave only PyTorch's forward and a count of a layer where ours does not pay at any shape."""
        calls = list(self.calls.values())
        if all(call.pass_by > 0 for call in calls):
            self.left = min(call.pass_by for call in calls)

    def count_down(self) -> None:
        """A call of a layer at rest."""
        self.left -= 1
        if self.left <= 0:  # time to look again whether ours would be faster
            for call in list(self.calls.values()):
                call.pass_by = 0


def _autocast_tests() -> Tuple[Callable[[], bool], Callable[[], torch.dtype]]:
    try:
        torch.is_autocast_enabled("cpu")
    except TypeError:  # before torch 2.4
        return torch.is_autocast_cpu_enabled, torch.get_autocast_cpu_dtype
    return lambda: torch.is_autocast_enabled("cpu"), lambda: torch.get_autocast_dtype("cpu")


autocasts, _autocast_dtype = _autocast_tests()
is_compiling = getattr(getattr(torch, "compiler", None), "is_compiling", lambda: False)
# A trace would hold what a call of ours looks at, and differ from the next where a layer comes out of its rest.
is_tracing: Callable[[], bool] = torch._C._is_tracing
_TYPES = (torch.float32, torch.bfloat16)


def _takes(x: torch.Tensor, weight: torch.Tensor, bias: Optional[torch.Tensor]) -> bool:
    """Return true if our kernels can run this call; everything else is PyTorch's, errors included."""
    if autocasts():
        if _autocast_dtype() != torch.bfloat16:
            return False
        plain = all(is_plain(t, t.dtype) and t.dtype in _TYPES for t in (x, weight, bias) if t is not None)
    else:
        kind = x.dtype if isinstance(x, torch.Tensor) and x.dtype is torch.bfloat16 else torch.float32
        plain = is_plain(x, kind) and is_plain(weight, kind) and (bias is None or is_plain(bias, kind))
    return (
        plain
        and (bias is None or bias.shape == weight.shape[:1])
        and x.numel() > 0
        and not differentiates_forward()
        and not dispatch_is_watched()
        and not saving_is_watched()
    )


def _needs_gradients(x: torch.Tensor, weight: torch.Tensor, bias: Optional[torch.Tensor]) -> bool:
    return torch.is_grad_enabled() and (
        x.requires_grad or weight.requires_grad or (bias is not None and bias.requires_grad)
    )


def _kept_weights(layer: nn.Module, state: LayerState, weight: torch.Tensor) -> Optional[torch.Tensor]:
    """The mask of a pruned layer: of `torch.nn.utils.prune`, or the caller's own."""
    mask = state.mask
    if mask is None and "weight_orig" in layer._parameters:  # prune multiplies weight_orig by it
        mask = layer._buffers.get("weight_mask")
    if mask is None or not mask.is_cpu or mask.shape != weight.shape:
        return None
    return mask if mask.dtype == torch.float32 else mask.float()


def _conv2d(layer: nn.Conv2d, input: torch.Tensor, weight: torch.Tensor, bias: Optional[torch.Tensor]) -> torch.Tensor:
    return layer._conv_forward(input, weight, bias)


def _linear(layer: nn.Linear, input: torch.Tensor, weight: torch.Tensor, bias: Optional[torch.Tensor]) -> torch.Tensor:
    return F.linear(input, weight, bias)


def _conv2d_geometry(layer: nn.Conv2d, input: torch.Tensor, weight: torch.Tensor) -> Optional[Geometry]:
    """None: PyTorch's, errors included."""
    if input.dim() != 4 or weight.dim() != 4:
        return None
    outs, channels, *kernel = weight.shape  # the module's own numbers may be out of date
    if input.shape[1] != channels * layer.groups or outs % layer.groups != 0:
        return None
    padding = layer.padding if layer.padding != "valid" else (0, 0)
    return Geometry(tuple(input.shape), outs, tuple(kernel), layer.stride, padding, layer.dilation, layer.groups)


def _linear_geometry(layer: nn.Linear, input: torch.Tensor, weight: torch.Tensor) -> Optional[Geometry]:
    """None: PyTorch's, errors included."""
    if input.dim() < 2 or weight.dim() != 2:
        return None
    outs, features = weight.shape  # the module's own numbers may be out of date
    if input.shape[-1] != features:
        return None
    rows = input.numel() // features
    return Geometry((rows, features, 1, 1), outs, (1, 1), (1, 1), (0, 0), (1, 1), 1, True)


def _called(layer: nn.Module, input: torch.Tensor, compute: Callable, geometry_of: Callable) -> torch.Tensor:
    """A call of a layer that is not at rest. compute: PyTorch's forward with weights that were fetched already."""
    state: LayerState = layer._lacuna
    weight, bias = layer.weight, layer.bias  # once: a parametrization computes them, and some keep a state
    if not _takes(input, weight, bias):
        return compute(layer, input, weight, bias)
    fast = state.fast[torch.is_grad_enabled(), autocasts()]
    call = fast.get(input.shape)
    if call is not None and call.pass_by > 0:
        call.pass_by -= 1
        state.rest()
        return compute(layer, input, weight, bias)
    if call is not None and call.waits():
        return compute(layer, input, weight, bias)
    geometry = geometry_of(layer, input, weight)
    if geometry is None:
        return compute(layer, input, weight, bias)
    gradients = _needs_gradients(input, weight, bias)
    kept = _kept_weights(layer, state, weight) if gradients else None
    channels_last = geometry.linear or uses_channels_last(input) or uses_channels_last(weight)
    dtype = torch.bfloat16 if autocasts() else input.dtype
    discards = gradients and state.manner.needed_only and input.requires_grad and discards_zeros(input)
    call = state.call(geometry, channels_last, gradients, kept is not None, dtype, discards)
    if len(fast) >= _MOST_INPUTS:
        fast.clear()
    fast[input.shape] = call
    if geometry.macs() < _FEWEST_MACS * call.threads or min(geometry.output()) < 1:
        call.leave_to_torch(too_small=True)
        state.rest()
        return compute(layer, input, weight, bias)
    if input.dtype != dtype or weight.dtype != dtype:  # autocast, which would do the same
        input, weight = input.to(dtype), weight.to(dtype)
    if bias is not None and bias.dtype != dtype:
        bias = bias.to(dtype)
    if gradients:
        if state.manner.feed_forward and geometry.linear and kept is None and dtype == torch.float32:
            output = block_output(state.blocks, call, input, weight, bias)
            if output is None:
                output = LayerFunction.apply(input, weight, bias, kept, call)
                output.grad_fn.operands = input, weight, bias  # for the second layer of a block
            return output
        return LayerFunction.apply(input, weight, bias, kept, call)
    return call.forward_alone(input, weight, bias)


# Converted layers keep their class, so that whatever asks for nn.Linear finds it (quantization, fx, parametrizations,
# scripts). The forward of the two classes looks for a LayerState instead, while any layer has one. An attribute
# `forward` of each layer would not do: a shallow copy would compute with the weights of the original.


def _conv2d_forward(self, input: torch.Tensor) -> torch.Tensor:
    if is_scripting():  # torch.jit.script compiles no more than this
        return self._conv_forward(input, self.weight, self.bias)
    else:
        state = None if is_compiling() else self.__dict__.get("_lacuna")
        if state is None or is_tracing():
            return _plain[nn.Conv2d](self, input)
        if state.left > 0:
            state.count_down()
            return _plain[nn.Conv2d](self, input)
        return _called(self, input, _conv2d, _conv2d_geometry)


def _linear_forward(self, input: torch.Tensor) -> torch.Tensor:
    if is_scripting():
        return F.linear(input, self.weight, self.bias)
    else:
        state = None if is_compiling() else self.__dict__.get("_lacuna")
        if state is None or is_tracing():
            return _plain[nn.Linear](self, input)
        if state.left > 0:
            state.count_down()
            return _plain[nn.Linear](self, input)
        return _called(self, input, _linear, _linear_geometry)


_ours = {nn.Conv2d: _conv2d_forward, nn.Linear: _linear_forward}
_plain: Dict[type, Callable] = {kind: kind.forward for kind in _ours}
_states = 0
_states_lock = threading.RLock()  # a state may be deleted while its thread makes one


def _in_use(change: int) -> None:
    """Let the classes look for states while there are any."""
    global _states
    with _states_lock:
        _states += change
        if _states == max(0, change):
            look_for_hooks(_states == 1)
        for kind, ours in _ours.items():
            if _states == 1 and change > 0 and kind.forward is not ours:
                if kind not in _covered or kind.forward is _plain[kind]:
                    _plain[kind] = kind.forward
                    kind.forward = ours
            elif _states == 0 and kind.forward is ours:
                kind.forward = _plain[kind]
            elif _states == 0:
                _covered.add(kind)  # somebody has put another forward over ours, which stays and finds no state


_covered: Set[type] = set()
