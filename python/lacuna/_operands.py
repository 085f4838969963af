"""From a call of torch's conv1d, conv2d or linear to the operands A, W and G as a trace stores them."""

from dataclasses import dataclass
from typing import Callable, Dict, Optional, Tuple

import torch
import torch.nn.functional as F

# The name by which torch reports each recorded function, and its spatial dimensions.
FUNCTIONS = {"conv1d": 1, "conv2d": 2, "linear": 0}


@dataclass
class Product:
    """One product of a layer: how a trace describes it, and its operands with the channels last."""

    info: Dict[str, object]  # without name and sparsity
    a: torch.Tensor
    w: torch.Tensor
    arrange_g: Callable[[torch.Tensor], torch.Tensor]
    samples: int  # of the whole input, not only those recorded


def product_of(
    function: str, args: tuple, kwargs: dict, output: torch.Tensor, samples: int, linear_samples: Optional[int]
) -> Product:
    """Describe the call `function(*args, **kwargs)` of torch that returned `output`."""
    if function == "linear":
        product = _linear(*args, **kwargs, samples=samples, linear_samples=linear_samples)
    else:
        product = _conv(*args, **kwargs, spatial=FUNCTIONS[function], samples=samples)
    # Under autocast torch narrows the operands inside the function. What is multiplied is recorded, and a small value
    # may become zero that way.
    product.a = product.a.detach().to(output.dtype)
    product.w = product.w.detach().to(output.dtype)
    return product


def _linear(input, weight, bias=None, *, samples, linear_samples) -> Product:
    rows_of = input.reshape(1, -1) if input.dim() == 1 else input
    total = rows_of.shape[0]
    steps = 1
    for size in rows_of.shape[1:-1]:
        steps *= size
    # Without steps the weight gradient reduces over the batch, so recording part of it would change the product.
    kept = min(total, samples if steps != 1 else linear_samples or total)

    def arrange(tensor: torch.Tensor) -> torch.Tensor:
        whole = tensor.reshape(1, -1) if tensor.dim() == 1 else tensor
        return whole[:kept].reshape(kept * steps, tensor.shape[-1])

    info = {
        "type": "linear",
        "in_features": weight.shape[1],
        "out_features": weight.shape[0],
        "batch": kept * steps,
        "steps": steps,
    }
    return Product(info, arrange(input), weight, arrange, total)


def _pair(value, spatial: int, missing: int) -> Tuple[int, int]:
    """[height, width] of an argument of conv1d or conv2d; a Conv1d is an image of height 1."""
    values = [value] * spatial if isinstance(value, int) else [int(v) for v in value]
    values = values * (spatial // len(values))
    return (missing, values[0]) if spatial == 1 else (values[0], values[1])


def _conv(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, *, spatial, samples) -> Product:
    def images(tensor: torch.Tensor) -> torch.Tensor:
        batch = tensor if tensor.dim() == spatial + 2 else tensor.unsqueeze(0)
        return batch.unsqueeze(2) if spatial == 1 else batch

    a = images(input)
    w = weight.unsqueeze(2) if spatial == 1 else weight
    total = a.shape[0]
    kept = min(total, samples)
    a = a[:kept]
    kernel = (w.shape[2], w.shape[3])
    dilation = _pair(dilation, spatial, 1)
    if padding == "valid":
        padding = (0, 0)
    elif padding == "same":
        # torch puts the odd one of an uneven border on the right and the bottom. A trace has even borders only, so
        # that row or column becomes part of the input.
        border = [d * (k - 1) for d, k in zip(dilation, kernel)]
        padding = (border[0] // 2, border[1] // 2)
        if border[0] % 2 or border[1] % 2:
            a = F.pad(a, (0, border[1] % 2, 0, border[0] % 2))
    else:
        padding = _pair(padding, spatial, 0)

    def arrange_g(gradient: torch.Tensor) -> torch.Tensor:
        return images(gradient)[:kept].permute(0, 2, 3, 1)

    stride = _pair(stride, spatial, 1)
    hw = (a.shape[2], a.shape[3])
    info = {
        "type": "conv2d",
        "in_channels": a.shape[1],
        "out_channels": w.shape[0],
        "kernel": list(kernel),
        "stride": list(stride),
        "padding": list(padding),
        "dilation": list(dilation),
        "groups": groups,
        "batch": kept,
        "input_hw": list(hw),
        "output_hw": [
            (hw[i] + 2 * padding[i] - dilation[i] * (kernel[i] - 1) - 1) // stride[i] + 1 for i in range(2)
        ],
    }
    return Product(info, a.permute(0, 2, 3, 1), w.permute(0, 2, 3, 1), arrange_g, total)


def pack_mask(nonzero: torch.Tensor) -> torch.Tensor:
    """One bit per element along the last dimension, the first in the lowest bit; on the tensor's own device."""
    channels = nonzero.shape[-1]
    bits = F.pad(nonzero.to(torch.uint8), (0, -channels % 8))
    bits = bits.reshape(*nonzero.shape[:-1], -1, 8)
    packed = bits[..., 0].clone()
    for bit in range(1, 8):
        packed |= bits[..., bit] << bit
    return packed


def unpack_mask(packed: torch.Tensor, channels: int) -> torch.Tensor:
    """The inverse of `pack_mask`."""
    bits = torch.stack([(packed >> bit) & 1 for bit in range(8)], dim=-1)
    return bits.reshape(*packed.shape[:-1], -1)[..., :channels].bool()


@dataclass
class Stored:
    """What a trace keeps of one operand; on the host."""

    mask: torch.Tensor
    values: Optional[torch.Tensor]
    zeros: float  # the share of zeros
    problem: str = ""  # why it must not be written


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
        mask = pack_mask(nonzero).cpu()
        count, is_finite, is_same = torch.stack([nonzero.sum(), finite.long(), same_zeros.long()]).tolist()
    problem = ""
    if not is_finite:
        problem = "holds values that are NaN or infinite; record another step"
    elif not is_same:
        problem = f"holds values that {str(dtype).replace('torch.', '')} turns into zero or infinity; " + (
            "record with dtype='f32'" if dtype is torch.bfloat16 else "record masks only"
        )
    return Stored(mask, values, 1 - count / max(1, operand.numel()), problem)
