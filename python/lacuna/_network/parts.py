"""Nodes of a traced model as layers of `lacuna train`: one function per kind of module or function."""

import operator
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

import torch
import torch.nn.functional as F
from torch import nn

from ..errors import NetworkError

Options = Dict[str, Any]
# A layer and its options; None: the input itself. Sums and concatenations are ("add", {}) and ("concat", {}).
Layer = Optional[Tuple[str, Options]]

KNOWN = (
    "Conv2d, Linear, BatchNorm, ReLU, MaxPool2d, AvgPool2d, pooling over the whole image, Dropout, Flatten, sums and "
    "concatenations of channels"
)


class Shapes(NamedTuple):
    """Shapes of the input and of the result, with the batch."""

    input: Sequence[int]
    output: Sequence[int]


class Unsupported(Exception):
    """Why a node is not a layer of `lacuna train`."""


def _pair(value: Union[int, Sequence[int]]) -> Tuple[int, int]:
    return (value, value) if isinstance(value, int) else (int(value[0]), int(value[-1]))


def _size(value: Union[int, Sequence[int]]) -> object:
    """One number, or height and width."""
    height, width = _pair(value)
    return height if height == width else [height, width]


def _unless(option: str, value: object, default: object) -> Options:
    return {} if value == default else {option: value}


def _conv(module: nn.Conv2d, shapes: Shapes) -> Layer:
    if module.padding_mode != "zeros" and any(module._reversed_padding_repeated_twice):
        raise Unsupported(f"it pads with '{module.padding_mode}', not with zeros")
    padding: Any = module.padding
    if isinstance(padding, str):
        extents = [d * (k - 1) for d, k in zip(module.dilation, module.kernel_size)]
        if padding == "same" and any(extent % 2 for extent in extents):
            raise Unsupported("padding='same' is not the same on both sides here")
        padding = [extent // 2 if padding == "same" else 0 for extent in extents]
    return "conv", {
        "out": module.out_channels,
        "kernel": _size(module.kernel_size),
        **_unless("stride", _size(module.stride), 1),
        **_unless("padding", _size(padding), 0),
        **_unless("dilation", _size(module.dilation), 1),
        **_unless("groups", module.groups, 1),
        **_unless("bias", module.bias is not None, True),
        "init": "fan",
    }


def _linear(module: nn.Linear, shapes: Shapes) -> Layer:
    if len(shapes.input) != 2:
        raise Unsupported(f"its input has {len(shapes.input)} dimensions; it takes all features of a sample")
    return "linear", {"out": module.out_features, **_unless("bias", module.bias is not None, True), "init": "fan"}


def _batch_norm(module: nn.modules.batchnorm._BatchNorm, shapes: Shapes) -> Layer:
    if not module.affine or not module.track_running_stats:
        raise Unsupported("it has no weights or no running statistics")
    if module.eps != 1e-5 or module.momentum != 0.1:
        raise Unsupported(f"eps is {module.eps} and momentum {module.momentum}; only 1e-05 and 0.1 can be had")
    if len(shapes.input) == 3:
        raise Unsupported("it is for sequences")
    return "batch_norm", {}


def _relu(shapes: Shapes, inplace: bool = False) -> Layer:
    return "relu", {}


def _dropout(shapes: Shapes, p: float = 0.5, training: bool = True, inplace: bool = False) -> Layer:
    return "dropout", {"rate": p}


def _pool(kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool) -> Options:
    return {
        "kernel": _size(kernel_size),
        **_unless("stride", _size(stride if stride else kernel_size), _size(kernel_size)),
        **_unless("padding", _size(padding), 0),
        **_unless("ceil", bool(ceil_mode), False),
    }


def _max_pool(
    shapes: Shapes,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Layer:
    if _pair(dilation) != (1, 1) or return_indices:
        raise Unsupported("it has a dilation or returns indices")
    return "max_pool", _pool(kernel_size, stride, padding, ceil_mode)


def _average_pool(
    shapes: Shapes,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: Optional[int] = None,
) -> Layer:
    if divisor_override or (count_include_pad and _pair(padding) != (0, 0)):
        raise Unsupported("its mean counts the padding, or has another divisor; use count_include_pad=False")
    return "average_pool", _pool(kernel_size, stride, padding, ceil_mode)


def _adaptive_average_pool(shapes: Shapes, output_size: Any) -> Layer:
    before, after = tuple(shapes.input[2:]), tuple(shapes.output[2:])
    if before == after:
        return None
    if after == (1, 1):
        return "average_pool", {"global": True}
    if any(have % wanted for have, wanted in zip(before, after)):
        raise Unsupported(f"windows of {before[0]}x{before[1]} to {after[0]}x{after[1]} overlap; give another image")
    return "average_pool", {"kernel": _size([have // wanted for have, wanted in zip(before, after)])}


def _mean(shapes: Shapes, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Layer:
    dims = {d % len(shapes.input) for d in ([dim] if isinstance(dim, int) else dim or [])}
    if len(shapes.input) != 4 or dims != {2, 3}:
        raise Unsupported("only the mean over the image, mean((2, 3)), can be had")
    return "average_pool", {"global": True}


def _reshape(shapes: Shapes, *sizes: Any, **options: Any) -> Layer:
    before, after = list(shapes.input), list(shapes.output)
    features = 1
    for extent in before[1:]:
        features *= extent
    if [extent for extent in after if extent != 1] == [extent for extent in before if extent != 1]:
        return None  # a sample is the same row of channels either way
    if after == [before[0], features]:
        return "flatten", {}
    raise Unsupported(f"it makes {after} of {before}; only all features of a sample in a row can be had")


def _same(shapes: Shapes, *arguments: Any, **options: Any) -> Layer:
    return None


_MODULES: Dict[type, Callable[[Any, Shapes], Layer]] = {
    nn.Conv2d: _conv,
    nn.Linear: _linear,
    nn.BatchNorm1d: _batch_norm,
    nn.BatchNorm2d: _batch_norm,
    nn.ReLU: lambda module, shapes: _relu(shapes),
    nn.Dropout: lambda module, shapes: _dropout(shapes, module.p),
    nn.MaxPool2d: lambda m, shapes: _max_pool(
        shapes, m.kernel_size, m.stride, m.padding, m.dilation, m.ceil_mode, m.return_indices
    ),
    nn.AvgPool2d: lambda m, shapes: _average_pool(
        shapes, m.kernel_size, m.stride, m.padding, m.ceil_mode, m.count_include_pad, m.divisor_override
    ),
    nn.AdaptiveAvgPool2d: lambda m, shapes: _adaptive_average_pool(shapes, m.output_size),
    nn.Flatten: lambda module, shapes: _reshape(shapes),
    nn.Identity: lambda module, shapes: None,
}

# Functions and names of methods.
_TARGETS: Sequence[Tuple[Callable[..., Layer], Sequence[object]]] = (
    (_relu, (torch.relu, torch.relu_, F.relu, F.relu_, "relu", "relu_")),
    (_dropout, (torch.dropout, F.dropout)),
    (_max_pool, (torch.max_pool2d, F.max_pool2d)),
    (_average_pool, (F.avg_pool2d,)),
    (_adaptive_average_pool, (F.adaptive_avg_pool2d,)),
    (_mean, (torch.mean, "mean")),
    (_reshape, (torch.flatten, torch.reshape, torch.squeeze, "flatten", "reshape", "view", "squeeze")),
    (_same, ("contiguous", "clone")),
)
_FUNCTIONS: Dict[object, Callable[..., Layer]] = {
    target: function
    for function, targets in _TARGETS
    for target in targets
}

_SUMS = (operator.add, operator.iadd, torch.add, "add", "add_")
_CONCATENATIONS = tuple(getattr(torch, name) for name in ("cat", "concat", "concatenate") if hasattr(torch, name))


def is_tensor(node: torch.fx.Node) -> bool:
    return hasattr(node.meta.get("tensor_meta"), "shape")


def shape_of(node: torch.fx.Node) -> Sequence[int]:
    """Return the shape of a node's result, a tensor."""
    shape: Sequence[int] = node.meta["tensor_meta"].shape
    return shape


def inputs_of(node: torch.fx.Node) -> List[torch.fx.Node]:
    """Return the tensors that a node takes, in order and as often as it takes them."""
    found: List[torch.fx.Node] = []

    def visit(argument: object) -> None:
        if isinstance(argument, torch.fx.Node) and is_tensor(argument):
            found.append(argument)
        elif isinstance(argument, (list, tuple)):
            for one in argument:
                visit(one)

    visit(list(node.args))
    visit(list(node.kwargs.values()))
    return found


def layer_of(node: torch.fx.Node, module: Optional[nn.Module]) -> Layer:
    """Return the layer that a node is, `module` being the one that it calls. Raises NetworkError."""
    what = f"'{node.target}', a {type(module).__name__}," if module is not None else f"'{node.name}'"
    try:
        return _layer_of(node, module)
    except Unsupported as error:
        raise NetworkError(f"{what} has no counterpart in `lacuna train`: {error}") from None
    except TypeError as error:  # arguments that none of the functions above has
        raise NetworkError(f"{what} has no counterpart in `lacuna train`: {error}") from None


def _layer_of(node: torch.fx.Node, module: Optional[nn.Module]) -> Layer:
    inputs = inputs_of(node)
    if node.op == "get_attr":
        raise Unsupported("the model computes with it outside of the module that has it")
    if node.target in _SUMS and len(inputs) == 2:
        if len(node.args) != 2 or node.kwargs or shape_of(inputs[0]) != shape_of(inputs[1]):
            raise Unsupported("only sums of two tensors of one shape can be had")
        return "add", {}
    if node.target in _CONCATENATIONS:
        dim: Any = node.args[1] if len(node.args) > 1 else node.kwargs.get("dim", node.kwargs.get("axis", 0))
        if dim % len(shape_of(node)) != 1:
            raise Unsupported("only channels can be concatenated, dim=1")
        return "concat", {}
    if len(inputs) != 1:
        raise Unsupported(f"it takes {len(inputs)} tensors; there are {KNOWN}")
    shapes = Shapes(shape_of(inputs[0]), shape_of(node))
    if module is not None:
        if hasattr(module, "parametrizations"):
            raise Unsupported("its weight is computed from others (parametrize)")
        if type(module) not in _MODULES:
            raise Unsupported(f"there are {KNOWN}")
        return _MODULES[type(module)](module, shapes)
    if node.target not in _FUNCTIONS:
        raise Unsupported(f"there are {KNOWN}")
    return _FUNCTIONS[node.target](shapes, *node.args[1:], **{k: v for k, v in node.kwargs.items() if k != "input"})
