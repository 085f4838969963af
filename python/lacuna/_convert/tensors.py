"""Tensors as our kernels see them: which they can read, in which order, with how many zeros."""

import threading
from typing import Optional, Sequence

import torch
import torch.nn.functional as F
from torch.autograd import forward_ad

from .plans import zeros_of


def uses_channels_last(tensor: torch.Tensor) -> bool:
    """Return true where PyTorch takes a tensor for channels-last: by its strides, which matter for 1x1 kernels too."""
    if tensor.dim() != 4:
        return False
    sizes, strides = tensor.shape, tensor.stride()
    if strides[1] == 0:
        return False
    least = 0
    for d in (1, 3, 2, 0):
        if sizes[d] == 0 or strides[d] < least or (d == 0 and least == strides[1]):
            return False
        least = strides[d] * max(1, sizes[d])
    return True


def empty(shape: Sequence[int], layout: torch.memory_format = torch.contiguous_format) -> torch.Tensor:
    """An uninitialised float32 tensor on the CPU, whatever PyTorch's defaults are."""
    return torch.empty(shape, dtype=torch.float32, device="cpu", memory_format=layout)


def is_plain(tensor: torch.Tensor, dtype: torch.dtype = torch.float32) -> bool:
    """Return true for tensors of this type in this machine's memory: what our kernels read, if it is float32."""
    return (
        type(tensor) in (torch.Tensor, torch.nn.Parameter)
        and tensor.dtype == dtype
        and tensor.is_cpu
        and tensor.layout == torch.strided
        and not tensor.is_neg()
        and _has_memory(tensor)
    )


def _has_memory(tensor: torch.Tensor) -> bool:
    """Return false for a batch that looks like one of its members (vmap) and for other tensors of transforms."""
    try:
        tensor.data_ptr()
    except RuntimeError:
        return False
    return True


def differentiates_forward() -> bool:
    """Return true inside forward-mode differentiation: our kernels have no tangents."""
    return getattr(forward_ad, "_current_level", -1) >= 0


def share_of_zeros(tensor: torch.Tensor) -> float:
    if tensor.numel() == 0:
        return 0.0
    tensor = tensor.float()
    dense = tensor.is_contiguous() or (tensor.dim() == 4 and tensor.is_contiguous(memory_format=torch.channels_last))
    return zeros_of(tensor if dense else tensor.contiguous())


def linear(x: torch.Tensor, weight: torch.Tensor, bias: Optional[torch.Tensor]) -> torch.Tensor:
    """Return what F.linear does, but never a view: the result of a custom function may then be changed in place."""
    if x.dim() == 2:
        return F.linear(x, weight, bias)
    rows = F.linear(x.reshape(-1, x.shape[-1]), weight, bias)
    return torch.ops.aten._unsafe_view(rows, (*x.shape[:-1], weight.shape[0]))


def rows_that_count(grad: torch.Tensor) -> torch.Tensor:
    """Return the indices of rows, of features in the last dimension, that are not zero in every place."""
    return (grad.reshape(-1, grad.shape[-1]) != 0).any(1).nonzero().squeeze(1)


def share_of_zero_rows(grad: torch.Tensor) -> float:
    return 1 - rows_that_count(grad).numel() / max(1, grad.numel() // grad.shape[-1])


class _CountedHooks:
    """Hooks on saved tensors before torch 2.8, which nobody can be asked for: their class counts, while it is watched."""

    _kind = torch.autograd.graph.saved_tensors_hooks

    def __init__(self) -> None:
        self._here = threading.local()
        self._methods = self._kind.__enter__, self._kind.__exit__

    def watch(self, on: bool) -> None:
        enter, leave = self._methods
        if not on:
            self._kind.__enter__, self._kind.__exit__ = enter, leave
            return
        here = self._here = threading.local()

        def counted_enter(hooks):
            entered = enter(hooks)
            here.depth = getattr(here, "depth", 0) + 1
            return entered

        def counted_leave(hooks, *error):
            here.depth = max(0, getattr(here, "depth", 0) - 1)
            return leave(hooks, *error)

        self._kind.__enter__, self._kind.__exit__ = counted_enter, counted_leave

    def top(self, ignore_tracing: bool) -> Optional[int]:
        return getattr(self._here, "depth", 0) or None


_counted = None if hasattr(torch._C._autograd, "_top_saved_tensors_default_hooks") else _CountedHooks()
_saving_hooks = _counted.top if _counted is not None else torch._C._autograd._top_saved_tensors_default_hooks


def saving_is_watched() -> bool:
    """Return true inside a checkpoint and wherever else saved tensors have hooks.

    A checkpoint computes its forward pass twice and expects the same tensors to be saved; the kernels that run a layer
    may have changed in between.
    """
    return _saving_hooks(False) is not None


def look_for_hooks(on: bool) -> None:
    """While there are converted layers."""
    if _counted is not None:
        _counted.watch(on)


_dispatch_depth = getattr(torch._C, "_len_torch_dispatch_stack", lambda: 0)


def dispatch_is_watched() -> bool:
    """Return true if a dispatch mode is active, such as lacuna.capture: it would not see our kernels."""
    return _dispatch_depth() > 0
