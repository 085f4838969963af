"""Time that measuring kernels may take from a training: a small share of what passes, for all converted layers together."""

from time import process_time
from typing import Callable

# Share of the processor time of the process, and seconds to begin with. A MobileNet-like network, where nothing is gained,
# ran the first 50 steps of a first process at 0.81x without a limit and runs 60 at 0.94x. With no seconds to begin with, short
# processes each measure a part again: the fourth ran the network forward alone at 0.86x, and now the second at 0.97x.
_SHARE, _START = 0.02, 0.25
_LONGEST = 1.0  # seconds between two calls that count: what passes in longer ones is not the training of these layers


class Allowance:
    """Processor seconds that may still be spent. Threads may share it: a lost update costs a measurement at most."""

    def __init__(self, share: float = _SHARE, start: float = _START, now: Callable[[], float] = process_time) -> None:
        self._share, self._now = share, now
        self._last = now()
        self._seconds = start

    def is_left(self) -> bool:
        now = self._now()
        self._seconds += self._share * max(0.0, min(now - self._last, _LONGEST))
        self._last = now
        return self._seconds >= 0

    def spend(self, seconds: float) -> None:
        """Note what a call took longer than PyTorch's; less than nothing if it was faster, which pays for others."""
        self._seconds -= seconds


allowance = Allowance()
