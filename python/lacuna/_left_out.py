"""The work of a step that its trace does not hold: multiply-accumulates of other layers and of products outside of layers.

Counted for the forward pass of the whole batch, as the step ran it.
"""

import math
import sys
from typing import Callable, Dict, List, Optional, Tuple

import torch
import torch.utils.checkpoint
from torch import nn
from torch.nn.utils.rnn import PackedSequence
from torch.overrides import TorchFunctionMode


class LeftOutWork:
    """What was seen and not recorded, by name and kind."""

    def __init__(self) -> None:
        self._macs: Dict[Tuple[str, str], Optional[int]] = {}

    def add(self, name: str, kind: str, macs: Optional[int]) -> None:
        """`macs` None: not known."""
        known = self._macs.get((name, kind), 0)
        self._macs[name, kind] = None if macs is None or known is None else known + macs

    def seen(self, name: str, kind: str, macs: Optional[int], output: object, recomputed: bool) -> None:
        """A product ran. It counts once, and only if it is part of the training."""
        if not recomputed and (has_graph(output) or _in_reentrant_checkpoint()):
            self.add(name, kind, macs)

    def entries(self, scale: float) -> List[Dict[str, object]]:
        """As the metadata has them: for a batch `scale` times as large as the one that ran."""
        return [
            {"name": name, "type": kind, **({} if macs is None else {"macs": round(macs * scale)})}
            for (name, kind), macs in self._macs.items()
            if macs != 0
        ]

    def functions(self) -> List[str]:
        """Products outside of layers."""
        return [name for name, kind in self._macs if kind == "function"]


class ProductWatch(TorchFunctionMode):
    """Shows the products that torch computes anywhere to `use(function, macs, output)`."""

    def __init__(self, use: Callable[[str, int, object], None]):
        super().__init__()
        self._use = use

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        output = func(*args, **kwargs)
        macs = function_macs(getattr(func, "__name__", ""), args, kwargs, output)
        if macs:
            self._use(func.__name__.strip("_"), macs, output)
        return output


def has_graph(output: object) -> bool:
    if isinstance(output, PackedSequence):
        output = output.data
    if isinstance(output, (tuple, list)):
        return any(has_graph(part) for part in output)
    return isinstance(output, torch.Tensor) and output.grad_fn is not None


def _in_reentrant_checkpoint() -> bool:
    """This kind of checkpointing runs forward without a graph first; an evaluation looks the same from the inside."""
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name == "forward" and frame.f_code.co_filename == torch.utils.checkpoint.__file__:
            return True
        frame = frame.f_back
    return False


def _einsum(equation, *operands) -> int:
    tensors = operands[0] if len(operands) == 1 and isinstance(operands[0], (tuple, list)) else operands
    if not isinstance(equation, str) or len(tensors) != 2:
        return 0
    inputs, arrow, result = equation.replace(" ", "").partition("->")
    terms = inputs.split(",")
    sizes: Dict[str, int] = {}
    for term, tensor in zip(terms, tensors):
        start, dots, end = term.partition("...")
        hidden = tensor.dim() - len(start) - len(end)
        labels = list(start) + ["."] * (hidden if dots else 0) + list(end)
        for place, (label, size) in enumerate(zip(labels, tensor.shape)):
            if label == ".":  # dimensions of an ellipsis are aligned at the right
                label = f".{len(start) + hidden - place}"
            sizes[label] = max(sizes.get(label, 1), size)
    return math.prod(sizes.values())


def _attention(query, key, value, *_args, **_kwargs) -> int:
    rows = query.numel() // max(1, query.shape[-1])
    return rows * key.shape[-2] * (query.shape[-1] + value.shape[-1])


_WEIGHTS = ("linear", "conv1d", "conv2d", "conv3d")
_TRANSPOSED = ("conv_transpose1d", "conv_transpose2d", "conv_transpose3d")
_MATRICES = ("matmul", "__matmul__", "mm", "bmm")  # not mv and dot: norms of weights
_ADDED = ("addmm", "baddbmm")


def function_macs(function: str, args: tuple, kwargs: dict, output: object) -> int:
    """Multiply-accumulates of a call of torch; 0 for a function that is not a product, or is called in a way not known."""
    known = function in _WEIGHTS or function in _TRANSPOSED or function in _MATRICES or function in _ADDED
    if not known and function not in ("__rmatmul__", "einsum", "scaled_dot_product_attention", "bilinear", "addbmm"):
        return 0
    try:
        if function in _WEIGHTS:
            weight = args[1] if len(args) > 1 else kwargs["weight"]
            return output.numel() * weight[0].numel()
        if function in _TRANSPOSED:
            weight = args[1] if len(args) > 1 else kwargs["weight"]
            return (args[0] if args else kwargs["input"]).numel() * weight[0].numel()
        if function in _MATRICES:
            return output.numel() * args[0].shape[-1]
        if function == "__rmatmul__":
            return output.numel() * args[1].shape[-1]
        if function in _ADDED:
            return output.numel() * args[1].shape[-1]
        if function == "addbmm":
            return output.numel() * args[1].shape[-1] * args[1].shape[0]
        if function == "einsum":
            return _einsum(*args)
        if function == "bilinear":
            return output.numel() * args[2].shape[1] * args[2].shape[2]
        return _attention(*args, **kwargs)
    except (AttributeError, IndexError, KeyError, TypeError):
        return 0


def module_macs(module: nn.Module, args: tuple, kwargs: dict, output: object) -> Optional[int]:
    """Multiply-accumulates of a layer of NOT_RECORDED; None if its call is not understood."""
    try:
        if isinstance(module, nn.MultiheadAttention):
            return _multihead(module, *args, **kwargs)
        first = args[0] if args else next(iter(kwargs.values()))
        if isinstance(module, (nn.RNNBase, nn.RNNCellBase)):
            data = first.data if isinstance(first, PackedSequence) else first
            weights = sum(p.numel() for p in module.parameters(recurse=False) if p.dim() == 2)
            return data.numel() // module.input_size * weights
        if isinstance(module, nn.Bilinear):
            return output.numel() * module.in1_features * module.in2_features
        if isinstance(module, (nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)):
            return first.numel() * module.weight[0].numel()
        return output.numel() * module.weight[0].numel()
    except (AttributeError, IndexError, StopIteration, TypeError):
        return None


def _multihead(module: nn.MultiheadAttention, query, key, value, *_args, **_kwargs) -> int:
    size = module.embed_dim
    rows = query.numel() // size
    key_rows = key.numel() // module.kdim
    length = key.shape[1] if module.batch_first and key.dim() == 3 else key.shape[0]
    projections = rows * size * size * 2 + key_rows * size * (module.kdim + module.vdim)
    return projections + rows * length * size * 2
