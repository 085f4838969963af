"""lacuna.Profiler: what skipping zeros would give, measured while a training runs."""

import os
import time
import warnings
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Union

import torch
from torch import nn

from .results import ProfilerResults
from .series import CsvFiles, Measurement, Spread, TensorBoard
from .setup import check_machines, checked_model, count_steps, of_rank, ranks, summary_writer
from .transfer import Transfer
from .products import ProductWatch
from .watch import StepWatch
from .worker import Outcome, Workers, processors
from .._simulate import _setting
from ..errors import ProfilerError, ProfilerWarning


_SHARE = 0.05  # of the processors' time, where `every` was not given


class Profiler(ProfilerResults):
    """Measure a training while it runs: every n-th step is recorded on its device and simulated in other threads.

    >>> with lacuna.Profiler(model, machines=["tensordash"], every=10, samples=2, report="profile.html") as profiler:
    ...     for images, labels in loader:
    ...         optimizer.zero_grad()
    ...         criterion(model(images), labels).backward()
    ...         optimizer.step()
    ...         profiler.step()

    A loop that should not be touched: `lacuna.Profiler(model, optimizer=optimizer)` counts the calls of
    `optimizer.step()` itself. Without `with`: `start()` before the loop and `close()` after it.

    model: any module with weights that are multiplied, on any device, also inside DistributedDataParallel. It is not
        changed; hooks are on its layers during the steps that are measured. Where the first of these finds products
        outside of such modules (attention, recurrent layers, functions), the dispatcher is watched as well.
    machines: names of `lacuna.machines()`; TensorDash if none is given.
    set: parameters, as in `lacuna.simulate`.
    every: which steps are measured: 0, every, 2 x every, ... By default every tenth, and fewer where their simulations
        would take more than 5 % of the processors' time.
    samples: how many samples of the batch are measured, the first ones; more of layers with few positions. The standard
        error comes from how they differ.
    energy: also energy.
    optimizer: its `step()` counts as `profiler.step()`.
    csv: a file that grows with every measurement; next to it NAME.layers.csv with the zeros of each layer.
    tensorboard: a folder or a SummaryWriter for scalars.
    report: an HTML file, written when the profiler is closed.
    workers, threads: simulations at a time, and threads of each. Their priority is lower than the training's.
    waiting: recorded steps that may wait. A step that is due while that many wait is not measured, but counted
        (`dropped`): training never waits for the profiler, and memory stays bounded.
    on_measurement: called with each `Measurement` as soon as it is there, in a thread of the profiler, one at a time.
    history: measurements kept in memory; where there are more, every second one is forgotten (the CSV has all).

    With gradient accumulation the first forward and backward pass of a step is measured. A step whose gradients
    overflow is left out. A compiled model (`torch.compile`) runs its measured steps uncompiled, which needs torch 2.6.
    """

    def __init__(
        self,
        model: nn.Module,
        machines: Union[str, Sequence[str]] = (),
        set: Optional[Mapping[str, Any]] = None,  # noqa: A002 - as in lacuna.simulate
        *,
        every: Optional[int] = None,
        samples: int = 2,
        energy: bool = True,
        optimizer: Optional[torch.optim.Optimizer] = None,
        csv: Union[str, os.PathLike, None] = None,
        tensorboard: Any = None,
        report: Union[str, os.PathLike, None] = None,
        workers: int = 1,
        threads: int = 1,
        waiting: int = 1,
        on_measurement: Optional[Callable[[Measurement], Any]] = None,
        history: int = 2000,
    ) -> None:
        self._bounded = every is None
        every = 10 if every is None else every
        limits = dict(every=1, samples=1, workers=1, threads=0, waiting=0, history=2)
        for key, least in limits.items():
            number = locals()[key]
            if not isinstance(number, int) or number < least:
                raise ProfilerError(f"{key} is {number!r}, not a whole number from {least}")
        super().__init__(history)
        self._model, self._compiled = checked_model(model)
        names = [machines] if isinstance(machines, str) else list(machines)
        self._options: Dict[str, Any] = dict(
            machines=names,
            configs=[],
            settings=[f"{key}={_setting(value)}" for key, value in (set or {}).items()],
            energy=energy,
            threads=threads,
        )
        self._check = check_machines(self._options)
        if report is not None:
            self._check.html("")  # a library without the page is an error now, not when the training has ended
        self.every, self.samples = every, samples
        self.dropped = 0
        self.failures: List[str] = []
        self._spread = Spread()
        self._began = time.monotonic()
        self._watch: Optional[StepWatch] = None
        self._started = self._closed = False
        self._transfer = Transfer()
        self._products: Optional[ProductWatch] = None
        self._by_products: Optional[bool] = None  # None: the first measured step decides
        self._due = False  # the step under way should be measured
        self._on_measurement = on_measurement
        self._report = os.path.abspath(os.fspath(report)) if report is not None else None
        for path in (report, csv):
            if path is not None and not os.path.isdir(os.path.dirname(os.path.abspath(os.fspath(path)))):
                raise ProfilerError(f"{os.fspath(path)}: its folder does not exist; create it first")
        rank = ranks()[0]
        self._outputs: List[Any] = []
        if csv is not None:
            self._outputs.append(CsvFiles(of_rank(os.fspath(csv), rank)))
        if tensorboard is not None and rank == 0:
            writer = summary_writer(tensorboard)
            if writer is not None:
                self._outputs.append(TensorBoard(writer))
        self._workers = Workers(workers, waiting, self._options, self._measured, self._failed)
        self._restore_optimizer = count_steps(optimizer, self) if optimizer is not None else None

    # ---- The training loop

    def __enter__(self) -> "Profiler":
        return self.start()

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        # After an exception: what was measured is kept, what waits is not, and nobody waits for other processes.
        self.close(wait=kind is None, merge=kind is None)

    def start(self) -> "Profiler":
        """Begin with the next forward pass; `with` does it."""
        if self._closed:
            raise ProfilerError("this profiler is closed; make a new one")
        if not self._started:
            self._started = True
            self._began = time.monotonic()
            self._arm()
        return self

    def step(self) -> None:
        """A training step has ended: call it after `optimizer.step()`. Takes no time unless the step was measured."""
        if self._closed:
            raise ProfilerError("this profiler is closed; make a new one")
        now = time.monotonic()
        if self._step_began is not None:
            (self._seconds if self._watch is None else self._watched_seconds).append(now - self._step_began)
        if self._watch is not None:
            self._submit()
        elif self._due:
            self.dropped += 1
        self._step += 1
        self._started = True
        self._arm()
        self._step_began = time.monotonic()

    def close(self, wait: bool = True, merge: bool = True) -> None:
        """End it: wait for what is being simulated, merge the processes of a distributed training, write the report."""
        if self._closed:
            return
        self._closed = True
        watch = self._disarm()
        if self._step == 0 and watch is not None and self._decided(watch).finish()[0]:
            self._failed(
                "step() was never called, so nothing was measured; call it after optimizer.step(), or give the "
                "profiler the optimizer"
            )
        if self._restore_optimizer is not None:
            self._restore_optimizer()
        self._workers.drain(None if wait else 0)
        self._workers.stop()
        self._transfer.close()
        try:
            if merge and ranks()[1] > 1:
                self.merge()
            if self._report is not None and ranks()[0] == 0:
                self.save_html(self._report)
        finally:
            for output in self._outputs:
                if isinstance(output, CsvFiles):
                    output.close()
            if self._server is not None:
                self._server.close()

    # ---- Inside

    def _arm(self) -> None:
        self._due = self._step % self.every == 0 and not (self._bounded and self._spends_too_much())
        if not self._due or not self._workers.has_room():
            return
        self._watch = StepWatch(self._model, self.samples)
        self._products = ProductWatch(self._model, self.samples) if self._by_products is not False else None
        if self._compiled:
            torch.compiler.set_stance("force_eager")
        for watch in (self._watch, self._products):
            if watch is not None:
                watch.start()

    def _spends_too_much(self) -> bool:
        """Return true while simulations have taken more than their share of the time of all processors."""
        available = (time.monotonic() - self._began) * processors()
        return self._workers.seconds > _SHARE * available

    def _disarm(self) -> Optional[StepWatch]:
        watch, self._watch = self._watch, None
        if watch is not None:
            if self._products is not None:
                self._products.stop()
            watch.stop()
            if self._compiled:
                torch.compiler.set_stance("default")
        return watch

    def _submit(self) -> None:
        watch = self._decided(self._disarm())
        calls, finite = watch.finish()
        if watch.problem:
            self._failed(f"step {self._step} cannot be measured: {watch.problem}")
            return
        if all(call.forward_alone for call in calls):
            self._failed(
                f"step {self._step}: no layer got a gradient; call backward() between two calls of step(). A function "
                "compiled by torch.compile hides its layers: compile the model instead"
            )
            return
        try:
            with torch.no_grad():
                name = type(self._model).__name__
                step = self._transfer.packed(self._step, name, watch.batch, self.samples, calls, finite)
        except RuntimeError as error:  # no memory left on the device, or none that can be pinned
            self._failed(f"step {self._step} cannot be measured: {error}")
            return
        self._workers.submit(step)

    def _decided(self, watch: StepWatch) -> Union[StepWatch, ProductWatch]:
        """The watch that measured the step: of products, where the layers' hooks see too little of the work."""
        products, self._products = self._products, None
        if products is None:
            return watch
        if products.sees_more:
            watch.finish()
        elif not watch.gradients:
            return watch  # no training step yet
        if self._by_products is None and products.unfit:
            message = f"a trace cannot hold these products, which are not measured: {', '.join(products.unfit)}"
            warnings.warn(f"lacuna.Profiler: {message}", ProfilerWarning, stacklevel=4)
        self._by_products = products.sees_more
        return products if products.sees_more else watch

    def _measured(self, outcome: Outcome) -> None:
        step, machines, layers, zeros, trace = outcome
        for name, machine in machines.items():
            drift = machine.drift(step.samples, step.batch)
            machine.standard_error = self._spread.add(name, machine.per_sample, step.batch, drift)
        measurement = Measurement(
            step.step,
            time.monotonic() - self._began,
            step.batch,
            step.samples,
            machines,
            layers,
            zeros,
            self.dropped,
            ranks()[0],
        )
        with self._lock:
            self._series.add(measurement)
            self._last = trace
            self._last_batch = step.batch
            self._last_layers = [
                (name, call.info, call.operations, zeros) for (name, zeros), call in zip(layers.items(), step.calls)
            ]
        if self._on_measurement is not None:
            try:
                self._on_measurement(measurement)
            except Exception as error:  # of the caller's function: the training continues
                self._failed(f"step {step.step}: on_measurement raised {type(error).__name__}: {error}")
        for output in list(self._outputs):
            try:
                output.add(measurement)
            except (OSError, ValueError) as error:  # a full disk must not end a training
                self._outputs.remove(output)
                self._failed(f"step {step.step}: {type(output).__name__} ends here: {error}")

    def _failed(self, message: str) -> None:
        if not self.failures:
            warnings.warn(f"lacuna.Profiler: {message}", ProfilerWarning, stacklevel=2)
        self.failures.append(message)
        del self.failures[:-100]
