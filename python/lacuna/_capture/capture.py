"""lacuna.capture: record A, W and G of a training step.

The products are watched where torch's dispatcher computes them (_dispatch), so it does not matter who asked for them: a
module, a function, C++ code. The weights are those that were multiplied, whatever produced them: pruning, a
parametrization, autocast. For the duration of the block each module has a `forward` that notes that it is running,
which is where names come from.

The gradient of a product's output is taken at its node in the autograd graph. A hook on the tensor or on the module
would not do: an in-place ReLU replaces the tensor's history, and full backward hooks forbid it altogether. Below
autograd the output has no node yet; it has one when the next operation begins.
"""

import contextlib
import functools
import json
import os
import sys
import warnings
from typing import Any, Callable, Dict, List, Mapping, MutableMapping, Optional, TypeVar, Union, cast

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from .._trace.container import check_zstd, write_container
from .callers import in_backward
from .metadata import checked_metadata
from .modules import Names, Running, numbered, sequence_of, unwrapped
from .operands import Limits
from .recorder import Call, Recorder, merged, noted_operations
from .._trace.sources import TENSORS, Step
from ..errors import CaptureError, CaptureWarning

_Function = TypeVar("_Function", bound=Callable[..., Any])
_DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16}
_ATTENTION = (nn.MultiheadAttention, nn.TransformerEncoderLayer, nn.TransformerEncoder)


def capture(
    model: nn.Module,
    path: Union[str, os.PathLike, None] = None,
    samples: int = 2,
    *,
    values: bool = False,
    dtype: str = "f32",
    linear_samples: Optional[int] = None,
    metadata: Optional[Mapping[str, Any]] = None,
    inference: bool = False,
) -> "Capture":
    """Record the training step inside the `with` block to a trace.

    >>> with lacuna.capture(model, "step.safetensors", samples=2, metadata={"dataset": "CIFAR-10"}) as step:
    ...     loss = criterion(model(images), labels)
    ...     loss.backward()
    ...     step.metadata["loss"] = loss.item()

    model: any module, unmodified, on any device.
    path: the trace; compressed if it ends in `.zst`. It is written, whole, when the block ends without an exception.
        Without it the step stays in memory, as `step`, for `lacuna.simulate`.
    samples: how many samples of the batch are recorded of convolutions, of linear layers with time steps and of
        products without weights, as in attention.
    values: record values as well as masks of the non-zeros.
    dtype: of the values, "f32" or "bf16".
    linear_samples: rows recorded of linear layers without time steps, and of each step of recurrent layers; all by
        default, because the weight gradient reduces over them and a step has no others to run beside.
    metadata: any of model (default: the class), dataset, batch (default: the first layer's), progress, epoch, accuracy,
        loss. They can be added or changed inside the block.
    inference: record forward passes alone, with gradients or without.

    As the decorator of a function it records the first call; later ones run as they are.

    >>> @lacuna.capture(model, "step.safetensors")
    ... def train_step(images, labels):
    ...     criterion(model(images), labels).backward()
    >>> train_step(images, labels)

    Each layer has the operations that the step ran: a frozen one no weight_grad, one whose input needs no gradient no
    input_grad.

    Raises CaptureError where the step cannot be recorded; warns with CaptureWarning about what was left out.
    """
    return Capture(model, path, samples, values, dtype, linear_samples, metadata, inference)


class Capture:
    """A step being recorded; made by `lacuna.capture`, which has the documentation.

    `metadata` may be changed inside the block. After it `layers` has the names of the recorded layers and, without a
    path, `step` what was recorded.
    """

    def __init__(self, model, path, samples, values, dtype, linear_samples, metadata, inference=False):
        for key, number in (("samples", samples), ("linear_samples", linear_samples)):
            if number is not None and (not isinstance(number, int) or number < 1):
                raise CaptureError(f"{key} is {number!r}, not a whole number from 1")
        if dtype not in _DTYPES:
            raise CaptureError(f"dtype is {dtype!r}; values are stored as 'f32' or 'bf16'")
        self.path = os.path.abspath(os.fspath(path)) if path is not None else ""
        self.step: Optional[Step] = None
        self.metadata: MutableMapping[str, Any] = dict(metadata or {})
        self.layers: List[str] = []
        self._model = unwrapped(model)
        self._limits = Limits(None, samples, linear_samples)
        self._dtype = _DTYPES[dtype] if values else None
        self._inference = inference
        checked_metadata(self.metadata)
        # Fail now rather than after the step.
        if self.path and not os.path.isdir(os.path.dirname(self.path)):
            raise CaptureError(f"{path}: its folder does not exist; create it first")
        if os.path.isdir(self.path):
            raise CaptureError(f"{path}: is a folder; give the name of a file")
        if self.path.endswith(".zst"):
            check_zstd()

        self._undo: List[Callable[[], None]] = []
        self._used = False

    def __call__(self, function: _Function) -> _Function:
        @functools.wraps(function)
        def first_recorded(*args, **kwargs):
            with contextlib.nullcontext() if self._used else self:
                return function(*args, **kwargs)

        return cast(_Function, first_recorded)

    def __enter__(self) -> "Capture":
        if self._used:
            raise CaptureError("this capture was already used; make a new one for the next step")
        self._used = True
        self._names = Names(self._model)
        self._recorder = self._make_recorder()
        for name, module in self._names.modules.items():
            self._note_forward(name, module)
        self._undo.append(_unfused_attention())
        self._recorder.open()
        return self

    def _make_recorder(self) -> Recorder:
        return Recorder(self._names, self._limits, self._dtype, self._inference)

    def __exit__(self, kind, error, traceback) -> None:
        self._recorder.close()
        for undo in reversed(self._undo):
            undo()
        self._undo.clear()
        try:
            if kind is None:
                self._finish()
        finally:
            del self._recorder

    def _note_forward(self, name: str, module: nn.Module) -> None:
        inner, recorder = module.forward, self._recorder
        had_own = "forward" in module.__dict__
        calls = 0

        @functools.wraps(inner)  # some libraries look at the signature
        def forward(*args, **kwargs):
            nonlocal calls
            calls += 1
            recorder.start(Running(name, module, sequence_of(module, calls, args, kwargs), in_backward()))
            try:
                with _unfused(module):
                    return inner(*args, **kwargs)
            finally:
                recorder.stop()

        # Where a compiled function calls the module, the compiler steps aside for it.
        dynamo = sys.modules.get("torch._dynamo")
        module.forward = dynamo.disable(forward) if dynamo is not None else forward

        def undo() -> None:
            if had_own:
                module.forward = inner
            else:
                module.__dict__.pop("forward", None)

        self._undo.append(undo)

    def _finish(self) -> None:
        recorder = self._recorder
        calls = sorted((call for call in recorder.calls if call.done), key=lambda call: call.order)
        if not any(call.forward_alone == self._inference for call in calls):
            cause = "ran where it could be seen; a compiled model hides its layers"
            if (recorder.calls or recorder.without_graph) and not self._inference:
                cause = "got a gradient; call backward() inside the block"
            raise CaptureError(f"{self.path or 'capture'}: no trace, because no layer {cause}")
        batch = self._limits.batch
        self._count_gaps(calls)
        self._warn_of_gaps(calls)
        calls = merged(calls, recorder.left_out)
        odd = [f"{call.name} ({call.product.samples})" for call in calls if call.product.samples != batch]
        text = f"the batch is {batch}, but the first dimension of these differs; totals are scaled as if it were {batch}"
        _warn(text, odd)
        version = "2" if any(_is_new(call.product.info) for call in calls) else "1"
        metadata = {"format": "training-trace", "version": version, "model": type(self._model).__name__}
        metadata["batch"] = str(batch)
        metadata.update(checked_metadata(self.metadata))
        metadata["samples"] = str(min(self._limits.samples, batch))
        left_out = recorder.left_out.entries(int(metadata["batch"]) / batch)
        if left_out:
            metadata["left_out"] = json.dumps(left_out)

        tensors: Dict[str, torch.Tensor] = {}
        layers = []
        names = numbered([call.name for call in calls])
        for place, (name, call) in enumerate(zip(names, calls)):
            noted = noted_operations(call.operations, place)
            metadata["version"] = "3" if noted or "A_forward" in call.stored else metadata["version"]
            sparsity = {}
            for role in TENSORS:
                stored = call.stored.get(role)
                if stored is None:  # no operation multiplies it
                    continue
                if stored.problem:
                    where = self.path or "capture"
                    raise CaptureError(f"{where}: no trace, because {role} of layer '{name}' {stored.problem}")
                sparsity[role] = stored.zeros
                if stored.values is not None:
                    tensors[f"{name}/{role}"] = stored.values
                if stored.values is not None or stored.zeros > 0 or role == "A_forward":  # no mask: no zeros
                    tensors[f"{name}/{role}.mask"] = stored.mask
            layers.append({"name": name, **call.product.info, **noted, "sparsity": sparsity})
        metadata["layers"] = json.dumps(layers)
        if self.path:
            write_container(self.path, tensors, metadata)
        else:
            self.step = Step(metadata, tensors)
        self.layers = names

    def _count_gaps(self, calls: List[Call]) -> None:
        """Products without a gradient, and rows that do not divide among the samples."""
        recorder = self._recorder
        done = {call.name for call in calls}
        for call in recorder.calls:
            if call.done:
                recorder.left_out.add(call.name, call.kind, call.product.rest)
            elif not call.recomputed:
                recorder.left_out.add(call.name, call.kind, call.macs)
        for name, bare in recorder.without_graph.items():
            for call in bare if name not in done else []:  # of those that are done, it was an evaluation
                recorder.left_out.add(name, call.kind, call.macs)

    def _warn_of_gaps(self, calls: List[Call]) -> None:
        recorder = self._recorder
        done = {call.name for call in calls}
        bare_calls = [call for bare in recorder.without_graph.values() for call in bare]
        idle = [self._names.shown(name) for name in self._names.multiplying() if name not in recorder.ran]
        bare = [call.name for call in [*recorder.calls, *bare_calls] if call.name not in done and call.weighted]
        partly = [call.name for call in recorder.calls if not call.done and not call.recomputed and call.name in done]
        recorded = sum(call.macs for call in calls)
        _warn("a trace cannot hold these products; left out", recorder.left_out.unfit(recorded))
        _warn("did not run in the block; left out", idle)
        _warn("got no gradient (under torch.no_grad(), or not part of the loss); left out", bare)
        _warn("some calls of these got no gradient and were left out", partly)
        if recorder.later_pass:
            _warn("the model ran again after a backward pass; only the passes before it were recorded")
        if recorder.repeated:
            _warn("a second backward pass went through the same products; only the first was recorded")


def _is_new(info: Mapping[str, Any]) -> bool:
    """Does the layer need version 2 of the format?"""
    return info["type"] == "matmul" or bool(info.get("recurrent"))


def _unfused_attention() -> Callable[[], None]:
    """Attention kernels that hide their products are not chosen; returns what undoes it."""
    kinds = ("flash_sdp", "mem_efficient_sdp", "cudnn_sdp", "math_sdp")
    cuda = torch.backends.cuda
    before = {kind: getattr(cuda, f"{kind}_enabled")() for kind in kinds if hasattr(cuda, f"{kind}_enabled")}
    for kind in before:
        getattr(cuda, f"enable_{kind}")(kind == "math_sdp")
    whole = getattr(torch.backends, "mha", None)  # without gradients
    was_whole = whole is not None and whole.get_fastpath_enabled()
    if was_whole:
        whole.set_fastpath_enabled(False)

    def undo() -> None:
        if was_whole:
            whole.set_fastpath_enabled(True)
        for kind, enabled in before.items():
            getattr(cuda, f"enable_{kind}")(enabled)

    return undo


class _Seen(TorchFunctionMode):
    """Changes nothing. Before torch 2.2, layers of attention that run as a whole ask whether somebody looks."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


@contextlib.contextmanager
def _unfused(module: nn.Module):
    """The same for kernels that compute a recurrent layer or one of attention as a whole."""
    if isinstance(module, _ATTENTION) and not hasattr(torch.backends, "mha"):
        with _Seen():
            yield
        return
    if not isinstance(module, nn.RNNBase):
        yield
        return
    # torch.backends.*.flags() would set more than this, and in some versions refuse to.
    settings = [(torch._C._get_cudnn_enabled, torch._C._set_cudnn_enabled)]
    settings += [(torch._C._get_mkldnn_enabled, torch._C._set_mkldnn_enabled)]
    before = [get() for get, _ in settings]
    for _, put in settings:
        put(False)
    try:
        yield
    finally:
        for (_, put), enabled in zip(settings, before):
            put(enabled)


def _warn(text: str, names: Optional[List[str]] = None) -> None:
    if names is not None:
        if not names:
            return
        names = list(dict.fromkeys(names))
        shown = ", ".join(names[:12]) + (f" and {len(names) - 12} more" if len(names) > 12 else "")
        text = f"{text}: {shown}"
    warnings.warn(f"lacuna.capture: {text}", CaptureWarning, stacklevel=5)
