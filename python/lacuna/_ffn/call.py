"""One call of a block: PyTorch's products or ours, whichever has been measured to be faster at its zeros."""

from typing import List, Optional, Tuple

import torch
import torch.nn.functional as F

from .._convert.tensors import differentiates_forward, dispatch_is_watched, is_plain, linear
from .._convert.tuner import SKIP_A, TORCH, Choice, clock
from .block import Pass, Plan, Shape

Gradients = List[Optional[torch.Tensor]]
# Calls that go straight to PyTorch after ours has lost, before its zeros are sampled again.
_PASS_BY = (200, 3200)


def activated(hidden: torch.Tensor, activation: str, threshold: float) -> torch.Tensor:
    if activation == "threshold":
        return F.threshold(hidden, threshold, 0.0)
    return F.relu(hidden).square() if activation == "relu2" else F.relu(hidden)


def slope(hidden: torch.Tensor, activation: str, threshold: float) -> torch.Tensor:
    """The derivative of the activation."""
    if activation == "relu2":
        return 2 * F.relu(hidden)
    return (hidden > (threshold if activation == "threshold" else 0.0)).to(hidden.dtype)


def plain_forward(x, up, up_bias, down, down_bias, activation: str, threshold: float) -> torch.Tensor:
    return F.linear(activated(F.linear(x, up, up_bias), activation, threshold), down, down_bias)


class Call:
    """A block at one shape, with or without gradients."""

    def __init__(self, shape: Shape, plan: Plan) -> None:
        self.shape, self.plan = shape, plan
        self.now = clock(shape.threads)
        self.choice = Choice([TORCH, SKIP_A])
        self.pass_by = self._rest = 0

    def next(self) -> int:
        return self.choice.next()

    def done(self, used: int, seconds: float, zeros: float) -> None:
        choice = self.choice
        if choice.wants_zeros():
            choice.saw_zeros(SKIP_A, zeros)
        choice.done(used, seconds)
        if choice.settled and choice.best == TORCH:
            first, most = _PASS_BY
            self.pass_by = self._rest = min(most, max(first, 2 * self._rest))
            choice.passed_by(self.pass_by)
        elif choice.settled:
            self._rest = 0

    def forward(self, used: int, hidden, down, down_bias) -> Tuple[torch.Tensor, Optional[Pass], float]:
        """The outputs, the lists if they are ours, and the share of zeros if it was asked for."""
        if used != TORCH:
            return self.plan.forward(hidden.contiguous(), down.contiguous(), down_bias)
        active = activated(hidden, *self.shape[1:3])
        zeros = 1 - float(torch.count_nonzero(active)) / max(1, active.numel()) if self.choice.wants_zeros() else 0.0
        return linear(active, down, down_bias), None, zeros


class BlockFunction(torch.autograd.Function):
    """A block with gradients. A second backward pass is PyTorch's.

    hidden: its hidden values where they are known, before or after ReLU; lists are then used.
    """

    @staticmethod
    def forward(ctx, x, up, up_bias, down, down_bias, call: Call, hidden: Optional[torch.Tensor] = None):
        begin = call.now()
        ctx.call, ctx.used = call, call.next() if hidden is None else SKIP_A
        hidden = F.linear(x, up, up_bias) if hidden is None else hidden
        output, kept, ctx.zeros = call.forward(ctx.used, hidden, down, down_bias)
        # The lists live as long as the tensors of the graph do, which a backward pass frees.
        holder = torch.empty(0)
        holder._lacuna_pass = kept
        ctx.save_for_backward(x, up, up_bias, down, holder, hidden if kept is None else None)
        ctx.seconds = call.now() - begin
        return output

    @staticmethod
    def backward(ctx, grad):
        x, up, up_bias, down, holder, hidden = ctx.saved_tensors
        call: Call = ctx.call
        kept = getattr(holder, "_lacuna_pass", None)
        begin = call.now()
        mask = ctx.needs_input_grad[:5]
        if torch.is_grad_enabled() or dispatch_is_watched() or differentiates_forward() or not is_plain(grad):
            hidden = F.linear(x, up, up_bias)  # with a graph of its own
            return (*_plain_backward(grad, x, up, down, hidden, mask, call.shape), None, None)
        if kept is None:
            results = _plain_backward(grad, x, up, down, hidden, mask, call.shape)
        else:
            grad = grad.contiguous()
            found = call.plan.backward(kept, grad, x.contiguous(), up.contiguous(), mask[:4])
            results = [*found, grad.reshape(-1, grad.shape[-1]).sum(0) if mask[4] else None]
        if ctx.seconds is not None:
            call.done(ctx.used, ctx.seconds + call.now() - begin, ctx.zeros)
            ctx.seconds = None
        return (*results, None, None)


def _plain_backward(grad, x, up, down, hidden, mask, shape: Shape) -> Gradients:
    """Differentiable, if the arguments are."""
    active = activated(hidden, *shape[1:3])
    rows = grad.reshape(-1, grad.shape[-1])
    hidden_grad = grad.matmul(down) * slope(hidden, *shape[1:3])
    hidden_rows = hidden_grad.reshape(-1, hidden_grad.shape[-1])
    return [
        hidden_grad.matmul(up) if mask[0] else None,
        hidden_rows.t().mm(x.reshape(-1, x.shape[-1])) if mask[1] else None,
        hidden_rows.sum(0) if mask[2] else None,
        rows.t().mm(active.reshape(-1, active.shape[-1])) if mask[3] else None,
        rows.sum(0) if mask[4] else None,
    ]
