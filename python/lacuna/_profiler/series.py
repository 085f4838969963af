"""Measurements of the profiler, one per profiled step: in memory (bounded), in CSV files and for TensorBoard."""

import csv
import math
import os
import statistics
from collections import deque
from dataclasses import dataclass
from typing import Any, Callable, Deque, Dict, Iterable, List, Sequence, TextIO, Tuple

from .._csv import guarded

Zeros = Tuple[float, float, float]  # of A, W and G

_OF_MACHINE = "speedup speedup_from_zeros standard_error energy_efficiency joules baseline_joules".split()
_ZEROS = ["zeros_A", "zeros_W", "zeros_G"]
_COLUMNS = ["step", "seconds", "rank", "machine", *_OF_MACHINE, *_ZEROS, "samples", "dropped"]


@dataclass
class MachineMeasure:
    """One machine at one step, for the whole batch. NaN: not known."""

    baseline_cycles: float
    cycles: float
    cycles_without_zeros: float
    baseline_joules: float
    joules: float
    per_sample: List[float]  # the speedup of each part of the samples alone
    alone_baseline_cycles: float = 0.0  # sums over the parts, each simulated alone
    alone_cycles: float = 0.0
    standard_error: float = math.nan  # of the speedup as that of the whole batch

    @property
    def speedup(self) -> float:
        return self.baseline_cycles / self.cycles if self.cycles else math.nan

    @property
    def speedup_from_zeros(self) -> float:
        return self.cycles_without_zeros / self.cycles if self.cycles else math.nan

    @property
    def energy_efficiency(self) -> float:
        return self.baseline_joules / self.joules if self.joules else math.nan

    def drift(self, samples: int, batch: int) -> float:
        """How much larger the speedup of the whole batch is expected to be than that of a few samples.

        A weight gradient reduces over all positions of all samples. With few of them its streams are short and end in
        lanes that stay empty, which costs c/n for n parts; the speedup of one part beside that of n gives c.
        """
        if samples < 2 or samples >= batch or not self.alone_cycles or not self.cycles:
            return 0.0
        return (self.speedup - self.alone_baseline_cycles / self.alone_cycles) / (samples - 1)


@dataclass
class Measurement:
    """One profiled step."""

    step: int
    seconds: float  # since the profiler was started
    batch: int
    samples: int
    machines: Dict[str, MachineMeasure]
    layers: Dict[str, Zeros]  # shares of zeros by layer
    zeros: Zeros  # of all layers together
    dropped: int = 0  # steps that were due but not measured, so far
    rank: int = 0


class Spread:
    """The standard error of a speedup from samples of a batch: how they differ, and what there being few of them does.

    Two samples say little about their variance, so that of the last measurements is pooled: it changes slowly.
    """

    def __init__(self, measurements: int = 32) -> None:
        self._recent: Dict[str, Deque[Tuple[float, int]]] = {}
        self._most = measurements

    def add(self, machine: str, per_sample: Sequence[float], batch: int, drift: float = 0.0) -> float:
        """The standard error of the mean of `per_sample` and of `drift`; NaN while no step had two samples."""
        recent = self._recent.setdefault(machine, deque(maxlen=self._most))
        if len(per_sample) > 1:
            recent.append((statistics.variance(per_sample), len(per_sample) - 1))
        freedom = sum(count for _, count in recent)
        if not freedom or not per_sample:
            return math.nan
        variance = sum(value * count for value, count in recent) / freedom
        unseen = max(0.0, 1 - len(per_sample) / max(1, batch))
        return math.hypot(math.sqrt(variance / len(per_sample) * unseen), drift)


class Series:
    """Measurements in the order of steps; at most `most`, then every second one is forgotten."""

    def __init__(self, most: int) -> None:
        self._most = max(2, most)
        self._kept: List[Measurement] = []

    def add(self, measurement: Measurement) -> None:
        self._kept.append(measurement)
        self._kept.sort(key=lambda kept: kept.step)
        if len(self._kept) > self._most:
            last = self._kept[-1]
            self._kept = self._kept[::2]
            if self._kept[-1] is not last:
                self._kept.append(last)

    def __len__(self) -> int:
        return len(self._kept)

    def list(self) -> List[Measurement]:
        return list(self._kept)


def rows(measurement: Measurement) -> List[Dict[str, Any]]:
    """One row per machine, as in the CSV."""
    return [
        dict(
            step=measurement.step,
            seconds=round(measurement.seconds, 3),
            rank=measurement.rank,
            machine=name,
            **{column: getattr(machine, column) for column in _OF_MACHINE},
            **dict(zip(_ZEROS, measurement.zeros)),
            samples=measurement.samples,
            dropped=measurement.dropped,
        )
        for name, machine in measurement.machines.items()
    ]


class CsvFiles:
    """NAME.csv with a row per step and machine, NAME.layers.csv with one per step and layer; whole after each step."""

    def __init__(self, path: str) -> None:
        stem, ending = os.path.splitext(path)
        self._files: List[TextIO] = []
        self._write = [
            self._open(path, _COLUMNS),
            self._open(f"{stem}.layers{ending or '.csv'}", ["step", "layer", *_ZEROS]),
        ]
        self._flush()

    def _open(self, path: str, heading: List[str]) -> Callable[[Iterable[Any]], Any]:
        self._files.append(open(path, "w", encoding="utf-8", newline=""))
        write = csv.writer(self._files[-1], lineterminator="\n").writerow
        write(heading)
        return write

    def add(self, measurement: Measurement) -> None:
        totals, layers = self._write
        for row in rows(measurement):
            totals(map(_cell, row.values()))
        for name, zeros in measurement.layers.items():
            layers([measurement.step, guarded(name), *map(_cell, zeros)])
        self._flush()

    def _flush(self) -> None:
        for file in self._files:
            file.flush()

    def close(self) -> None:
        for file in self._files:
            file.close()


class TensorBoard:
    """Scalars for a SummaryWriter: speedup, energy efficiency and zeros."""

    def __init__(self, writer: Any) -> None:
        self._writer = writer

    def add(self, measurement: Measurement) -> None:
        step = measurement.step
        for name, machine in measurement.machines.items():
            for tag in ("speedup", "speedup_from_zeros", "energy_efficiency"):
                value = getattr(machine, tag)
                if value == value:
                    self._writer.add_scalar(f"lacuna/{tag}/{name}", value, step)
        for role, share in zip("AWG", measurement.zeros):
            self._writer.add_scalar(f"lacuna/zeros/{role}", share, step)
        for layer, zeros in measurement.layers.items():
            for role, share in zip("AWG", zeros):
                self._writer.add_scalar(f"lacuna/zeros_of_layers/{layer}/{role}", share, step)


def merge(parts: Sequence[Sequence[Measurement]]) -> List[Measurement]:
    """Measurements of several processes that each train on their part of the batch: one per step that any has."""
    by_step: Dict[int, List[Measurement]] = {}
    for part in parts:
        for measurement in part:
            by_step.setdefault(measurement.step, []).append(measurement)
    spread = Spread()
    return [_merged(by_step[step], spread) for step in sorted(by_step)]


def _merged(parts: List[Measurement], spread: Spread) -> Measurement:
    batch = sum(part.batch for part in parts)
    samples = sum(part.samples for part in parts)
    machines: Dict[str, MachineMeasure] = {}
    for name in parts[0].machines:
        of = [part.machines[name] for part in parts if name in part.machines]
        sums = {key: sum(getattr(one, key) for one in of) for key in _SUMS}
        total = MachineMeasure(**sums, per_sample=[])
        total.per_sample = [speedup for one in of for speedup in one.per_sample]
        total.alone_baseline_cycles = sum(one.alone_baseline_cycles for one in of)
        total.alone_cycles = sum(one.alone_cycles for one in of)
        drift = total.drift(parts[0].samples, parts[0].batch)  # each process reduces over its own part
        total.standard_error = spread.add(name, total.per_sample, batch, drift)
        machines[name] = total

    def mean(values: Sequence[Zeros]) -> Zeros:
        a, w, g = (sum(value[i] for value in values) / len(values) for i in range(3))
        return a, w, g

    layers = {name: mean([part.layers[name] for part in parts if name in part.layers]) for name in parts[0].layers}
    return Measurement(
        parts[0].step,
        max(part.seconds for part in parts),
        batch,
        samples,
        machines,
        layers,
        mean([part.zeros for part in parts]),
        sum(part.dropped for part in parts),
    )


_SUMS = ("baseline_cycles", "cycles", "cycles_without_zeros", "baseline_joules", "joules")


def _cell(value: Any) -> Any:
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.6g}"
    return value
