"""Which implementation runs an operation of a layer: PyTorch's or one of ours, from measured times and counted zeros.

The first calls of an operation take turns between the candidates. The fastest stays. From then on the share of zeros is
sampled now and then: the time of a zero-skipping kernel is nearly proportional to what it does not skip, so the choice
can follow the zeros without measuring anew; when they have moved far, or after many calls, the candidates that could win
are measured again. Results differ between the candidates by rounding alone.
"""

from typing import Dict, List, Optional, Sequence

TORCH, OUR_DENSE, SKIP_A, SKIP_G = range(4)
NAMES = ("PyTorch", "dense", "skips zeros of A", "skips zeros of G")

# Ours must be this much faster than PyTorch's, and by this many seconds, to be chosen: below that it is noise.
_MARGIN = 0.96
_ROUNDS = 3  # times of each candidate, after one that is not counted
_FEWEST_ZEROS = 0.25  # below this no kernel that skips zeros has been faster than a dense one
_SAMPLE_EVERY = 16  # calls between two looks at the zeros
_MOVED = 0.12  # a change of the share of zeros after which candidates are measured again
_HOPELESS = 1.6  # candidates slower than the best by this factor are not measured again
_LOOK_AGAIN = (48, 400, 2500)  # calls after which candidates are measured again; the last is repeated
# Part of a zero-skipping kernel's time that does not shrink with its work, as a share of its time without zeros.
_FIXED = 0.12
# Zeros from which on a kernel that skips them is chosen where times must not matter (deterministic).
_RULE = 0.55


class Choice:
    """The choice for one operation of one layer at one shape."""

    __slots__ = ("candidates", "best", "times", "zeros", "_zeros_then", "_trials", "_calls", "_sampled", "_looks")

    def __init__(self, candidates: Sequence[int]) -> None:
        self.candidates = tuple(candidates)  # PyTorch's among them
        self.best = TORCH
        self.times: Dict[int, float] = {}  # seconds, the least of the last measurement
        self.zeros: Dict[int, float] = {}  # by candidate that skips: share of zeros of its operand, last sampled
        self._zeros_then: Dict[int, float] = {}  # the same when its time was taken
        self._trials: List[int] = []
        self._calls = 0
        self._sampled = False
        self._looks = 0
        if len(self.candidates) > 1:
            self._trials = list(self.candidates)  # one uncounted round

    @property
    def settled(self) -> bool:
        return not self._trials

    def wants_zeros(self) -> bool:
        """Whether this call should sample the zeros (`saw_zeros`) before it chooses."""
        if len(self.candidates) == 1:
            return False
        return not self._sampled or self._calls % _SAMPLE_EVERY == 0

    def saw_zeros(self, candidate: int, share: float) -> None:
        self.zeros[candidate] = share
        self._sampled = True
        if not self._trials and candidate in self._zeros_then:
            if abs(share - self._zeros_then[candidate]) > _MOVED:
                self._measure_again()
            else:
                self.best = self._fastest()
        elif not self._trials and candidate in self.candidates and share >= _FEWEST_ZEROS:
            self._trials = [candidate, candidate, *self._worth_measuring()]  # had too few zeros before

    def next(self) -> int:
        """What this call should use."""
        while self._trials and self.zeros.get(self._trials[0], 1.0) < _FEWEST_ZEROS:
            self._trials.pop(0)
            if not self._trials:
                self._end_round()
        return self._trials[0] if self._trials else self.best

    def done(self, used: int, seconds: float) -> None:
        """What a call used, and how long it took."""
        self._calls += 1
        if self._trials and self._trials[0] == used:
            self._trials.pop(0)
            if self._looks == 0:  # the first round is not counted: caches, pages, the kernel's own preparations
                if not self._trials:
                    self._end_round()
                return
            self.times[used] = min(seconds, self.times.get(used, seconds))
            if used in self.zeros:
                self._zeros_then[used] = self.zeros[used]
            if len(self._trials) % len(self.candidates) == 0:
                self._trials = [c for c in self._trials if not self._is_hopeless(c)]
            if not self._trials:
                self._end_round()
        elif not self._trials and len(self.candidates) > 1:
            again = _LOOK_AGAIN[min(self._looks, len(_LOOK_AGAIN)) - 1]
            if self._calls >= again:
                self._calls = 0
                self._looks += 1
                self._measure_again()

    def by_rule(self) -> int:
        """The choice from the zeros alone, for the same sums in every run."""
        skipping = [c for c in self.candidates if c in (SKIP_A, SKIP_G) and self.zeros.get(c, 0.0) >= _RULE]
        return max(skipping, key=lambda c: self.zeros[c]) if skipping else TORCH

    def expected(self, candidate: int) -> Optional[float]:
        """Seconds at the zeros of now."""
        seconds = self.times.get(candidate)
        if seconds is None or candidate not in self._zeros_then:
            return seconds
        work_then = _FIXED + 1 - self._zeros_then[candidate]
        return seconds * (_FIXED + 1 - self.zeros.get(candidate, 0.0)) / work_then

    def gain(self) -> float:
        """Seconds that the choice saves compared with PyTorch's."""
        if TORCH not in self.times or self.best == TORCH:
            return 0.0
        return self.times[TORCH] - (self.expected(self.best) or 0.0)

    def _tried(self) -> List[int]:
        return [c for c in self.candidates if self.zeros.get(c, 1.0) >= _FEWEST_ZEROS]

    def _is_hopeless(self, candidate: int) -> bool:
        times = {c: self.expected(c) for c in self.times}
        return candidate in times and times[candidate] > _HOPELESS * min(times.values())

    def _worth_measuring(self) -> List[int]:
        kept = [c for c in self._tried() if c in self.times and not self._is_hopeless(c)]
        return [c for _ in range(2) for c in kept] if len(kept) > 1 else []

    def _measure_again(self) -> None:
        self._trials = self._worth_measuring()
        for candidate in set(self._trials):
            self.times.pop(candidate, None)
        if not self._trials:
            self.best = self._fastest()

    def _end_round(self) -> None:
        if self._looks == 0:
            self._looks = 1
            self._trials = [c for _ in range(_ROUNDS) for c in self._tried()]
            return
        self._calls = 0
        self.best = self._fastest()

    def _fastest(self) -> int:
        times = {c: self.expected(c) for c in self.times}
        if TORCH not in times:
            return min(times, key=times.get) if times else TORCH
        best = min(times, key=times.get)
        return best if times[best] < _MARGIN * times[TORCH] else TORCH
