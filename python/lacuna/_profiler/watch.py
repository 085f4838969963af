"""One profiled training step: which layers ran, and the packed masks of their operands."""

from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Optional, Tuple

import torch
import torch.nn.functional as F
from torch import nn

from .._trace.masks import pack
from .._capture.callers import in_backward, in_checkpoint
from .._capture.operands import Limits, Product, convolution
from .._capture.recorder import operations_of

# Convolutions whose arrangement in a trace is not their own: as lacuna.capture records them.
_ARRANGED = (nn.Conv3d, nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)
LAYERS = (nn.Conv1d, nn.Conv2d, nn.Linear, *_ARRANGED)
# Positions to record of a layer at least, if the batch has them. A weight gradient reduces over the positions of the
# whole batch; over few of them its streams would be too short to be like it. ResNet-18 on 64 x 64, batch 16: TensorDash
# gives 1.35 from 2 samples without this, 1.44 with it, 1.46 from the whole batch.
_POSITIONS = 256
_CHECKED = 3  # gradients of this many layers, the first to run, are looked through for NaN: they come last


@dataclass
class LayerCall:
    """A layer that ran; complete when its gradient has arrived. `masks` are packed, on the layer's device."""

    name: str
    order: int
    info: Dict[str, Any]  # as a trace describes it
    arrange: Callable[[torch.Tensor], torch.Tensor]  # the gradient of its output as a trace has it
    late: str = "G"  # what that gradient is: A of a transposed convolution
    operations: Tuple[str, ...] = ()  # those that the step runs
    forward_alone: bool = False  # frozen: no gradient will come
    masks: Dict[str, torch.Tensor] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        return self.forward_alone or self.late in self.masks


def _trains(module: nn.Module) -> bool:
    """Does the module's weight need a gradient? A parametrized one is not asked for: that would compute it again."""
    if hasattr(module, "parametrizations"):
        return any(parameter.requires_grad for parameter in module.parametrizations.parameters())
    return module.weight.requires_grad


@dataclass
class Piece:
    """Where the mask of an operand lies in the bytes of a step."""

    role: str
    offset: int
    bytes: int


@dataclass
class RecordedStep:
    """A step on its way to a worker: bytes on the host (or under way there), and what they are."""

    step: int
    model: str
    batch: int
    samples: int
    calls: List[LayerCall]
    pieces: List[List[Piece]]  # of each call
    data: torch.Tensor
    finite_at: Optional[int]  # offset of a byte that is 1 if the gradients looked through are finite
    ready: Optional["torch.cuda.Event"] = None
    release: Callable[[], None] = lambda: None


class StepWatch:
    """Watches the layers of a model from `start` to `finish`. Leaves the model as it was."""

    def __init__(self, model: nn.Module, samples: int) -> None:
        self._model, self._samples = model, samples
        self.batch = 0  # the first dimension of the first layer that ran
        self._handles: List[Any] = []
        self._calls: List[LayerCall] = []
        self._waiting: Dict[str, List[int]] = {}  # places of calls without a graph: checkpointing runs them again
        self._count = 0
        self._gradients = 0
        self._finite: List[torch.Tensor] = []
        self._watched: Dict[nn.Module, str] = {}
        self.problem = ""  # an exception of ours, which must not end the training

    @property
    def gradients(self) -> int:
        """Gradients that have arrived."""
        return self._gradients

    def start(self) -> None:
        self._find_layers()
        # Layers may be put in between now and the forward pass.
        self._handles.append(self._model.register_forward_pre_hook(lambda *_: self._guarded(self._find_layers)))

    def _find_layers(self) -> None:
        for name, module in self._model.named_modules():
            if isinstance(module, LAYERS) and module not in self._watched:
                self._watched[module] = name or type(module).__name__.lower()
                self._handles.append(module.register_forward_hook(self._ran(self._watched[module])))

    def _guarded(self, work: Callable, *args: Any) -> None:
        if self.problem:
            return
        try:
            with torch.no_grad():
                work(*args)
        except Exception as error:
            self.problem = f"{type(error).__name__}: {error}"

    def stop(self) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles.clear()

    def finish(self) -> Tuple[List[LayerCall], List[torch.Tensor]]:
        """The layers that got a gradient, in the order they ran, and flags of finite gradients."""
        self.stop()
        calls = sorted((call for call in self._calls if call.complete), key=lambda call: call.order)
        finite = self._finite
        self._calls, self._finite, self._watched = [], [], {}
        return calls, finite

    def _ran(self, name: str) -> Callable:
        def ran(training: bool, module: nn.Module, args: tuple, output: Any) -> None:
            recomputed = in_backward()
            if self._gradients and not recomputed:
                return  # a later pass of gradient accumulation: the first is measured
            if not args or not isinstance(output, torch.Tensor):
                return
            order = self._count
            self._count += 1
            if output.grad_fn is None:
                if training and not recomputed and not in_checkpoint():
                    call = self._record(name, order, module, args[0].detach(), output)
                    if call is not None:
                        call.operations, call.forward_alone = operations_of(False, False, call.late == "A")[:1], True
                        self._calls.append(call)
                elif not recomputed:
                    self._waiting.setdefault(name, []).append(order)
                return
            if recomputed and self._waiting.get(name):
                order = self._waiting[name].pop(0)
            call = self._record(name, order, module, args[0].detach(), output)
            if call is not None:
                wanted = args[0].requires_grad, _trains(module)
                call.operations = operations_of(*wanted, call.late == "A")
                self._calls.append(call)
                self._take_gradient(call, output)

        return lambda *arguments: self._guarded(ran, torch.is_grad_enabled(), *arguments)

    def _record(
        self, name: str, order: int, module: nn.Module, a: torch.Tensor, output: torch.Tensor
    ) -> Optional[LayerCall]:
        if a.numel() == 0:
            return None
        # A parametrized weight would be computed once more, and some keep a state: taken as without zeros.
        parametrized = hasattr(module, "parametrizations")
        if isinstance(module, nn.Linear):
            info, a = self._linear(module, a)
            call = LayerCall(name, order, info, lambda g: g.reshape(-1, g.shape[-1])[: info["batch"]])
            operands = {"A": a.to(output.dtype)}
            if not parametrized:
                operands["W"] = module.weight.detach().to(output.dtype)
        else:
            product = self._convolution(module, a, output.detach(), parametrized)
            if product is None:
                return None
            alone = a.dim() == 1 + len(module.kernel_size)
            arrange = (lambda g: product.arrange(g.unsqueeze(0))) if alone else product.arrange
            call = LayerCall(name, order, product.info, arrange, product.late)
            operands = product.operands
            if parametrized:
                del operands["W"]
        call.masks = {role: pack(operand) for role, operand in operands.items()}
        return call

    def _kept(self, positions: int) -> int:
        """Samples to record of a layer with `positions` per sample: a multiple of the requested number."""
        samples = min(self._samples, self.batch)
        wanted = -(-_POSITIONS // (positions * samples))
        return samples * max(1, min(wanted, self.batch // samples))

    def _linear(self, module: nn.Linear, a: torch.Tensor) -> Tuple[Dict[str, Any], torch.Tensor]:
        if a.dim() == 1:
            a = a.unsqueeze(0)
        self.batch = self.batch or a.shape[0]
        # Rows of one sample: time steps, and whatever the model has folded into the first dimension (windows, heads).
        rows = a.numel() // a.shape[-1]
        steps = rows // self.batch if rows % self.batch == 0 else 1
        # Without time steps the weight gradient reduces over the batch: all of it is recorded.
        kept = self._kept(steps) * steps if steps > 1 else rows
        info = {
            "type": "linear",
            "in_features": module.in_features,
            "out_features": module.out_features,
            "batch": kept,
            "steps": steps,
        }
        return info, a.reshape(rows, a.shape[-1])[:kept]

    def _convolution(
        self, module: nn.Module, a: torch.Tensor, output: torch.Tensor, parametrized: bool
    ) -> Optional[Product]:
        """The product of a convolution; None if a trace cannot hold it."""
        spatial, arranged = len(module.kernel_size), isinstance(module, _ARRANGED)
        if a.dim() == spatial + 1 and not arranged:  # without a batch
            a, output = a.unsqueeze(0), output.unsqueeze(0)
        padding, zeros = module.padding, module.padding_mode == "zeros"
        if arranged and (parametrized or a.dim() != spatial + 2 or not zeros or isinstance(padding, str)):
            return None
        self.batch = self.batch or a.shape[0]
        # In a transposed convolution the input is the gradient of the convolution that it reverses.
        positions = (a if module.transposed else output)[0, 0].numel()
        limits = Limits(self.batch if arranged else None, self._kept(positions), None)
        if not arranged:
            a, output = a[: limits.samples], output[: limits.samples]
        if not zeros:
            a = F.pad(a, module._reversed_padding_repeated_twice, mode=module.padding_mode)
        elif padding == "same":
            border = [dilation * (kernel - 1) for dilation, kernel in zip(module.dilation, module.kernel_size)]
            padding = [width // 2 for width in border]
            # A trace has the same padding on both sides, so an odd element is added here.
            a = F.pad(a, [after for width in reversed(border) for after in (0, width % 2)])
        if not zeros or padding == "valid":
            padding = [0] * spatial
        # Under autocast the operands are narrowed inside the layer; what is multiplied counts.
        a = a.to(output.dtype)
        if parametrized:  # its shape is enough
            shape = (module.out_channels, module.in_channels // module.groups, *module.kernel_size)
            weight = torch.empty(shape, device="meta")
        else:
            weight = module.weight.detach().to(output.dtype)
        shape = [list(of) for of in (module.stride, padding, module.dilation)]
        return convolution(a, weight, output, *shape, module.transposed, module.groups, limits)

    def _take_gradient(self, call: LayerCall, output: torch.Tensor) -> None:
        # At the node of the product, because an in-place ReLU replaces the history of the tensor; and at the base of a
        # view, whose own node an in-place operation drops.
        source = output
        if output._is_view() and output._base is not None and output._base.grad_fn is not None:
            if output._base.numel() == output.numel():
                source = output._base
        shape, index = output.shape, source.output_nr

        def arrived(_grad_inputs: Any, grad_outputs: Any) -> None:
            gradient = grad_outputs[index]
            if gradient is None or call.complete:
                return
            self._gradients += 1
            g = call.arrange(gradient.detach().reshape(shape))
            call.masks[call.late] = pack(g)
            if call.order < _CHECKED:
                self._finite.append(torch.isfinite(g).all().reshape(1))

        self._handles.append(source.grad_fn.register_hook(lambda *arguments: self._guarded(arrived, *arguments)))
