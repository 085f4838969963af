"""lacuna.capture: record A, W and G of a training step.

Each Conv1d, Conv2d and Linear gets, for the duration of the block, a `forward` that watches which products torch
computes inside it. It records the arguments of torch's own conv1d, conv2d and linear, so the weights are
those that were multiplied, whatever produced them: pruning, a parametrization, weight normalisation.

The gradient of a product's output is taken at its node in the autograd graph. A hook on the tensor or on the module
would not do: an in-place ReLU replaces the tensor's history, and full backward hooks forbid it altogether.
"""

import json
import os
import sys
import threading
import warnings
from dataclasses import dataclass
from typing import Callable, Dict, List, Mapping, MutableMapping, Optional, Set, Tuple, Union

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from ._container import check_zstd, write_container
from ._left_out import LeftOutWork, ProductWatch, function_macs, module_macs
from ._metadata import checked_metadata
from ._modules import NOT_RECORDED, recorded_modules, unwrapped
from ._operands import FUNCTIONS, Stored, product_of, store
from ._sources import Step
from .errors import CaptureError, CaptureWarning

_DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16}


def capture(
    model: nn.Module,
    path: Union[str, os.PathLike, None] = None,
    samples: int = 2,
    *,
    values: bool = False,
    dtype: str = "f32",
    linear_samples: Optional[int] = None,
    metadata: Optional[Mapping[str, object]] = None,
) -> "Capture":
    """Record the training step inside the `with` block to a trace.

    >>> with lacuna.capture(model, "step.safetensors", samples=2, metadata={"dataset": "CIFAR-10"}) as step:
    ...     loss = criterion(model(images), labels)
    ...     loss.backward()
    ...     step.metadata["loss"] = loss.item()

    model: any module, unmodified, on any device. Its Conv1d, Conv2d and Linear are recorded.
    path: the trace; compressed if it ends in `.zst`. It is written, whole, when the block ends without an exception.
        Without it the step stays in memory, as `step`, for `lacuna.simulate`.
    samples: how many samples of the batch are recorded of convolutions and of linear layers with time steps.
    values: record values as well as masks of the non-zeros.
    dtype: of the values, "f32" or "bf16".
    linear_samples: rows recorded of linear layers without time steps; all by default, because the weight gradient
        reduces over them.
    metadata: any of model (default: the class), dataset, batch (default: the first layer's), progress, epoch, accuracy,
        loss. They can be added or changed inside the block.

    Raises CaptureError where the step cannot be recorded; warns with CaptureWarning about layers left out.
    """
    return Capture(model, path, samples, values, dtype, linear_samples, metadata)


@dataclass
class _Call:
    """One product of a layer, complete when its gradient has arrived."""

    name: str
    order: int
    recomputed: bool  # inside a backward pass, by gradient checkpointing
    info: Dict[str, object]
    samples: int
    a: Stored
    w: Stored
    macs: int  # of the whole batch
    g: Optional[Stored] = None


class Capture:
    """A step being recorded; made by `lacuna.capture`, which has the documentation.

    `metadata` may be changed inside the block. After it `layers` has the names of the recorded layers and, without a
    path, `step` what was recorded.
    """

    def __init__(self, model, path, samples, values, dtype, linear_samples, metadata):
        for key, number in (("samples", samples), ("linear_samples", linear_samples)):
            if number is not None and (not isinstance(number, int) or number < 1):
                raise CaptureError(f"{key} is {number!r}, not a whole number from 1")
        if dtype not in _DTYPES:
            raise CaptureError(f"dtype is {dtype!r}; values are stored as 'f32' or 'bf16'")
        self.path = os.path.abspath(os.fspath(path)) if path is not None else ""
        self.step: Optional[Step] = None
        self.metadata: MutableMapping[str, object] = dict(metadata or {})
        self.layers: List[str] = []
        self._model = unwrapped(model)
        self._modules = recorded_modules(self._model)
        self._samples = samples
        self._linear_samples = linear_samples
        self._dtype = _DTYPES[dtype] if values else None
        checked_metadata(self.metadata)
        # Fail now rather than after the step.
        if self.path and not os.path.isdir(os.path.dirname(self.path)):
            raise CaptureError(f"{path}: its folder does not exist; create it first")
        if os.path.isdir(self.path):
            raise CaptureError(f"{path}: is a folder; give the name of a file")
        if self.path.endswith(".zst"):
            check_zstd()

        self._calls: List[_Call] = []
        self._count = 0
        self._without_graph: Dict[str, List[Tuple[int, int]]] = {}  # order and MACs of calls without a history
        self._left_out = LeftOutWork()
        self._products = ProductWatch(self._product)
        self._gradients = 0
        self._later_pass = False
        self._repeated = False
        self._undo: List[Callable[[], None]] = []
        self._inside = threading.local()
        self._used = False

    def __enter__(self) -> "Capture":
        if self._used:
            raise CaptureError("this capture was already used; make a new one for the next step")
        self._used = True
        for name, module in self._modules.items():
            self._watch(name, module, self._running(name))
        for name, module in self._other_modules().items():
            self._watch(name, module, self._outside(name, module))
        self._products.__enter__()
        return self

    def __exit__(self, kind, error, traceback) -> bool:
        self._products.__exit__(kind, error, traceback)
        for undo in reversed(self._undo):
            undo()
        self._undo.clear()
        try:
            if kind is None:
                self._finish()
        finally:
            self._calls.clear()
        return False

    def _other_modules(self) -> Dict[str, nn.Module]:
        named = self._model.named_modules()
        return {name: module for name, module in named if isinstance(module, NOT_RECORDED)}

    def _watch(self, name: str, module: nn.Module, run: Callable) -> None:
        """Give the module a `forward` that calls run(its own forward, args, kwargs)."""
        inner = module.forward
        had_own = "forward" in module.__dict__

        def forward(*args, **kwargs):
            return run(inner, args, kwargs)

        # Where a compiled function calls the module, the compiler steps aside for it.
        dynamo = sys.modules.get("torch._dynamo")
        module.forward = dynamo.disable(forward) if dynamo is not None else forward

        def undo() -> None:
            if had_own:
                module.forward = inner
            else:
                del module.forward

        self._undo.append(undo)

    def _running(self, name: str) -> Callable:
        def run(inner, args, kwargs):
            stack = self._inside.__dict__.setdefault("names", [])
            stack.append(name)
            try:
                if len(stack) > 1:  # a recorded layer inside a recorded layer: one watch sees both
                    return inner(*args, **kwargs)
                with _Watch(self):
                    return inner(*args, **kwargs)
            finally:
                stack.pop()

        return run

    def _outside(self, name: str, module: nn.Module) -> Callable:
        """For a layer that a trace cannot hold: counts it whole."""

        def run(inner, args, kwargs):
            depth = self._inside.__dict__.get("others", 0)
            self._inside.others = depth + 1
            try:
                output = inner(*args, **kwargs)
            finally:
                self._inside.others = depth
            if depth == 0 and not self._is_later_pass():
                macs = module_macs(module, args, kwargs, output)
                self._left_out.seen(name, type(module).__name__, macs, output, _in_backward())
            return output

        return run

    def _product(self, function: str, macs: int, output: object) -> None:
        """torch computed a product somewhere; those of layers are seen there."""
        inside = self._inside.__dict__
        if inside.get("names") or inside.get("others") or self._is_later_pass():
            return
        self._left_out.seen(function, "function", macs, output, _in_backward())

    def _is_later_pass(self) -> bool:
        return self._later_pass or (self._gradients > 0 and not _in_backward())

    def called(self, function: str, args: tuple, kwargs: dict, output: object) -> None:
        """torch computed a product inside a layer."""
        name = self._inside.names[-1]
        recomputed = _in_backward()
        self._later_pass |= self._gradients > 0 and not recomputed
        if self._later_pass:
            return
        self._count += 1
        macs = function_macs(function, args, kwargs, output)
        if not isinstance(output, torch.Tensor) or output.grad_fn is None:
            if not recomputed:
                self._without_graph.setdefault(name, []).append((self._count, macs))
            return
        order = self._count
        if recomputed and self._without_graph.get(name):
            # This kind of checkpointing first runs forward without a graph; that run has the order of execution.
            order, _ = self._without_graph[name].pop(0)
        product = product_of(function, args, kwargs, output, self._samples, self._linear_samples)
        if product.samples == 0:
            return
        call = _Call(
            name,
            order,
            recomputed,
            product.info,
            product.samples,
            store(product.a, self._dtype),
            store(product.w, self._dtype),
            macs,
        )
        self._calls.append(call)
        self._take_gradient(call, output, product.arrange_g)

    def _take_gradient(self, call: _Call, output: torch.Tensor, arrange: Callable) -> None:
        # torch's linear returns a view of a matrix for inputs of three dimensions. An in-place operation on a view
        # rewrites the history of its base and drops the view's own node, so the base's node is the one to watch.
        source = output
        if output._is_view() and output._base is not None and output._base.grad_fn is not None:
            if output._base.numel() == output.numel():
                source = output._base
        shape, index = output.shape, source.output_nr

        def arrived(_grad_inputs, grad_outputs):
            gradient = grad_outputs[index]
            if gradient is None:
                return
            if call.g is not None:
                self._repeated = True
                return
            self._gradients += 1
            call.g = store(arrange(gradient.detach().reshape(shape)), self._dtype)

        self._undo.append(source.grad_fn.register_hook(arrived).remove)

    def _finish(self) -> None:
        calls = sorted((call for call in self._calls if call.g is not None), key=lambda call: call.order)
        if not calls:
            cause = "ran where it could be seen; a compiled model hides its layers"
            if self._calls or self._without_graph:
                cause = "got a gradient; call backward() inside the block"
            raise CaptureError(f"{self.path or 'capture'}: no trace, because no layer {cause}")
        self._warn_of_gaps(calls)
        batch = calls[0].samples
        _settle_steps(calls, batch, self._linear_samples)
        metadata = {"format": "training-trace", "version": "1", "model": type(self._model).__name__}
        metadata["batch"] = str(batch)
        metadata.update(checked_metadata(self.metadata))
        metadata["samples"] = str(min(self._samples, batch))
        self._count_gaps({call.name for call in calls})
        left_out = self._left_out.entries(int(metadata["batch"]) / batch)
        if left_out:
            metadata["left_out"] = json.dumps(left_out)

        tensors: Dict[str, torch.Tensor] = {}
        layers = []
        names = _numbered([call.name for call in calls])
        for name, call in zip(names, calls):
            sparsity = {}
            for role, stored in (("A", call.a), ("W", call.w), ("G", call.g)):
                if stored.problem:
                    place = self.path or "capture"
                    raise CaptureError(f"{place}: no trace, because {role} of layer '{name}' {stored.problem}")
                sparsity[role] = stored.zeros
                if stored.values is not None:
                    tensors[f"{name}/{role}"] = stored.values
                if stored.values is not None or stored.zeros > 0:  # no mask: no zeros
                    tensors[f"{name}/{role}.mask"] = stored.mask
            layers.append({"name": name, **call.info, "sparsity": sparsity})
        metadata["layers"] = json.dumps(layers)
        if self.path:
            write_container(self.path, tensors, metadata)
        else:
            self.step = Step(metadata, tensors)
        self.layers = names

    def _count_gaps(self, done: Set[str]) -> None:
        """Layers of a kind that is recorded, but without a gradient."""
        kinds = {name: type(module).__name__ for name, module in self._modules.items()}
        for call in self._calls:
            if call.g is None and not call.recomputed:
                self._left_out.add(call.name, kinds[call.name], call.macs)
        for name, calls in self._without_graph.items():
            for _, macs in calls if name not in done else []:  # of those that are done, it was an evaluation
                self._left_out.add(name, kinds[name], macs)

    def _warn_of_gaps(self, calls: List[_Call]) -> None:
        done = {call.name for call in calls}
        ran = {call.name for call in self._calls} | set(self._without_graph)
        other = self._other_modules()
        inside = tuple(name + "." for name in other)
        idle = [name for name in self._modules if name not in ran and not name.startswith(inside)]
        bare = [name for name in self._modules if name in ran - done]
        partly = [call.name for call in self._calls if call.g is None and not call.recomputed and call.name in done]
        types = [f"{name} ({type(module).__name__})" for name, module in other.items()]
        _warn("a trace holds Conv1d, Conv2d and Linear only; left out", types)
        _warn("products outside of these layers were left out", self._left_out.functions())
        _warn("did not run in the block, or their weights were used without calling them; left out", idle)
        _warn("got no gradient (frozen, or not part of the loss); left out", bare)
        _warn("some calls of these got no gradient and were left out", partly)
        if self._later_pass:
            _warn("the model ran again after a backward pass; only the passes before it were recorded")
        if self._repeated:
            _warn("a second backward pass went through the same products; only the first was recorded")


class _Watch(TorchFunctionMode):
    """Shows a capture the products that torch computes; active only inside the forward of a recorded layer."""

    def __init__(self, owner: Capture):
        super().__init__()
        self._owner = owner

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        output = func(*args, **kwargs)
        function = getattr(func, "__name__", "")
        if function in FUNCTIONS:
            self._owner.called(function, args, kwargs, output)
        return output


def _in_backward() -> bool:
    task = getattr(torch._C, "_current_graph_task_id", None)
    if task is not None:  # torch 2
        return task() != -1
    try:  # in torch 1 the only sign is an exception
        torch.autograd.Variable._execution_engine.queue_callback(lambda: None)
    except RuntimeError:
        return False
    return True


def _numbered(names: List[str]) -> List[str]:
    """The second call of a layer becomes a layer of its own, NAME#2, and so on."""
    used = set()
    result = []
    for name in names:
        unique, number = name, 1
        while unique in used:
            number += 1
            unique = f"{name}#{number}"
        used.add(unique)
        result.append(unique)
    return result


def _settle_steps(calls: List[_Call], batch: int, linear_samples: Optional[int]) -> None:
    """Rows that the model folded into the first dimension are steps of its samples; totals are scaled by the samples."""
    odd = []
    for call in calls:
        if call.samples == batch:
            continue
        info = call.info
        folded = info["type"] == "linear" and info["steps"] == 1 and linear_samples is None
        if folded and call.samples % batch == 0:
            info["steps"] = call.samples // batch
        else:
            odd.append(f"{call.name} ({call.samples})")
    _warn(f"the batch is {batch}, but the first dimension of these differs; totals are scaled as if it were {batch}", odd)


def _warn(text: str, names: Optional[List[str]] = None) -> None:
    if names is not None:
        if not names:
            return
        names = list(dict.fromkeys(names))
        shown = ", ".join(names[:12]) + (f" and {len(names) - 12} more" if len(names) > 12 else "")
        text = f"{text}: {shown}"
    warnings.warn(f"lacuna.capture: {text}", CaptureWarning, stacklevel=5)
