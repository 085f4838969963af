"""Which implementation runs an operation of a layer: PyTorch's or one of ours, from measured times and counted zeros.

The first calls of an operation alternate between the candidates. The fastest stays. After that the share of zeros is
sampled now and then: the time of a zero-skipping kernel is nearly proportional to what it does not skip, so the choice
can follow the zeros without another measurement. When they have moved far, or after many calls, the candidates that could
win are measured again, as long as all the measuring has cost at most a small share of the time. Results differ between
the candidates by rounding alone.
"""

from time import perf_counter, thread_time
from typing import Callable, Dict, Mapping, Optional, Sequence, Tuple

TORCH, OUR_DENSE, SKIP_A, SKIP_G, SKIP_W, OUR_BFLOAT16, SKIP_ROWS, NEEDED = range(8)
NAMES = (
    *("PyTorch", "dense", "skips zeros of A", "skips zeros of G", "skips zeros of W", "bfloat16", "skips rows of G"),
    "needed only",  # input_grad where A is not zero
)

# Ours must take at most this share of PyTorch's time to be chosen: beyond that it is noise.
_MARGIN = 0.95
_ROUNDS = 3  # times of each candidate, after one that is not counted
# The two least times of PyTorch and of the fastest may differ by this factor; else more are taken, up to so many. Several
# threads are timed by the wall clock, which on a busy machine runs while they wait.
_AGREE, _MOST_TIMES = 1.1, 8
# Below this kernels that skip zeros are not tried: a guess, to spare the first steps slow calls. Lists of weights pay
# later than those that skip activations in whole vectors.
_FEWEST_ZEROS = {SKIP_A: 0.25, SKIP_G: 0.25, SKIP_W: 0.5, SKIP_ROWS: 0.1, NEEDED: 0.5}
_SAMPLE_EVERY = 16  # calls between two looks at the zeros
_MOVED = 0.12  # a change of the share of zeros after which candidates are measured again
# A candidate slower than the best by these factors after its first untimed call, its first and its second time is not
# tried further in this measurement. One time may be far off on a machine that others use, hence the steps.
_STOP = (4.0, 2.0, 1.25)
_HOPELESS = 1.5  # slower than that: not tried in the next measurement either
_LOOK_AGAIN = (100, 600, 3000)  # calls after which candidates are measured again; the last is repeated
_SHARE = 0.01  # of an operation's time that measuring it may have cost before it is measured again
# Part of a zero-skipping kernel's time that does not shrink with its work, as a share of its time without zeros. A rough
# value: where the zeros move far, times are taken again.
_FIXED = 0.12
# Share of zeros above which a kernel that skips them is chosen where times must not matter (deterministic).
_RULE = {SKIP_A: 0.55, SKIP_G: 0.55, SKIP_W: 0.75, SKIP_ROWS: 0.2, NEEDED: 0.75}


def clock(threads: int) -> Callable[[], float]:
    """Return what calls are timed by: seconds of the processor for one thread, which others cannot lengthen.

    On a machine with ten times as many processes as cores, PyTorch's time was up to 20 times too long, three times of three.
    """
    return thread_time if threads == 1 else perf_counter


class Choice:
    """The choice for one operation of one layer at one shape.

    Threads may use one at the same time without a lock (a forked child could find it locked for ever): what is shared
    is replaced, never changed in place, and a lost update costs a measurement at most.
    """

    def __init__(self, candidates: Sequence[int]) -> None:
        self.candidates = tuple(candidates)  # PyTorch's among them
        self.best = TORCH
        self.times: Dict[int, float] = {}  # seconds, the least of the last measurement
        self.zeros: Dict[int, float] = {}  # by candidate that skips: share of zeros of its operand, last sampled
        self._zeros_then: Dict[int, float] = {}  # the same when its time was taken
        self._trials: Tuple[int, ...] = self.candidates if len(self.candidates) > 1 else ()
        self._calls = 0
        self._sampled = False
        self._looks = 0  # measurements so far; 0: the first round, which is not counted
        self._first: Dict[int, float] = {}  # seconds in that round
        self._counts: Dict[int, int] = {}  # times taken in this measurement
        self._next: Dict[int, float] = {}  # the least but one of them
        self._tried_calls, self._tried_seconds = 0, 0.0  # all measurements together
        self._all_calls = 0

    def state(self) -> Dict[int, Tuple[float, Optional[float]]]:
        """Seconds of each candidate that was measured, and the zeros that it skipped then."""
        return {c: (seconds, self._zeros_then.get(c)) for c, seconds in self.times.items()}

    def resume(self, state: Mapping[int, Tuple[float, Optional[float]]]) -> None:
        """Settle on what another choice has measured."""
        self.times = {c: seconds for c, (seconds, _) in state.items() if c in self.candidates}
        self._zeros_then = {c: zeros for c, (_, zeros) in state.items() if c in self.times and zeros is not None}
        if TORCH in self.times:
            self._looks, self._trials = 1, ()
            # Treats them as measured here: a changed share of zeros alone does not trigger measuring in the first steps.
            self._tried_calls = _ROUNDS * len(self.times)
            self._tried_seconds = _ROUNDS * sum(self.times.values())
            self.zeros = dict(self._zeros_then)  # until the first call has looked
            self.best = self._fastest()

    @property
    def all_calls(self) -> int:
        return self._all_calls

    @property
    def so_far(self) -> Mapping[int, float]:
        """Seconds by candidate, those of the first round where there are no others yet."""
        return {**self._first, **self.times}

    @property
    def settled(self) -> bool:
        return not self._trials

    def wants_zeros(self) -> bool:
        """Return true if this call should sample the zeros (`saw_zeros`) before it chooses."""
        return len(self.candidates) > 1 and (not self._sampled or self._calls % _SAMPLE_EVERY == 0)

    def saw_zeros(self, candidate: int, share: float) -> None:
        self.zeros = {**self.zeros, candidate: share}
        self._sampled = True
        if self._trials:
            return
        then = self._zeros_then.get(candidate)
        if then is None:
            if share >= _FEWEST_ZEROS[candidate] and self._looks > 0 and self._may_measure():  # had too few before
                self._trials = (candidate, candidate, *self._worth_measuring())
        elif abs(share - then) > _MOVED and self._may_measure():
            self._measure_again()
        else:
            self.best = self._fastest()

    def next(self) -> int:
        """The candidate that this call should use."""
        trials = self._trials
        while trials and self._has_too_few(trials[0]):
            trials = trials[1:]
            self._trials = trials
            if not trials:
                self._end_round()
                trials = self._trials
        return trials[0] if trials else self.best

    def done(self, used: int, seconds: float) -> None:
        """Note which candidate a call used, and how long it took."""
        self._calls += 1
        self._all_calls += 1
        trials = self._trials
        if trials and trials[0] == used:
            self._tried_calls += 1
            self._tried_seconds += seconds
            self._trials = trials = trials[1:]
            if self._looks == 0:  # caches, pages, the kernel's own preparations: only good for dropping the worst
                self._first = {**self._first, used: seconds}
            else:
                self._note(used, seconds)
                if used in self.zeros:
                    self._zeros_then = {**self._zeros_then, used: self.zeros[used]}
                self._trials = trials = tuple(c for c in trials if not self._is_lost(c))
            if not trials:
                self._end_round()
        elif not trials and len(self.candidates) > 1:
            if self._calls >= _LOOK_AGAIN[min(self._looks, len(_LOOK_AGAIN)) - 1] and self._may_measure():
                self._calls = 0
                self._looks += 1
                self._measure_again()

    def _note(self, used: int, seconds: float) -> None:
        least = self.times.get(used)
        if least is not None:
            following = max(least, min(seconds, self._next.get(used, seconds)))
            self._next = {**self._next, used: following}
        self.times = {**self.times, used: seconds if least is None else min(seconds, least)}
        self._counts = {**self._counts, used: self._counts.get(used, 0) + 1}

    def passed_by(self, calls: int) -> None:
        """Calls that will not ask: they count, and the first that asks again looks at the zeros."""
        self._calls += calls
        self._all_calls += calls
        self._sampled = False

    def drop(self, candidate: int) -> None:
        """The library cannot do it."""
        self.candidates = tuple(c for c in self.candidates if c != candidate)
        self._trials = tuple(c for c in self._trials if c != candidate)
        self.times = {c: seconds for c, seconds in self.times.items() if c != candidate}
        if not self._trials:
            self._end_round()

    def by_rule(self) -> int:
        """The choice from the zeros alone, for the same sums in every run."""
        zeros = self.zeros
        skipping = [c for c in self.candidates if c in _RULE and zeros.get(c, 0.0) >= _RULE[c]]
        dense = OUR_BFLOAT16 if OUR_BFLOAT16 in self.candidates else TORCH
        return max(skipping, key=lambda c: zeros[c]) if skipping else dense

    def _expected(self) -> Dict[int, float]:
        """Seconds of each measured candidate at the zeros of now."""
        then, now = self._zeros_then, self.zeros
        return {
            c: seconds * (_FIXED + 1 - now.get(c, then[c])) / (_FIXED + 1 - then[c]) if c in then else seconds
            for c, seconds in self.times.items()
        }

    def _tried(self) -> Tuple[int, ...]:
        return tuple(c for c in self.candidates if not self._has_too_few(c))

    def _has_too_few(self, candidate: int) -> bool:
        """Zeros to be tried; those that are not known may be many."""
        return self.zeros.get(candidate, 1.0) < _FEWEST_ZEROS.get(candidate, 0.0)

    def _is_slower(self, candidate: int, factor: float) -> bool:
        times = self._expected()
        return candidate in times and times[candidate] > factor * min(times.values())

    def _is_lost(self, candidate: int) -> bool:
        """In the measurement under way. PyTorch's times cost nothing, and one that is far off would decide all."""
        count = self._counts.get(candidate, 0)
        return candidate != TORCH and count > 0 and self._is_slower(candidate, _STOP[min(count, len(_STOP) - 1)])

    def _may_measure(self) -> bool:
        """Return true if measuring has cost little so far, compared with all the time of the operation."""
        least = min(self.times.values(), default=0.0)
        return self._tried_seconds - self._tried_calls * least <= _SHARE * self._all_calls * least

    def _worth_measuring(self) -> Tuple[int, ...]:
        times = self.times
        kept = tuple(c for c in self._tried() if c in times and not self._is_slower(c, _HOPELESS))
        return 2 * kept if len(kept) > 1 else ()

    def _measure_again(self) -> None:
        trials = self._worth_measuring()
        self.times = {c: seconds for c, seconds in self.times.items() if c not in trials}
        self._counts, self._next = {}, {}
        self._trials = trials
        if not trials:
            self.best = self._fastest()

    def _end_round(self) -> None:
        if self._looks == 0:
            self._looks = 1
            limit = _STOP[0] * min(self._first.values(), default=0.0)
            # PyTorch's time is needed in any case: gains are compared with it.
            self._trials = _ROUNDS * tuple(c for c in self._tried() if c == TORCH or self._first.get(c, 0.0) <= limit)
            return
        self._trials = self._unsure()
        if not self._trials:
            self._calls = 0
            self.best = self._fastest()

    def _unsure(self) -> Tuple[int, ...]:
        """PyTorch's and the fastest, if their least times may be chance."""
        times = self._expected()
        compared = {TORCH, min(times, key=times.__getitem__, default=TORCH)} & set(self._next)
        return tuple(
            c for c in sorted(compared)
            if self._next[c] > _AGREE * self.times[c] and self._counts.get(c, 0) < _MOST_TIMES
        )  # fmt: skip

    def _fastest(self) -> int:
        times = self._expected()
        best = min(times, key=times.__getitem__, default=TORCH)
        return best if TORCH not in times or times[best] < _MARGIN * times[TORCH] else TORCH
