"""liblacuna.so, loaded with ctypes. Its interface is src/capi/lacuna.h.

The first of these that exists is loaded:

1. the file that the environment variable LACUNA_LIBRARY names;
2. `lib/liblacuna.so.2` inside this package, where `pip install ./python` puts it;
3. `build/release/lib` of the clone that this package lies in;
4. the prefix that this package is installed below by `cmake --install` or a Debian package;
5. where the system's loader looks (LD_LIBRARY_PATH).

ctypes releases Python's lock for the duration of every call, so other threads continue while one simulates.
"""

import ctypes
import glob
import os
import threading
from ctypes import POINTER, byref, c_char_p, c_double, c_float, c_int, c_int64, c_size_t, c_uint, c_uint8, c_uint64
from ctypes import c_void_p
from typing import Any, List, Optional

from ..errors import LibraryError, SimulationError
from . import openmp

ABI_VERSION = 2
_FILE = "liblacuna.so.2"

OK, BAD_INPUT, CANCELLED, NO_MEMORY, INTERNAL = range(5)

Progress = ctypes.CFUNCTYPE(c_int, c_double, c_void_p)


class SimulateOptions(ctypes.Structure):
    """lacuna_simulate_options."""

    _fields_ = [
        ("struct_size", c_size_t),
        ("machines", POINTER(c_char_p)),
        ("machine_count", c_size_t),
        ("configs", POINTER(c_char_p)),
        ("config_count", c_size_t),
        ("settings", POINTER(c_char_p)),
        ("setting_count", c_size_t),
        ("engine", c_char_p),
        ("seed", c_uint64),
        ("threads", c_int),
        ("energy", c_int),
        ("energy_table", c_char_p),
        ("node_nm", c_int),
        ("progress", Progress),
        ("user", c_void_p),
        ("cancel", POINTER(c_int)),
        ("operations", c_uint),
    ]


class Totals(ctypes.Structure):
    """lacuna_totals."""

    _fields_ = [
        ("struct_size", c_size_t),
        ("machine", c_char_p),
        ("trace", c_size_t),
        ("baseline_cycles", c_double),
        ("cycles", c_double),
        ("cycles_without_zeros", c_double),
        ("baseline_joules", c_double),
        ("joules", c_double),
        ("baseline_seconds", c_double),
        ("seconds", c_double),
    ]


class ConvOptions(ctypes.Structure):
    """lacuna_conv_options."""

    _fields_ = [
        ("struct_size", c_size_t),
        ("batch", c_int64),
        ("in_channels", c_int64),
        ("out_channels", c_int64),
        ("input_hw", c_int64 * 2),
        ("kernel", c_int64 * 2),
        ("stride", c_int64 * 2),
        ("padding", c_int64 * 2),
        ("dilation", c_int64 * 2),
        ("groups", c_int64),
        ("op", c_int),
        ("impl", c_int),
        ("layout", c_int),
        ("skipped", c_int),
        ("threads", c_int),
        ("bias", c_int),
        ("relu", c_int),
        ("strict", c_int),
        ("allow_winograd", c_int),
        ("ohwi_weights", c_int),
        ("linear", c_int),
        ("borrow_workspace", c_int),
    ]


class ConvTensors(ctypes.Structure):
    """lacuna_conv_tensors."""

    _fields_ = [
        ("struct_size", c_size_t),
        ("src", c_void_p),
        ("weights", c_void_p),
        ("bias", c_void_p),
        ("diff_dst", c_void_p),
        ("dst", c_void_p),
        ("diff_src", c_void_p),
        ("diff_weights", c_void_p),
        ("workspace", c_void_p),
    ]


class FfnOptions(ctypes.Structure):
    """lacuna_ffn_options."""

    _fields_ = [
        ("struct_size", c_size_t),
        ("in_features", c_int64),
        ("hidden", c_int64),
        ("out_features", c_int64),
        ("activation", c_int),
        ("threshold", c_float),
        ("threads", c_int),
    ]


class FfnTensors(ctypes.Structure):
    """lacuna_ffn_tensors."""

    _fields_ = [
        ("struct_size", c_size_t),
        ("hidden", c_void_p),
        ("down", c_void_p),
        ("down_bias", c_void_p),
        ("output", c_void_p),
        ("output_grad", c_void_p),
        ("input", c_void_p),
        ("up", c_void_p),
        ("input_grad", c_void_p),
        ("up_grad", c_void_p),
        ("up_bias_grad", c_void_p),
        ("down_grad", c_void_p),
    ]


_HANDLE = c_void_p
_OUT = POINTER(c_void_p)  # of a handle or of a string that the caller frees
# name: (result, arguments)
_FUNCTIONS = {
    "lacuna_abi_version": (c_int, []),
    "lacuna_version": (c_char_p, []),
    "lacuna_last_error": (c_char_p, []),
    "lacuna_string_free": (None, [c_void_p]),
    "lacuna_machines_json": (c_int, [_OUT]),
    "lacuna_parameters_json": (c_int, [c_char_p, _OUT]),
    "lacuna_trace_open": (c_int, [c_char_p, _OUT]),
    "lacuna_trace_layer_count": (c_size_t, [_HANDLE]),
    "lacuna_trace_layer_zeros": (c_int, [_HANDLE, c_size_t, POINTER(c_double)]),
    "lacuna_trace_layer_forward_zeros": (c_int, [_HANDLE, c_size_t, POINTER(c_double)]),
    "lacuna_trace_free": (None, [_HANDLE]),
    "lacuna_builder_new": (c_int, [c_char_p, c_char_p, _OUT]),
    "lacuna_builder_layer": (c_int, [_HANDLE, c_char_p]),
    "lacuna_builder_mask": (c_int, [_HANDLE, c_int, POINTER(c_uint8), c_size_t]),
    "lacuna_builder_values": (c_int, [_HANDLE, c_int, POINTER(c_float), c_size_t]),
    "lacuna_builder_finish": (c_int, [_HANDLE, _OUT]),
    "lacuna_builder_free": (None, [_HANDLE]),
    "lacuna_trace_of_masks": (
        c_int,
        [c_char_p, c_char_p, c_char_p, POINTER(c_void_p), POINTER(c_size_t), c_size_t, _OUT],
    ),
    "lacuna_simulate": (c_int, [POINTER(c_void_p), c_size_t, POINTER(SimulateOptions), _OUT]),
    "lacuna_result_free": (None, [_HANDLE]),
    "lacuna_result_count": (c_size_t, [_HANDLE]),
    "lacuna_result_totals": (c_int, [_HANDLE, c_size_t, POINTER(Totals)]),
    "lacuna_result_json": (c_int, [_HANDLE, c_int, _OUT]),
    "lacuna_result_csv": (c_int, [_HANDLE, _OUT]),
    "lacuna_result_text": (c_int, [_HANDLE, c_int, c_int, _OUT]),
    "lacuna_result_html": (c_int, [_HANDLE, c_char_p, _OUT]),
    "lacuna_result_write_html": (c_int, [_HANDLE, c_char_p, c_char_p]),
    "lacuna_conv_plan": (c_int, [POINTER(ConvOptions), _OUT]),
    "lacuna_conv_free": (None, [_HANDLE]),
    "lacuna_conv_workspace": (c_size_t, [_HANDLE]),
    "lacuna_conv_run": (c_int, [_HANDLE, POINTER(ConvTensors), c_double, c_void_p]),
    "lacuna_ffn_plan": (c_int, [POINTER(FfnOptions), _OUT]),
    "lacuna_ffn_free": (None, [_HANDLE]),
    "lacuna_ffn_pass_new": (c_int, [_OUT]),
    "lacuna_ffn_pass_free": (None, [_HANDLE]),
    "lacuna_ffn_forward": (c_int, [_HANDLE, c_int64, POINTER(FfnTensors), _HANDLE, POINTER(c_double)]),
    "lacuna_ffn_backward": (c_int, [_HANDLE, _HANDLE, POINTER(FfnTensors)]),
    "lacuna_sample_zeros": (c_int, [c_void_p, c_int64, POINTER(c_double)]),
}

_ADVICE = "build it with './run python' or 'pip install ./python' of a clone, or name it in LACUNA_LIBRARY"
_lock = threading.Lock()
_loaded: Optional["Library"] = None


class Library:
    """A loaded liblacuna.so: calls by name, errors as exceptions."""

    def __init__(self, path: str) -> None:
        self.path = path
        openmp.load_for(path)
        try:
            self._functions = ctypes.CDLL(path)
        except OSError as error:
            raise LibraryError(f"{path}: cannot be loaded ({error}); {_ADVICE}") from None
        self._declare("lacuna_abi_version")
        self._declare("lacuna_version")
        found = self._functions.lacuna_abi_version()
        self.version = self._functions.lacuna_version().decode()
        if found != ABI_VERSION:
            raise LibraryError(
                f"{path}: is liblacuna {self.version} with interface {found}, this package needs interface "
                f"{ABI_VERSION}; install the package and the library from the same clone: {_ADVICE}"
            )
        for name in _FUNCTIONS:
            self._declare(name)

    def _declare(self, name: str) -> None:
        try:
            function = getattr(self._functions, name)
        except AttributeError:
            raise LibraryError(
                f"{self.path}: has no function {name}, so it is not this version of liblacuna; {_ADVICE}"
            ) from None
        function.restype, function.argtypes = _FUNCTIONS[name]

    def plain(self, name: str, *args: object) -> Any:
        """Call a function that cannot fail."""
        return getattr(self._functions, name)(*args)

    def call(self, name: str, *args: object) -> None:
        """Call a function that returns a status; raises what it says."""
        for text in args:
            if isinstance(text, bytes):
                checked_text(text)
        try:
            status = getattr(self._functions, name)(*args)
        except ctypes.ArgumentError as error:
            raise SimulationError(f"{name} was given an argument of a wrong type ({error})") from None
        if status == OK:
            return
        message = self._functions.lacuna_last_error().decode("utf-8", "replace")
        if status == CANCELLED:
            raise KeyboardInterrupt(message)
        if status == NO_MEMORY:
            raise MemoryError(message)
        raise (SimulationError if status == BAD_INPUT else LibraryError)(message)

    def text(self, name: str, *args: object) -> str:
        """Call a function whose last argument receives a string."""
        out = c_void_p()
        self.call(name, *args, byref(out))
        try:
            return ctypes.string_at(out.value or 0).decode()
        finally:
            self.plain("lacuna_string_free", out)

    def handle(self, name: str, *args: object) -> int:
        """Call a function whose last argument receives a handle."""
        out = c_void_p()
        self.call(name, *args, byref(out))
        return out.value or 0


def candidates() -> List[str]:
    """Paths of the library, in the order in which they are tried."""
    named = os.environ.get("LACUNA_LIBRARY")
    if named:
        return [named]  # and nowhere else: an installed library should not hide a wrong name
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    clone = os.path.dirname(os.path.dirname(package))
    places = [os.path.join(package, "lib", _FILE), os.path.join(clone, "build", "release", "lib", _FILE)]
    folder = os.path.dirname(package)
    while folder != os.path.dirname(folder):  # PREFIX/lib/python3/dist-packages: PREFIX/lib/x86_64-linux-gnu
        if os.path.basename(folder) == "lib":
            places += sorted(glob.glob(os.path.join(glob.escape(folder), "*", _FILE)))
            places.append(os.path.join(folder, _FILE))
        folder = os.path.dirname(folder)
    return [*places, _FILE]


def library() -> Library:
    """The library, loaded at the first call."""
    global _loaded
    with _lock:
        if _loaded is None:
            _loaded = _find()
        return _loaded


def _find() -> Library:
    places = candidates()
    if len(places) == 1:
        return Library(places[0])
    for path in places[:-1]:
        if os.path.exists(path):
            return Library(path)
    try:
        ctypes.CDLL(places[-1])
    except OSError:
        looked = ", ".join(places[:-1])
        raise LibraryError(f"{_FILE} is not in {looked} nor where the system looks; {_ADVICE}") from None
    return Library(places[-1])


def checked_text(text: bytes) -> bytes:
    """`text`, if C takes it as a whole."""
    if b"\0" in text:
        raise SimulationError(f"{text!r} has a zero byte; no name has one")
    return text


def text_array(texts: List[str]) -> ctypes.Array:
    """Strings as `const char* const*`."""
    return (c_char_p * max(1, len(texts)))(*[checked_text(text.encode()) for text in texts])
