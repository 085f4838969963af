"""The safetensors container, compressed or not, read and written with torch and the standard library alone."""

import ctypes
import json
import os
import shutil
import subprocess
import sys
from typing import BinaryIO, Callable, Dict, List, Mapping, Tuple

import torch

from ..errors import TraceError

_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_LARGEST_HEADER = 100_000_000  # the limit of the safetensors format

# Widest first: tensors are stored in this order, so that each is aligned to its element.
_DTYPES = {
    "I64": torch.int64,
    "F64": torch.float64,
    "F32": torch.float32,
    "I32": torch.int32,
    "BF16": torch.bfloat16,
    "F16": torch.float16,
    "U8": torch.uint8,
    "I8": torch.int8,
    "BOOL": torch.bool,
}
_NAMES = {dtype: name for name, dtype in _DTYPES.items()}


def _tensor_bytes(tensor: torch.Tensor) -> memoryview:
    """The bytes of a contiguous host tensor, without a copy and without numpy."""
    count = tensor.numel() * tensor.element_size()
    if count == 0:
        return memoryview(b"")
    return memoryview((ctypes.c_char * count).from_address(tensor.data_ptr())).cast("B")


def write_container(path: str, tensors: Mapping[str, torch.Tensor], metadata: Mapping[str, str]) -> None:
    """Write `tensors` (on the host) to `path`; compressed if the name ends in `.zst`.

    The file appears under its name when it is complete, or not at all.
    """
    if sys.byteorder != "little":
        raise TraceError(f"{path}: traces can be written on little-endian machines only")
    order = list(_DTYPES.values())
    items: List[Tuple[str, torch.Tensor]] = sorted(
        ((name, tensor.detach().contiguous()) for name, tensor in tensors.items()),
        key=lambda item: order.index(item[1].dtype),
    )
    header: Dict[str, object] = {"__metadata__": dict(metadata)} if metadata else {}
    end = 0
    for name, tensor in items:
        begin, end = end, end + tensor.numel() * tensor.element_size()
        header[name] = {"dtype": _NAMES[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [begin, end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)  # so that the data starts at a multiple of 8

    def write(file: BinaryIO) -> None:
        file.write(len(text).to_bytes(8, "little"))
        file.write(text)
        for _, tensor in items:
            file.write(_tensor_bytes(tensor))

    _write_whole(path, 8 + len(text) + end, write)


def read_container(path: str) -> Tuple[Dict[str, torch.Tensor], Dict[str, str]]:
    """The tensors and the metadata of a safetensors file; zstd is recognised by its content."""
    try:
        with open(path, "rb") as file:
            data = bytearray(file.read())
    except OSError as error:
        raise TraceError(f"{path}: cannot be read ({error.strerror}); give the name of a trace in one file") from None
    if data[:4] == _ZSTD_MAGIC:
        data = bytearray(_decompress(path, bytes(data)))
    length = int.from_bytes(data[:8], "little")
    if len(data) < 8 or length > min(_LARGEST_HEADER, len(data) - 8):
        raise TraceError(f"{path}: not a safetensors file")
    try:
        header = json.loads(bytes(data[8 : 8 + length]).decode())
        metadata = header.pop("__metadata__", {})
        tensors = {name: _read_tensor(data, 8 + length, entry) for name, entry in header.items()}
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise TraceError(f"{path}: the header is damaged ({error})") from error
    return tensors, metadata


def _read_tensor(data: bytearray, start: int, entry: Mapping) -> torch.Tensor:
    dtype = _DTYPES[entry["dtype"]]
    begin, end = entry["data_offsets"]
    shape = entry["shape"]
    count = 1
    for size in shape:
        count *= size
    if not 0 <= begin <= end <= len(data) - start or count < 0:
        raise ValueError("a tensor lies outside the file")
    element = torch.empty((), dtype=dtype).element_size()
    if end - begin != count * element:
        raise ValueError("a tensor's shape contradicts its bytes")
    if count == 0:
        return torch.empty(shape, dtype=dtype)
    # A copy is aligned, whatever the file's header did.
    return torch.frombuffer(data[start + begin : start + end], dtype=dtype).reshape(shape)


def _write_whole(path: str, size: int, write: Callable[[BinaryIO], None]) -> None:
    folder, name = os.path.split(path)
    temporary = os.path.join(folder, f".{name}.{os.getpid()}.tmp")
    try:
        with open(temporary, "wb") as file:
            if path.endswith(".zst"):
                _compress(file, size, write)
            else:
                write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        if os.path.exists(temporary):
            os.remove(temporary)
        raise


def check_zstd() -> None:
    """Raise TraceError where nothing here can compress or decompress zstd."""
    if _zstd_module() is None and shutil.which("zstd") is None:
        raise TraceError(
            "a .zst file needs the Python module 'zstandard' or the program 'zstd', and neither is installed; "
            "install one, or leave out the suffix .zst"
        )


def _zstd_module():
    try:
        import zstandard
    except ImportError:
        return None
    return zstandard


def _compress(file: BinaryIO, size: int, write: Callable[[BinaryIO], None]) -> None:
    check_zstd()
    zstandard = _zstd_module()
    if zstandard is not None:
        compressor = zstandard.ZstdCompressor(level=9, write_checksum=True)
        with compressor.stream_writer(file, size=size, closefd=False) as stream:
            write(stream)
        return
    command = ["zstd", "-q", "-9", "-c", f"--stream-size={size}"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=file) as process:
        try:
            write(process.stdin)
            process.stdin.close()
        except BrokenPipeError:
            pass  # its exit status, below, says why
    if process.returncode != 0:
        raise TraceError(f"the program zstd failed with status {process.returncode}")


def _decompress(path: str, data: bytes) -> bytes:
    check_zstd()
    zstandard = _zstd_module()
    if zstandard is not None:
        try:
            return zstandard.ZstdDecompressor().decompressobj().decompress(data)
        except zstandard.ZstdError as error:
            raise TraceError(f"{path}: damaged ({error})") from error
    result = subprocess.run(["zstd", "-q", "-d", "-c"], input=data, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if result.returncode != 0:
        raise TraceError(f"{path}: damaged ({result.stderr.decode(errors='replace').strip()})")
    return result.stdout
