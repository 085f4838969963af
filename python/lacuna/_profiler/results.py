"""Results of a profiler so far: as numbers, as a page, and merged over the processes of a training."""

import math
import os
import statistics
import threading
from collections import deque
from typing import Any, Deque, Dict, List, Optional, Tuple, Union

import torch
from torch import nn

from .._native.handles import ResultHandle, TraceHandle, run_simulation
from .page import Server, page
from .savings import Savings, savings
from .series import Measurement, Series, Zeros, merge, rows
from .setup import ranks
from .worker import Workers
from .._simulate import Result
from .._files import write_text
from ..errors import ProfilerError


_COMMAND = "lacuna.Profiler(...)"


class ProfilerResults:
    """The half of lacuna.Profiler that returns results. The other half fills it."""

    every: int
    samples: int
    dropped: int
    failures: List[str]
    _model: nn.Module
    _options: Dict[str, Any]  # of run_simulation
    _workers: Workers
    _check: ResultHandle  # of a tiny layer: its page is the empty one

    def __init__(self, history: int) -> None:
        self._lock = threading.Lock()
        self._series = Series(history)
        self._last: Optional[TraceHandle] = None
        self._server: Optional[Server] = None
        self._step = 0
        self._step_began: Optional[float] = None
        self._seconds: Deque[float] = deque(maxlen=64)  # of the last steps that were not measured
        self._watched_seconds: Deque[float] = deque(maxlen=64)  # of those that were, which take longer
        self._last_batch = 0
        self._last_layers: List[Tuple[str, Dict[str, Any], Tuple[str, ...], Zeros]] = []

    @property
    def measurements(self) -> List[Measurement]:
        """Every measurement so far (thinned out if there are very many), in the order of steps."""
        with self._lock:
            return self._series.list()

    def to_dicts(self) -> List[Dict[str, Any]]:
        """One dict per measurement and machine, with the columns of the CSV."""
        return [row for measurement in self.measurements for row in rows(measurement)]

    def to_pandas(self) -> Any:
        """`to_dicts()` as a pandas DataFrame."""
        try:
            import pandas
        except ImportError:
            raise ImportError("to_pandas() needs pandas; install it, or use to_dicts()") from None
        return pandas.DataFrame(self.to_dicts())

    def result(self) -> Result:
        """The last measured step, simulated whole, as `lacuna.simulate` returns it."""
        with self._lock:
            last = self._last
        if last is None:
            raise ProfilerError("nothing has been measured yet; train some steps first")
        return Result(run_simulation([last], **dict(self._options, threads=0)), _COMMAND)

    def savings(self) -> Savings:
        """Time `lacuna.convert` and PyTorch on the layers and zeros of the last measured step, for training on a CPU.

        >>> print(profiler.savings())
        lacuna.convert would save 41.2 ms of 130 ms per step
        ...

        Takes seconds: call it after the training, or between two steps. The step's time is that of steps that were not
        measured, if there were any.
        """
        with self._lock:
            batch, layers = self._last_batch, self._last_layers
        if not layers:
            raise ProfilerError("nothing has been measured yet; train some steps first")
        seconds = self._seconds or self._watched_seconds
        step_ms = 1e3 * statistics.median(seconds) if seconds else math.nan
        return savings(self._model, batch, layers, step_ms)

    def drain(self, timeout: Optional[float] = None) -> bool:
        """Wait until every recorded step is simulated; False if that takes longer than `timeout` seconds."""
        return self._workers.drain(timeout)

    def merge(self) -> List[Measurement]:
        """Put the measurements of all processes together, on rank 0; every process has to call it."""
        rank, count = ranks()
        if count == 1:
            return self.measurements
        parts: List[Any] = [None] * count
        torch.distributed.all_gather_object(parts, self.measurements)
        merged = merge(parts)
        if rank == 0:
            with self._lock:
                self._series = Series(max(2, len(merged)))
                for measurement in merged:
                    self._series.add(measurement)
        return merged if rank == 0 else self.measurements

    def html(self) -> str:
        """The page of `serve()` as it is now, with the report of the last measured step."""
        try:
            report = self.result().html()
        except ProfilerError:  # nothing was measured
            return page(self._check.html(_COMMAND), self._data(), alone=True)
        return page(report, self._data())

    def save_html(self, path: Union[str, os.PathLike]) -> None:
        """Write `html()`: whole, or not at all."""
        write_text(os.fspath(path), self.html())

    def serve(self, port: int = 0) -> str:
        """Show a live page on this machine (127.0.0.1 alone); returns its address. `port` 0: any that is free."""
        if self._server is None:
            empty = self._check.html(_COMMAND)
            self._server = Server(port, lambda: page(empty, self._data(live=True), alone=True), lambda: self._data(live=True))
        return self._server.url

    def __str__(self) -> str:
        text = f"lacuna.Profiler: {len(self.measurements)} measurements in {self._step} steps, {self.dropped} dropped"
        for measurement in self.measurements[-1:]:
            for name, machine in measurement.machines.items():
                error = "" if math.isnan(machine.standard_error) else f" ± {machine.standard_error:.3f}"
                text += f"\n  {name}: {machine.speedup_from_zeros:.3f}{error} from zeros"
                text += f" ({machine.speedup:.3f} over the baseline)"
        return text

    def __repr__(self) -> str:
        return f"<{str(self).splitlines()[0]}>"

    def _data(self, live: bool = False) -> Dict[str, Any]:
        return {
            "title": f"{type(self._model).__name__}, every {self.every} steps, {self.samples} samples",
            "live": live,
            "steps": self._step,
            "dropped": self.dropped,
            "failures": self.failures[-3:],
            "rows": self.to_dicts(),
            "layers": {name: list(zeros) for name, zeros in (self.measurements or [_NOTHING])[-1].layers.items()},
        }


_NOTHING = Measurement(0, 0.0, 1, 0, {}, {}, (0.0, 0.0, 0.0))
