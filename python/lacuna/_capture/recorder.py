"""The products of a step as they run: what is stored of them, and the gradients that complete them."""

import threading
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Optional, Set, Tuple

import torch
from torch import nn

from .callers import in_backward, in_checkpoint
from .dispatch import DispatchWatch, lead_of
from .left_out import LeftOutWork, other_macs
from .modules import Names, Running
from .operands import Limits, Product, Stored, batched_product, convolution, forward_of, joined, matrix_product, store


@dataclass
class Call:
    """One product, complete when its gradient has arrived."""

    name: str
    kind: str
    order: int
    recomputed: bool  # inside a backward pass, by gradient checkpointing
    weighted: bool  # with weights of the model
    macs: int  # of the whole batch
    product: Optional[Product] = None  # None: a trace cannot hold it
    merge: Optional[Tuple] = None  # see Sequence
    packed: bool = False
    operations: Tuple[str, ...] = ()  # those that the step runs
    forward_alone: bool = False  # frozen, or inference: no gradient will come
    stored: Dict[str, Stored] = field(default_factory=dict)

    @property
    def done(self) -> bool:
        return self.product is not None and (self.forward_alone or self.product.late in self.stored)


class Recorder:
    """Takes the products that a DispatchWatch shows it."""

    def __init__(self, names: Names, limits: Limits, dtype: Optional[torch.dtype], inference: bool = False):
        self._inference = inference
        self.calls: List[Call] = []
        self.without_graph: Dict[str, List[Call]] = {}  # by layer
        self.left_out = LeftOutWork()
        self.ran: Set[str] = set()  # modules that multiplied
        self.later_pass = False  # the model ran again after a backward pass
        self.repeated = False  # a second backward pass went through the same products
        self.limits = limits
        self.watch = DispatchWatch(self, names.owns)
        self._names = names
        self._dtype = dtype
        self._count = 0
        self._gradients = 0
        self._hooks: List = []
        self._here = threading.local()  # running modules, products without a node yet

    def open(self) -> None:
        """Watch this thread from now on."""
        self.watch.__enter__()

    def start(self, running: Running) -> None:
        """A module's forward begins."""
        self._here.__dict__.setdefault("running", []).append(running)

    def stop(self) -> None:
        """It has ended."""
        self.settle()
        self._here.running.pop()

    def close(self) -> None:
        """Watch no longer, and leave nothing in the graph."""
        self.watch.__exit__(None, None, None)
        self.forget()

    def forget(self) -> None:
        """Leave nothing in the graph."""
        self.settle()
        for hook in self._hooks:
            hook.remove()
        self._hooks.clear()

    def before(self) -> bool:
        """An operation begins; False if it is our own."""
        if self._here.__dict__.get("own"):
            return False
        self.settle()
        return True

    def matrices(self, a: torch.Tensor, b: torch.Tensor, output: torch.Tensor) -> None:
        if a.layout != torch.strided or b.layout != torch.strided:
            self.other("aten::_sparse_mm", (a, b), output)
            return
        source_a, source_b = self.watch.source(a), self.watch.source(b)
        vector = b.dim() == 1
        if vector and source_a is not None and source_b is not None:
            return  # the norm of a weight
        # The weights are the second factor; where only the first has any, it is the transposed product.
        swapped = source_a is not None and source_b is None
        source = source_a if swapped else source_b
        first, second = a, b[:, None] if vector else b
        if swapped:
            first, second = second.transpose(-1, -2), first.transpose(-1, -2)

        def gradient(g: torch.Tensor) -> torch.Tensor:
            g = g[:, None] if vector else g
            return g.transpose(-1, -2) if swapped else g

        def describe(limits: Limits, running: Optional[Running], first=first) -> Optional[Product]:
            sequence = running.sequence if running is not None else None
            rows = first.numel() // first.shape[-1] if first.shape[-1] else 0
            if first.dim() == 3:
                once = first.shape[0] == 1 or (source is not None and second.stride(0) == 0)
                if not once:
                    whole = source is not None and self._names.is_whole(second, source)
                    found = batched_product(first, second, limits, whole)
                    return None if found is None else _arranged(found, gradient)
                lead = tuple(first.shape[:2]) if first.shape[0] > 1 else (rows,)
                matrix, weight = first.reshape(rows, -1), second[0].t()
            else:
                lead, matrix, weight = lead_of(first), first, second.t()
            if source is None and limits.batch and rows % limits.batch:
                return None  # rows that are not the samples'
            arrange = lambda g: gradient(g).reshape(rows, -1)  # noqa: E731
            return matrix_product(matrix, weight, arrange, lead, limits, sequence)

        macs = first.numel() * second.shape[-1]
        self._product("matmul", source, (b, a) if swapped else (a, b), output, macs, describe)

    def convolution(self, args: tuple, output: torch.Tensor) -> None:
        input, weight, _, stride, padding, dilation, transposed, _, groups = args

        def describe(limits: Limits, running: Optional[Running], input=input) -> Product:
            shape = (list(stride), list(padding), list(dilation), transposed, groups)
            return convolution(input, weight, output, *shape, limits)

        macs = (input if transposed else output).numel() * weight[0].numel()
        self._product("conv", self.watch.source(weight), (input, weight), output, macs, describe, transposed)

    def other(self, name: str, args: tuple, output: Any) -> None:
        """A product that a trace cannot hold."""
        outputs = [output] if isinstance(output, torch.Tensor) else list(output)
        tensors = [one for one in args if isinstance(one, torch.Tensor)]
        macs = other_macs(name, args, outputs[0])
        self._product(name.rpartition("::")[2].strip("_"), None, tensors, outputs[0], macs, lambda *_: None)

    def _product(
        self, function: str, source, factors, output, macs: Optional[int], describe: Callable, transposed: bool = False
    ) -> None:
        """`factors`: A and W."""
        if macs == 0 or type(output).__name__ == "FakeTensor":  # a compiler looks at it; nothing is multiplied
            return
        stack = self._here.__dict__.get("running") or [None]
        running = stack[-1]
        if self._inference:
            if running is not None:
                self._forward_alone(function, source, running, output, macs, describe, transposed)
            return
        training = torch.is_grad_enabled()
        graph = training and any(factor.requires_grad for factor in factors)
        recomputed = in_backward()
        if recomputed and not (training and ((running is not None and running.recomputed) or in_checkpoint())):
            return  # a product of the backward pass itself
        if self._gradients > 0 and not recomputed:
            self.later_pass |= running is not None
            return
        if self.later_pass:
            return
        training = training or in_checkpoint()
        weighted = self._names.is_parameter(source)
        if not training and not weighted:
            return
        if torch.is_grad_enabled() and not graph and not recomputed and not in_checkpoint():
            if weighted or any(self.watch.is_frozen(factor) for factor in factors):
                self._forward_alone(function, source, running, output, macs, describe, transposed)
                self.watch.note_frozen(output)
                return
        if not graph and not weighted and not (recomputed or in_checkpoint()):
            return  # of data alone
        name, owner, kind = self._names.layer(source, running, function)
        self.ran.add(owner)
        self._count += 1
        # Without a number of MACs it is a product that a trace cannot hold.
        call = Call(name, kind, self._count, recomputed, weighted, macs)  # type: ignore[arg-type]
        plain = type(output) in (torch.Tensor, nn.Parameter)  # other kinds of tensors do as they like
        if not graph:
            if recomputed:
                return
            product = describe(self.limits, running) if plain and training else None
            if product is not None and self.limits.batch is None:
                self.limits.batch = product.samples
            if weighted or product is not None:
                # Recomputed by a checkpoint, frozen, or an evaluation: known at the end.
                self.without_graph.setdefault(name, []).append(call)
            else:
                self.left_out.add(name, kind, macs, unfit=True)
            return
        earlier = self.without_graph.get(name)
        if recomputed and earlier:
            # This kind of checkpointing first runs forward without a graph; that run has the order of execution.
            call.order = earlier.pop(0).order
        call.product = describe(self.limits, running) if plain else None
        if call.product is None:
            if not recomputed:
                self.left_out.add(name, kind, macs, unfit=True)
            return
        if self.limits.batch is None:
            self.limits.batch = call.product.samples
        if running is not None and running.sequence is not None:
            call.merge, call.packed = running.sequence.merge, running.sequence.packed
        wanted = [factor.requires_grad for factor in factors]
        call.operations = operations_of(wanted[0], wanted[-1], transposed)
        call.stored = {role: self._store(operand) for role, operand in call.product.operands.items()}
        call.product.operands = {}
        forward = forward_of(factors[0])
        if forward is not None and call.product.late == "G":
            call.stored["A_forward"] = self._store(describe(self.limits, running, forward).operands["A"])
        self._here.__dict__.setdefault("pending", []).append((call, output))

    def _forward_alone(self, function, source, running, output, macs, describe: Callable, transposed: bool) -> None:
        """A product that no gradient goes back through: frozen, or of inference."""
        weighted = self._names.is_parameter(source)
        name, owner, kind = self._names.layer(source, running, function)
        self.ran.add(owner)
        self._count += 1
        call = Call(name, kind, self._count, False, weighted, macs, forward_alone=True)
        call.product = describe(self.limits, running) if type(output) in (torch.Tensor, nn.Parameter) else None
        if call.product is None:
            self.left_out.add(name, kind, macs, unfit=True)
            return
        if self.limits.batch is None:
            self.limits.batch = call.product.samples
        if running is not None and running.sequence is not None:
            call.merge, call.packed = running.sequence.merge, running.sequence.packed
        call.operations = operations_of(False, False, transposed)[:1]
        call.stored = {role: self._store(operand) for role, operand in call.product.operands.items()}
        call.product.operands = {}
        self.calls.append(call)

    def settle(self) -> None:
        """The operations so far are complete: their outputs have nodes in the graph."""
        pending = self._here.__dict__.get("pending")
        if not pending:
            return
        for call, output in pending:
            if output.grad_fn is not None:
                self.calls.append(call)
                self._take_gradient(call, output)
        pending.clear()

    def _take_gradient(self, call: Call, output: torch.Tensor) -> None:
        index = output.output_nr

        def arrived(_grad_inputs, grad_outputs):
            gradient = grad_outputs[index]
            if gradient is not None:
                self._arrived(call, gradient.detach())

        self._hooks.append(output.grad_fn.register_hook(arrived))

    def _arrived(self, call: Call, gradient: torch.Tensor) -> None:
        if call.done:
            self.repeated = True
            return
        self._gradients += 1
        self._here.own = True
        try:
            call.stored[call.product.late] = self._store(call.product.arrange(gradient))
        finally:
            self._here.own = False

    def _store(self, operand: torch.Tensor) -> Stored:
        return store(operand, self._dtype)


def operations_of(input_wanted: bool, weight_wanted: bool, transposed: bool) -> Tuple[str, ...]:
    """The operations that a step runs, by the factors that need gradients.

    A transposed convolution is recorded as the convolution that it reverses: its forward is that one's input_grad.
    """
    forward, input_grad = ("input_grad", "forward") if transposed else ("forward", "input_grad")
    return (forward, *([input_grad] if input_wanted else []), *(["weight_grad"] if weight_wanted else []))


def noted_operations(operations: Tuple[str, ...], place: int) -> Dict[str, List[str]]:
    """The key of a layer's description, where the operations do not follow from its place in the trace."""
    order = ("forward", "input_grad", "weight_grad")
    expected = order if place else ("forward", "weight_grad")
    listed = [name for name in order if name in operations]
    return {} if tuple(listed) == expected else {"operations": listed}


def _arranged(product: Product, gradient: Callable) -> Product:
    """The product, with its gradient turned first."""
    arrange = product.arrange
    product.arrange = lambda g: arrange(gradient(g))
    return product


def known_before(call: Call) -> bool:
    """Whether all steps of the input were there before the first product, although a GPU multiplies one after another.

    So it is with the input weights of nn.LSTM, nn.GRU and nn.RNN; a cell in the user's own loop may be fed with its output.
    """
    return call.merge is not None and len(call.merge) == 2 and call.name.rsplit(".", 1)[-1].startswith("ih_l")


def merged(calls: List[Call], left_out: LeftOutWork) -> List[Call]:
    """The products of a recurrent layer with one weight are the steps of one linear layer.

    Products of one step each ran one after another: the layer is recurrent, and its rows stay in the order of steps.
    """
    groups: Dict[object, List[Call]] = {}
    for number, call in enumerate(calls):
        key = (call.name, call.forward_alone, *call.merge) if call.merge is not None else number
        groups.setdefault(key, []).append(call)
    result = []
    for group in groups.values():
        first = group[0]
        first.operations = tuple({name: None for call in group for name in call.operations})
        result.append(first)
        if first.merge is None or (len(group) == 1 and not first.packed):
            continue
        info, samples = first.product.info, first.product.samples
        recurrent = len(group) > 1 and all(call.product.info["steps"] == 1 for call in group) and not known_before(first)
        most = None
        rows = sum(call.product.info["batch"] for call in group)
        if first.packed:  # sequences of unequal length: as many whole steps as there are rows for
            info["steps"] = rows // samples
            most = samples * info["steps"]
            left_out.add(first.name, first.kind, (rows - most) * info["in_features"] * info["out_features"])
            rows = most
        else:
            info["steps"] = sum(call.product.info["steps"] for call in group)
        kept = rows // info["steps"]
        for role in [role for role in ("A", "A_forward", "G") if role in first.stored]:
            first.stored[role] = joined([call.stored[role] for call in group], kept, most, recurrent)
        info["batch"] = rows
        if recurrent and info["steps"] > 1:
            info["recurrent"] = True
    return result
