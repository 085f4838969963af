"""lacuna.convert and lacuna.unconvert: layers of a model for kernels that skip zeros, and back."""

import contextlib
import difflib
from fnmatch import fnmatchcase
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Set, Union

import torch
from torch import nn

from . import layers
from .calls import Manner
from .plans import FORWARD, NOTHING, SPARSE, Geometry, Plan, Setting, has_bfloat16
from ..errors import ConvertError

_COVERED = (nn.Conv2d, nn.Linear)


Names = Union[str, Sequence[str]]


def convert(
    model: nn.Module,
    *,
    only: Names = (),
    skip: Names = (),
    dry_run: bool = False,
    deterministic: bool = False,
    masks: Optional[Mapping[str, torch.Tensor]] = None,
    memory_limit: Optional[int] = None,
    remember: bool = True,
    precision: str = "float32",
    feed_forward: bool = False,
    needed_only: bool = False,
) -> nn.Module:
    """Let the faster of PyTorch and Lacuna run the `Conv2d` and `Linear` layers of a model on the CPU.

    >>> model = lacuna.convert(model)

    The model is changed in place and returned: its layers keep their class, parameters, names, hooks and `state_dict`.
    Each layer measures in its first steps, operation by operation, which kernel is faster at its shape and share of
    zeros, and looks again as the zeros change. Results differ by rounding alone.

    only, skip: names of layers, or of modules with all that is inside, to convert and to leave; `*` is any text.
    dry_run: measure, but run PyTorch's kernels once that is done: `lacuna.report(model)` says what ours would save.
    deterministic: choose by the share of zeros alone, never by time, so that two runs give the same bits. Also the case
        while `torch.use_deterministic_algorithms(True)` holds.
    masks: for pruned training with masks of your own: by the name of a weight, a tensor of its shape that is zero where
        the weight stays zero. Gradients there may be left zero. Masks of `torch.nn.utils.prune` are found.
    memory_limit: bytes that a kernel may need for its workspace, which all layers share. Kernels that need more are not
        tried. By default a quarter of what is free when a kernel is first tried.
    remember: keep what was measured in the user's cache folder, and start with what is there.
    precision: "bfloat16": the operands of products may be rounded to bfloat16 where that is faster, as with
        `lacuna train --precision bfloat16`; sums, weights and all else stay single precision. Layers whose channels are
        not multiples of 16 stay as they are.
    feed_forward: two `Linear` layers with nothing but ReLU, or its square, between them may run as one block, which
        skips the zeros of the hidden values in five of six products. Gradients of parameters and of the block's input
        are the same; those of the hidden values cannot be asked for (`torch.autograd.grad`).
    needed_only: where a layer's input comes out of a ReLU (also through max pooling, dropout, concatenation), its
        gradient may be left zero where the input is zero, because the ReLU discards it there: in a ReLU network with
        batch norm input gradients have no other zeros to skip. Gradients of parameters and of the model's inputs are
        the same. An input with a hook or `retain_grad` gets its whole gradient; hooks of tensors between the ReLU and
        the input, and `torch.autograd.grad` of any of them, see the zeros.

    `lacuna.report(model)` has what was converted, what was left to PyTorch and why; `lacuna.unconvert(model)` restores
    the model.
    """
    checked(model, "convert")
    if isinstance(model, torch.jit.ScriptModule):
        raise ConvertError("a TorchScript model hides its layers; convert the Python model that it was made from")
    names = [name for name, _ in model.named_modules()]
    chosen, skipped = _matching(names, only, "only"), _matching(names, skip, "skip")
    if memory_limit is not None and memory_limit < 0:
        raise ConvertError(f"memory_limit is {memory_limit}; give bytes, 0 for kernels without a workspace alone")
    if precision not in ("float32", "bfloat16"):
        raise ConvertError(f"precision is {precision!r}; give 'float32' or 'bfloat16'")
    manner = Manner(deterministic, dry_run, memory_limit, remember, precision == "bfloat16", feed_forward, needed_only)
    own = _checked_masks(model, masks or {})
    _try_library()
    if manner.bfloat16 and not has_bfloat16():
        raise ConvertError("precision='bfloat16': this CPU has neither AMX nor AVX512-BF16; leave it out")
    for name, module in model.named_modules():
        if why_not(module) is None and (not only or name in chosen) and name not in skipped:
            module._lacuna = layers.LayerState(manner, own.get(f"{name}.weight" if name else "weight"))
        else:
            module.__dict__.pop("_lacuna", None)  # of an earlier call
    return model


def _matching(names: List[str], patterns: Names, option: str) -> Set[str]:
    """Names that one of the patterns matches, and those of modules inside."""
    found: Set[str] = set()
    for pattern in patterns if isinstance(patterns, Iterable) and not isinstance(patterns, str) else [patterns]:
        if not isinstance(pattern, str):
            raise ConvertError(f"{option} takes names, not {type(pattern).__name__}; model.named_modules() lists them")
        matched = [name for name in names if fnmatchcase(name, pattern)]
        if not matched:
            near = difflib.get_close_matches(pattern, names, 1)
            hint = f"did you mean {near[0]!r}?" if near else "model.named_modules() lists the names"
            raise ConvertError(f"{option}: the model has no module {pattern!r}; {hint}")
        found.update(name for name in names if any(name == one or name.startswith(f"{one}.") for one in matched))
    return found


def _checked_masks(model: nn.Module, masks: Mapping[str, torch.Tensor]) -> Mapping[str, torch.Tensor]:
    weights = dict(model.named_parameters())
    for name, mask in masks.items():
        if name not in weights:
            near = difflib.get_close_matches(name, weights, 1)
            hint = f"did you mean {near[0]!r}?" if near else "model.named_parameters() lists the names"
            raise ConvertError(f"masks: the model has no weight {name!r}; {hint}")
        if not isinstance(mask, torch.Tensor) or mask.shape != weights[name].shape:
            shape = tuple(mask.shape) if isinstance(mask, torch.Tensor) else type(mask).__name__
            raise ConvertError(f"masks: {name} is {tuple(weights[name].shape)}, its mask {shape}; give one of its shape")
    return masks


def unconvert(model: nn.Module) -> nn.Module:
    """Take everything from a model that `lacuna.convert` has given it. Parameters stay what they are.

    Returns the model. A model that was never converted is left as it is.
    """
    for module in checked(model, "unconvert").modules():
        module.__dict__.pop("_lacuna", None)
    return model


class converted(contextlib.ContextDecorator):
    """Convert a model for the duration of a `with` block, or of each call of a function.

    >>> with lacuna.converted(model):
    ...     criterion(model(images), labels).backward()
    >>> @lacuna.converted(model, only="features.*")
    ... def train_step(images, labels):
    ...     criterion(model(images), labels).backward()

    Takes the options of `lacuna.convert`. Afterwards the layers are as before. The next block or call goes on with what
    this one has measured.
    """

    def __init__(self, model: nn.Module, **options: Any) -> None:
        self._model = checked(model, "converted")
        self._options = options
        self._mine: Optional[Dict[nn.Module, Any]] = None
        self._before: Dict[nn.Module, Any] = {}
        self._entered = 0

    def __enter__(self) -> nn.Module:
        if not self._entered:
            before = _take_states(self._model)
            try:
                _put_states(self._mine or {})
                if self._mine is None:
                    convert(self._model, **self._options)
            except BaseException:
                _put_states(before)
                raise
            self._before = before
        self._entered += 1
        return self._model

    def __exit__(self, *error: object) -> None:
        self._entered -= 1
        if not self._entered:
            self._mine = _take_states(self._model)
            _put_states(self._before)


def _take_states(model: nn.Module) -> Dict[nn.Module, Any]:
    return {module: module.__dict__.pop("_lacuna") for module in model.modules() if "_lacuna" in module.__dict__}


def _put_states(states: Mapping[nn.Module, Any]) -> None:
    for module, state in states.items():
        module._lacuna = state


def checked(model: nn.Module, function: str) -> nn.Module:
    if not isinstance(model, nn.Module):
        raise ConvertError(f"{function} takes a torch.nn.Module, not {type(model).__name__}; give it the model itself")
    return model


def why_not(module: nn.Module) -> Optional[str]:
    """None: it can be converted. Empty: not a layer that computes products. Else: why it is left to PyTorch."""
    kind = type(module)
    if not isinstance(module, _COVERED):
        if isinstance(module, (nn.modules.conv._ConvNd, nn.Bilinear, nn.RNNBase, nn.MultiheadAttention)):
            return "only Conv2d and Linear are covered"
        return ""
    if hasattr(module, "parametrizations"):
        return "its weight is computed from others (parametrize)"
    if kind not in _COVERED:
        if isinstance(module, nn.modules.lazy.LazyModuleMixin):
            return "has no shape yet: run the model once, then convert it"
        return f"{kind.__name__} is another class, which may compute something else"
    if "forward" in module.__dict__:
        return "its forward was replaced"
    weight = module.weight
    if weight.device.type != "cpu":
        return f"is on {weight.device}: the kernels are for the CPU"
    if weight.dtype not in (torch.float32, torch.bfloat16):
        return f"its weights are {str(weight.dtype).replace('torch.', '')}: the kernels are for float32 and bfloat16"
    if isinstance(module, nn.Conv2d):
        if module.padding_mode != "zeros":
            return f"pads with '{module.padding_mode}'"
        if isinstance(module.padding, str) and module.padding != "valid":
            return f"padding='{module.padding}': give numbers"
        least = min(module.in_channels, module.out_channels) // module.groups
        if module.groups > 1 and least < 16:
            return f"groups of {least} channels: the kernels work on 16 at a time"
    return None


def _try_library() -> None:
    """An installation without a usable library is an error here, not in the first step."""
    geometry = Geometry((1, 16, 1, 1), 16, (1, 1), (1, 1), (0, 0), (1, 1), 1, True)
    Plan(geometry, Setting(FORWARD, SPARSE, NOTHING, True, False, False, 1))
