"""What was measured before: the choices of layers, kept in a file per user so that the next process starts with them.

The file is in the folder of the kernels' own measurements: $LACUNA_CACHE_DIR, $XDG_CACHE_HOME/lacuna or ~/.cache/lacuna.
Records of other machines, versions and numbers of threads have other keys, and old ones are forgotten. A file that cannot
be read or written is as good as none.
"""

import atexit
import fcntl
import json
import os
import threading
import time
from typing import Dict, Optional

import torch

from .._files import write_text

_FORMAT = 2  # increase it when records or kernels change
_SECONDS_KEPT = 90 * 24 * 3600
_MOST_RECORDS = 5000
_MOST_BYTES = 16 << 20
_SECONDS_BETWEEN_WRITES = 10.0
_CANDIDATES = {str(number) for number in range(100)}  # of a choice; far more than there are

Record = Dict[str, object]


def cache_folder() -> str:
    """Empty: there is none."""
    for variable, rest in (("LACUNA_CACHE_DIR", ""), ("XDG_CACHE_HOME", "lacuna"), ("HOME", ".cache/lacuna")):
        if os.environ.get(variable):
            return os.path.join(os.environ[variable], rest)
    return ""


def machine() -> str:
    """What a measurement is valid for, besides the shape."""
    from .. import __version__

    names = []
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            names = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
    except OSError:
        pass
    return f"{_FORMAT} | {names[0] if names else '?'} | torch {torch.__version__} | lacuna {__version__}"


class History:
    """Records by key. One per process; threads may share it."""

    def __init__(self, folder: Optional[str] = None) -> None:
        self._folder = folder
        self._records: Optional[Dict[str, Record]] = None
        self._new: Dict[str, Record] = {}
        self._lock = threading.RLock()
        self._written = time.monotonic()
        self._pid = os.getpid()

    def find(self, key: str) -> Optional[Record]:
        with self._lock:
            if self._records is None:
                self._records = self._read()
            return self._records.get(key)

    def put(self, key: str, record: Record) -> None:
        with self._lock:
            record = {**record, "when": int(time.time())}
            self.find(key)
            self._records[key] = self._new[key] = record
            if time.monotonic() - self._written > _SECONDS_BETWEEN_WRITES:
                self.write()

    def write(self) -> None:
        """Add what is new to the file. It is whole at any time, and processes take turns."""
        with self._lock:
            self._written = time.monotonic()
            folder = self._where()
            if not self._new or not folder or self._pid != os.getpid():  # a forked child leaves it to its parent
                return
            try:
                os.makedirs(folder, exist_ok=True)
                # A link in its place is not followed, and what it holds stays.
                with open(os.open(self._path() + ".lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666), "rb") as lock:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    records = {**self._read(), **self._new}
                    newest = sorted(records, key=lambda key: records[key]["when"])[-_MOST_RECORDS:]
                    write_text(self._path(), json.dumps({key: records[key] for key in newest}))
                self._new = {}
            except OSError:  # next time
                pass

    def _where(self) -> str:
        return cache_folder() if self._folder is None else self._folder

    def _path(self) -> str:
        return os.path.join(self._where(), "convert.json")

    def _read(self) -> Dict[str, Record]:
        try:
            if not os.path.isfile(self._path()) or os.path.getsize(self._path()) > _MOST_BYTES:
                return {}
            with open(self._path(), encoding="utf-8") as file:
                found = json.load(file)
        except (OSError, ValueError, RecursionError):
            return {}
        oldest = time.time() - _SECONDS_KEPT
        return {key: record for key, record in found.items() if _is_record(record, oldest)} if type(found) is dict else {}


def _is_record(record: object, oldest: float) -> bool:
    """Return true for what `Call.record()` made, not older than `oldest`."""

    def positive(value: object) -> bool:
        return isinstance(value, (int, float)) and 0 < value < 1e6

    def operation(part: object) -> bool:
        return isinstance(part, dict) and all(
            name in _CANDIDATES and isinstance(pair, list) and len(pair) == 2 and positive(pair[0])
            and (pair[1] is None or isinstance(pair[1], (int, float)) and 0 <= pair[1] <= 1)
            for name, pair in part.items()
        )  # fmt: skip

    if not isinstance(record, dict) or not isinstance(record.get("when"), int) or record["when"] < oldest:
        return False
    operations, compared = record.get("operations"), record.get("compared")
    if not isinstance(operations, list) or len(operations) != 3 or not all(map(operation, operations)):
        return False
    return compared is None or isinstance(compared, list) and len(compared) == 2 and all(map(positive, compared))


history = History()
atexit.register(lambda: history.write())
