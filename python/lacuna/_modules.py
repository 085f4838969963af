"""Which modules of a model are recorded, and which models cannot be."""

from typing import Dict

import torch
from torch import nn

from .errors import CaptureError

_RECORDED = (nn.Conv1d, nn.Conv2d, nn.Linear)
NOT_RECORDED = (
    nn.Bilinear,
    nn.Conv3d,
    nn.ConvTranspose1d,
    nn.ConvTranspose2d,
    nn.ConvTranspose3d,
    nn.MultiheadAttention,
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
    return model


def recorded_modules(model: nn.Module) -> Dict[str, nn.Module]:
    """The modules to record by name; a module that occurs twice keeps its first name."""
    modules = {
        name or type(module).__name__.lower(): module
        for name, module in model.named_modules()
        if isinstance(module, _RECORDED)
    }
    if not modules:
        raise CaptureError("the model has no Conv1d, Conv2d or Linear to record")
    return modules
