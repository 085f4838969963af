"""Conv2d and Linear whose operations are PyTorch's or ours, call by call."""

from typing import Callable, Dict, Optional, Tuple

import torch
import torch.nn.functional as F
from torch import nn

from .calls import Call, LayerFunction
from .plans import Geometry
from .tensors import dispatch_is_watched, is_plain, uses_channels_last

# Multiply-accumulates per thread below which PyTorch's call takes as long as the overhead of ours.
_FEWEST_MACS = 1_000_000
_MOST_SHAPES = 24  # of one layer: with more of them none is measured often enough


class LayerState:
    """Calls of a converted layer. Not part of its state_dict; a copy of the layer starts without any."""

    def __init__(self, deterministic: bool) -> None:
        self.deterministic = deterministic
        self.fast: Tuple[Dict[torch.Size, Call], Dict[torch.Size, Call]] = ({}, {})  # without, with gradients
        self.calls: Dict[tuple, Call] = {}
        self.left = 0  # calls of a layer at rest until it looks again

    def __deepcopy__(self, memo: object) -> "LayerState":
        return LayerState(self.deterministic)

    def __reduce__(self):
        return (LayerState, (self.deterministic,))

    def call(self, geometry: Geometry, channels_last: bool, gradients: bool) -> Optional[Call]:
        deterministic = self.deterministic or torch.are_deterministic_algorithms_enabled()
        key = (geometry, channels_last, gradients, torch.get_num_threads(), deterministic)
        found = self.calls.get(key)
        if found is None and len(self.calls) < _MOST_SHAPES:
            found = self.calls[key] = Call(geometry, channels_last, key[3], deterministic)
        return found


def _autocast_test() -> Callable[[], bool]:
    try:
        torch.is_autocast_enabled("cpu")
    except TypeError:  # before torch 2.4
        return torch.is_autocast_cpu_enabled
    return lambda: torch.is_autocast_enabled("cpu")


_autocasts = _autocast_test()
_is_compiling = getattr(getattr(torch, "compiler", None), "is_compiling", lambda: False)
# Tensors inside torch.func's transforms (torch 2).
_is_transformed = getattr(getattr(torch._C, "_functorch", None), "is_functorch_wrapped_tensor", lambda tensor: False)


def _compiles() -> bool:
    return torch.jit.is_tracing() or _is_compiling()


def _takes(x: torch.Tensor, weight: torch.Tensor, bias: Optional[torch.Tensor]) -> bool:
    """Return true if our kernels can run this call; everything else is PyTorch's, errors included."""
    return (
        not _compiles()  # first: what follows would become part of a trace
        and is_plain(x)
        and is_plain(weight)
        and (bias is None or (is_plain(bias) and bias.shape == weight.shape[:1]))
        and x.numel() > 0
        and not _is_transformed(x)
        and not _is_transformed(weight)
        and not _autocasts()
        and not dispatch_is_watched()
    )


def _needs_gradients(x: torch.Tensor, weight: torch.Tensor, bias: Optional[torch.Tensor]) -> bool:
    return torch.is_grad_enabled() and (
        x.requires_grad or weight.requires_grad or (bias is not None and bias.requires_grad)
    )


class _Converted:
    """A layer run by the faster of PyTorch and Lacuna, call by call."""

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        state: LayerState = self._lacuna
        weight, bias = self.weight, self.bias
        if not _takes(input, weight, bias):
            return self._torch_forward(input, weight, bias)
        fast = state.fast[torch.is_grad_enabled()]
        call = fast.get(input.shape)
        if call is not None and call.pass_by > 0:
            call.pass_by -= 1
            self._rest(state)
            return self._torch_forward(input, weight, bias)
        geometry = self._geometry(input, weight)
        if geometry is None:
            return self._torch_forward(input, weight, bias)
        gradients = _needs_gradients(input, weight, bias)
        call = state.call(geometry, self._channels_last(input, weight), gradients)
        if call is None:
            return self._torch_forward(input, weight, bias)
        fast[input.shape] = call
        if geometry.macs() < _FEWEST_MACS * call.threads or min(geometry.output()) < 1:
            call.leave_to_torch(too_small=True)
            self._rest(state)
            return self._torch_forward(input, weight, bias)
        if gradients:
            return LayerFunction.apply(input, weight, bias, call)
        return call.forward_alone(input, weight, bias)

    def _rest(self, state: LayerState) -> None:
        """PyTorch's forward and a count are all that is left of a layer where ours does not pay at any shape."""
        calls = list(state.calls.values())
        if all(call.pass_by > 0 for call in calls):
            state.left = min(call.pass_by for call in calls)
            self.__class__ = _AT_REST[type(self)]

    def _look_again(self, state: LayerState) -> None:
        for call in list(state.calls.values()):
            call.pass_by = 0
        self.__class__ = _AWAKE[type(self)]

    def __setstate__(self, state: dict) -> None:
        """A copy starts measuring again."""
        super().__setstate__(state)
        self.__class__ = _AWAKE.get(type(self), type(self))


class Conv2d(_Converted, nn.Conv2d):
    """nn.Conv2d, run by the faster of PyTorch and Lacuna (lacuna.convert)."""

    def _torch_forward(self, input: torch.Tensor, weight: torch.Tensor, bias: Optional[torch.Tensor]) -> torch.Tensor:
        return self._conv_forward(input, weight, bias)

    def _geometry(self, input: torch.Tensor, weight: torch.Tensor) -> Optional[Geometry]:
        """None: PyTorch's, errors included."""
        if input.dim() != 4 or weight.dim() != 4:
            return None
        outs, channels, *kernel = weight.shape  # the module's own numbers may be out of date
        if input.shape[1] != channels * self.groups or outs % self.groups != 0:
            return None
        padding = self.padding if self.padding != "valid" else (0, 0)
        return Geometry(tuple(input.shape), outs, tuple(kernel), self.stride, padding, self.dilation, self.groups)

    def _channels_last(self, input: torch.Tensor, weight: torch.Tensor) -> bool:
        return uses_channels_last(input) or uses_channels_last(weight)


class Linear(_Converted, nn.Linear):
    """nn.Linear, run by the faster of PyTorch and Lacuna (lacuna.convert)."""

    def _torch_forward(self, input: torch.Tensor, weight: torch.Tensor, bias: Optional[torch.Tensor]) -> torch.Tensor:
        return F.linear(input, weight, bias)

    def _geometry(self, input: torch.Tensor, weight: torch.Tensor) -> Optional[Geometry]:
        """None: PyTorch's, errors included."""
        if input.dim() < 2 or weight.dim() != 2:
            return None
        outs, features = weight.shape  # the module's own numbers may be out of date
        if input.shape[-1] != features:
            return None
        rows = input.numel() // features
        return Geometry((rows, features, 1, 1), outs, (1, 1), (1, 1), (0, 0), (1, 1), 1, True)

    def _channels_last(self, input: torch.Tensor, weight: torch.Tensor) -> bool:
        return True


# Layers at rest: PyTorch's own forward and a count. A call costs 0.1 us more than one of nn.Conv2d or nn.Linear.


class RestingConv2d(Conv2d):
    """nn.Conv2d, until it is time to look again whether ours would be faster."""

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        if not _is_compiling():  # a count would be recompiled with every value
            state = self._lacuna
            state.left -= 1
            if state.left <= 0:
                self._look_again(state)
        return self._conv_forward(input, self.weight, self.bias)

    def _get_name(self) -> str:
        return "Conv2d"


class RestingLinear(Linear):
    """nn.Linear, until it is time to look again whether ours would be faster."""

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        if not _is_compiling():
            state = self._lacuna
            state.left -= 1
            if state.left <= 0:
                self._look_again(state)
        return F.linear(input, self.weight, self.bias)

    def _get_name(self) -> str:
        return "Linear"


_AT_REST = {Conv2d: RestingConv2d, Linear: RestingLinear}
_AWAKE = {resting: awake for awake, resting in _AT_REST.items()}
