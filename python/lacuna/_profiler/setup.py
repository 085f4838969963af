"""Checks and preparations of the profiler before a training starts."""

import os
import sys
import warnings
from typing import Any, Dict, Tuple

import torch
from torch import nn

from .._capture.modules import NO_WEIGHTS, has_weights
from .._native.handles import ResultHandle, TraceHandle, run_simulation
from ..errors import ProfilerError, ProfilerWarning


def checked_model(model: Any) -> Tuple[nn.Module, bool]:
    """The module whose layers are watched, and whether it is compiled; refuses what cannot be watched."""
    if not isinstance(model, nn.Module):
        raise ProfilerError(f"the model is a {type(model).__name__}, not a torch.nn.Module")
    compiled = False
    while True:  # one may be inside the other
        if hasattr(model, "_orig_mod"):
            compiled, model = True, model._orig_mod
            continue
        if not isinstance(model, (nn.DataParallel, nn.parallel.DistributedDataParallel)):
            break
        if isinstance(model, nn.DataParallel) and len(model.device_ids or []) > 1:
            raise ProfilerError(
                f"the model is a DataParallel over {len(model.device_ids)} devices, whose copies have no hooks; use "
                "DistributedDataParallel"
            )
        model = model.module
    for name, module in model.named_modules():
        place = f"'{name}'" if name else "the model"
        if isinstance(module, torch.jit.ScriptModule):
            raise ProfilerError(f"{place} is a TorchScript module, which hides its layers; profile the original")
        compiled |= hasattr(module, "_orig_mod") or getattr(module, "_compiled_call_impl", None) is not None
    if compiled and not hasattr(getattr(torch, "compiler", None), "set_stance"):
        raise ProfilerError(
            "the model is compiled (torch.compile), which hides its layers; from torch 2.6 on the measured steps run "
            "uncompiled, before it profile the module that was compiled"
        )
    if not has_weights(model):
        raise ProfilerError(f"the model has {NO_WEIGHTS}")
    return model, compiled


def check_machines(options: Dict[str, Any]) -> ResultHandle:
    """Simulates one tiny layer, so that unknown machines and parameters are an error now and not in a thread later."""
    info = {"name": "x", "type": "linear", "in_features": 16, "out_features": 16, "batch": 1, "steps": 1}
    return run_simulation([TraceHandle.build("check", {"model": "check"}, [(info, {})])], **dict(options, threads=1))


def ranks() -> Tuple[int, int]:
    distributed = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return 0, 1
    return distributed.get_rank(), distributed.get_world_size()


def of_rank(path: str, rank: int) -> str:
    stem, ending = os.path.splitext(path)
    return path if rank == 0 else f"{stem}.rank{rank}{ending}"


def summary_writer(given: Any) -> Any:
    if not isinstance(given, (str, os.PathLike)):
        return given
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        warnings.warn("lacuna.Profiler: tensorboard is not installed, so there are no scalars for it", ProfilerWarning)
        return None
    return SummaryWriter(os.fspath(given))


def count_steps(optimizer: torch.optim.Optimizer, profiler: Any) -> Any:
    """Make `optimizer.step()` end a step of the profiler; returns what undoes it."""
    if hasattr(optimizer, "register_step_post_hook"):  # torch 2
        return optimizer.register_step_post_hook(lambda *_: profiler.step()).remove
    inner = optimizer.step
    had_own = "step" in optimizer.__dict__

    def step(*args: Any, **kwargs: Any) -> Any:
        result = inner(*args, **kwargs)
        optimizer._step_count = getattr(optimizer, "_step_count", 0) + 1
        profiler.step()
        return result

    step._with_counter = True  # learning-rate schedulers look whether they come after the optimizer
    optimizer.step = step

    def undo() -> None:
        if had_own:
            optimizer.step = inner
        else:
            del optimizer.step

    return undo
