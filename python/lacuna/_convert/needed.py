"""Gradients that nobody needs: those of a layer's input where the input is zero because a ReLU made it so.

The ReLU multiplies them by zero. A layer's input is found to come out of one in the autograd graph, through functions
that make a zero of zeros alone, or of what they discard themselves, and hand the gradient of a zero to a zero.
"""

from typing import Optional

import torch

_MOST_STEPS = 64  # functions looked at; a concatenation of more is taken for one without a ReLU
_PASS_ON = (
    "MaxPool2DWithIndicesBackward0",
    "NativeDropoutBackward0",
    "ViewBackward0",
    "UnsafeViewBackward0",
    "ReshapeAliasBackward0",
    "PermuteBackward0",
    "TransposeBackward0",
    "CloneBackward0",
)


def discards_zeros(x: torch.Tensor) -> bool:
    """Return true if the gradient of x is multiplied by zero wherever x is zero."""
    pending, seen = [(x.grad_fn, False)], 0
    while pending:
        node, summed = pending.pop()
        seen += 1
        if node is None or seen > _MOST_STEPS:
            return False
        name = node.name()
        inputs = [function for function, _ in node.next_functions]
        if name == "ReluBackward0":
            continue
        if name in _PASS_ON or name == "CatBackward0":
            pending += [(one, summed) for one in inputs]
        elif name == "AddBackward0" and _alpha(node) == 1:
            pending += [(one, True) for one in inputs]
        elif name == "PowBackward0" and _exponent(node) == 2:
            pending += [(one, summed) for one in inputs]
        elif summed:  # parts of a sum that may be negative make zeros of others
            return False
        elif name == "MulBackward0" and len(inputs) == 2 and (inputs[1] is None or inputs[0] is inputs[1]):
            pending.append((inputs[0], False))  # by the factors of dropout, or squared
        elif name != "ThresholdBackward0" or _threshold(node) < 0:
            return False
    return True


def is_watched(x: torch.Tensor) -> bool:
    """Return true if somebody looks at the gradient of this tensor."""
    return bool(x.retains_grad or x._backward_hooks)


def _number(node: object, name: str) -> Optional[float]:
    value = getattr(node, name, None)  # another version of torch may not have it
    return float(value) if isinstance(value, (int, float)) else None


def _threshold(node: object) -> float:
    value = _number(node, "_saved_threshold")
    return -1.0 if value is None else value


def _alpha(node: object) -> Optional[float]:
    return _number(node, "_saved_alpha")


def _exponent(node: object) -> Optional[float]:
    return _number(node, "_saved_exponent")
