"""Products of which only the largest operands are kept.

SWAT: Raihan and Aamodt, "Sparse Weight Activation Training", NeurIPS 2020. The forward product has the largest weights
and all activations, the weight gradient the largest activations, the input gradient the largest weights.
ReSprop: Goli and Aamodt, "ReSprop: Reuse Sparsified Backpropagation", CVPR 2020. The gradient of the outputs is
replaced by its difference to that of a sample of the step before, of which the largest are kept; what was subtracted is
added back.
top-k: all three operands are cut, at the recorded step alone.

Each is one product whose operands are those that the method multiplies, and that is what lacuna.capture records; the
rest of the arithmetic happens beside it. The activations of the forward product are noted by lacuna.multiplied.
"""

import contextlib
from typing import Iterator, Optional

import torch
import torch.nn.functional as F
from torch import nn

import lacuna

from .errors import ZooError
from .pruning import weighted_layers


def largest(tensor: torch.Tensor, density: float, by_sample: bool) -> torch.Tensor:
    """The tensor with zeros in place of all but the largest magnitudes; `by_sample`: of each entry of dimension 0."""
    flat = tensor.reshape(tensor.shape[0] if by_sample else 1, -1).abs()
    kept = max(1, round(density * flat.shape[1]))
    mask = torch.zeros_like(flat).scatter_(1, flat.topk(kept, dim=1, sorted=False).indices, 1)
    return tensor * mask.reshape(tensor.shape)


def _straight(tensor: torch.Tensor, cut: torch.Tensor) -> torch.Tensor:
    """`cut`, with the gradient going to all of `tensor`."""
    return tensor + (cut - tensor).detach()


def _product(layer: nn.Module, x: torch.Tensor, w: torch.Tensor, bias: Optional[torch.Tensor] = None) -> torch.Tensor:
    if isinstance(layer, nn.Linear):
        return F.linear(x, w, bias)
    return F.conv2d(x, w, bias, layer.stride, layer.padding, layer.dilation, layer.groups)


class _Rest(torch.autograd.Function):
    """The part of the forward product with the activations that were cut. Backward: the products with the reused
    gradient, which is the same for all samples, so one sample's worth of work is enough."""

    @staticmethod
    def forward(ctx, x, cut, w, layer, reused):
        ctx.layer, ctx.reused = layer, reused
        ctx.save_for_backward(x, w)
        return _product(layer, x - cut, w)

    @staticmethod
    def backward(ctx, _gradient):
        if ctx.reused is None:
            return None, None, None, None, None
        x, w = ctx.saved_tensors
        layer, g = ctx.layer, ctx.reused
        whole = x.sum(0, keepdim=True)
        if isinstance(layer, nn.Linear):
            return (g @ w).expand_as(x), None, g.t() @ whole, None, None
        shape = (layer.stride, layer.padding, layer.dilation, layer.groups)
        to_input = torch.nn.grad.conv2d_input(whole.shape, w, g, *shape)
        return to_input.expand_as(x), None, torch.nn.grad.conv2d_weight(whole, w.shape, g, *shape), None, None


class _CutGradient(torch.autograd.Function):
    """Backward keeps the largest of the gradient, or of its difference to `reused`."""

    @staticmethod
    def forward(ctx, y, density, reused, keep):
        ctx.density, ctx.reused, ctx.keep = density, reused, keep
        return y.view_as(y)

    @staticmethod
    def backward(ctx, gradient):
        if ctx.keep is not None:
            ctx.keep(gradient)
        difference = gradient if ctx.reused is None else gradient - ctx.reused
        return largest(difference, ctx.density, by_sample=True), None, None, None


class _Sparse:
    """The forward of one layer."""

    def __init__(self, layer: nn.Module, method: str, density: float):
        self.layer, self.method, self.density = layer, method, density
        self.before: Optional[torch.Tensor] = None

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        layer, density = self.layer, self.density
        w = _straight(layer.weight, largest(layer.weight, density, by_sample=False))
        if not layer.training:
            return _product(layer, x, w, layer.bias)
        cut = _straight(x, largest(x, density, by_sample=True))
        if self.method == "topk":
            return _CutGradient.apply(_product(layer, cut, w, layer.bias), density, None, None)
        y = _product(layer, lacuna.multiplied(cut, forward=x), w, layer.bias)
        reused = None
        if self.method == "resprop":
            reused = self.before if self.before is not None and self.before.shape[1:] == y.shape[1:] else None
            y = _CutGradient.apply(y, density, reused, self._keep)
        return y + _Rest.apply(x, cut.detach(), w, layer, reused)

    def _keep(self, gradient: torch.Tensor) -> None:
        chosen = int(torch.randint(0, len(gradient), (1,)))
        self.before = gradient[chosen : chosen + 1].detach().clone()


def sparsify(model: nn.Module, method: str, density: float, first_dense: bool = True) -> None:
    """Give each convolution and linear layer the products of "swat", "resprop" (with SWAT) or "topk"."""
    if not 0 < density < 1:
        raise ZooError(f"--density {density}: must be between 0 and 1")
    for layer in weighted_layers(model)[1 if first_dense else 0 :]:
        layer.forward = _Sparse(layer, method, density)


@contextlib.contextmanager
def sparsified(model: nn.Module, density: float) -> Iterator[None]:
    """Top-k products of every layer inside the block."""
    sparsify(model, "topk", density, first_dense=False)
    try:
        yield
    finally:
        for layer in weighted_layers(model):
            del layer.forward
