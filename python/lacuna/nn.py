"""lacuna.nn: modules that skip the zeros of their activations while they train."""

from typing import Dict, Optional, Tuple

import torch
from torch import nn

from ._convert.layers import autocasts, is_compiling
from ._convert.tensors import differentiates_forward, dispatch_is_watched, is_plain, saving_is_watched
from ._convert.tuner import TORCH
from ._ffn.block import ACTIVATIONS, Shape, shared_plan
from ._ffn.call import BlockFunction, Call, plain_forward
from .errors import ConvertError

__all__ = ["SparseFFN"]

_MOST_SHAPES = 24  # with more of them none is measured often enough


class SparseFFN(nn.Module):
    """The feed-forward block of a transformer, `down(activation(up(x)))`, with an activation that leaves zeros.

    >>> block = lacuna.nn.SparseFFN(768, 3072, activation="relu2")

    Five of the six products of a training step shrink with the share of zeros. Each block measures in its first steps
    whether that is faster than PyTorch's products, and looks again as the zeros change. Results differ by rounding
    alone. Tensors other than float32 on the CPU are PyTorch's.

    activation: "relu", "relu2" (its square) or "threshold": values that are not greater than `threshold` become zero.
    """

    def __init__(
        self,
        in_features: int,
        hidden_features: int,
        out_features: Optional[int] = None,
        activation: str = "relu2",
        threshold: float = 0.0,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if activation not in ACTIVATIONS:
            raise ConvertError(f"there is no activation {activation!r}; give one of {', '.join(ACTIVATIONS)}")
        if not threshold >= 0:
            raise ConvertError(f"the threshold is {threshold}; give 0 or more: below 0 it leaves few zeros")
        self.activation, self.threshold = activation, float(threshold)
        self.up = nn.Linear(in_features, hidden_features, bias)
        self.down = nn.Linear(hidden_features, in_features if out_features is None else out_features, bias)
        self._calls: Dict[tuple, Call] = {}

    def __getstate__(self) -> dict:
        return {**self.__dict__, "_calls": {}}

    def extra_repr(self) -> str:
        return f"activation={self.activation}"

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        up, down = self.up, self.down
        tensors = (x, up.weight, up.bias, down.weight, down.bias)
        call = self._call(tensors) if not is_compiling() and not torch.jit.is_tracing() else None
        if call is not None and call.pass_by > 0:
            call.pass_by -= 1
            call = None
        if call is None:
            return plain_forward(*tensors, self.activation, self.threshold)
        if torch.is_grad_enabled() and any(tensor is not None and tensor.requires_grad for tensor in tensors):
            return BlockFunction.apply(*tensors, call)
        used, begin = call.next(), call.now()
        output, _, zeros = call.forward(used, torch.nn.functional.linear(*tensors[:3]), *tensors[3:])
        call.done(used, call.now() - begin, zeros)
        return output

    def _call(self, tensors: Tuple[Optional[torch.Tensor], ...]) -> Optional[Call]:
        """None: PyTorch's, errors included."""
        x, up, _, down, _ = tensors
        if not all(tensor is None or is_plain(tensor) for tensor in tensors) or x.numel() == 0:
            return None
        if x.shape[-1] != up.shape[1] or up.shape[0] != down.shape[1]:
            return None
        if autocasts() or differentiates_forward() or dispatch_is_watched() or saving_is_watched():
            return None
        key = (x.shape, torch.is_grad_enabled(), torch.get_num_threads())
        found = self._calls.get(key)
        if found is None and len(self._calls) < _MOST_SHAPES:
            features = (up.shape[1], up.shape[0], down.shape[0])
            shape = Shape(features, self.activation, self.threshold, key[2])
            found = self._calls[key] = Call(shape, shared_plan(shape))
        return found

    @property
    def runs(self) -> str:
        """Which products the last shape runs now: "PyTorch", "skips zeros" or "measuring"."""
        if not self._calls:
            return "measuring"
        choice = list(self._calls.values())[-1].choice
        return "measuring" if not choice.settled else "PyTorch" if choice.best == TORCH else "skips zeros"
