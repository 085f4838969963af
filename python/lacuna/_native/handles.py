"""Traces and results of the library as Python objects that free themselves."""

import ctypes
import json
import os
from ctypes import POINTER, byref, c_double, c_float, c_int, c_size_t, c_uint8, c_void_p
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple

from ..errors import SimulationError, TraceError
from .library import Library, Progress, SimulateOptions, Totals, checked_text, library, text_array

TENSORS = ("A", "W", "G", "A_forward")  # in the order of lacuna_role
ROLES = TENSORS[:3]


class Handle:
    """A pointer of the library that frees itself with the function `_FREE`; safe to share between threads."""

    _FREE: str

    def __init__(self, lib: Library, pointer: int) -> None:
        self.library = lib
        self.pointer: Optional[int] = pointer

    def __del__(self) -> None:
        if getattr(self, "pointer", None):
            self.library.plain(self._FREE, self.pointer)
            self.pointer = None


class TraceHandle(Handle):
    """A `lacuna_trace`."""

    _FREE = "lacuna_trace_free"

    @classmethod
    def open(cls, path: str) -> "TraceHandle":
        lib = library()
        try:
            return cls(lib, lib.handle("lacuna_trace_open", os.fsencode(path)))
        except SimulationError as error:
            raise TraceError(str(error)) from None

    @classmethod
    def build(
        cls,
        name: str,
        metadata: Mapping[str, Any],
        layers: Iterable[Tuple[Mapping[str, Any], Mapping[str, Tuple[str, int, int]]]],
    ) -> "TraceHandle":
        """From memory: for each layer its description and, by role, ("mask" | "values", address, count).

        The memory is copied, so it need not outlive the call.
        """
        lib = library()
        builder = lib.handle("lacuna_builder_new", name.encode(), json.dumps(dict(metadata)).encode())
        try:
            for info, operands in layers:
                lib.call("lacuna_builder_layer", builder, json.dumps(dict(info)).encode())
                for role, (kind, address, count) in operands.items():
                    element: Any = c_uint8 if kind == "mask" else c_float
                    data = ctypes.cast(c_void_p(address), POINTER(element))
                    lib.call(f"lacuna_builder_{kind}", builder, TENSORS.index(role), data, count)
            return cls(lib, lib.handle("lacuna_builder_finish", builder))
        finally:
            lib.plain("lacuna_builder_free", builder)

    @classmethod
    def of_masks(
        cls, name: str, metadata: Mapping[str, Any], infos: Sequence[Mapping[str, Any]], masks: List[Tuple[int, int]]
    ) -> "TraceHandle":
        """From packed masks in one call, so that little is done under Python's lock.

        For each layer three pairs of address and size: A, W, G; (0, 0) means no zeros. The memory is copied.
        """
        lib = library()
        addresses = (c_void_p * len(masks))(*[address for address, _ in masks])
        sizes = (c_size_t * len(masks))(*[size for _, size in masks])
        texts = [name.encode(), json.dumps(dict(metadata)).encode(), json.dumps(list(infos)).encode()]
        return cls(lib, lib.handle("lacuna_trace_of_masks", *texts, addresses, sizes, len(masks)))

    def zeros(self) -> List[Tuple[float, float, float]]:
        """The shares of zeros of A, W and G, layer by layer."""
        shares = (c_double * 3)()
        found = []
        for layer in range(self.library.plain("lacuna_trace_layer_count", self.pointer)):
            self.library.call("lacuna_trace_layer_zeros", self.pointer, layer, shares)
            found.append((shares[0], shares[1], shares[2]))
        return found


class ResultHandle(Handle):
    """A `lacuna_result`."""

    _FREE = "lacuna_result_free"

    def totals(self) -> List[Dict[str, Any]]:
        """Totals of every run, with the names of lacuna_totals: traces x machines, the machines varying fastest."""
        found = []
        for run in range(self.library.plain("lacuna_result_count", self.pointer)):
            totals = Totals(struct_size=ctypes.sizeof(Totals))
            self.library.call("lacuna_result_totals", self.pointer, run, byref(totals))
            row = {name: getattr(totals, name) for name, _ in Totals._fields_[1:]}
            found.append({**row, "machine": totals.machine.decode()})
        return found

    def json(self, layers: bool) -> str:
        return self.library.text("lacuna_result_json", self.pointer, int(layers))

    def csv(self) -> str:
        return self.library.text("lacuna_result_csv", self.pointer)

    def table(self, layers: bool, width: int) -> str:
        return self.library.text("lacuna_result_text", self.pointer, int(layers), width)

    def html(self, command: str) -> str:
        return self.library.text("lacuna_result_html", self.pointer, command.encode())

    def write_html(self, command: str, path: str) -> None:
        self.library.call("lacuna_result_write_html", self.pointer, command.encode(), os.fsencode(path))


def run_simulation(
    traces: Sequence[TraceHandle],
    machines: List[str],
    configs: List[str],
    settings: List[str],
    *,
    energy: bool = False,
    energy_table: str = "",
    node: int = 0,
    engine: str = "fast",
    seed: int = 1,
    threads: int = 0,
    operations: int = 0,
    progress: Optional[Callable[[float], bool]] = None,
    cancel: Optional[ctypes.c_int] = None,
) -> ResultHandle:
    """lacuna_simulate. `progress` is called with the share of the work done; a true value cancels.

    So does a value other than zero in `cancel`, which costs nothing: the function is called under Python's lock.
    """
    lib = library()
    arrays = [text_array(machines), text_array(configs), text_array(settings)]  # kept until the call has ended
    options = SimulateOptions(
        struct_size=ctypes.sizeof(SimulateOptions),
        machines=arrays[0],
        machine_count=len(machines),
        configs=arrays[1],
        config_count=len(configs),
        settings=arrays[2],
        setting_count=len(settings),
        engine=checked_text(engine.encode()),
        seed=seed,
        threads=threads,
        energy=int(energy),
        energy_table=checked_text(energy_table.encode()) or None,
        node_nm=node,
        operations=operations,
    )
    if cancel is not None:
        options.cancel = ctypes.pointer(cancel)
    if progress is not None:
        called = progress
        options.progress = Progress(lambda share, _user: int(bool(called(share))))
    pointers = (c_void_p * max(1, len(traces)))(*[trace.pointer for trace in traces])
    return ResultHandle(lib, lib.handle("lacuna_simulate", pointers, len(traces), byref(options)))
