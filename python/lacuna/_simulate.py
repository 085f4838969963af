"""lacuna.simulate, lacuna.machines and lacuna.parameters: the program's simulator inside Python."""

import ctypes
import json
import operator
import os
import shutil
import threading
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Optional, Sequence, Union

from ._csv import unguarded
from ._native.handles import ResultHandle, run_simulation
from ._native.library import library
from ._stored_result import StoredResult, summary
from ._trace.sources import open_source
from .errors import SimulationError

if TYPE_CHECKING:
    import pandas


def machines() -> List[Dict[str, Any]]:
    """What can be simulated: machines and named configurations, with a summary of each.

    >>> [machine["name"] for machine in lacuna.machines()]
    ['ant', 'cnvlutin', 'dense', ...]

    The fields are those of `lacuna arch list --json`.
    """
    return json.loads(library().text("lacuna_machines_json"))["machines"]


def parameters(machine: str) -> List[Dict[str, Any]]:
    """Every parameter of a machine: name, value, unit, default, what is allowed, help and where it comes from.

    >>> {p["name"]: p["value"] for p in lacuna.parameters("tensordash")}["rows"]
    4

    Any of them can be given to `simulate` as `set={"rows": 8}`. An unknown name raises SimulationError, which suggests
    the nearest one.
    """
    return json.loads(library().text("lacuna_parameters_json", machine.encode()))["params"]


def simulate(
    trace: Any,
    machines: Union[str, Sequence[str]] = (),
    set: Optional[Mapping[str, Any]] = None,  # noqa: A002 - the name of the program's option
    *,
    energy: bool = False,
    configs: Sequence[Union[str, os.PathLike]] = (),
    energy_table: str = "",
    node: int = 0,
    engine: str = "fast",
    seed: int = 1,
    threads: int = 0,
    operations: Union[str, Sequence[str]] = (),
    progress: Optional[Callable[[float], Any]] = None,
) -> "Result":
    """Simulate a recorded training step on accelerators, as `lacuna simulate` does and with the same numbers.

    >>> lacuna.simulate("step.safetensors", ["dense", "tensordash"], {"rows": 8}, energy=True)

    trace: the name of a trace, a step that `lacuna.capture(model)` recorded in memory, what `lacuna.read_trace` read,
        or a list of these.
    machines: names of `lacuna.machines()`; TensorDash if none is given.
    set: parameters of every machine that has them, or `{"tensordash.rows": 8}` of one.
    energy: also energy by component, power and area.
    configs: YAML files that describe machines.
    energy_table, node: another table of costs (a name or a file), another technology node in nm.
    engine: "fast", or "functional" to move values through the modelled hardware and check them.
    seed: of the values that the functional engine draws for a trace of masks.
    threads: 0 means all cores. The result does not depend on it.
    operations: of "forward", "input_grad" and "weight_grad" those to run; all three if none is given. "forward" alone
        is inference.
    progress: called now and then with the share of the work done. What it returns does not matter; an exception that it
        raises ends the simulation.

    Python's lock is released while it runs, and Ctrl-C ends it. Raises TraceError for a trace that cannot be read, and
    SimulationError for what cannot be simulated.
    """
    names = _texts("machines", [machines] if isinstance(machines, str) else machines)
    if not isinstance(set or {}, Mapping):
        raise SimulationError(f"set is {set!r}, not a dict of parameters and values")
    settings = [f"{key}={_setting(value)}" for key, value in (set or {}).items()]
    sources = list(trace) if isinstance(trace, (list, tuple)) else [trace]
    handles = [open_source(source) for source in sources]
    options: Dict[str, Any] = dict(
        energy=energy or bool(energy_table) or node != 0,
        energy_table=str(energy_table),
        node=_integer("node", node, 31),
        engine=_texts("engine", [engine])[0],
        seed=_integer("seed", seed, 64),
        threads=_integer("threads", threads, 31),
        operations=_operation_bits(operations),
    )
    if isinstance(configs, (str, bytes)):
        raise SimulationError(f"configs is {configs!r}; give a list of files")
    files = _texts("configs", [os.fspath(file) if isinstance(file, os.PathLike) else file for file in configs])
    if progress is not None and not callable(progress):
        raise SimulationError(f"progress is {progress!r}, not a function")

    def run(**controls: Any) -> ResultHandle:
        return run_simulation(handles, names, files, settings, **options, **controls)

    handle = _interruptible(run, progress)
    return Result(handle, _command(sources, names, set, energy, operations))


class Result:
    """The outcome of `lacuna.simulate`.

    Printed it is the program's table, in a notebook a short one; `save_html()` writes the report with its charts.
    `totals()` has the numbers that matter, `to_dicts()` and `to_pandas()` one row per trace, machine, layer and
    operation, `data` everything, in the schema of `lacuna simulate --json`. Results can be copied and pickled.
    """

    def __init__(self, handle: Union[ResultHandle, StoredResult], command: str = "lacuna.simulate(...)") -> None:
        self._handle = handle
        self._command = command
        self._data: Optional[Dict[str, Any]] = None

    @property
    def data(self) -> Dict[str, Any]:
        """The output of `lacuna simulate --layers --json`, parsed."""
        if self._data is None:
            self._data = json.loads(self._handle.json(True))
        return self._data

    def json(self, layers: bool = True) -> str:
        """The text of `lacuna simulate --json`, with `--layers` or without."""
        return self._handle.json(layers)

    def csv(self) -> str:
        """The text of `lacuna simulate --csv`."""
        return self._handle.csv()

    def table(self, layers: bool = False, width: int = 0) -> str:
        """The program's tables; with `layers` one row per layer and operation.

        `width`: columns that a table may take before it continues below; 0: as the program has it.
        """
        return self._handle.table(layers, width)

    def html(self) -> str:
        """The page of `lacuna simulate --html`: one document that needs nothing else."""
        return self._handle.html(self._command)

    def save_html(self, path: Union[str, os.PathLike]) -> None:
        """Write the page of `html()`: whole, or not at all."""
        self._handle.write_html(self._command, os.fspath(path))

    def totals(self) -> List[Dict[str, Any]]:
        """One dict per trace and machine: cycles, speedups and, with energy, joules, of a step with its whole batch.

        The keys are columns of `to_dicts()`.
        """
        rows = []
        for run, totals in zip(self.data["runs"], self._handle.totals()):
            row = {
                "trace": run["trace"],
                "model": run["model"],
                "arch": totals["machine"],
                "baseline_cycles_per_batch": totals["baseline_cycles"],
                "cycles_without_zeros_per_batch": totals["cycles_without_zeros"],
                "cycles_per_batch": totals["cycles"],
                "speedup": _ratio(totals["baseline_cycles"], totals["cycles"]),
                "speedup_from_zeros": _ratio(totals["cycles_without_zeros"], totals["cycles"]),
            }
            if totals["joules"] == totals["joules"]:  # not NaN
                row["energy_baseline_total_joules_per_batch"] = totals["baseline_joules"]
                row["energy_machine_total_joules_per_batch"] = totals["joules"]
                row["energy_chip_efficiency"] = _ratio(totals["baseline_joules"], totals["joules"])
            rows.append(row)
        return rows

    def to_dicts(self) -> List[Dict[str, Any]]:
        """One dict per trace, machine, layer and operation; the keys are the columns of the CSV (docs/output.md).

        Numbers are numbers; what a machine does not have is None.
        """
        import csv
        import io

        rows = csv.DictReader(io.StringIO(self.csv()))
        return [
            {key: unguarded(text) if key in _TEXT_COLUMNS else _value(text) for key, text in row.items()} for row in rows
        ]

    def to_pandas(self) -> "pandas.DataFrame":
        """`to_dicts()` as a pandas DataFrame."""
        try:
            import pandas
        except ImportError:
            raise ImportError("to_pandas() needs pandas; install it, or use to_dicts()") from None
        return pandas.DataFrame(self.to_dicts())

    def __str__(self) -> str:
        return self.table(width=max(80, shutil.get_terminal_size((100, 24)).columns)).rstrip("\n")

    def __repr__(self) -> str:
        runs = [f"{row['arch']} {row['speedup_from_zeros']:.2f}x from zeros" for row in self.totals()]
        shown = ", ".join(runs[:4]) + (f" and {len(runs) - 4} more" if len(runs) > 4 else "")
        return f"<lacuna.Result of {self._command}: {shown}>"

    def _repr_html_(self) -> str:
        return summary(self.totals())

    def __copy__(self) -> "Result":
        return Result(self._handle, self._command)  # it never changes

    def __deepcopy__(self, memo: object) -> "Result":
        return self.__copy__()

    def __reduce__(self) -> Any:
        return (Result, (StoredResult.of(self._handle, self._command), self._command))


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def _texts(name: str, values: Any) -> List[str]:
    try:
        texts = list(values)
    except TypeError:
        raise SimulationError(f"{name} is {values!r}, not a name or a list of names") from None
    for text in texts:
        if not isinstance(text, str):
            raise SimulationError(f"{name}: {text!r} is not a name")
    return texts


def _integer(name: str, value: Any, bits: int) -> int:
    """`value` as an integer of 0 to 2^bits - 1, which C would otherwise cut to fit."""
    try:
        number = operator.index(value)
    except TypeError:
        raise SimulationError(f"{name} is {value!r}, not an integer") from None
    if not 0 <= number < 1 << bits:
        raise SimulationError(f"{name} is {number}, outside 0 to 2^{bits} - 1")
    return number


def _setting(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, (list, tuple)):
        return json.dumps(value, separators=(",", ":"))
    return str(value)


# Columns that are text even where it looks like a number.
_TEXT_COLUMNS = ("trace", "model", "arch", "engine", "layer", "shape", "op", "scheduled", "baseline")


def _value(text: str) -> Any:
    if text == "":
        return None
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


_OPERATIONS = ("forward", "input_grad", "weight_grad")


def _operation_bits(operations: Union[str, Sequence[str]]) -> int:
    bits = 0
    for name in [operations] if isinstance(operations, str) else operations:
        if name not in _OPERATIONS:
            raise SimulationError(f"operations: {name!r} is not one; there are {', '.join(_OPERATIONS)}")
        bits |= 1 << _OPERATIONS.index(name)
    return bits


def _command(
    sources: List[Any],
    names: List[str],
    settings: Optional[Mapping[str, Any]],
    energy: bool,
    operations: Union[str, Sequence[str]],
) -> str:
    shown = [repr(source) if isinstance(source, str) else type(source).__name__.lower() for source in sources]
    parts = [shown[0] if len(shown) == 1 else f"[{', '.join(shown)}]"]
    if names:
        parts.append(f"machines={names!r}")
    if settings:
        parts.append(f"set={dict(settings)!r}")
    if energy:
        parts.append("energy=True")
    if operations:
        parts.append(f"operations={operations!r}")
    return f"lacuna.simulate({', '.join(parts)})"


def _interruptible(run: Callable[..., ResultHandle], progress: Optional[Callable[[float], Any]]) -> ResultHandle:
    """Run in a thread, so that the main one stays free for Ctrl-C, which is not seen inside a call of the library."""
    cancel = ctypes.c_int(0)
    outcome: List[ResultHandle] = []
    raised: List[BaseException] = []

    def on_progress(share: float) -> bool:
        try:
            if progress is not None:
                progress(share)
            return False
        except BaseException as error:  # of the caller's function: it ends the simulation and is raised from it
            raised.append(error)
            return True

    def body() -> None:
        try:
            outcome.append(run(cancel=cancel, progress=on_progress if progress is not None else None))
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=body, name="lacuna.simulate", daemon=True)
    thread.start()
    try:
        thread.join()
    except BaseException:
        cancel.value = 1
        thread.join()
        raise
    if raised:
        raise raised[0]
    return outcome[0]
