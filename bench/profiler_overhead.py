#!/usr/bin/env python3
"""What lacuna.Profiler costs a training, and how far its samples are from the whole batch.

    bench/profiler_overhead.py [--batch 256] [--steps 60] [--model resnet50] [--device cuda]

Needs torch, torchvision and liblacuna.so.1 (LACUNA_LIBRARY, or where the package finds it; `bench/carry_library FOLDER`
collects it with what it needs for a machine that cannot build it). ResNet-50 by default, bfloat16 autocast,
channels-last, images made on the device. Prints a table and one line of JSON.
"""

import argparse
import json
import os
import statistics
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python"))

import torch  # noqa: E402
import torchvision  # noqa: E402

import lacuna  # noqa: E402


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="resnet50", help="of torchvision.models")
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--image", type=int, default=224)
    parser.add_argument("--steps", type=int, default=60, help="timed steps of each setting")
    parser.add_argument("--warm", type=int, default=15, help="steps before the clock starts")
    parser.add_argument("--samples", type=int, default=2)
    parser.add_argument("--machines", default="tensordash", help="separated by commas")
    parser.add_argument("--threads", type=int, default=0, help="of the simulation; 0: half of the cores")
    parser.add_argument("--whole", type=int, default=32, help="samples that stand for the whole batch")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--float32", action="store_true", help="without autocast")
    return parser.parse_args()


class Training:
    """A training step on made-up images, as a user would write it."""

    def __init__(self, options):
        torch.manual_seed(0)
        torch.backends.cudnn.benchmark = True
        self.options = options
        self.device = torch.device(options.device)
        model = getattr(torchvision.models, options.model)()
        self.model = model.to(self.device, memory_format=torch.channels_last).train()
        self.optimizer = torch.optim.SGD(self.model.parameters(), 0.1, momentum=0.9)
        images = torch.randn(options.batch, 3, options.image, options.image, device=self.device)
        self.images = images.to(memory_format=torch.channels_last)
        self.labels = torch.randint(0, 1000, (options.batch,), device=self.device)

    def step(self):
        self.optimizer.zero_grad(set_to_none=True)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=not self.options.float32):
            loss = torch.nn.functional.cross_entropy(self.model(self.images), self.labels)
        loss.backward()
        self.optimizer.step()

    def wait(self):
        if self.device.type == "cuda":
            torch.cuda.synchronize()

    def time(self, after=lambda: None):
        """Milliseconds per step over all timed steps, waiting only at the ends."""
        for _ in range(self.options.warm):
            self.step()
            after()
        self.wait()
        begin = time.perf_counter()
        for _ in range(self.options.steps):
            self.step()
            after()
        self.wait()
        return 1e3 * (time.perf_counter() - begin) / self.options.steps

    def peak(self):
        return torch.cuda.max_memory_allocated() / 2**20 if self.device.type == "cuda" else float("nan")

    def forget_peak(self):
        if self.device.type == "cuda":
            torch.cuda.reset_peak_memory_stats()


def host_mib():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def profiled(training, options, every):
    training.forget_peak()
    before = host_mib()
    threads = options.threads or max(1, (os.cpu_count() or 2) // 2)
    names = options.machines.split(",")
    with lacuna.Profiler(training.model, names, every=every, samples=options.samples, threads=threads) as profiler:
        ms = training.time(profiler.step)
        peak, host = training.peak(), host_mib() - before
    found = profiler.measurements
    row = dict(every=every, ms=ms, device_mib=peak, host_mib=host, measured=len(found), dropped=profiler.dropped)
    if profiler.failures:
        print("failures:", profiler.failures[:3], file=sys.stderr)
    return row, found


def compared(training, options):
    """The speedup from `samples` samples, with its standard error, beside that of many samples of the same step."""
    names = options.machines.split(",")

    def one(samples):
        with lacuna.Profiler(training.model, names, every=1, samples=samples, threads=os.cpu_count() or 1) as profiler:
            training.model.zero_grad()
            with torch.autocast(training.device.type, torch.bfloat16, enabled=not options.float32):
                loss = torch.nn.functional.cross_entropy(training.model(training.images), training.labels)
            loss.backward()
            profiler.step()
        return profiler.measurements[0].machines

    few, many = one(options.samples), one(min(options.whole, options.batch))
    return {
        name: dict(
            sampled=few[name].speedup,
            standard_error=few[name].standard_error,
            whole=many[name].speedup,
            whole_standard_error=many[name].standard_error,
            spread_of_samples=statistics.pstdev(many[name].per_sample),
        )
        for name in names
    }


def main():
    options = arguments()
    training = Training(options)
    training.time()  # the first seconds of a device are slower
    training.forget_peak()
    plain = training.time()
    plain_peak = training.peak()
    rows = [profiled(training, options, every)[0] for every in (10, 1)]
    again = training.time()
    base = min(plain, again)
    print(f"{options.model}, batch {options.batch}, {options.device}, torch {torch.__version__}")
    print(f"plain             {plain:8.2f} ms per step, then {again:.2f}; peak {plain_peak:.0f} MiB on the device")
    for row in rows:
        print(
            f"every={row['every']:<3} samples={options.samples} {row['ms']:8.2f} ms per step, "
            f"{100 * (row['ms'] / base - 1):+.1f} %; peak {row['device_mib']:.0f} MiB on the device, "
            f"{row['host_mib']:+.0f} MiB on the host; {row['measured']} measured, {row['dropped']} dropped"
        )
    sampled = compared(training, options)
    for name, numbers in sampled.items():
        print(
            f"{name}: {numbers['sampled']:.4f} ± {numbers['standard_error']:.4f} from {options.samples} samples, "
            f"{numbers['whole']:.4f} ± {numbers['whole_standard_error']:.4f} from {min(options.whole, options.batch)}"
        )
    print(json.dumps(dict(plain_ms=[plain, again], plain_peak_mib=plain_peak, profiled=rows, sampled=sampled)))


if __name__ == "__main__":
    main()
