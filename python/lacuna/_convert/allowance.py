"""Time that measuring kernels may take from a training: a small share of what passes, for all converted layers together."""

from time import process_time
from typing import Callable

# Share of the processor time of the process. A MobileNet-like network, where nothing is gained, ran the first 50 steps of a
# first process at 0.78x without a limit and at 0.94x with this one; a transformer with ReLU^2, which is 1.22 times as
# fast in the end, its first 60 at 1.07x and 1.08x.
_SHARE = 0.02
_LONGEST = 1.0  # seconds between two calls that count: what passes in longer ones is not the training of these layers


class Allowance:
    """Processor seconds that may still be spent. Threads may share it: a lost update costs a measurement at most."""

    def __init__(self, share: float = _SHARE, now: Callable[[], float] = process_time) -> None:
        self._share, self._now = share, now
        self._last = now()
        self._seconds = 0.0

    def is_left(self) -> bool:
        now = self._now()
        self._seconds += self._share * max(0.0, min(now - self._last, _LONGEST))
        self._last = now
        return self._seconds >= 0

    def spend(self, seconds: float) -> None:
        """Note what a call took longer than PyTorch's; less than nothing if it was faster, which pays for others."""
        self._seconds -= seconds


allowance = Allowance()
