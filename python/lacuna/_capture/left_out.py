"""The work of a step that its trace does not hold, in multiply-accumulates of the forward pass of the whole batch."""

import math
from typing import Any, Callable, Dict, List, Optional, Tuple

import torch


class LeftOutWork:
    """Multiply-accumulates that were seen and not recorded, by name and kind."""

    def __init__(self) -> None:
        self._macs: Dict[Tuple[str, str], Optional[int]] = {}
        self._unfit: Dict[Tuple[str, str], None] = {}

    def add(self, name: str, kind: str, macs: Optional[int], unfit: bool = False) -> None:
        """`macs` None: not known. `unfit`: a trace cannot hold it."""
        known = self._macs.get((name, kind), 0)
        self._macs[name, kind] = None if macs is None or known is None else known + macs
        if unfit and macs != 0:
            self._unfit[name, kind] = None

    def entries(self, scale: float) -> List[Dict[str, Any]]:
        """As the metadata has them: for a batch `scale` times as large as the one that ran."""
        return [
            {"name": name, "type": kind, **({} if macs is None else {"macs": round(macs * scale)})}
            for (name, kind), macs in self._macs.items()
            if macs != 0
        ]

    def unfit(self, recorded: int) -> List[str]:
        """Products that a trace cannot hold, each with its share of all multiply-accumulates."""
        total = recorded + sum(macs or 0 for macs in self._macs.values())
        texts = []
        for name, kind in self._unfit:
            macs = self._macs[name, kind]
            share = "share unknown" if macs is None else f"{100 * macs / total:.3g} %"
            texts.append(f"{name} ({kind}, {share})")
        return texts


def _attention(args: tuple, output: Any) -> int:
    query, key, value = args[:3]  # [N, heads, length, size]
    rows = query.numel() // query.shape[-1]
    return rows * key.shape[-2] * (query.shape[-1] + value.shape[-1])


def _attention_by_length(args: tuple, output: Any) -> Optional[int]:
    query, key, value = args[:3]  # [N, length, heads, size]; packed sequences have three dimensions
    if query.dim() != 4:
        return None
    return query.numel() // query.shape[-1] * key.shape[1] * (query.shape[-1] + value.shape[-1])


def _recurrent(args: tuple, output: Any) -> int:
    input, weights = args[0], [weight for weight in args[1] if weight.dim() == 2]
    return input.numel() // input.shape[-1] * sum(weight.numel() for weight in weights)


def _trilinear(args: tuple, output: Any) -> int:
    sizes: List[torch.Size] = []
    for tensor, expanded in zip(args[:3], args[3:6]):
        for dimension in expanded:
            tensor = tensor.unsqueeze(dimension)
        sizes.append(tensor.shape)
    return math.prod(torch.broadcast_shapes(*sizes))


def _sparse(args: tuple, output: Any) -> Optional[int]:
    tensors = [one for one in args if isinstance(one, torch.Tensor)]
    sparse = [one for one in tensors if one.layout != torch.strided]
    return sparse[0]._nnz() * output.shape[-1] if sparse else None


# Counts of operations that multiply and are not products of two dense tensors. By name, because no version of torch has
# all of them.
_OTHERS: Dict[str, Callable[[tuple, Any], Optional[int]]] = {
    "aten::_trilinear": _trilinear,
    "aten::addbmm": lambda args, output: args[1].numel() * args[2].shape[-1],
    "aten::_sparse_mm": _sparse,
    "aten::_sparse_addmm": _sparse,
    "aten::_scaled_mm": lambda args, output: output.numel() * args[0].shape[-1],
    "aten::_int_mm": lambda args, output: output.numel() * args[0].shape[-1],
    "aten::_grouped_mm": lambda args, output: None,
    "aten::_cudnn_rnn": _recurrent,
    "aten::miopen_rnn": _recurrent,
    "aten::mkldnn_rnn_layer": lambda args, output: _recurrent((args[0], args[1:3]), output),
    "aten::_scaled_dot_product_flash_attention": _attention,
    "aten::_scaled_dot_product_flash_attention_for_cpu": _attention,
    "aten::_scaled_dot_product_efficient_attention": _attention,
    "aten::_scaled_dot_product_cudnn_attention": _attention,
    "aten::_scaled_dot_product_fused_attention_overrideable": _attention,
    "aten::_flash_attention_forward": _attention_by_length,
    "aten::_efficient_attention_forward": _attention_by_length,
    "flex_attention": lambda args, output: None,
    "torchvision::deform_conv2d": lambda args, output: output.numel() * args[1][0].numel(),
}


def is_other(name: str) -> bool:
    return name in _OTHERS


def other_macs(name: str, args: tuple, output: Any) -> Optional[int]:
    """Multiply-accumulates of such an operation; None if its call is not understood."""
    try:
        return _OTHERS[name](args, output)
    except (AttributeError, IndexError, RuntimeError, TypeError):
        return None
