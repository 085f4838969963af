"""Good input files of every kind, made by the program itself, and the commands that read them."""

import os
import random
import struct
import subprocess
import zlib
from dataclasses import dataclass, field
from typing import List, Sequence

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


@dataclass
class Victim:
    name: str  # of the folder with its files
    file: str  # in the folder: what is changed
    kind: str  # of mutations
    commands: List[str]
    weight: int = 1  # how often it is chosen
    codes: Sequence[int] = (0, 2)
    exact: bool = False  # a flipped bit is refused or changes no result
    starts: bool = False  # a run has begun when it finds the damage
    names_outputs: bool = False  # the change may name new files
    written: List[str] = field(default_factory=list)  # beginnings of names that a run may leave

    def command(self, rng: random.Random) -> str:
        return rng.choice(self.commands)

    @staticmethod
    def arguments(command: str, folder: str) -> List[str]:
        """The words of a command; `@FILE` are the lines of a file."""
        if not command.startswith("@"):
            return command.split()
        with open(os.path.join(folder, command[1:]), encoding="utf-8", errors="surrogateescape") as file:
            return [line for line in file.read().replace("\0", "").split("\n") if line]


TRAIN = "train --size 8 --train-size 8 --test-size 8 --batch 8 --threads 1 --kernels sparse --steps 1 --out out"
BENCH = "bench layers --shapes s.yaml --seconds 0 --rounds 1 --zeros 50 --no-auto --op forward --batch 1"
SIMULATE = "--threads 1 --json -"
SMALL = ["--layer", "conv2d name=a in=6 out=5 kernel=3 padding=1 input=5 A=0.5 G=0.5"]
SMALL += ["linear name=b in=20 out=7 batch=4 A=0.7"]

VICTIMS = [
    Victim("trace", "t.safetensors", "trace",
           [f"simulate t.safetensors --arch tensordash,dense,ant {SIMULATE}", "inspect t.safetensors --json -",
            f"simulate t.safetensors --engine functional {SIMULATE}", "storage t.safetensors --json -"],
           weight=6, exact=True),
    Victim("machines", "t.safetensors", "trace",
           [f"simulate t.safetensors --arch scnn,sparten,cnvlutin,structured-2of4 {SIMULATE}",
            f"simulate t.safetensors --arch tensordash,sparten --set memory=modelled --mapping --roofline {SIMULATE}"],
           weight=3, exact=True),
    Victim("forward", "t.safetensors", "trace",
           [f"simulate t.safetensors --arch tensordash,scnn {SIMULATE}", "inspect t.safetensors --json -"],
           weight=2, exact=True),
    Victim("exports", "t.safetensors", "trace",
           ["export sparseloop t.safetensors -o w", f"simulate t.safetensors --timeline w.json {SIMULATE}",
            f"simulate t.safetensors --set memory=modelled --dram-trace w {SIMULATE}",
            "synth --layers s.yaml --zeros-like t.safetensors -o w.safetensors"],
           weight=3, written=["w"]),
    Victim("values", "t.safetensors", "trace",
           [f"simulate t.safetensors --engine functional --arch scnn {SIMULATE}", "inspect t.safetensors --json -",
            f"simulate t.safetensors --energy {SIMULATE}"], weight=3, exact=True),
    Victim("zstd", "t.safetensors.zst", "zstd",
           [f"simulate t.safetensors.zst {SIMULATE}", "inspect t.safetensors.zst --json -"], weight=4, exact=True),
    Victim("arrays", "f/l.A.npy", "bytes", [f"simulate f {SIMULATE}", "inspect f --json -"]),
    Victim("list", "f/layers.csv", "text", [f"simulate f {SIMULATE}", "inspect f --json -"], weight=2),
    Victim("machine", "m.yaml", "text", [f"simulate t.safetensors --config m.yaml {SIMULATE}"], weight=4),
    Victim("costs", "e.yaml", "text", [f"simulate t.safetensors --energy --energy-table e.yaml {SIMULATE}"], weight=2),
    Victim("zeros", "z.csv", "text", [f"simulate t.safetensors --zeros-file z.csv {SIMULATE}"], weight=2),
    Victim("results", "r.json", "json", ["compare r.json s.json", "compare s.json r.json"], weight=3, codes=(0, 1, 2)),
    Victim("citations", "r.json", "json", ["cite r.json"]),
    Victim("baseline", "b.yaml", "text", [f"simulate t.safetensors --baseline b.yaml {SIMULATE}",
                                          "arch area dense --config b.yaml --json"]),
    Victim("model", "m.yaml", "text", [f"{TRAIN} --model m.yaml"], weight=2, written=["out"]),
    Victim("start", "c.safetensors", "safetensors", [f"{TRAIN} --model m.yaml --init c.safetensors"],
           written=["out"]),
    Victim("resume", "out/checkpoint.safetensors", "safetensors", ["train --resume out --steps 3"], written=["out"]),
    Victim("settings", "out/config.json", "json", ["train --resume out --steps 3"], written=["out"]),
    Victim("plan", "p.yaml", "text", ["sweep p.yaml -o r.sqlite --threads 1 --quiet", "sweep p.yaml --dry-run"],
           weight=3, codes=(0, 1, 2), written=["r.sqlite"]),  # 1: points that failed
    Victim("database", "r.sqlite", "sqlite",
           ["sweep best r.sqlite --json -", "sweep export r.sqlite --csv -", "sweep export r.sqlite --json -",
            "sweep pareto r.sqlite --json -", "sweep effects r.sqlite",
            "sweep p.yaml -o r.sqlite --threads 1 --quiet"],
           weight=5, exact=True, written=["r.sqlite"]),
    Victim("png", "set/train/a/0.png", "bytes", [f"{TRAIN} --model m.yaml --data folder:set"], starts=True,
           written=["out"]),
    Victim("idx", "set/train-images-idx3-ubyte", "bytes", [f"{TRAIN} --model m.yaml --data mnist:set"],
           written=["out"]),
    Victim("cifar", "set/data_batch_1.bin", "bytes", [f"{TRAIN} --model m.yaml --data cifar10:set"],
           written=["out"]),
    Victim("layers", "s.yaml", "text", [BENCH, "synth --layers s.yaml -o w.safetensors"], written=["w.safetensors"]),
    Victim("topology", "n.csv", "text", ["synth --layers n.csv -o w.safetensors"], written=["w.safetensors"]),
    Victim("onnx", "m.onnx", "bytes", ["synth --layers m.onnx -o w.safetensors"], weight=3, written=["w.safetensors"]),
    Victim("base", "b.yaml", "text", [f"simulate t.safetensors --config m.yaml {SIMULATE}"]),
    Victim("options", "o.txt", "options", ["@o.txt"], weight=4, names_outputs=True),
    Victim("cache", "cache/kernels.txt", "text", ["bench calibrate --show"], weight=2, written=["cache"]),
]


def _png(path: str, level: int) -> None:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + bytes((x * level) % 256 for x in range(24)) for _ in range(8))
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 8, 8, 8, 2, 0, 0, 0)))
        file.write(chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def _npy(path: str, shape: tuple, values: List[float]) -> None:
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        file.write(struct.pack(f"<{len(values)}f", *values))


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def _onnx(path: str) -> None:
    """A model of a convolution and a classifier behind it."""

    def varint(value: int) -> bytes:
        value %= 1 << 64
        low = b""
        while value >= 128:
            low += bytes([value % 128 + 128])
            value //= 128
        return low + bytes([value])

    def number(field: int, value: int) -> bytes:
        return varint(8 * field) + varint(value)

    def part(field: int, value: bytes) -> bytes:
        return varint(8 * field + 2) + varint(len(value)) + value

    def weight(name: bytes, sizes: Sequence[int]) -> bytes:
        return part(5, b"".join(number(1, size) for size in sizes) + number(2, 1) + part(8, name))

    def node(op: bytes, inputs: Sequence[bytes], output: bytes, attributes: bytes = b"") -> bytes:
        return part(1, b"".join(part(1, name) for name in inputs) + part(2, output) + part(4, op) + attributes)

    shape = b"".join(part(1, number(1, size)) for size in (1, 3, 8, 8))
    graph = part(11, part(1, b"x") + part(2, part(1, number(1, 1) + part(2, shape))))
    graph += weight(b"w", (4, 3, 3, 3)) + weight(b"v", (5, 144))
    graph += node(b"Conv", (b"x", b"w"), b"c") + node(b"Flatten", (b"c",), b"f")
    graph += node(b"Gemm", (b"f", b"v"), b"y", part(5, part(1, b"transB") + number(3, 1)))
    with open(path, "wb") as file:
        file.write(number(1, 8) + part(7, graph + part(2, b"net")))


TOPOLOGY = """Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, Strides,
Conv1, 14, 14, 3, 3, 3, 8, 2,
DP1, 6, 6, 3, 3, 8, 1, 1,
"""
MODEL = """model: tiny
layers:
  - conv: {name: a, out: 4, kernel: 3, stride: 2}
  - relu
  - conv: {name: b, out: 4, kernel: 3, padding: 1}
  - batch_norm
  - relu
  - linear: {name: c, out: $classes}
"""
OPTIONS = """simulate
t.safetensors
--arch
tensordash,dense
--set
rows=4
--operations
forward,weight_grad
--seed
3
--threads
1
--rank
time
--csv-per
batch
--json
w.json
--csv
w.csv
--energy
--node
45
"""
PLAN = """traces:
  - t.safetensors
  - {synthetic: block, layers: ['conv2d in=8 out=8 kernel=3 padding=1 input=4'], A: 0.6, G: channel:0.7, batch: 16}
machines: [tensordash, dense]
parameters:
  rows: [1, 4]
  depth: [2, 3]
"""
SHAPES = """name: tiny
layers:
  - {name: a, c: 16, k: 16, input: [4, 4], kernel: [3, 3], padding: [1, 1], initial: true}
"""


def make(folder: str, program: str) -> None:
    """Writes the files of each victim to a folder of its name."""

    def run(where: str, command: str, more: Sequence[str] = ()) -> str:
        done = subprocess.run([program, *command.split(), *more], cwd=os.path.join(folder, where),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            raise SystemExit(f"{command}: {done.stderr}")
        return done.stdout

    for victim in VICTIMS:
        os.makedirs(os.path.join(folder, victim.name, os.path.dirname(victim.file)), exist_ok=True)

    def at(name: str) -> str:
        return os.path.join(folder, name)

    _write(at("options/o.txt"), OPTIONS)
    for name in ("trace", "machine", "machines", "base", "baseline", "costs", "zeros", "plan", "database", "options",
                 "exports", "citations"):
        run(name, "synth -o t.safetensors", SMALL)
    run("values", "synth -o t.safetensors --content both", SMALL)
    run("zstd", "synth -o t.safetensors.zst", SMALL)
    for name in ("arrays", "list"):
        rows = "name,type,stride,padding\nl,conv2d,1,1\nk,linear,,\n"
        _write(at(f"{name}/f/layers.csv"), f"# model = tiny\n# batch = 4\n{rows}")
        _npy(at(f"{name}/f/l.A.npy"), (1, 3, 4, 4), [float(i % 3) for i in range(48)])
        _npy(at(f"{name}/f/l.W.npy"), (2, 3, 3, 3), [float(i % 4) for i in range(54)])
        _npy(at(f"{name}/f/k.A.npy"), (2, 5), [float(i % 2) for i in range(10)])
        _npy(at(f"{name}/f/k.W.npy"), (3, 5), [1.0] * 15)
    _write(at("machine/m.yaml"), "arch: tensordash\nname: mine\nrows: 4\ncolumns: 2\ndepth: 3\nlanes: 16\ntiles: 2\n")
    _write(at("base/m.yaml"), "base: b.yaml\nname: mine\nrows: 8\n")
    _write(at("base/b.yaml"), "arch: tensordash\nrows: 4\ncolumns: 2\ndepth: 3\n")
    _write(at("topology/n.csv"), TOPOLOGY)
    _onnx(at("onnx/m.onnx"))
    with open(os.path.join(ROOT, "configs", "energy", "65nm-fp32.yaml"), encoding="utf-8") as file:
        _write(at("costs/e.yaml"), file.read())
    _write(at("zeros/z.csv"), "layer,A,W,G\na,0.5,dense,channel:0.9\nb,recorded,0.25,zero\n")
    run("values", "simulate t.safetensors --arch dense,tensordash --energy --layers --json r.json")
    for name in ("r.json", "s.json"):
        with open(at("values/r.json"), encoding="utf-8") as file:
            _write(at(f"results/{name}"), file.read())
    os.unlink(at("values/r.json"))
    run("citations", "simulate t.safetensors --arch dense,tensordash --json r.json")
    _write(at("baseline/b.yaml"), "arch: tensordash\nname: mine\nrows: 4\ncolumns: 2\ndepth: 3\n")
    _write(at("forward/m.yaml"), MODEL)
    run("forward", f"{TRAIN} --model m.yaml --sparsify swat --density 0.3 --record 1")
    subprocess.run(["zstd", "-dq", at("forward/out/trace_000000.safetensors.zst"), "-o", at("forward/t.safetensors")],
                   check=True)
    subprocess.run(["rm", "-rf", at("forward/out")], check=True)
    for name in ("model", "start", "png", "idx", "cifar", "resume", "settings"):
        _write(at(f"{name}/m.yaml"), MODEL)
    run("start", f"{TRAIN} --model m.yaml")
    os.rename(at("start/out/checkpoint.safetensors"), at("start/c.safetensors"))
    subprocess.run(["rm", "-rf", at("start/out")], check=True)
    for name in ("resume", "settings"):
        run(name, f"{TRAIN} --model m.yaml")
    for name in ("plan", "database"):
        _write(at(f"{name}/p.yaml"), PLAN)
    run("database", "sweep p.yaml -o r.sqlite --threads 1 --quiet")
    for part in ("train", "test"):
        for label in ("a", "b"):
            os.makedirs(at(f"png/set/{part}/{label}"), exist_ok=True)
            for i in range(4):
                _png(at(f"png/set/{part}/{label}/{i}.png"), 1 + i + 10 * (label == "b"))
    for part, count in (("train", 32), ("t10k", 16)):
        with open(at(f"idx/set/{part}-images-idx3-ubyte"), "wb") as file:
            file.write(struct.pack(">IIII", 0x803, count, 28, 28) + bytes(range(256)) * (count * 784 // 256 + 1))
            file.truncate(16 + count * 784)
        with open(at(f"idx/set/{part}-labels-idx1-ubyte"), "wb") as file:
            file.write(struct.pack(">II", 0x801, count) + bytes(i % 10 for i in range(count)))
    for name in [f"data_batch_{i}.bin" for i in range(1, 6)] + ["test_batch.bin"]:
        with open(at(f"cifar/set/{name}"), "wb") as file:
            for i in range(10):
                file.write(bytes([i % 10]) + bytes([i % 251]) * 3072)
    for name in ("layers", "exports"):
        _write(at(f"{name}/s.yaml"), SHAPES)
    os.makedirs(at("cache/cache"), exist_ok=True)
    os.environ["LACUNA_CACHE_DIR"] = at("cache/cache")
    run("layers", f"{BENCH} --impl auto")
    del os.environ["LACUNA_CACHE_DIR"]
    if not os.path.exists(at("cache/cache/kernels.txt")):  # the machine was too busy to measure
        _write(at("cache/cache/kernels.txt"), "key\t1\t0.01\t0.2\t1\t5\t4\t3\t2\t1\tdirect\t00000000\n")
