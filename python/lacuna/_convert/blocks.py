"""Feed-forward blocks of converted models: Linear, ReLU or its square, Linear.

A block is found in the autograd graph when its second layer is called: what that layer gets comes out of an activation
that leaves zeros, and this out of a converted layer. The products of both layers then skip the zeros of the hidden values
from one list, input_grad of the second layer included, which is needed where the activation was not zero alone. The
second layer's result hangs on the inputs of the first one directly, so nothing is passed back through the activation.
"""

from typing import Dict, NamedTuple, Optional, Tuple

import torch

from .calls import Call, LayerFunction
from .tensors import share_of_zeros
from .tuner import TORCH
from .._ffn.block import Shape, shared_plan
from .._ffn.call import BlockFunction
from .._ffn.call import Call as BlockCall


class _Found(NamedTuple):
    """Origin of a layer's input, from the graph."""

    activation: str
    positive: torch.Tensor  # what ReLU gave, before it was squared
    first: torch.autograd.function.FunctionCtx  # of the layer before


class Block:
    """The choice between a block as two layers and as one, for one shape."""

    def __init__(self, first: Call, second: Call, activation: str) -> None:
        self._first, self._second, self.activation = first, second, activation
        hidden = second.geometry.input[1]
        features = (first.geometry.input[1], hidden, second.geometry.out_channels)
        shape = Shape(features, activation, 0.0, second.threads)
        self.call = BlockCall(shape, shared_plan(shape))
        # A pass through two layers under way: share of zeros, backward passes of both layers before it.
        self._apart: Optional[Tuple[float, int, int]] = None

    @property
    def runs(self) -> str:
        choice = self.call.choice
        return "measuring" if not choice.settled else "two layers" if choice.best == TORCH else "one block"

    def is_of(self, first: Call, second: Call) -> bool:
        return self._first is first and self._second is second

    def wants_one(self, input: torch.Tensor) -> bool:
        """Return true if this call should be one product of lists; its function then notes the time."""
        first, second, call = self._first, self._second, self.call
        if self._apart is not None:  # both layers have measured themselves
            zeros, before_first, before_second = self._apart
            self._apart = None
            if first.passes > before_first and second.passes > before_second:
                call.done(TORCH, second.seconds + first.seconds_back, zeros)
        if call.pass_by > 0:
            call.pass_by -= 1
            return False
        if first.state != "ours" or second.state != "ours":
            return False
        if call.next() != TORCH:
            return True
        zeros = share_of_zeros(input) if call.choice.wants_zeros() else 0.0
        self._apart = zeros, first.passes, second.passes
        return False


def block_output(
    blocks: Dict[Tuple[int, int, str], Block],
    call: Call,
    input: torch.Tensor,
    weight: torch.Tensor,
    bias: Optional[torch.Tensor],
) -> Optional[torch.Tensor]:
    """Return the result of the second layer of a block; None: it is none, or two layers are faster."""
    found = _before(input)
    if found is None:
        return None
    first: Call = found.first.call
    key = (id(first), id(call), found.activation)
    block = blocks.get(key)
    if block is None or not block.is_of(first, call):
        blocks.clear()
        block = blocks[key] = Block(first, call, found.activation)
    if not block.wants_one(input):
        return None
    x, up, up_bias = found.first.operands
    return BlockFunction.apply(x, up, up_bias, weight, bias, block.call, found.positive.detach())


def _before(input: torch.Tensor) -> Optional[_Found]:
    node = input.grad_fn
    if node is None or input.retains_grad or input._backward_hooks:
        return None
    activation, positive = "relu", input
    try:
        if node.name() == "PowBackward0" and node._saved_exponent == 2:
            activation, positive, node = "relu2", node._saved_self, node.next_functions[0][0]
        elif node.name() == "MulBackward0" and node.next_functions[0][0] is node.next_functions[1][0]:
            activation, positive, node = "relu2", node._saved_self, node.next_functions[0][0]
        if node is None or node.name() != "ReluBackward0":
            return None
    except (AttributeError, RuntimeError):  # another version of torch; a tensor that was changed in place
        return None
    first = node.next_functions[0][0]
    if not isinstance(first, LayerFunction._backward_cls) or getattr(first, "operands", None) is None:
        return None
    same = positive.shape == input.shape and positive.is_contiguous()
    return _Found(activation, positive, first) if same else None
