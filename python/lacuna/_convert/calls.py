"""One call of a converted layer: which of the three operations are ours, and the autograd function that runs them."""

from statistics import median
from typing import Dict, List, NamedTuple, Optional, Tuple

import torch
import torch.nn.functional as F

from .allowance import allowance
from .history import history
from .memory import default_limit, tidy_heap
from .needed import is_watched
from .plans import ACTIVATIONS, BFLOAT16, DENSE, FORWARD, GRADIENTS, INPUT_GRAD, NOTHING, SPARSE, WEIGHT_GRAD, WEIGHTS
from .plans import Geometry, Plan, Setting, has_bfloat16, shared_plan, trim_workspaces
from .tensors import (
    differentiates_forward,
    dispatch_is_watched,
    empty,
    is_plain,
    linear,
    rows_that_count,
    share_of_zero_rows,
    share_of_zeros,
    uses_channels_last,
)
from .tuner import NAMES, NEEDED, OUR_BFLOAT16, OUR_DENSE, SKIP_A, SKIP_G, SKIP_ROWS, SKIP_W, TORCH, Choice, clock
from ..errors import SimulationError

OPERATIONS = ("forward", "input_grad", "weight_grad")
# Seconds that the function below costs more than PyTorch's own, forward and backward: 75 to 85 us measured with torch
# 1.13 on a Xeon at 2 GHz; a third of it without gradients.
OVERHEAD = 100e-6
# Calls that go straight to PyTorch before a layer is reconsidered: where ours did not pay, where it is too small. They
# double from the first number to the second.
_LOST, _SMALL = (200, 3200), (8, 1024)
# Least share of a layer's time that our kernels together must save: less may be measurement error.
_LEAST_GAIN = 0.03
# A layer whose kernels took at most this share of PyTorch's time so far is measured at once.
_PROMISING = 0.9
# Calls each that a layer's choices as a whole are compared with PyTorch in; of short ones more, whose times differ more.
_COMPARED, _COMPARED_SHORT = 3, 6
_SHORT = 10e-3  # seconds
_MOST_PLANS = 64  # of a layer at shapes that are like one another
_MANY = 1 << 18  # elements of an input above which the heap is tidied while kernels are measured
_FEWEST_CHANNELS = 16  # of the operand whose zeros are skipped: fewer are padded to 16
_IMPLS = {OUR_DENSE: DENSE, OUR_BFLOAT16: BFLOAT16}  # of the others: SPARSE

# The operand whose zeros a candidate skips.
_SKIPPED = {SKIP_A: ACTIVATIONS, SKIP_G: GRADIENTS, SKIP_W: WEIGHTS, NEEDED: ACTIVATIONS}


class Manner(NamedTuple):
    """How `lacuna.convert` was asked to treat a layer."""

    deterministic: bool = False
    dry_run: bool = False
    memory_limit: Optional[int] = None  # bytes of a workspace; None: a share of what is free
    remember: bool = True  # start with what earlier processes measured, and keep what this one does
    bfloat16: bool = False  # operands may be rounded to bfloat16
    feed_forward: bool = False  # two linear layers with an activation between them may run as one
    needed_only: bool = False  # gradients that a ReLU discards may be left out


class Call:
    """A layer at one shape and those like it: a geometry and the choice for each operation.

    Times are those of `geometry`, the first one seen; those of others are scaled by their multiply-accumulates.
    `pruned`: a mask says which weights are kept, so that the gradients of the others are not needed. `dtype`: of the
    tensors; our kernels compute in single precision whatever it is. `discards`: the gradient of the input is not needed
    where the input is zero. `key`: of what was measured in earlier processes;
    empty for none.
    """

    def __init__(
        self,
        geometry: Geometry,
        channels_last: bool,
        threads: int,
        manner: Manner,
        pruned: bool,
        dtype: torch.dtype = torch.float32,
        key: str = "",
        discards: bool = False,
    ) -> None:
        self.geometry, self.channels_last, self.threads, self.dtype = geometry, channels_last, threads, dtype
        self.deterministic, self.dry_run, self._memory_limit = manner.deterministic, manner.dry_run, manner.memory_limit
        self._macs = max(1, geometry.macs())
        self._key = key
        self._now = clock(threads)
        self.too_large: Dict[str, int] = {}  # kernels that need more memory than they may take, with their bytes
        self.pass_by = 0  # calls that go straight to PyTorch
        self.compared: Optional[Tuple[float, float]] = None  # seconds of PyTorch's and of ours, the whole layer
        self._won = self._small = False
        self._rest = 0  # how many the last time
        # Once the operations have settled, the layer as a whole alternates between PyTorch and ours. PyTorch's two
        # gradients may share preparations, and one operation's time, the least of three, may still be wrong.
        self._turn: Optional[int] = None  # 0: all PyTorch's, 1: as chosen, each timed; None: not under way
        self._turns: Tuple[Tuple[float, ...], Tuple[float, ...]] = ((), ())  # seconds
        self._forward_seconds = 0.0
        # Times of the last pass with gradients: the whole layer, and its gradients; the number of passes.
        self.seconds = self.seconds_back = 0.0
        self.passes = 0
        channels = geometry.input[1] // geometry.groups
        outs = geometry.out_channels // geometry.groups
        skip_a = [SKIP_A] if channels >= _FEWEST_CHANNELS else []
        skip_g = [SKIP_G] if outs >= _FEWEST_CHANNELS else []
        blocks = geometry.groups == 1 and channels % 16 == 0 and outs % 16 == 0
        rounds = blocks and (manner.bfloat16 or dtype == torch.bfloat16) and has_bfloat16()
        dense = [TORCH, OUR_DENSE, *([OUR_BFLOAT16] if rounds else [])]
        rows = [SKIP_ROWS] if geometry.linear else []
        needed = [NEEDED] if discards and channels >= _FEWEST_CHANNELS and geometry.stride == (1, 1) else []
        self.choices = (
            Choice([*dense, *skip_a, SKIP_W]),
            Choice([*dense, *skip_g, *rows, SKIP_W, *needed]),
            Choice([*dense, *skip_a, *(skip_g if skip_a else []), *rows, *([SKIP_W] if pruned else [])]),
        )
        # By operation, candidate and input, the longest unused first.
        self._plans: Dict[Tuple[int, int, tuple], Tuple[Setting, Plan]] = {}
        record = history.find(key) if key else None
        if record is not None:
            self._resume(record)

    # The three operations. `x` and `grad` may have any strides; results are as PyTorch lays them out.

    def forward(self, x: torch.Tensor, weight: torch.Tensor, bias: Optional[torch.Tensor]) -> torch.Tensor:
        if not self.choices[FORWARD].settled and x.numel() > _MANY:
            tidy_heap(self)
        used = TORCH if self._turn == 0 else self._choose(FORWARD, x, None, weight)
        if used != TORCH:
            self._plan(FORWARD, used, x, self._ohwi(FORWARD, used, weight), bias is not None)  # made before the clock starts
        begin = self._now()
        result = None if used == TORCH else self._our_forward(used, x, weight, bias)
        if result is None:
            used, result = TORCH, self._torch_forward(x, weight, bias)
        self._forward_seconds = (self._now() - begin) * self._scale(x)
        if self._turn != 0:
            self._done(FORWARD, used, self._forward_seconds)
        return result

    def forward_alone(self, x: torch.Tensor, weight: torch.Tensor, bias: Optional[torch.Tensor]) -> torch.Tensor:
        """Without gradients."""
        result = self.forward(x, weight, bias)
        self._look_at_gain([], self._forward_seconds)
        return result

    def backward(
        self,
        grad: torch.Tensor,
        x: torch.Tensor,
        weight: torch.Tensor,
        mask: List[bool],
        kept: Optional[torch.Tensor] = None,
    ) -> Tuple[Optional[torch.Tensor], Optional[torch.Tensor], Optional[torch.Tensor]]:
        """Gradients of input, weight and bias, those that `mask` asks for; of weights those that `kept` keeps."""
        begin = self._now()
        if self._turn == 0:
            results = self._torch_backward(grad, x, weight, mask)
        else:
            results = self._chosen_backward(grad, x, weight, mask, kept)
        self.seconds_back = (self._now() - begin) * self._scale(x)
        self.seconds = self._forward_seconds + self.seconds_back
        self.passes += 1
        self._look_at_gain(mask, self.seconds)
        return results[0], results[1], results[2]

    def _chosen_backward(self, grad, x, weight, mask, kept) -> List[Optional[torch.Tensor]]:
        results: List[Optional[torch.Tensor]] = [None, None, None]
        left = list(mask)
        joint = []
        laid_out: Dict[torch.memory_format, torch.Tensor] = {}  # grad as our kernels read it
        counts: Optional[torch.Tensor] = None  # rows of grad that are not zero
        for op in (INPUT_GRAD, WEIGHT_GRAD):
            which = op - 1
            if not mask[which]:
                continue
            used = self._choose(op, x, grad, weight if op == INPUT_GRAD else kept)
            if used == NEEDED and is_watched(x):
                used = TORCH
            if used == TORCH and self.choices[op].settled:
                joint.append(op)
                continue
            bias = op == WEIGHT_GRAD and mask[2]  # comes with the weights' gradient
            if used not in (TORCH, SKIP_ROWS):
                self._plan(op, used, x, self._ohwi(op, used, weight), False)  # made before the clock starts
            begin = self._now()
            result = None
            if used == SKIP_ROWS:
                counts = rows_that_count(grad) if counts is None else counts
                result = self._gradient_of_rows(op, counts, grad, x, weight)
            elif used != TORCH:
                layout = self._format(used)
                if layout not in laid_out:
                    laid_out[layout] = self._laid_out(used, grad)
                if op == INPUT_GRAD:
                    result = self._our_input_grad(used, laid_out[layout], x, weight)
                else:
                    result = self._our_weight_grad(used, laid_out[layout], x, weight, kept)
            if result is not None:
                results[which] = result
                if bias:
                    results[2] = self._bias_grad(grad)
            else:
                used = TORCH
                found = self._torch_backward(grad, x, weight, [op == INPUT_GRAD, op == WEIGHT_GRAD, bias])
                results[which] = found[which]
                if bias:
                    results[2] = found[2]
            self._done(op, used, (self._now() - begin) * self._scale(x))
            left[which] = False
            left[2] = left[2] and not bias
        if any(left):
            for which, result in enumerate(self._torch_backward(grad, x, weight, left)):
                if left[which]:
                    results[which] = result
            for op in joint:
                self.choices[op].done(TORCH, 0.0)
        return results

    def _choose(
        self, op: int, x: torch.Tensor, grad: Optional[torch.Tensor], weight: Optional[torch.Tensor]
    ) -> int:
        choice = self.choices[op]
        if self.deterministic or choice.wants_zeros():
            operands = {SKIP_A: x, SKIP_G: grad, SKIP_W: weight, NEEDED: x}
            for candidate in choice.candidates:
                if operands.get(candidate) is not None:
                    choice.saw_zeros(candidate, share_of_zeros(operands[candidate]))
                elif candidate == SKIP_ROWS:
                    choice.saw_zeros(candidate, share_of_zero_rows(grad))
        return choice.by_rule() if self.deterministic else choice.next()

    def waits(self) -> bool:
        """Return true while measuring this layer has to wait, for it has taken enough of the training's time."""
        free = self.deterministic or self.dry_run or self._promises()
        return self.compared is None and not free and not allowance.is_left()

    def _promises(self) -> bool:
        """Return true if the times so far say that ours will pay for measuring it."""
        times = [choice.so_far for choice in self.choices if TORCH in choice.so_far]
        return sum(min(found.values()) for found in times) < _PROMISING * sum(found[TORCH] for found in times)

    def _spent(self, seconds: float) -> None:
        if self.compared is None:
            allowance.spend(self.threads * seconds)

    def _done(self, op: int, used: int, seconds: float) -> None:
        choice = self.choices[op]
        was_settled = choice.settled
        if used != TORCH and TORCH in choice.so_far:
            self._spent(seconds - choice.so_far[TORCH])
        choice.done(used, seconds)
        if choice.settled and not was_settled:  # the losers give their memory back
            for key in [key for key in self._plans if key[0] == op and key[1] != choice.best]:
                del self._plans[key]
            trim_workspaces()

    def _look_at_gain(self, mask: List[bool], seconds: float) -> None:
        """Straight to PyTorch for a while where all of ours together do not pay for this function."""
        if self.deterministic:
            return
        overhead = OVERHEAD if mask else OVERHEAD / 3
        self._spent(overhead)
        used = [self.choices[FORWARD], *(c for c, asked in zip(self.choices[1:], mask) if asked)]
        if not all(c.settled for c in used):
            self._turn, self._turns = None, ((), ())
            return
        if all(c.best == TORCH for c in used):
            self.leave_to_torch()
            if self._key:
                history.put(self._key, self._record())
            return
        turn, (torchs, ours) = self._turn, self._turns
        if turn is not None:
            torchs, ours = self._turns = ((*torchs, seconds), ours) if turn == 0 else (torchs, (*ours, seconds))
        self._turn = 0 if len(torchs) <= len(ours) else 1
        if len(ours) < _COMPARED or (len(ours) < _COMPARED_SHORT and min(ours) < _SHORT):
            return
        self._turn = None
        if turn is not None:  # that was the last of them
            # The least of some times may be luck, and so may be their median: whichever says less of ours.
            found = [(of(torchs), of(ours) + overhead) for of in (min, median)]
            self.compared = max(found, key=lambda pair: pair[1] / pair[0])
            self._won = self._gains()
            if self._key:
                history.put(self._key, self._record())
            if not self._won or self.dry_run:
                self.leave_to_torch()
            else:
                self._rest = 0

    def _gains(self) -> bool:
        torchs, ours = self.compared
        return torchs - ours > _LEAST_GAIN * torchs

    def leave_to_torch(self, too_small: bool = False) -> None:
        first, most = _SMALL if too_small else _LOST
        self._small = too_small
        if all(choice.best == TORCH for choice in self.choices):
            self._won, self.compared = False, None
        self.pass_by = self._rest = min(most, max(first, 2 * self._rest))
        self._turn, self._turns = None, ((), ())
        for choice in self.choices:
            choice.passed_by(self.pass_by)

    # State that the next process starts with: by operation and candidate, seconds of 10^9 multiply-accumulates and the zeros
    # that were skipped.

    def _record(self) -> Dict[str, object]:
        unit = 1e9 / self._macs
        operations = [
            {str(c): [seconds * unit, zeros] for c, (seconds, zeros) in choice.state().items()}
            for choice in self.choices
        ]
        compared = None if self.compared is None else [seconds * unit for seconds in self.compared]
        return {"operations": operations, "compared": compared}

    def _resume(self, record: Dict[str, object]) -> None:
        unit = self._macs / 1e9
        for choice, measured in zip(self.choices, record["operations"]):
            choice.resume({int(c): (seconds * unit, zeros) for c, (seconds, zeros) in measured.items()})
        if record["compared"] is None:
            if all(choice.best == TORCH for choice in self.choices):
                self.leave_to_torch()
            return
        torchs, ours = (seconds * unit for seconds in record["compared"])
        self.compared = torchs, ours
        self._won = self._gains()
        self._turns = (torchs,) * _COMPARED_SHORT, (ours,) * _COMPARED_SHORT
        if not self._won or self.dry_run:
            self.leave_to_torch()

    # Ours.

    def _exact(self, x: torch.Tensor) -> Geometry:
        """The geometry of this input, which may be another one like `geometry`."""
        linear = self.geometry.linear
        shape = (x.numel() // x.shape[-1], x.shape[-1], 1, 1) if linear else tuple(x.shape)
        return self.geometry if shape == self.geometry.input else self.geometry._replace(input=shape)

    def _scale(self, x: torch.Tensor) -> float:
        exact = self._exact(x)
        return 1.0 if exact is self.geometry else self._macs / max(1, exact.macs())

    def _plan(self, op: int, used: int, x: torch.Tensor, ohwi: bool, bias: bool) -> Optional[Plan]:
        skipped = _SKIPPED.get(used, NOTHING)
        channels_last = self._format(used) == torch.channels_last
        setting = Setting(op, _IMPLS.get(used, SPARSE), skipped, channels_last, ohwi, bias, self.threads)
        geometry = self._exact(x)
        key = (op, used, geometry.input)
        kept = self._plans.pop(key, None)
        if kept is not None and kept[0] == setting:
            self._plans[key] = kept
            return kept[1]
        begin = self._now()
        try:
            plan = shared_plan(geometry, setting)
        except (SimulationError, MemoryError):  # a shape that the kernel cannot do
            self.choices[op].drop(used)
            return None
        limit = default_limit() if self._memory_limit is None else self._memory_limit
        if plan.workspace_bytes > limit:
            self.choices[op].drop(used)
            self.too_large = {**self.too_large, f"{OPERATIONS[op]}, {NAMES[used]}": plan.workspace_bytes}
            return None
        self._spent(self._now() - begin)
        self._plans[key] = (setting, plan)
        while len(self._plans) > _MOST_PLANS:
            self._plans.pop(next(iter(self._plans)), None)
        return plan

    # Our kernels read and write single precision, those of bfloat16 in channels-last order alone.

    def _format(self, used: int) -> torch.memory_format:
        last = self.channels_last or used == OUR_BFLOAT16
        return torch.channels_last if last else torch.contiguous_format

    def _laid_out(self, used: int, tensor: torch.Tensor) -> torch.Tensor:
        if self.geometry.linear:
            return tensor.float().contiguous()
        order = self._format(used)
        if tensor.dtype != torch.float32:
            tensor = tensor.to(torch.float32, memory_format=order)
        return tensor.contiguous(memory_format=order)

    def _handed_out(self, used: int, tensor: torch.Tensor) -> torch.Tensor:
        """A result in the type and the order that PyTorch's would have."""
        if used == OUR_BFLOAT16 and not self.channels_last:
            return self._copied(tensor, torch.contiguous_format)
        return tensor.to(self.dtype)

    def _copied(self, tensor: torch.Tensor, order: torch.memory_format) -> torch.Tensor:
        """With the strides of that order in sizes of one, too."""
        return torch.empty(tensor.shape, dtype=self.dtype, device="cpu", memory_format=order).copy_(tensor)

    def _ohwi(self, op: int, used: int, weight: torch.Tensor) -> bool:
        if self.geometry.linear or used == OUR_BFLOAT16:
            return False
        if op != WEIGHT_GRAD:
            return not weight.is_contiguous() and weight.is_contiguous(memory_format=torch.channels_last)
        # Its result: laid out as the weights are, or as the rest if they are the same either way.
        return uses_channels_last(weight) or (self.geometry.kernel == (1, 1) and self.channels_last)

    @staticmethod
    def _weights(weight: torch.Tensor, ohwi: bool) -> torch.Tensor:
        return weight.float() if ohwi else weight.float().contiguous()

    def _our_forward(self, used, x, weight, bias) -> Optional[torch.Tensor]:
        ohwi = self._ohwi(FORWARD, used, weight)
        plan = self._plan(FORWARD, used, x, ohwi, bias is not None)
        if plan is None:
            return None
        if self.geometry.linear:
            result = empty((*x.shape[:-1], self.geometry.out_channels))
        else:
            result = empty(self._exact(x).output(), self._format(used))
        tensors = {"src": self._laid_out(used, x), "weights": self._weights(weight, ohwi), "dst": result}
        if bias is not None:
            tensors["bias"] = bias.float().contiguous()
        return self._handed_out(used, result) if plan.run(**tensors) else None

    def _our_input_grad(self, used, grad, x, weight) -> Optional[torch.Tensor]:
        ohwi = self._ohwi(INPUT_GRAD, used, weight)
        plan = self._plan(INPUT_GRAD, used, x, ohwi, False)
        if plan is None:
            return None
        result = empty(x.shape) if self.geometry.linear else empty(x.shape, self._format(used))
        tensors = {"diff_dst": grad, "weights": self._weights(weight, ohwi), "diff_src": result}
        if used == NEEDED:
            tensors["src"] = self._laid_out(used, x)
        return self._handed_out(used, result) if plan.run(**tensors) else None

    def _our_weight_grad(self, used, grad, x, weight, kept) -> Optional[torch.Tensor]:
        ohwi = self._ohwi(WEIGHT_GRAD, used, weight)
        plan = self._plan(WEIGHT_GRAD, used, x, ohwi, False)
        if plan is None:
            return None
        order = torch.channels_last if ohwi else torch.contiguous_format
        result = empty(weight.shape, order)
        tensors = {"src": self._laid_out(used, x), "diff_dst": grad, "diff_weights": result}
        if used == SKIP_W:
            tensors["weights"] = kept.contiguous(memory_format=order)
        if not plan.run(**tensors):
            return None
        if used == OUR_BFLOAT16 and self._ohwi(WEIGHT_GRAD, TORCH, weight):
            return self._copied(result, torch.channels_last)
        return result.to(self.dtype)

    @staticmethod
    def _gradient_of_rows(op, counts, grad, x, weight) -> torch.Tensor:
        """A gradient of a linear layer, by PyTorch, without the rows of grad that are zero: padding, ignored labels."""
        grad, x_rows = grad.reshape(-1, grad.shape[-1]), x.reshape(-1, x.shape[-1])
        if op == INPUT_GRAD:
            result = x.new_zeros(x_rows.shape)
            return result.index_copy_(0, counts, grad[counts].mm(weight)).view(x.shape)
        return grad[counts].t().mm(x_rows[counts])

    def _bias_grad(self, grad: torch.Tensor) -> torch.Tensor:
        rows = (0,) if self.geometry.linear else (0, 2, 3)
        grad = grad.reshape(-1, grad.shape[-1]) if self.geometry.linear else grad
        return grad.sum(rows, dtype=torch.float32).to(self.dtype)

    # PyTorch's.

    def _torch_forward(self, x, weight, bias) -> torch.Tensor:
        g = self.geometry
        if g.linear:
            return linear(x, weight, bias)
        return F.conv2d(x, weight, bias, g.stride, g.padding, g.dilation, g.groups)

    def _torch_backward(self, grad, x, weight, mask) -> List[Optional[torch.Tensor]]:
        """Differentiable, if the arguments are: what a second backward pass needs."""
        g = self.geometry
        if not g.linear:
            bias_sizes = [g.out_channels] if mask[2] else None
            return torch.ops.aten.convolution_backward(
                grad, x, weight, bias_sizes, g.stride, g.padding, g.dilation, False, [0, 0], g.groups, mask
            )
        rows = grad.reshape(-1, grad.shape[-1])
        return [
            grad.matmul(weight) if mask[0] else None,
            rows.t().mm(x.reshape(-1, x.shape[-1])) if mask[1] else None,
            rows.sum(0) if mask[2] else None,
        ]

    @property
    def state(self) -> str:
        """Return "measuring", "ours", "lost" (PyTorch's for a while), "too small", "would win" or "by zeros"."""
        if self._small and self.pass_by > 0:
            return "too small"
        if self.deterministic:
            return "by zeros"
        if self.dry_run and self._won:
            return "would win"
        return "lost" if self.pass_by > 0 else "ours" if self._won else "measuring"

    @property
    def all_calls(self) -> int:
        return self.choices[FORWARD].all_calls

    @property
    def saved(self) -> float:
        """Seconds that ours save, or would, in a call."""
        return max(0.0, self.compared[0] - self.compared[1]) if self._won and self.compared else 0.0

    @property
    def measured(self) -> bool:
        return self.pass_by > 0 or all(choice.settled for choice in self.choices)

    @property
    def workspace_bytes(self) -> int:
        return max((plan.workspace_bytes for _, plan in list(self._plans.values())), default=0)

    def describe(self) -> List[Tuple[str, str, Optional[float], Dict[str, float]]]:
        """By operation: name, the kernel that runs it, share of zeros that the choice knows of, seconds by kernel."""
        found = []
        for op, choice in enumerate(self.choices):
            used = choice.by_rule() if self.deterministic else choice.best
            zeros = max(choice.zeros.values(), default=None)
            used = TORCH if self.dry_run and self.pass_by > 0 else used
            found.append((OPERATIONS[op], NAMES[used], zeros, {NAMES[c]: time for c, time in choice.times.items()}))
        return found


class LayerFunction(torch.autograd.Function):
    """A converted layer with gradients. A second backward pass is PyTorch's."""

    @staticmethod
    def forward(ctx, x, weight, bias, kept: Optional[torch.Tensor], call: Call):
        ctx.save_for_backward(x, weight, kept)
        ctx.call = call
        ctx.has_bias = bias is not None
        return call.forward(x, weight, bias)

    @staticmethod
    def backward(ctx, grad):
        x, weight, kept = ctx.saved_tensors
        ctx.operands = None
        mask = [ctx.needs_input_grad[0], ctx.needs_input_grad[1], ctx.has_bias and ctx.needs_input_grad[2]]
        call: Call = ctx.call
        if torch.is_grad_enabled() or dispatch_is_watched() or differentiates_forward() or not is_plain(grad, call.dtype):
            gradients = call._torch_backward(grad, x, weight, mask)
        else:
            gradients = call.backward(grad, x, weight, mask, kept)
        return (*(g if asked else None for g, asked in zip(gradients, mask)), None, None)
