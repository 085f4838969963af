#!/usr/bin/env python3
"""Peak memory of trainings with PyTorch and converted.

    bench/convert_memory.py [--models vgg,resnet18,...] [--formats channels_last,contiguous] [--steps 30] [--csv FILE]
    bench/convert_memory.py --models vgg --steps 2000 --every 200      # does it grow?

Each training is a process of its own, whose largest resident memory the kernel has recorded. Needs torch and
liblacuna.so.2 (`ninja -C build/release lacuna_shared`). `--package` and $LACUNA_LIBRARY name others.
"""

import argparse
import csv
import os
import resource
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
MODELS = "vgg,pruned,resnet18,resnet18-8,mlp,mobilenet,unet,transformer,relu2,lengths"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", default=MODELS, help="separated by commas: %(default)s")
    parser.add_argument("--formats", default="channels_last")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--every", type=int, default=0, help="print resident memory every so many steps")
    parser.add_argument("--package", default=os.path.join(HERE, "..", "python"), help="the folder of the package")
    parser.add_argument("--csv", default="", help="also write the table to this file")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    return parser.parse_args()


def resident():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def train(options):
    """The child: one training; its peak in MB."""
    name, layout, converted = options.one.split(":")
    sys.path[:0] = [HERE, options.package]
    import torch
    from convert_models import MODELS as models, batches

    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    make, batch, rate = models[name]
    layout = getattr(torch, "channels_last" if layout == "channels_last" else "contiguous_format")
    model = make().to(memory_format=layout)
    if converted == "converted":
        import lacuna

        model = lacuna.convert(model, remember=False)
    optimizer = torch.optim.SGD(model.parameters(), rate, momentum=0.9)
    for step, (pixels, labels) in enumerate(batches(name, batch, options.steps)):
        optimizer.zero_grad(set_to_none=True)
        torch.nn.functional.cross_entropy(model(pixels.contiguous(memory_format=layout)), labels).backward()
        optimizer.step()
        if options.every and step % options.every == options.every - 1:
            print(f"  {name} {converted} step {step + 1}: {resident():.0f} MB", file=sys.stderr, flush=True)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6)


def main():
    options = arguments()
    if options.one:
        return train(options)
    rows = []
    print(f"{'network':14} {'format':14} {'PyTorch':>8} {'converted':>9}  peak MB")
    for name in options.models.split(","):
        for layout in options.formats.split(","):
            peaks = []
            for kind in ("plain", "converted"):
                command = [sys.executable, __file__, *sys.argv[1:], "--one", f"{name}:{layout}:{kind}"]
                peaks.append(float(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout))
            ratio = peaks[1] / peaks[0]
            rows.append([name, layout.replace("_", "-"), f"{peaks[0]:.0f}", f"{peaks[1]:.0f}", f"{ratio:.2f}x"])
            print(f"{rows[-1][0]:14} {rows[-1][1]:14} {peaks[0]:8.0f} {peaks[1]:9.0f}  {ratio:.2f}x", flush=True)
    if options.csv:
        with open(options.csv, "w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([["network", "format", "PyTorch", "converted", "ratio"], *rows])


if __name__ == "__main__":
    main()
