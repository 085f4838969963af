"""The way of a measured step from its device to the host: all masks as one block, one copy that nobody waits for."""

import functools
import threading
from typing import List

import torch

from .watch import LayerCall, Piece, RecordedStep

_MOST_BUFFERS = 4


class Transfer:
    """Packs steps. Keeps the pinned memory that they were copied to and uses it again."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._buffers: List[torch.Tensor] = []
        self._closed = False

    def close(self) -> None:
        with self._lock:
            self._closed = True
            self._buffers.clear()

    def packed(
        self, step: int, model: str, batch: int, samples: int, calls: List[LayerCall], finite: List[torch.Tensor]
    ) -> RecordedStep:
        """A step whose bytes are on the host, or on their way there (`ready`). The masks of `calls` are moved out."""
        parts: List[torch.Tensor] = []
        pieces: List[List[Piece]] = []
        size = 0
        home = next(mask.device for call in reversed(calls) for mask in call.masks.values())
        for call in calls:
            pieces.append([])
            for role, mask in call.masks.items():
                pieces[-1].append(Piece(role, size, mask.numel()))
                parts.append(mask.reshape(-1).to(home))  # layers on several devices
                size += mask.numel()
            call.masks = {}
        finite_at = size if finite else None
        if finite:
            parts.append(torch.stack([flag.to(home).reshape(()) for flag in finite]).all().to(torch.uint8).reshape(1))
        whole = torch.cat(parts)
        recorded = RecordedStep(step, model, batch, min(samples, batch), calls, pieces, whole, finite_at)
        if whole.is_cuda:
            recorded.data = self._buffer(whole.numel())
            recorded.data.copy_(whole, non_blocking=True)
            recorded.ready = torch.cuda.Event(blocking=True)
            recorded.ready.record()
            recorded.release = functools.partial(self._give_back, recorded.data)
        return recorded

    def _buffer(self, size: int) -> torch.Tensor:
        """Pinned memory, used again: allocating it stops the device."""
        with self._lock:
            for i, buffer in enumerate(self._buffers):
                if buffer.numel() >= size:
                    return self._buffers.pop(i)[:size]
        return torch.empty(size, dtype=torch.uint8, pin_memory=True)

    def _give_back(self, buffer: torch.Tensor) -> None:
        with self._lock:
            if not self._closed and len(self._buffers) < _MOST_BUFFERS:
                self._buffers.append(buffer)
