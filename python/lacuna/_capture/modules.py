"""Modules and weights of a model: which models cannot be recorded, and the names of products."""

from dataclasses import dataclass
from typing import Dict, List, Optional, Set, Tuple

import torch
from torch import nn
from torch.nn.utils.rnn import PackedSequence

from ..errors import CaptureError

# Modules that multiply when they are called. One that does not run is worth a warning.
_MULTIPLYING = (
    nn.Linear,
    nn.Conv1d,
    nn.Conv2d,
    nn.Conv3d,
    nn.ConvTranspose1d,
    nn.ConvTranspose2d,
    nn.ConvTranspose3d,
    nn.Bilinear,
    nn.RNNBase,
    nn.RNNCellBase,
)


def unwrapped(model: nn.Module) -> nn.Module:
    """The module that has the user's names; refuses what cannot be watched."""
    if not isinstance(model, nn.Module):
        raise CaptureError(f"the model is a {type(model).__name__}, not a torch.nn.Module")
    for name, module in model.named_modules():
        place = f"'{name}'" if name else "the model"
        if isinstance(module, torch.jit.ScriptModule):
            raise CaptureError(f"{place} is a TorchScript module, which hides its products; capture the original")
        if hasattr(module, "_orig_mod") or getattr(module, "_compiled_call_impl", None) is not None:
            raise CaptureError(
                f"{place} is compiled (torch.compile), which hides its products; run the recorded step on the module "
                "before compilation: it has the same weights"
            )
        if isinstance(module, nn.DataParallel) and len(module.device_ids or []) > 1:
            raise CaptureError(
                f"{place} is a DataParallel over {len(module.device_ids)} devices; capture and run its '.module'"
            )
    while isinstance(model, (nn.DataParallel, nn.parallel.DistributedDataParallel)):
        model = model.module
    if not has_weights(model):
        raise CaptureError(f"the model has {NO_WEIGHTS}")
    return model


NO_WEIGHTS = "no weights to multiply with: no convolution, linear layer or the like"


def has_weights(model: nn.Module) -> bool:
    """Return true if there is something to multiply with, though it may have no shape yet."""
    return any(nn.parameter.is_lazy(parameter) or parameter.dim() > 1 for parameter in model.parameters())


@dataclass(frozen=True)
class Sequence:
    """How a recurrent layer or an attention layer passes rows on: the time step first, then the sample."""

    samples: int
    packed: bool = False  # sequences of unequal length
    merge: Optional[Tuple] = None  # products of one weight that share this key are steps of one layer


@dataclass(frozen=True)
class Running:
    """A module whose forward is running; its name is that of the first place where the model has it."""

    name: str
    module: nn.Module
    sequence: Optional[Sequence]
    recomputed: bool  # called inside a backward pass, by gradient checkpointing


def sequence_of(module: nn.Module, call: int, args: tuple, kwargs: dict) -> Optional[Sequence]:
    """The order of rows inside a call of this module, if it is not that of its input."""
    recurrent = isinstance(module, (nn.RNNBase, nn.RNNCellBase))
    if not recurrent and not isinstance(module, nn.MultiheadAttention):
        return None
    first = args[0] if args else next(iter(kwargs.values()), None)
    if isinstance(first, PackedSequence):
        return Sequence(int(first.batch_sizes[0]), True, (id(module), call))
    if not isinstance(first, torch.Tensor):
        return None
    if isinstance(module, nn.RNNCellBase):  # the user's loop is the sequence
        return Sequence(first.shape[0] if first.dim() == 2 else 1, False, (id(module),))
    samples = 1 if first.dim() == 2 else first.shape[0 if module.batch_first else 1]
    return Sequence(samples, False, (id(module), call) if recurrent else None)


class Names:
    """Layers are called after the module that owns their weights, other products after the module that runs."""

    def __init__(self, model: nn.Module):
        self._root = type(model).__name__.lower()
        self._owners: Dict[int, List[Tuple[str, str]]] = {}
        self._state: Dict[int, torch.Tensor] = {}  # kept, so that no other tensor gets their id
        self.modules: Dict[str, nn.Module] = dict(model.named_modules())
        for name, module in self.modules.items():
            for attribute, tensor in [*module._parameters.items(), *module._buffers.items()]:
                if tensor is not None:
                    self._owners.setdefault(id(tensor), []).append((name, attribute))
                    self._state[id(tensor)] = tensor

    def owns(self, tensor: torch.Tensor) -> bool:
        """Is it a parameter or a buffer of the model?"""
        return id(tensor) in self._state

    def is_parameter(self, source: Optional[int]) -> bool:
        """Not a buffer: those also hold constants, as of rotary embeddings."""
        return source is not None and isinstance(self._state[source], nn.Parameter)

    def is_whole(self, tensor: torch.Tensor, source: int) -> bool:
        """Is it all of the weight that it comes from, and not a part or something computed?"""
        return tensor.numel() == self._state[source].numel()

    def layer(self, source: Optional[int], running: Optional[Running], function: str) -> Tuple[str, str, str]:
        """Name a product with the weight `source` (id of a parameter; None: without): its name, the module that it belongs
        to, and that module's type or "function"."""
        if source is not None:
            owners = self._owners[source]
            # Tied weights have several owners: the one that runs is meant.
            owner = next((one for one in owners if running is not None and one[0] == running.name), owners[0])
            name, module = self._weight_name(*owner)
            return name, module, type(self.modules[module]).__name__
        if running is None:
            return function, "", "function"
        if isinstance(running.module, _MULTIPLYING):
            return self.shown(running.name), running.name, type(running.module).__name__
        return f"{running.name}.{function}" if running.name else function, "", "function"

    def multiplying(self) -> List[str]:
        return [name for name, module in self.modules.items() if isinstance(module, _MULTIPLYING)]

    def shown(self, module: str) -> str:
        return module or self._root

    def _weight_name(self, module: str, attribute: str) -> Tuple[str, str]:
        head, marker, tail = module.rpartition("parametrizations.")
        if marker:  # torch.nn.utils.parametrize keeps the original in a separate module
            module, attribute = head.rstrip("."), tail
        if attribute in ("weight", "weight_orig", "weight_g", "weight_v"):
            return module or self._root, module
        if attribute.startswith("weight_"):
            attribute = attribute[len("weight_") :]
        elif attribute.endswith("_weight"):
            attribute = attribute[: -len("_weight")]
        return f"{module}.{attribute}" if module else attribute, module


def numbered(names: List[str]) -> List[str]:
    """Make names unique: the second call of a layer is the layer NAME#2, and so on."""
    used: Set[str] = set()
    result = []
    for name in names:
        unique, number = name, 1
        while unique in used:
            number += 1
            unique = f"{name}#{number}"
        used.add(unique)
        result.append(unique)
    return result
