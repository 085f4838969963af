"""Threads that simulate recorded steps while training continues."""

import ctypes
import os
import queue
import threading
import time
import traceback
from typing import Any, Callable, Dict, List, Optional, Tuple

from .._capture.modules import numbered
from .._capture.recorder import noted_operations
from .._native.handles import TraceHandle, run_simulation
from .series import MachineMeasure, Zeros
from .watch import RecordedStep

Outcome = Tuple[RecordedStep, Dict[str, MachineMeasure], Dict[str, Zeros], Zeros, TraceHandle]


def processors() -> int:
    """Return how many processors this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


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
        self._cancel = ctypes.c_int(0)
        self.seconds = 0.0  # of processors, in all simulations
        self._threads = [
            threading.Thread(target=self._run, name=f"lacuna.Profiler {i}", daemon=True) for i in range(count)
        ]
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
        self._cancel.value = 1
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
            begin = time.thread_time()
            try:
                if not self._cancel.value:
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
                    self.seconds += (time.thread_time() - begin) * (self._simulate["threads"] or processors())
                    self._idle.notify_all()

    def _work(self, step: RecordedStep) -> None:
        if step.ready is not None:
            step.ready.synchronize()
        if step.finite_at is not None and not step.data[step.finite_at].item():
            self._failed(f"step {step.step}: a gradient is NaN or infinite (an overflow of mixed precision?)")
            return
        traces = traces_of(step)
        result = run_simulation(traces, cancel=self._cancel, **self._simulate)
        measures: Dict[str, MachineMeasure] = {}
        for totals in result.totals():
            name, baseline, cycles = totals["machine"], totals["baseline_cycles"], totals["cycles"]
            if totals["trace"] == 0:
                joules = (totals["baseline_joules"], totals["joules"])
                measures[name] = MachineMeasure(baseline, cycles, totals["cycles_without_zeros"], *joules, [])
            else:
                measure = measures[name]
                measure.per_sample.append(baseline / cycles if cycles else 0.0)
                measure.alone_baseline_cycles += baseline
                measure.alone_cycles += cycles
        zeros = traces[0].zeros()
        layers = dict(zip(numbered([call.name for call in step.calls]), zeros))
        with self._reporting:
            self._done((step, measures, layers, _all_zeros(step, zeros), traces[0]))


def traces_of(step: RecordedStep) -> List[TraceHandle]:
    """All samples together and, where there are several, each alone: their differences give the standard error."""
    metadata = {"model": step.model, "batch": step.batch, "samples": step.samples}
    name = f"step {step.step}"
    infos, masks = _described(step, None)
    traces = [TraceHandle.of_masks(name, metadata, infos, masks)]
    if step.samples > 1:
        alone = dict(metadata, samples=1)
        for sample in range(step.samples):
            infos, masks = _described(step, sample)
            traces.append(TraceHandle.of_masks(f"{name}, part {sample}", alone, infos, masks))
    return traces


def _described(step: RecordedStep, sample: Optional[int]) -> Tuple[List[Dict[str, Any]], List[Tuple[int, int]]]:
    """The layers of a step for TraceHandle.of_masks, of all its samples or of a part of them.

    A linear layer without time steps stays whole: its weight gradient reduces over the batch. So does a recurrent one,
    whose rows are in the order of steps.
    """
    address = step.data.data_ptr()
    infos: List[Dict[str, Any]] = []
    masks: List[Tuple[int, int]] = []
    names = numbered([call.name for call in step.calls])
    for place, (name, call, pieces) in enumerate(zip(names, step.calls, step.pieces)):
        info: Dict[str, Any] = {"name": name, **call.info, **noted_operations(call.operations, place)}
        parts = 1
        if sample is not None and (info["type"] == "conv2d" or info["steps"] > 1) and not info.get("recurrent"):
            if info["batch"] // info.get("steps", 1) % step.samples == 0:
                parts = step.samples
                info["batch"] //= parts
        infos.append(info)
        places = dict.fromkeys("AWG", (0, 0))
        for piece in pieces:
            of = 1 if piece.role == "W" and info["type"] != "matmul" else parts
            size = piece.bytes // of
            places[piece.role] = (address + piece.offset + (sample * size if sample is not None and of > 1 else 0), size)
        masks += places.values()
    return infos, masks


def _all_zeros(step: RecordedStep, zeros: List[Zeros]) -> Zeros:
    """Of all layers together, weighted by elements."""
    totals = []
    for i, role in enumerate("AWG"):
        sizes = [next((piece.bytes for piece in pieces if piece.role == role), 0) for pieces in step.pieces]
        totals.append(sum(size * share[i] for size, share in zip(sizes, zeros)) / max(1, sum(sizes)))
    return totals[0], totals[1], totals[2]
