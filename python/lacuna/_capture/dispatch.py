"""Shows the products that torch computes, whoever asked for them.

Below autograd every product is one of a few operations of the dispatcher: linear layers, einsum, recurrent layers and
attention arrive here as mm, addmm, bmm and baddbmm, convolutions of every kind as convolution. Autocast has done its
work, so the operands are those that are multiplied.

Facts that the operations do not carry are attached to the tensors that pass: which of them come from the model's weights alone
(a transposed weight, a pruned one, one that autocast narrowed), and of which dimensions a matrix was made.
"""

from typing import Callable, Dict, Iterable, Iterator, Optional, Tuple

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from .left_out import is_other
from .operands import forward_of

_aten = torch.ops.aten

# Matrix products by where their two factors are among the arguments.
_FACTORS = {
    _aten.mm.default: 0,
    _aten.bmm.default: 0,
    _aten.mv.default: 0,
    _aten.addmm.default: 1,
    _aten.baddbmm.default: 1,
    _aten.addmv.default: 1,
    _aten.addmm_.default: 1,
    _aten.baddbmm_.default: 1,
}
_RESHAPES = {
    getattr(_aten, name).default for name in ("view", "_unsafe_view", "_reshape_alias") if hasattr(_aten, name)
}
# Copies and views with the same elements in the same order: autocast narrows a copy, a matrix is made of a clone.
_SAME_VALUES = {*_RESHAPES, _aten.clone.default, _aten.expand.default, _aten._to_copy.default}
_WRAPPED = {bool: torch.bool, int: torch.int64, float: torch.float64, complex: torch.complex128}


class _Notes:
    any_frozen = False


class DispatchWatch(TorchDispatchMode):
    """Reports products to an owner: `before()` every operation, then one of matrices, convolution, other.

    matrices(a, b, output): factors of two dimensions, or of three with a batch; b has one in mv.
    convolution(args, output), other(name, args, output): the operation's arguments.
    """

    supports_higher_order_operators = True  # such as flex attention, which is left out

    def __init__(self, owner, owns: Callable[[torch.Tensor], bool]):
        super().__init__()
        self._owner = owner
        self._owns = owns
        self._mine = _Notes()  # distinguishes the notes of this watch from those of earlier ones
        self._others: Dict[object, Optional[str]] = {}

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func is _aten.detach.default and not isinstance(args[0], torch.Tensor):
            # torch 1.13 hands over a number that it had wrapped in a tensor, for a checkpoint, and expects a tensor.
            return torch.tensor(args[0], dtype=_WRAPPED[type(args[0])])
        if not self._owner.before():
            return func(*args, **kwargs)
        output = func(*args, **kwargs)
        if func in _FACTORS:
            first = _FACTORS[func]
            self._owner.matrices(args[first], args[first + 1], output)
        elif func is _aten.convolution.default:
            self._owner.convolution(args, output)
        else:
            if func in _RESHAPES and output.dim() == 2 and args[0].dim() > 2:
                if args[0].shape[-1] == output.shape[-1]:
                    output._lacuna_lead = tuple(args[0].shape[:-1])
            forward = forward_of(args[0]) if func in _SAME_VALUES else None
            if forward is not None and forward.numel() == output.numel():
                output._lacuna_forward = forward.reshape(output.shape)
            name = self._other_name(func)
            if name is not None:
                self._owner.other(name, args, output)
        self._inherit(args, output)
        if self._mine.any_frozen and any(self.is_frozen(tensor) for tensor in _tensors(args)):
            for tensor in _tensors((output,)):
                self.note_frozen(tensor)
        return output

    def note_frozen(self, tensor: torch.Tensor) -> None:
        """A layer that no gradient goes back through has made this."""
        self._mine.any_frozen = True
        tensor._lacuna_frozen = self._mine

    def is_frozen(self, tensor: torch.Tensor) -> bool:
        """Was it made of such a layer's output? Products of data alone do not count as the network's."""
        return getattr(tensor, "_lacuna_frozen", None) is self._mine

    def again(self) -> "DispatchWatch":
        """A mode that shares the notes of this one: a mode is entered once."""
        other = DispatchWatch(self._owner, self._owns)
        other._mine, other._others = self._mine, self._others
        return other

    def source(self, tensor: torch.Tensor) -> Optional[int]:
        """The id of the parameter or buffer that a tensor was made of, if it was made of the model's state alone."""
        if self._owns(tensor):
            return id(tensor)
        watch, source = getattr(tensor, "_lacuna_source", (None, None))
        return source if watch is self._mine else None

    def _inherit(self, args: tuple, output: object) -> None:
        source = None
        for argument in args:
            for tensor in argument if isinstance(argument, (list, tuple)) else (argument,):
                if isinstance(tensor, torch.Tensor):
                    its = self.source(tensor)
                    if its is None:
                        return
                    source = its if source is None else source
        if source is None:
            return
        for tensor in output if isinstance(output, (list, tuple)) else (output,):
            if isinstance(tensor, torch.Tensor) and not self._owns(tensor):
                tensor._lacuna_source = (self._mine, source)

    def _other_name(self, func) -> Optional[str]:
        if func not in self._others:
            schema = getattr(func, "_schema", None)
            name = schema.name if schema is not None else getattr(func, "__name__", "")
            self._others[func] = name if is_other(name) else None
        return self._others[func]


def _tensors(values: Iterable[object]) -> Iterator[torch.Tensor]:
    for value in values:
        for one in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(one, torch.Tensor):
                yield one


def lead_of(matrix: torch.Tensor) -> Tuple[int, ...]:
    """The dimensions that the rows of a matrix had before it became one."""
    return getattr(matrix, "_lacuna_lead", None) or (matrix.shape[0],)
