"""From a product that torch computes to the operands A, W and G as a trace stores them.

A trace has convolutions, linear layers and products of two activations, and every product is one of them:

- rows times a matrix: a linear layer;
- a batch of matrix products, as in attention: a matmul. If the second factors are weights, the same for all samples, a
  1x1 convolution with one group per product;
- a transposed convolution: the convolution whose gradient it is, with A and G exchanged;
- a convolution over volumes: one over images, with the kernel's depth among the channels and the output's as steps.
"""

from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Optional, Tuple

import torch
import torch.nn.functional as F

from .._trace.masks import pack
from ..errors import CaptureError
from .modules import Sequence


@dataclass
class Product:
    """One product: how a trace describes it, and its operands with the channels last."""

    info: Dict[str, Any]  # without name and sparsity
    samples: int  # of the whole product, not only those recorded
    operands: Dict[str, torch.Tensor]  # known at the call: A and W, or G and W of a transposed convolution
    late: str  # the operand that is the gradient of the output: "G", or "A"
    arrange: Callable[[torch.Tensor], torch.Tensor]  # that gradient as it is stored
    macs: int  # of the whole batch
    rest: int = 0  # of those, what does not divide among the samples and is not recorded


def multiplied(a: torch.Tensor, forward: torch.Tensor) -> torch.Tensor:
    """Return `a`; `lacuna.capture` records that the forward product of it multiplies `forward` in its place.

    >>> import lacuna, torch
    >>> x, weight = torch.randn(2, 8), torch.randn(4, 8)
    >>> kept = torch.where(x.abs() > 1, x, 0.0)
    >>> y = torch.nn.functional.linear(lacuna.multiplied(kept, forward=x), weight)

    For training methods whose weight gradient multiplies other activations than the forward product. `forward` has the
    shape of `a`. Nothing is computed, recorded or not.
    """
    if a.shape != forward.shape:
        raise CaptureError(f"forward has the shape {list(forward.shape)}, what it stands for {list(a.shape)}")
    setattr(a, "_lacuna_forward", forward.detach())  # not a member that type checkers know
    return a


def forward_of(a: torch.Tensor) -> Optional[torch.Tensor]:
    """What `multiplied` noted about a tensor, or about the one that it is a view of."""
    return getattr(a, "_lacuna_forward", None)


@dataclass
class Limits:
    """Limits of what is recorded of a product. `batch`: samples of the step, None as long as that is not known."""

    batch: Optional[int]
    samples: int
    linear_samples: Optional[int]


@dataclass
class _Rows:
    """Rows of a matrix as samples of some steps each."""

    samples: int
    steps: int
    kept: int
    time_first: bool = False
    whole: bool = False  # sequences of unequal length: keep all, in their order

    def pick(self, matrix: torch.Tensor) -> torch.Tensor:
        """[rows, C] -> those of the first `kept` samples, one sample after the other."""
        if self.whole:
            return matrix
        if self.time_first:
            cube = matrix.reshape(self.steps, self.samples, -1)[:, : self.kept]
            return cube.transpose(0, 1).reshape(self.kept * self.steps, -1)
        return matrix[: self.kept * self.steps]


def _rows(total: int, lead: Tuple[int, ...], limits: Limits, sequence: Optional[Sequence]) -> _Rows:
    """`lead`: the dimensions before the matrix was made of a larger tensor."""
    if sequence is not None:
        samples = sequence.samples
        # A single step of a recurrent layer is a separate product, with all rows of the batch.
        alone = sequence.merge is not None and total == samples
        kept = min(samples, (limits.linear_samples or samples) if alone else limits.samples)
        if sequence.packed or total % samples:
            return _Rows(samples, 1, samples, whole=True)
        return _Rows(samples, total // samples, kept, time_first=True)
    batch = limits.batch or lead[0]
    samples, steps, time_first = lead[0], total // max(1, lead[0]), False
    if lead[0] != batch:
        if len(lead) == 2 and lead[1] == batch:  # a network with the time step first
            samples, steps, time_first = batch, lead[0], True
        elif total >= batch:  # windows, regions: several rows of each sample
            samples, steps = batch, total // batch
    # Without steps the weight gradient reduces over the batch, so recording part of it would change the product.
    kept = min(samples, limits.samples if steps != 1 else limits.linear_samples or samples)
    return _Rows(samples, steps, kept, time_first)


def matrix_product(
    a: torch.Tensor,
    w: torch.Tensor,
    arrange: Callable[[torch.Tensor], torch.Tensor],
    lead: Tuple[int, ...],
    limits: Limits,
    sequence: Optional[Sequence],
) -> Product:
    """a [rows, C] times w [K, C]; `arrange` turns the gradient into [rows, K]."""
    rows = _rows(a.shape[0], lead, limits, sequence)
    operands = {"A": rows.pick(a), "W": w}
    info = {
        "type": "linear",
        "in_features": w.shape[1],
        "out_features": w.shape[0],
        "batch": operands["A"].shape[0],
        "steps": rows.steps,
    }
    macs = a.shape[0] * w.numel()
    rest = 0 if rows.whole else (a.shape[0] - rows.samples * rows.steps) * w.numel()
    return Product(info, rows.samples, operands, "G", lambda g: rows.pick(arrange(g)), macs, rest)


def batched_product(a: torch.Tensor, b: torch.Tensor, limits: Limits, weights: bool) -> Optional[Product]:
    """a [B, n, k] times b [B, k, m]; None if the products do not divide among the samples.

    With `weights` b is the same for every sample and the rows n are those of the samples. Otherwise the B products are
    the samples', as in attention.
    """
    products, n, k = a.shape
    m = b.shape[2]
    batch = limits.batch or products
    if (n if weights else products) % batch:
        return None
    kept = min(batch, limits.samples)
    macs = products * n * k * m
    if not weights:
        of_sample = products // batch
        first = slice(kept * of_sample)
        info: Dict[str, Any] = {
            "type": "matmul",
            "batch": kept * of_sample,
            "rows": n,
            "in_features": k,
            "out_features": m,
            "steps": of_sample,
        }
        return Product(info, batch, {"A": a[first], "W": b[first].transpose(1, 2)}, "G", lambda g: g[first], macs)
    groups, steps = products, n // batch

    def image(tensor: torch.Tensor) -> torch.Tensor:
        """[B, n, c] -> [kept, 1, steps, groups x c]"""
        parts = tensor.reshape(groups, -1, steps, tensor.shape[2])[:, :kept]
        return parts.permute(1, 2, 0, 3).reshape(kept, 1, steps, groups * tensor.shape[2])

    info = {
        "type": "conv2d",
        "in_channels": groups * k,
        "out_channels": groups * m,
        "kernel": [1, 1],
        "stride": [1, 1],
        "padding": [0, 0],
        "dilation": [1, 1],
        "groups": groups,
        "batch": kept,
        "input_hw": [1, steps],
        "output_hw": [1, steps],
    }
    w = b.transpose(1, 2).reshape(groups * m, 1, 1, k)
    return Product(info, batch, {"A": image(a), "W": w}, "G", image, macs)


def convolution(
    input: torch.Tensor,
    weight: torch.Tensor,
    output: torch.Tensor,
    stride: List[int],
    padding: List[int],
    dilation: List[int],
    transposed: bool,
    groups: int,
    limits: Limits,
) -> Product:
    """A call of torch's convolution over 1, 2 or 3 dimensions, with its arguments as the dispatcher has them."""
    # A transposed convolution is the input gradient of a convolution from its output to its input.
    image, result = (output, input) if transposed else (input, output)
    total = image.shape[0]
    batch = limits.batch or total
    samples, per_sample = (batch, total // batch) if total >= batch else (total, 1)
    kept = min(samples, limits.samples)
    spatial = image.dim() - 2

    def three(values: List[int], missing: int) -> List[int]:
        values = list(values) * (spatial // len(values))
        return [missing] * (3 - spatial) + [int(value) for value in values]

    stride, padding, dilation = three(stride, 1), three(padding, 0), three(dilation, 1)
    kernel = three(list(weight.shape[2:]), 1)
    size, result_size = three(list(image.shape[2:]), 1), three(list(result.shape[2:]), 1)
    depth = result_size[0]

    def images(tensor: torch.Tensor) -> torch.Tensor:
        """[N, C, ...] -> [images, C, D, H, W] of the samples kept"""
        part = tensor[: kept * per_sample]
        return part.reshape(*part.shape[:2], *[1] * (3 - spatial), *part.shape[2:])

    def arrange_a(tensor: torch.Tensor) -> torch.Tensor:
        x = images(tensor)
        if kernel[0] == 1 and stride[0] == 1 and padding[0] == 0:
            x = x.permute(0, 2, 3, 4, 1)
            return x.reshape(-1, *x.shape[2:])
        x = F.pad(x, (0, 0, 0, 0, padding[0], padding[0]))
        place = torch.arange(depth)[:, None] * stride[0] + torch.arange(kernel[0]) * dilation[0]
        x = x[:, :, place.to(x.device)]  # [n, C, depth, kernel depth, H, W]
        x = x.reshape(x.shape[0], groups, -1, *x.shape[2:]).permute(0, 3, 5, 6, 1, 4, 2)
        return x.reshape(-1, size[1], size[2], groups * x.shape[5] * x.shape[6])

    def arrange_g(tensor: torch.Tensor) -> torch.Tensor:
        g = images(tensor).permute(0, 2, 3, 4, 1)
        return g.reshape(-1, *g.shape[2:])

    w = weight.reshape(*weight.shape[:2], *kernel).permute(0, 3, 4, 2, 1)
    w = w.reshape(*w.shape[:3], -1)
    steps = per_sample * depth
    info: Dict[str, Any] = {
        "type": "conv2d",
        "in_channels": image.shape[1] * kernel[0],
        "out_channels": result.shape[1],
        "kernel": kernel[1:],
        "stride": stride[1:],
        "padding": padding[1:],
        "dilation": dilation[1:],
        "groups": groups,
        "batch": kept * steps,
        "input_hw": size[1:],
        "output_hw": result_size[1:],
    }
    if steps > 1:
        info["steps"] = steps
    if transposed:
        info["transposed"] = True
    per_image = result[0].numel() * weight[0].numel()
    operands = {"G": arrange_g(input), "W": w} if transposed else {"A": arrange_a(input), "W": w}
    late, arrange = ("A", arrange_a) if transposed else ("G", arrange_g)
    rest = (total - samples * per_sample) * per_image
    return Product(info, samples, operands, late, arrange, total * per_image, rest)


@dataclass
class Stored:
    """One operand as a trace keeps it; on the host."""

    mask: torch.Tensor
    values: Optional[torch.Tensor]
    nonzeros: int
    elements: int
    problem: str = ""  # why it must not be written

    @property
    def zeros(self) -> float:
        """The share of zeros."""
        return 1 - self.nonzeros / max(1, self.elements)


def store(operand: torch.Tensor, dtype: Optional[torch.dtype]) -> Stored:
    """Take a copy of an operand with its channels last: the mask, and values if `dtype` is given."""
    with torch.no_grad():
        nonzero = operand != 0
        finite = torch.isfinite(operand).all()
        values = None
        same_zeros = torch.ones_like(finite)
        if dtype is not None:
            values = operand.to(torch.float32).to(dtype)
            same_zeros = ((values != 0) == nonzero).all() & (torch.isfinite(values).all() | ~finite)
            values = values.contiguous().cpu()
            if values.data_ptr() == operand.data_ptr():
                values = values.clone()
        mask = pack(nonzero).cpu()
        count, is_finite, is_same = torch.stack([nonzero.sum(), finite.long(), same_zeros.long()]).tolist()
    problem = ""
    if not is_finite:
        problem = "holds values that are NaN or infinite; record another step"
    elif not is_same:
        problem = f"holds values that {str(dtype).replace('torch.', '')} turns into zero or infinity; " + (
            "record with dtype='f32'" if dtype is torch.bfloat16 else "record masks only"
        )
    return Stored(mask, values, count, operand.numel(), problem)


def joined(parts: List[Stored], samples: int, most: Optional[int], recurrent: bool) -> Stored:
    """Rows of several products as steps of one: each part has those of `samples` samples, one after the other.

    `recurrent`: one step after the other, as they come. `most`: keep that many rows.
    """

    def together(tensors: List[torch.Tensor]) -> torch.Tensor:
        if recurrent or most is not None:
            return torch.cat(tensors)[:most]
        whole = torch.cat([tensor.reshape(samples, -1, tensor.shape[-1]) for tensor in tensors], dim=1)
        return whole.reshape(-1, whole.shape[-1])

    mask = together([part.mask for part in parts])
    values = None if parts[0].values is None else together([part.values for part in parts if part.values is not None])
    elements = parts[0].elements // parts[0].mask.shape[0] * mask.shape[0]
    nonzeros = parts[0].nonzeros
    if nonzeros >= 0:  # counted
        counts = torch.tensor([bin(byte).count("1") for byte in range(256)])
        nonzeros = int(counts[mask.long()].sum())
    return Stored(mask, values, nonzeros, elements, next((part.problem for part in parts if part.problem), ""))
