"""Changes to a file: random, and reproducible from the generator that they are given."""

import json
import os
import random
import re
import sqlite3
import stat
import subprocess
from typing import Callable, Dict, List

NUMBERS = ["0", "-1", "1", "2", "255", "65536", "16777216", "2147483648", "4294967296", "9007199254740993"]
NUMBERS += ["9223372036854775807", "-9223372036854775808", "18446744073709551616", "1e308", "1e-320", "1e999"]
NUMBERS += ["-0.0", "nan", "inf", "0x10", "1_000", "١", "", "null", "true", "[]", "{}", '"1"', "~"]
TEXTS = ["", " ", "\t", "..", "/", "../../etc/passwd", "/dev/zero", "-", "--help", "%s%n", "${HOME}", "*", "&a", "*a"]
TEXTS += ["A" * 300, "\x1b[2J", "\x9b1m", "\u2028", "\u202e", "é\u0301" * 20, "\ufeff", "'", '"', ";--", "=1+1", "\0"]
PIECES = [b"\0" * 16, b"\xff" * 16, b"\n" * 64, b"[" * 2000, b"{" * 2000, b"- " * 500, b"\xef\xbb\xbf", b"\xff\xfe"]
PIECES += [b"&a [*a,*a]\n", b"<<: *a\n", b"!!python/object:x\n", b"\r\n", b"\xc3\x28"]
PIECES += [b"%YAML 9\n---\n", b"a: b\n" * 200]


def flip(data: bytes, rng: random.Random) -> bytes:
    """One bit: damage, as by a disk or a network."""
    changed = bytearray(data)
    changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _cut(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data))]


def _range(data: bytes, rng: random.Random) -> slice:
    start = rng.randrange(len(data))
    return slice(start, min(len(data), start + rng.choice([1, 2, 4, 8, 16, 100, 1000])))


def _delete(data: bytes, rng: random.Random) -> bytes:
    part = _range(data, rng)
    return data[: part.start] + data[part.stop :]


def _repeat(data: bytes, rng: random.Random) -> bytes:
    part = _range(data, rng)
    return data[: part.stop] + data[part] * rng.choice([1, 1, 2, 100]) + data[part.stop :]


def _overwrite(data: bytes, rng: random.Random) -> bytes:
    part = _range(data, rng)
    value = rng.choice([0, 0xFF, 0x7F, 0x80, ord(" "), ord("9"), rng.randrange(256)])
    return data[: part.start] + bytes([value]) * (part.stop - part.start) + data[part.stop :]


def _insert(data: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + rng.choice(PIECES) + data[at:]


def _swap(data: bytes, rng: random.Random) -> bytes:
    one, two = sorted(rng.randrange(len(data)) for _ in range(2))
    size = rng.choice([1, 4, 16])
    return data[:one] + data[two : two + size] + data[one + size : two] + data[one : one + size] + data[two + size :]


def _empty(_data: bytes, _rng: random.Random) -> bytes:
    return b""


BYTES = [flip, flip, _cut, _delete, _repeat, _overwrite, _insert, _swap, _empty]


def _number(data: bytes, rng: random.Random) -> bytes:
    found = list(re.finditer(rb"-?\d+(\.\d+)?([eE][-+]?\d+)?", data))
    if not found:
        return _insert(data, rng)
    match = rng.choice(found)
    return data[: match.start()] + rng.choice(NUMBERS).encode() + data[match.end() :]


def _word(data: bytes, rng: random.Random) -> bytes:
    found = list(re.finditer(rb"[A-Za-z_][A-Za-z_0-9-]*", data))
    if not found:
        return _insert(data, rng)
    match = rng.choice(found)
    other = rng.choice(found).group() if rng.random() < 0.5 else rng.choice(TEXTS).encode()
    return data[: match.start()] + other + data[match.end() :]


def _line(data: bytes, rng: random.Random) -> bytes:
    lines = data.splitlines(keepends=True) or [b""]
    at, other = rng.randrange(len(lines)), rng.choice(lines)
    change = rng.randrange(4)
    if change == 0:
        del lines[at]
    elif change == 1:
        lines.insert(at, other)
    elif change == 2:
        lines[at] = b"  " + lines[at]
    else:
        lines[at : at + 1] = [lines[at]] * rng.choice([2, 50, 2000])
    return b"".join(lines)


TEXT = [_number, _number, _number, _word, _word, _line, _line, *BYTES]


def _json_values(node: object, path: tuple = ()) -> List[tuple]:
    found = [path] if path else []
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in items:
        found += _json_values(value, (*path, key))
    return found


def change_json(text: str, rng: random.Random) -> str:
    """One member removed, exchanged or given an extreme value."""
    node = json.loads(text)
    path = rng.choice(_json_values(node))
    holder = node
    for key in path[:-1]:
        holder = holder[key]
    change = rng.randrange(6)
    if change == 0:
        del holder[path[-1]]
    elif change == 1 and isinstance(holder, dict):
        holder[rng.choice(TEXTS)] = holder.pop(path[-1])
    elif change == 2:
        holder[path[-1]] = rng.choice(TEXTS)
    elif change == 3:
        holder[path[-1]] = rng.choice([None, True, [], {}, [1, 2], [[]], -1, 2**63, 2**64, 1e308, 0.5])
    else:
        holder[path[-1]] = rng.choice([0, 1, 2, 3, 7, 255, 65535, 1 << 20, 1 << 24, (1 << 24) + 1, 1 << 40, -1])
    return json.dumps(node)


def _json(data: bytes, rng: random.Random) -> bytes:
    return change_json(data.decode(), rng).encode()


JSON = [_json, _json, _json, _json, *TEXT]


def _header(data: bytes, rng: random.Random) -> bytes:
    """A safetensors file whose header was changed with care: its length fits, and it carries no checksum."""
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    metadata = header.get("__metadata__", {})
    metadata.pop("checksum", None)
    if "layers" in metadata and rng.random() < 0.5:
        layers = json.loads(metadata["layers"])
        for layer in layers:
            layer.pop("sparsity", None)
        metadata["layers"] = json.dumps(layers)
    for _ in range(rng.choice([1, 1, 2, 4])):
        if "layers" in metadata and rng.random() < 0.7:
            metadata["layers"] = change_json(metadata["layers"], rng)
        else:
            header = json.loads(change_json(json.dumps(header), rng))
            metadata = header.get("__metadata__", {}) if isinstance(header, dict) else {}
        if not isinstance(metadata, dict) or not isinstance(metadata.get("layers", ""), str):
            break
        try:
            json.loads(metadata.get("layers", "{}"))
        except ValueError:
            break
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data[8 + length :]


def _hollow(data: bytes, rng: random.Random) -> bytes:
    """A trace of sound layers without tensors: little to store, and any amount of work and memory."""
    size = lambda *most: rng.choice([1, 3, 16, 17, 64, *most])  # noqa: E731
    layers = []
    for index in range(rng.choice([1, 1, 2, 20, 1000])):
        layer = {"name": f"layer{index}", "type": rng.choice(["conv2d", "linear", "matmul"]), "batch": size(256, 4096)}
        if layer["type"] == "conv2d":
            groups, kernel, stride = rng.choice([1, 1, 1, 16]), [size(), size()], [size() for _ in range(2)]
            edge = [max(kernel[axis], size(224, 4096)) for axis in range(2)]
            layer.update(in_channels=groups * size(4096), out_channels=groups * size(4096), groups=groups)
            layer.update(kernel=kernel, stride=stride, padding=[0, 0], dilation=[1, 1], input_hw=edge)
            layer["output_hw"] = [(edge[axis] - kernel[axis]) // stride[axis] + 1 for axis in range(2)]
        else:
            layer.update(in_features=size(4096, 1 << 20), out_features=size(4096, 1 << 20))
            if layer["type"] == "matmul":
                layer["rows"] = size(4096)
        layers.append(layer)
    metadata = {"format": "training-trace", "version": "3", "model": "hollow", "layers": json.dumps(layers)}
    if rng.random() < 0.5:
        metadata["batch"] = str(size(1 << 20))
    text = json.dumps({"__metadata__": metadata}).encode()
    return len(text).to_bytes(8, "little") + text


SAFETENSORS = [_header, _header, _header, *BYTES]
TRACE = [*SAFETENSORS, _hollow, _hollow]


def in_zstd(change: Callable[[bytes, random.Random], bytes]) -> Callable[[bytes, random.Random], bytes]:
    """`change` of the content of a file, which is then stored in a frame without compression."""

    def changed(data: bytes, rng: random.Random) -> bytes:
        content = change(subprocess.run(["zstd", "-dcq"], input=data, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL).stdout, rng)
        blocks = [content[at : at + 65536] for at in range(0, len(content), 65536)] or [b""]
        declared = len(content) if rng.random() < 0.8 else rng.choice([0, 1, 1 << 31, 1 << 40, (1 << 64) - 1])
        frame = b"\x28\xb5\x2f\xfd\xe0" + declared.to_bytes(8, "little")
        for at, block in enumerate(blocks):
            frame += (len(block) << 3 | (at + 1 == len(blocks))).to_bytes(3, "little") + block
        return frame

    return changed


ZSTD = [in_zstd(_header), in_zstd(_header), in_zstd(_hollow), *BYTES]

_STATEMENTS = [
    "UPDATE {table} SET {column} = {value} WHERE rowid % 3 = 0",
    "UPDATE {table} SET {column} = {value}",
    "DELETE FROM {table}",
    "DELETE FROM {table} WHERE rowid % 2 = 0",
    "ALTER TABLE {table} RENAME TO x",
    "ALTER TABLE {table} RENAME COLUMN {column} TO x",
    "ALTER TABLE {table} ADD COLUMN x",
    "DROP TABLE {table}",
    "DROP VIEW points",
    "CREATE TRIGGER t BEFORE INSERT ON {table} BEGIN SELECT RAISE(IGNORE); END",
    "CREATE TRIGGER t AFTER UPDATE ON {table} BEGIN DELETE FROM results; END",
    "PRAGMA user_version = {number}",
    "PRAGMA application_id = {number}",
    "INSERT INTO swept_parameters VALUES ({value})",
    "UPDATE sqlite_master SET sql = replace(sql, '{column}', 'x')",
]


def _sql(data: bytes, rng: random.Random) -> bytes:
    name = f"/dev/shm/attack-{os.getpid()}.sqlite"
    with open(name, "wb") as file:
        file.write(data)
    base = sqlite3.connect(name)
    try:
        base.execute("PRAGMA journal_mode = DELETE")
        tables = [row[0] for row in base.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for _ in range(rng.choice([1, 1, 3])):
            table = rng.choice(tables)
            column = rng.choice([row[1] for row in base.execute(f"PRAGMA table_info({table})")] or ["x"])
            number = rng.choice([0, 1, -1, 2**31 - 1])
            values = ["NULL", "0", "-1", "1e308", "9e999", "9223372036854775807", "x'00ff'", "randomblob(99999)"]
            value = rng.choice(values)
            value = value if rng.random() < 0.6 else "'" + rng.choice(TEXTS).replace("'", "''").replace("\0", "") + "'"
            try:
                base.execute("PRAGMA writable_schema = ON")
                base.execute(rng.choice(_STATEMENTS).format(table=table, column=column, value=value, number=number))
                base.commit()
            except sqlite3.Error:
                base.rollback()
    except sqlite3.Error:
        pass
    finally:
        base.close()
    try:
        with open(name, "rb") as file:
            return file.read()
    finally:
        os.unlink(name)


SQLITE = [_sql, _sql, _sql, *BYTES]

OPTION_NAMES = ["--layers", "--html", "--config", "--energy-table", "--engine", "--operations", "--rank"]
OPTION_NAMES += ["--json", "--csv", "--threads", "--seed", "--set", "--arch", "--node", "--help", "--", "-"]
OPTION_NAMES += ["--zeros-file", "--version"]


def _option(data: bytes, rng: random.Random) -> bytes:
    lines = data.decode("utf-8", "surrogateescape").split("\n")
    at = rng.randrange(len(lines))
    texts = [text for text in TEXTS if "/" not in text]  # a result written outside of its folder
    words = [rng.choice(OPTION_NAMES), rng.choice(lines), rng.choice(texts), rng.choice(NUMBERS)]
    words += ["functional", "w.html"]
    words += [f"{rng.choice(['rows', 'depth', 'lanes', 'tiles', 'memory', 'x'])}={rng.choice(NUMBERS)}"]
    lines[at : at + rng.randrange(2)] = [rng.choice(words)]
    return "\n".join(lines).encode("utf-8", "surrogateescape")


OPTIONS = [_option, _option, _option, _option, *BYTES]

KINDS: Dict[str, list] = {
    "bytes": BYTES,
    "text": TEXT,
    "json": JSON,
    "safetensors": SAFETENSORS,
    "trace": TRACE,
    "zstd": ZSTD,
    "sqlite": SQLITE,
    "options": OPTIONS,
}


def replace_by_other_file(path: str, rng: random.Random) -> str:
    """Puts something other than a plain file in the place of one. Returns its kind."""
    os.unlink(path)
    what = rng.choice(["folder", "pipe", "loop", "/dev/zero", "/dev/full", "/proc/self/maps", "nothing", "dangling"])
    if what == "folder":
        os.mkdir(path)
    elif what == "pipe":
        os.mkfifo(path)
    elif what == "loop":
        os.symlink(os.path.basename(path), path)
    elif what.startswith("/"):
        os.symlink(what, path)
    elif what == "dangling":
        os.symlink("nowhere/at/all", path)
    return what


def is_plain(path: str) -> bool:
    return os.path.lexists(path) and stat.S_ISREG(os.lstat(path).st_mode)
