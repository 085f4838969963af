#!/usr/bin/env python3
"""A feed-forward block with zeros, forward and backward: PyTorch's products against lacuna.nn.SparseFFN.

    bench/ffn_block.py --threads 1,8,16 --csv block.csv

Both take turns in one process; times are medians. `same threads` compares with PyTorch on as many threads, `best` the
best of all numbers of threads of either. With a copy of the package and the library in a folder:

    PYTHONPATH=FOLDER LACUNA_LIBRARY=FOLDER/liblacuna.so.2 python3 ffn_block.py
"""

import argparse
import csv
import os
import statistics
import sys
import time

os.environ.setdefault("OMP_WAIT_POLICY", "passive")
here = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(here, "..", "python"))

import torch  # noqa: E402

import lacuna  # noqa: E402
import lacuna.nn  # noqa: E402
from lacuna._ffn.call import plain_forward  # noqa: E402


def numbers(text):
    return [float(part) if "." in part else int(part) for part in text.split(",")]


class Written(torch.nn.Module):
    """The block as most models have it, for lacuna.convert."""

    def __init__(self, block):
        super().__init__()
        self.up, self.down, self.activation = block.up, block.down, block.activation

    def forward(self, x):
        hidden = torch.relu(self.up(x))
        return self.down(hidden.square() if self.activation == "relu2" else hidden)

    @property
    def runs(self):
        report = lacuna.report(self)
        if report.blocks():
            return report.blocks()[0]["runs"]
        states = [row["state"] for row in report.choices()]
        return "measuring" if not states or "measuring" in states else "PyTorch"


def make(features, hidden, zeros, tokens, activation):
    """A block whose hidden values are zero with probability `zeros` %, its input and the gradient of its output."""
    torch.manual_seed(1)
    block = lacuna.nn.SparseFFN(features, hidden, activation=activation)
    x = torch.randn(tokens, features, requires_grad=True)
    with torch.no_grad():
        block.up.weight.normal_(0, features**-0.5)
        block.up.bias.fill_(-float(torch.distributions.Normal(0, 1).icdf(torch.tensor(zeros / 100.0))))
    return block, x, torch.randn(tokens, features)


def step(call, x, grad, parameters):
    x.grad = None
    for parameter in parameters:
        parameter.grad = None
    wall, cpu = time.perf_counter(), time.process_time()
    output = call(x)
    middle = time.perf_counter()
    output.backward(grad)
    return time.perf_counter() - wall, time.process_time() - cpu, middle - wall


def measure(options, threads, tokens, zeros):
    torch.set_num_threads(threads)
    block, x, grad = make(options.features, options.hidden, zeros, tokens, options.activation)
    parameters = list(block.parameters())

    def plain(x):
        return plain_forward(x, *parameters, options.activation, 0.0)

    if options.by == "convert":
        block = lacuna.convert(Written(block), feed_forward=True, remember=False)
    calls = {"pytorch": plain, "block": block}
    for _ in range(20 if options.by == "module" else 80):  # until it has chosen
        step(block, x, grad, parameters)
        if block.runs != "measuring":
            break
    with torch.no_grad():
        share = float((torch.relu(block.up(x)) == 0).float().mean())
    times = {name: [] for name in calls}
    begin = time.perf_counter()
    while len(times["block"]) < options.rounds or (
        len(times["block"]) < 4 * options.rounds and time.perf_counter() - begin < options.seconds
    ):
        for name, call in calls.items():
            times[name].append(step(call, x, grad, parameters))
    median = {name: [1e3 * statistics.median(column) for column in zip(*rows)] for name, rows in times.items()}
    return {
        "tokens": tokens,
        "threads": threads,
        "zeros": round(100 * share, 1),
        "runs": block.runs,
        "pytorch_ms": round(median["pytorch"][0], 2),
        "block_ms": round(median["block"][0], 2),
        "speedup": round(median["pytorch"][0] / median["block"][0], 2),
        "pytorch_cpu_ms": round(median["pytorch"][1], 2),
        "block_cpu_ms": round(median["block"][1], 2),
        "cpu_speedup": round(median["pytorch"][1] / median["block"][1], 2),
        "pytorch_forward_ms": round(median["pytorch"][2], 2),
        "block_forward_ms": round(median["block"][2], 2),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--threads", type=numbers, default=[1, 8, 16])
    parser.add_argument("--tokens", type=numbers, default=[1024, 2048])
    parser.add_argument("--zeros", type=numbers, default=[50, 78, 90, 95, 99])
    parser.add_argument("--features", type=int, default=768)
    parser.add_argument("--hidden", type=int, default=3072)
    parser.add_argument("--activation", default="relu2", choices=["relu", "relu2"])
    parser.add_argument("--by", default="module", choices=["module", "convert"],
                        help="lacuna.nn.SparseFFN, or lacuna.convert(feed_forward=True) of linear layers")  # fmt: skip
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0, help="for more rounds, at most four times as many")
    parser.add_argument("--csv")
    options = parser.parse_args()
    print(f"torch {torch.__version__}, {options.features} -> {options.hidden} -> {options.features}, "
          f"{options.activation}, forward and backward")
    rows = []
    for tokens in options.tokens:
        for threads in options.threads:
            for zeros in options.zeros:
                rows.append(measure(options, threads, tokens, zeros))
                print("  ".join(f"{name} {value}" for name, value in rows[-1].items()), flush=True)
    print("best of all numbers of threads:")
    for tokens in options.tokens:
        for zeros in sorted({row["zeros"] for row in rows if row["tokens"] == tokens}):
            same = [row for row in rows if row["tokens"] == tokens and row["zeros"] == zeros]
            torchs, ours = min(row["pytorch_ms"] for row in same), min(row["block_ms"] for row in same)
            print(f"  {tokens} tokens  {zeros}% zeros  PyTorch {torchs} ms  block {ours} ms  {torchs / ours:.2f}x")
    if options.csv:
        with open(options.csv, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()
