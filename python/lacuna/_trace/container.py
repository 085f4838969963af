"""The safetensors container, compressed or not: read with torch or NumPy, written with torch."""

import binascii
import ctypes
import json
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any, BinaryIO, Callable, Dict, List, Mapping, Tuple, cast

from .arrays import SIZES, TorchArrays
from .._files import whole_file
from ..errors import TraceError

if TYPE_CHECKING:
    import torch

_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_LARGEST_HEADER = 100_000_000  # the limit of the safetensors format


def _tensor_bytes(tensor: "torch.Tensor") -> memoryview:
    """The bytes of a contiguous host tensor, without a copy and without numpy."""
    count = tensor.numel() * tensor.element_size()
    if count == 0:
        return memoryview(b"")
    return memoryview((ctypes.c_char * count).from_address(tensor.data_ptr())).cast("B")


def _checksum(tensors: Mapping[str, "torch.Tensor"], metadata: Mapping[str, str], kinds: Mapping[Any, str]) -> str:
    """The checksum of a trace, as docs/trace-format.md defines it."""
    total = 0
    for key, value in sorted((key.encode(), value.encode()) for key, value in metadata.items()):
        total = binascii.crc32(b"%s=%s\n" % (key, value), total)
    for name, tensor in sorted(tensors.items(), key=lambda item: item[0].encode()):
        shape = ",".join(str(size) for size in tensor.shape)
        total = binascii.crc32(f"\n{name} {kinds[tensor.dtype]} {shape}\n".encode(), total)
        total = binascii.crc32(_tensor_bytes(tensor), total)
    return f"crc32:{total:08x}"


def write_container(path: str, tensors: Mapping[str, "torch.Tensor"], metadata: Mapping[str, str]) -> None:
    """Write `tensors` (on the host) to `path`; compressed if the name ends in `.zst`.

    A trace gets its checksum. The file appears under its name when it is complete, or not at all.
    """
    if sys.byteorder != "little":
        raise TraceError(f"{path}: traces can be written on little-endian machines only")
    kinds = {dtype: kind for kind, dtype in TorchArrays().types.items()}
    order = list(kinds)  # widest first, so that each tensor is aligned to its element
    items: List[Tuple[str, "torch.Tensor"]] = sorted(
        ((name, tensor.detach().contiguous()) for name, tensor in tensors.items()),
        key=lambda item: order.index(item[1].dtype),
    )
    texts = {key: value for key, value in metadata.items() if key != "checksum"}
    if texts.get("format") == "training-trace":
        texts["checksum"] = _checksum(dict(items), texts, kinds)
    header: Dict[str, Any] = {"__metadata__": texts} if texts else {}
    end = 0
    for name, tensor in items:
        begin, end = end, end + tensor.numel() * tensor.element_size()
        header[name] = {"dtype": kinds[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [begin, end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)  # so that the data starts at a multiple of 8

    def write(file: BinaryIO) -> None:
        file.write(len(text).to_bytes(8, "little"))
        file.write(text)
        for _, tensor in items:
            file.write(_tensor_bytes(tensor))

    write_whole(path, 8 + len(text) + end, write)


def read_container(path: str, arrays: Any = None) -> Tuple[Dict[str, Any], Dict[str, str]]:
    """The tensors and the metadata of a safetensors file; zstd is recognised by its content.

    arrays: what makes the tensors; PyTorch's if none is given.
    """
    arrays = arrays or TorchArrays()
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
        tensors = {name: _read_tensor(arrays, data, 8 + length, entry) for name, entry in header.items()}
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise TraceError(f"{path}: the header is damaged ({error})") from error
    return tensors, metadata


def _read_tensor(arrays: Any, data: bytearray, start: int, entry: Mapping) -> Any:
    kind, (begin, end), shape = entry["dtype"], entry["data_offsets"], entry["shape"]
    count = 1
    for size in shape:
        count *= size
    if not 0 <= begin <= end <= len(data) - start or count < 0:
        raise ValueError("a tensor lies outside the file")
    if end - begin != count * SIZES[kind]:
        raise ValueError("a tensor's shape contradicts its bytes")
    # A copy is aligned, whatever the file's header did.
    return arrays.of_bytes(kind, shape, data[start + begin : start + end])


def write_whole(path: str, size: int, write: Callable[[BinaryIO], None]) -> None:
    """Write a file of `size` bytes; compressed if the name ends in `.zst`."""
    with whole_file(path) as file:
        if path.endswith(".zst"):
            _compress(file, size, write)
        else:
            write(file)


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
        stream = cast(BinaryIO, process.stdin)
        try:
            write(stream)
            stream.close()
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
