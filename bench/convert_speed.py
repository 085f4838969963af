#!/usr/bin/env python3
"""Training steps of converted models compared with PyTorch's own, and their losses side by side.

    bench/convert_speed.py [--models vgg,resnet18,...] [--threads 2] [--rounds 15] [--eval] [--cifar FOLDER]
    bench/convert_speed.py --curves losses.svg [--models vgg] [--steps 300]

A network is trained for some steps, so that its zeros are its own. Four copies then take turns, step by step: PyTorch
and converted, contiguous and channels-last. The table has medians; how much faster the converted model is than PyTorch
in the better of its two formats, and than PyTorch in the same format; and what measuring its kernels in the first steps
has cost, as a share of a training of 300 steps; and the same format over all steps, those that measure included
(`--rounds 276`: 300 steps). Needs torch and liblacuna.so.2 (`ninja -C build/release lacuna_shared`).
On a machine that others use: OMP_WAIT_POLICY=passive and --clock cpu. Debian's torch calls a BLAS that is not optimised
for everything that is not a convolution; with `LD_LIBRARY_PATH` at OpenBLAS's libblas.so.3 it is not the BLAS that is
measured.
"""

import argparse
import copy
import json
import math
import os
import statistics
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "python")]

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from convert_models import MODELS, batches  # noqa: E402

import lacuna  # noqa: E402

FORMATS = {"contiguous": torch.contiguous_format, "channels_last": torch.channels_last}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", default=",".join(MODELS), help="separated by commas: %(default)s")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--batch", type=int, default=0, help="0: the network's own")
    parser.add_argument("--train", type=int, default=60, help="steps before the networks are compared")
    parser.add_argument("--warm", type=int, default=24, help="steps of each copy before the clock starts")
    parser.add_argument("--rounds", type=int, default=15, help="timed steps of each copy")
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall")
    parser.add_argument("--eval", action="store_true", help="forward passes of trained networks, without gradients")
    parser.add_argument("--precision", choices=("float32", "bfloat16", "autocast"), default="float32",
                        help="bfloat16: of the converted one; autocast: both")  # fmt: skip
    parser.add_argument("--formats", default="contiguous,channels_last")
    parser.add_argument("--cifar", default="", help="a folder with CIFAR-10's Python files")
    parser.add_argument("--choices", action="store_true", help="also print what runs each layer")
    parser.add_argument("--curves", default="", help="write the losses of original and converted training to this SVG")
    parser.add_argument("--steps", type=int, default=300, help="of --curves")
    parser.add_argument("--rate", type=float, default=0, help="learning rate of --curves; 0: the network's own")
    return parser.parse_args()


def copied(model):
    """A copy, also of a pruned model: its weights, which are computed from others, cannot be copied with their graph."""
    for module in model.modules():
        if "weight_orig" in module._parameters:
            module.weight = module.weight.detach()
    return copy.deepcopy(model)


class Training:
    """A model with its optimizer, as a user would train it."""

    def __init__(self, model, rate, layout, convert, evaluate=False, precision="float32"):
        self.model = copied(model).to(memory_format=layout)
        self.layout, self.evaluate, self.precision = layout, evaluate, precision
        own = "bfloat16" if precision == "bfloat16" else "float32"
        self.report = lacuna.report(lacuna.convert(self.model, precision=own)) if convert else None
        self.optimizer = torch.optim.SGD(self.model.parameters(), rate, momentum=0.9)
        self.model.train(not evaluate)

    def step(self, pixels, labels):
        pixels = pixels.contiguous(memory_format=self.layout)
        self.optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", torch.bfloat16, self.precision == "autocast"), torch.set_grad_enabled(not self.evaluate):
            logits = self.model(pixels)
        loss = F.cross_entropy(logits.float(), labels)
        if self.evaluate:
            return loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 5.0)
        self.optimizer.step()
        return loss


def trained(options, name):
    make, batch, rate = MODELS[name]
    torch.manual_seed(0)
    batch = options.batch or batch
    training = Training(make(), rate, torch.channels_last, convert=False)  # which has measured nothing yet
    first = last = math.nan
    for data in batches(name, batch, options.train, folder=options.cifar):
        last = training.step(*data).item()
        first = last if math.isnan(first) else first
    return training.model, batch, rate, first, last


def compare(options, name):
    """Median milliseconds of a step, by (converted, format); what measuring took beyond that, by format."""
    now = time.perf_counter if options.clock == "wall" else time.process_time
    model, batch, rate, start, end = trained(options, name)
    copies = {
        (convert, layout): Training(model, rate, FORMATS[layout], convert, options.eval, options.precision)
        for layout in options.formats.split(",")
        for convert in (False, True)
    }
    times = {key: [] for key in copies}
    first = {key: 0.0 for key in copies}
    steps = options.warm + options.rounds
    for index, data in enumerate(batches(name, batch, steps, seed=1, folder=options.cifar)):
        order = list(copies) if index % 2 == 0 else list(reversed(copies))
        for key in order:
            torch.manual_seed(index)  # dropout
            begin = now()
            copies[key].step(*data)
            took = 1e3 * (now() - begin)
            if index >= options.warm:
                times[key].append(took)
            else:
                first[key] += took
    medians = {key: statistics.median(values) for key, values in times.items()}
    # The first steps of any model are slower: what counts is how much more those of the converted one are.
    extra = {key: took - options.warm * medians[key] for key, took in first.items()}
    measuring = {
        layout: (extra[True, layout] - extra[False, layout]) / (300 * medians[False, layout])
        for layout in options.formats.split(",")
    }
    whole = {key: first[key] + sum(values) for key, values in times.items()}
    whole = {layout: whole[False, layout] / whole[True, layout] for layout in options.formats.split(",")}
    return medians, measuring, whole, copies, f"loss {start:.2f} -> {end:.2f}"


def table(options):
    found = []
    what = "forward passes" if options.eval else "training steps"
    print(f"{what}, {options.threads} threads, medians of {options.rounds} by {options.clock} time, ms")
    heads = {"PyTorch": 8, "converted": 8, "x PyTorch, best": 7, "same format": 6, "measuring": 6, "all steps": 6}
    print(" " * 12 + "".join(f" {head:>{2 * width + 1}} " for head, width in heads.items()))
    print(f"{'network':12}" + "".join(f" {'plain':>{width}} {'cl':>{width}} " for width in heads.values()))
    for name in options.models.split(","):
        medians, measuring, whole, copies, learned = compare(options, name)
        best = min(value for (convert, _), value in medians.items() if not convert)
        ratios = {layout: best / value for (convert, layout), value in medians.items() if convert}
        same = {layout: medians[False, layout] / medians[True, layout] for layout in ratios}
        cells = lambda values, form: [format(values[f], form) if f in values else "-" for f in FORMATS]  # noqa: E731
        by_format = [{f: v for (c, f), v in medians.items() if c == convert} for convert in (False, True)]
        columns = [cells(values, ".2f") for values in by_format] + [cells(ratios, ".3f"), cells(same, ".3f")]
        columns += [cells(measuring, ".1%"), cells(whole, ".3f")]
        row = f"{name:12}"
        for width, pair in zip((8, 8, 7, 6, 6, 6), columns):
            row += f" {pair[0]:>{width}} {pair[1]:>{width}} "
        print(row, end="")
        print(f"   {learned}", flush=True)
        found.append({"network": name, "ms": {f"{c}_{f}": v for (c, f), v in medians.items()}, "ratios": ratios,
                      "same_format": same, "measuring": measuring, "all_steps": whole})  # fmt: skip
        if options.choices:
            for (convert, layout), training in copies.items():
                if convert:
                    print(layout, training.report)
    print(json.dumps({"threads": options.threads, "eval": options.eval, "networks": found}))


def losses(options, name, layout, convert):
    make, batch, rate = MODELS[name]
    rate = options.rate or rate
    torch.manual_seed(0)
    training = Training(make(), rate, FORMATS[layout], convert)
    found = []
    for index, data in enumerate(batches(name, options.batch or batch, options.steps, folder=options.cifar)):
        torch.manual_seed(index)
        found.append(training.step(*data).item())
    return found


def curves(options):
    """Original and converted; and PyTorch in its other format, whose rounding differs as much."""
    series = {}
    for name in options.models.split(","):
        series[f"{name}, PyTorch"] = plain = losses(options, name, "channels_last", False)
        series[f"{name}, converted"] = ours = losses(options, name, "channels_last", True)
        other = losses(options, name, "contiguous", False)
        for steps in sorted({10, 50, 100, options.steps}):
            if steps <= options.steps:
                apart = [max(abs(a - b) for a, b in zip(x[:steps], plain)) for x in (ours, other)]
                print(f"{name}: first {steps} steps: largest difference of the loss {apart[0]:.2e}; "
                      f"of PyTorch in its other format {apart[1]:.2e}")  # fmt: skip
        mean = [statistics.fmean(x[-50:]) for x in (plain, ours, other)]
        print(f"{name}: last 50 steps: PyTorch {mean[0]:.4f}, converted {mean[1]:.4f}, other format {mean[2]:.4f}")
    with open(options.curves, "w", encoding="utf-8") as file:
        file.write(svg(series))
    print(f"wrote {options.curves}")


def svg(series):
    """Losses over steps: a line per training, the converted ones dashed on top."""
    width, height, left, below = 720, 360, 50, 40
    steps = max(len(values) for values in series.values())
    top = max(max(values) for values in series.values()) * 1.05
    across = lambda step: left + step * (width - left - 10) / max(1, steps - 1)  # noqa: E731
    up = lambda loss: height - below - loss * (height - below - 10) / top  # noqa: E731
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width + 6}" height="{height}" viewBox="0 0 {width + 6} {height}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{width + 6}" height="{height}" fill="white"/>',  # the last number is wider than the margin
    ]
    for tick in range(0, int(top * 2) + 1):
        y = up(tick / 2)
        parts.append(f'<path d="M{left} {y:.1f}H{width - 10}" stroke="#ddd"/>')
        parts.append(f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{tick / 2:g}</text>')
    for tick in range(0, steps + 1, max(1, steps // 6)):
        x = across(tick)
        parts.append(f'<text x="{x:.1f}" y="{height - below + 18}" text-anchor="middle">{tick}</text>')
    parts.append(f'<text x="{width / 2}" y="{height - 6}" text-anchor="middle">training step</text>')
    parts.append(f'<text x="14" y="{height / 2}" transform="rotate(-90 14 {height / 2})">loss</text>')
    colours = ("#1f6fb2", "#d1495b", "#2a8c5f", "#e0a030", "#6b4fa0", "#444444")
    for index, (name, values) in enumerate(series.items()):
        line = " ".join(f"{across(step):.1f},{up(loss):.2f}" for step, loss in enumerate(values))
        style = 'stroke-dasharray="5 4"' if "converted" in name else 'stroke-opacity="0.6" stroke-width="2.5"'
        colour = colours[index % len(colours)]
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" {style}/>')
        parts.append(f'<text x="{width - 200}" y="{24 + 16 * index}" fill="{colour}">{name}</text>')
    return "\n".join([*parts, "</svg>", ""])


def main():
    options = arguments()
    unknown = [name for name in options.models.split(",") if name not in MODELS]
    if unknown:
        sys.exit(f"unknown network '{unknown[0]}'; give some of {', '.join(MODELS)}")
    torch.set_num_threads(options.threads)
    curves(options) if options.curves else table(options)


if __name__ == "__main__":
    main()
