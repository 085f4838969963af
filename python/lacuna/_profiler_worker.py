"""Simulates recorded steps in threads of its own, while training goes on."""

import os
import queue
import threading
import traceback
from typing import Any, Callable, Dict, List, Optional, Tuple

from ._handles import TraceHandle, run_simulation
from ._profiler_series import MachineMeasure, Zeros
from ._profiler_watch import RecordedStep

Outcome = Tuple[RecordedStep, Dict[str, MachineMeasure], Dict[str, Zeros], Zeros, TraceHandle]


class Workers:
    """Threads that take recorded steps from a short queue. `done` gets each outcome, in one thread at a time."""

    def __init__(
        self,
        count: int,
        waiting: int,
        simulate: Dict[str, Any],
        done: Callable[[Outcome], None],
        failed: Callable[[str], None],
    ) -> None:
        self._queue: "queue.Queue[Optional[RecordedStep]]" = queue.Queue()
        self._most, self._simulate = waiting, simulate
        self._done, self._failed = done, failed
        self._lock = threading.Lock()
        self._reporting = threading.Lock()
        self._busy = 0
        self._idle = threading.Condition(self._lock)
        self._stopped = False
        self._threads = [threading.Thread(target=self._run, name=f"lacuna.Profiler {i}", daemon=True) for i in range(count)]
        for thread in self._threads:
            thread.start()

    def has_room(self) -> bool:
        """Whether one more step may be recorded: those waiting and being simulated are bounded."""
        with self._lock:
            return self._busy < len(self._threads) + self._most

    def submit(self, step: RecordedStep) -> None:
        with self._lock:
            self._busy += 1
        self._queue.put(step)

    def drain(self, timeout: Optional[float]) -> bool:
        """Wait until everything submitted is simulated; False if it takes longer."""
        with self._lock:
            return self._idle.wait_for(lambda: self._busy == 0, timeout)

    def stop(self) -> None:
        """End the threads; what is being simulated is cancelled."""
        self._stopped = True
        for _ in self._threads:
            self._queue.put(None)
        for thread in self._threads:
            thread.join()

    def _run(self) -> None:
        try:  # training goes first: these threads, and those they start, take what it leaves
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 10)
        except (AttributeError, OSError):
            pass
        while True:
            step = self._queue.get()
            if step is None:
                return
            try:
                if not self._stopped:
                    self._work(step)
            except KeyboardInterrupt:  # cancelled by stop()
                pass
            except Exception as error:
                self._failed(f"step {step.step}: {error}")
                if not isinstance(error, (ValueError, RuntimeError, MemoryError)):
                    traceback.print_exc()
            finally:
                step.release()
                del step
                with self._lock:
                    self._busy -= 1
                    self._idle.notify_all()

    def _work(self, step: RecordedStep) -> None:
        if step.ready is not None:
            step.ready.synchronize()
        if step.finite_at is not None and not step.data[step.finite_at].item():
            self._failed(f"step {step.step}: a gradient is NaN or infinite (an overflow of mixed precision?)")
            return
        traces = traces_of(step)
        result = run_simulation(traces, progress=lambda _share: self._stopped, **self._simulate)
        measures: Dict[str, MachineMeasure] = {}
        for totals in result.totals():
            name = totals.machine.decode()
            if totals.trace == 0:
                measures[name] = MachineMeasure(
                    totals.baseline_cycles, totals.cycles, totals.cycles_without_zeros, totals.baseline_joules, totals.joules, []
                )
            else:
                measures[name].per_sample.append(totals.baseline_cycles / totals.cycles if totals.cycles else 0.0)
        zeros = traces[0].zeros()
        layers = dict(zip((call["name"] for call, _ in described(step, None)), zeros))
        with self._reporting:
            self._done((step, measures, layers, _all_zeros(step, zeros), traces[0]))


def traces_of(step: RecordedStep) -> List[TraceHandle]:
    """The samples together and, where there are several, each alone: how they differ says how far to trust the first."""
    metadata = {"model": step.model, "batch": step.batch, "samples": step.samples}
    name = f"step {step.step}"
    traces = [TraceHandle.build(name, metadata, described(step, None))]
    if step.samples > 1:
        alone = dict(metadata, samples=1)
        for sample in range(step.samples):
            traces.append(TraceHandle.build(f"{name}, sample {sample}", alone, described(step, sample)))
    return traces


def described(step: RecordedStep, sample: Optional[int]) -> List[Tuple[Dict[str, Any], Dict[str, Tuple[str, int, int]]]]:
    """The layers of a step for TraceHandle.build, of all its samples or of one.

    A linear layer without time steps stays whole: its weight gradient reduces over the batch.
    """
    address = step.data.data_ptr()
    seen: Dict[str, int] = {}
    layers = []
    for call, pieces in zip(step.calls, step.pieces):
        seen[call.name] = seen.get(call.name, 0) + 1
        name = call.name if seen[call.name] == 1 else f"{call.name}#{seen[call.name]}"
        info = {"name": name, **call.info}
        split = sample is not None and (info["type"] == "conv2d" or info["steps"] > 1)
        parts = info["batch"] // info.get("steps", 1) if split else 1
        if split:
            info["batch"] //= parts
        operands = {}
        for piece in pieces:
            offset, size = piece.offset, piece.bytes
            if split and piece.role != "W":
                size //= parts
                offset += min(sample, parts - 1) * size
            operands[piece.role] = ("mask", address + offset, size)
        layers.append((info, operands))
    return layers


def _all_zeros(step: RecordedStep, zeros: List[Zeros]) -> Zeros:
    """Of all layers together, weighted by elements."""
    totals = []
    for i, role in enumerate("AWG"):
        sizes = [next((piece.bytes for piece in pieces if piece.role == role), 0) for pieces in step.pieces]
        totals.append(sum(size * share[i] for size, share in zip(sizes, zeros)) / max(1, sum(sizes)))
    return tuple(totals)
