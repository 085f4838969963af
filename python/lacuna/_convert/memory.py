"""Memory of the kernels of all converted layers: one workspace that they share, and how much it may take."""

import ctypes
import mmap
import resource
import threading
import weakref
from contextlib import contextmanager
from typing import Iterator, List, Optional

# Share of the free memory that a workspace may take where `memory_limit` was not given: what is measured may lose,
# and others use the machine too.
_SHARE = 0.25


class Buffer:
    """Memory of its own pages: the system has it back when it is freed. From the heap, what a kernel needed while it was
    measured stayed with the process, between tensors: 40 MB more of a VGG-like network."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._pages = mmap.mmap(-1, max(size, 1))
        if hasattr(mmap, "MADV_HUGEPAGE"):
            try:
                self._pages.madvise(mmap.MADV_HUGEPAGE)
            except OSError:  # a kernel without them
                pass
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self._pages))


class Workspaces:
    """Buffers for kernels that run: one per thread that runs some at the same time, as large as the largest needs."""

    def __init__(self) -> None:
        self._free: List[Buffer] = []
        self._lock = threading.RLock()  # a plan may be deleted while its thread holds it
        self._lent_bytes = 0
        self._plans = 0

    @contextmanager
    def lent(self, size: int) -> Iterator[Optional[Buffer]]:
        """`size` bytes at least, aligned to pages; None if the machine has not so much."""
        with self._lock:
            buffer = self._free.pop() if self._free else None
        if buffer is None or buffer.size < size:
            buffer = None  # freed before the larger one is allocated
            try:
                buffer = Buffer(size)
            except (OSError, MemoryError):
                yield None
                return
        with self._lock:
            self._lent_bytes += buffer.size
        try:
            yield buffer
        finally:
            with self._lock:
                self._lent_bytes -= buffer.size
                self._free.append(buffer)

    def trim(self, size: int) -> None:
        """Free what is larger than the largest plan needs."""
        with self._lock:
            self._free = [buffer for buffer in self._free if 0 < buffer.size <= size]

    def plans_in_use(self, change: int) -> None:
        with self._lock:
            self._plans += change
            if self._plans == 0:
                self._free = []

    @property
    def held_bytes(self) -> int:
        with self._lock:
            return self._lent_bytes + sum(buffer.size for buffer in self._free)


workspaces = Workspaces()


_trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc's
_tidier: Optional["weakref.ref[object]"] = None
# Growth of the process's peak after which the heap is tidied again. The step that follows faults all of its pages in:
# when every step that measures did, they took as long again as those of a MobileNet-like network.
_GROWN = 1.01
_peak = 0.0  # largest resident memory when the heap was last tidied


def tidy_heap(caller: object) -> None:
    """Give the system back what is free between tensors, at the start of a training step, if the peak has grown.

    While kernels are measured, sizes come and go in another order in every step, and holes remain: the peak of a VGG-like
    network was 1.3 times PyTorch's, and 1.12 with this. The first layer that measures does it, as the step begins.
    """
    global _tidier, _peak
    first = None if _tidier is None else _tidier()
    if first is None or getattr(first, "measured", True):
        _tidier = weakref.ref(caller)
        first = caller
    if first is not caller or _trim is None:
        return
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    if peak > _GROWN * _peak:
        if _peak > 0:
            _trim(0)
        _peak = peak


def free_bytes() -> int:
    """Memory that a process may take without others losing theirs: of the machine, or of its control group."""
    free = [size for size in (_of_machine(), _of_control_group()) if size is not None]
    return min(free, default=1 << 62)


def default_limit() -> int:
    return int(_SHARE * free_bytes()) + workspaces.held_bytes


def _of_machine() -> Optional[int]:
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return None


def _of_control_group() -> Optional[int]:
    for folder, limit, used, cached in (
        ("/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"),
        ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    ):
        try:
            stat = dict(line.split() for line in _read(folder, "memory.stat").splitlines())
            return max(0, int(_read(folder, limit)) - int(_read(folder, used)) + int(stat[cached]))
        except (OSError, ValueError, KeyError):  # there is none, or its limit is "max"
            continue
    return None


def _read(folder: str, name: str) -> str:
    with open(f"{folder}/{name}", encoding="ascii") as file:
        return file.read()
