"""Callers of a layer: a backward pass, gradient checkpointing."""

import sys
import threading
from types import FrameType
from typing import Optional

import torch
import torch.utils.checkpoint


def in_checkpoint() -> bool:
    """Return true if torch's gradient checkpointing is among the callers.

    One kind of it runs forward without a graph first, which looks like an evaluation from the inside.
    """
    return _has_caller(torch.utils.checkpoint.__file__)


def _has_caller(file: str) -> bool:
    """Return true if a function of this file is among the callers."""
    frame: Optional[FrameType] = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename == file:
            return True
        frame = frame.f_back
    return False


def in_backward() -> bool:
    """Return true inside a backward pass, where gradient checkpointing calls layers again."""
    task = getattr(torch._C, "_current_graph_task_id", None)
    if task is not None:  # torch 2
        return task() != -1
    # torch 1 has no such number. A backward pass that this thread runs is among its callers. One of torch's threads has no
    # callers; there the only sign is an exception, which takes milliseconds.
    if _has_caller(torch.autograd.__file__):
        return True
    if threading.current_thread() is threading.main_thread():
        return False
    try:
        torch.autograd.Variable._execution_engine.queue_callback(lambda: None)
    except RuntimeError:
        return False
    return True
