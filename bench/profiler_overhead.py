#!/usr/bin/env python3
"""What lacuna.Profiler costs a training, and how far its samples are from the whole batch.

    bench/profiler_overhead.py [--batch 256] [--steps 60] [--model resnet50] [--device cuda]
    bench/profiler_overhead.py --device cpu --float32 --model resnet18 --batch 16 --image 64 --train-threads 1

Blocks of steps with and without the profiler take turns in one process. A block with it ends when its simulations
have ended, so all that it costs is in it: the wall clock counts what training waits for, CPU time every thread. With
every=10 one step of a block of ten is measured, so the mean of the blocks is what a training pays.

Needs torch, torchvision (or a network of convert_models.py) and liblacuna.so.2 (LACUNA_LIBRARY, or where the package finds it; `./run wheel`
makes one with all it needs for a machine that cannot build it). ResNet-50 by default, bfloat16 autocast,
channels-last, images made on the device. Prints a table and one line of JSON.
"""

import argparse
import json
import os
import statistics
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "python")]

import torch  # noqa: E402
from convert_models import MODELS  # noqa: E402

try:
    import torchvision  # noqa: E402
except ImportError:
    torchvision = None

import lacuna  # noqa: E402


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="resnet50", help="of torchvision.models or of convert_models.py")
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--image", type=int, default=224)
    parser.add_argument("--steps", type=int, default=60, help="timed steps of each setting, in blocks")
    parser.add_argument("--warm", type=int, default=15, help="steps before the clock starts")
    parser.add_argument("--samples", type=int, default=2)
    parser.add_argument("--machines", default="tensordash", help="separated by commas")
    parser.add_argument("--threads", type=int, default=0, help="of the simulation; 0: half of the cores")
    parser.add_argument("--train-threads", type=int, default=0, help="of PyTorch; 0: its own choice")
    parser.add_argument("--every", default="10,1", help="separated by commas; 0: the profiler's default: %(default)s")
    parser.add_argument("--block", type=int, default=10, help="steps that are timed together")
    parser.add_argument("--whole", type=int, default=32, help="samples that stand for the whole batch; 0: not compared")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--float32", action="store_true", help="without autocast")
    return parser.parse_args()


class Training:
    """A training step on made-up images, as a user would write it."""

    def __init__(self, options):
        torch.manual_seed(0)
        if options.train_threads:
            torch.set_num_threads(options.train_threads)
        torch.backends.cudnn.benchmark = True
        self.options = options
        self.device = torch.device(options.device)
        if torchvision is None or not hasattr(torchvision.models, options.model):
            model = MODELS[options.model][0](1000)
        else:
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

    def block(self, steps, after=lambda: None):
        for _ in range(steps):
            self.step()
            after()
        self.wait()

    def peak(self):
        return torch.cuda.max_memory_allocated() / 2**20 if self.device.type == "cuda" else float("nan")

    def forget_peak(self):
        if self.device.type == "cuda":
            torch.cuda.reset_peak_memory_stats()


def host_mib():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def clocks():
    return time.perf_counter(), time.process_time()


def timed(work, steps):
    """Milliseconds per step of a block: wall clock, CPU time of all threads."""
    begin = clocks()
    work()
    return [1e3 * (after - before) / steps for before, after in zip(begin, clocks())]


def profiled(training, options, every):
    """Blocks of steps without and with the profiler, interleaved."""
    threads = options.threads or max(1, (os.cpu_count() or 2) // 2)
    names = options.machines.split(",")
    times = {"plain": [], "profiled": []}
    peaks = dict.fromkeys(times, 0.0)
    measured = dropped = 0
    before = host_mib()
    host = 0.0

    def with_profiler(profiler):
        profiler.start()
        training.block(options.block, profiler.step)
        profiler.drain()

    rounds = max(1, options.steps // options.block)
    for turn in range(2 * rounds + 2):  # the first two warm up
        training.forget_peak()
        kind = ("plain", "profiled")[(turn + turn // 2) % 2]  # plain, profiled, profiled, plain: drifts cancel
        if kind == "plain":
            took = timed(lambda: training.block(options.block), options.block)
        else:
            profiler = lacuna.Profiler(training.model, names, every=every or None, samples=options.samples, threads=threads)
            took = timed(lambda: with_profiler(profiler), options.block)
            host = max(host, host_mib() - before)
            profiler.close()
            measured, dropped = measured + len(profiler.measurements), dropped + profiler.dropped
            if profiler.failures:
                print("failures:", profiler.failures[:3], file=sys.stderr)
        if turn > 1:
            times[kind].append(took)
            peaks[kind] = max(peaks[kind], training.peak())
    row = dict(every=every, measured=measured, dropped=dropped, device_mib=peaks, host_mib=host)
    for i, clock in enumerate(("wall", "cpu")):
        blocks = {kind: [took[i] for took in values] for kind, values in times.items()}
        row[clock] = {kind: statistics.fmean(values) for kind, values in blocks.items()}
        row[f"{clock}_ratio_of_means"] = row[clock]["profiled"] / row[clock]["plain"]
        row[f"{clock}_ratio_of_medians"] = statistics.median(blocks["profiled"]) / statistics.median(blocks["plain"])
    return row


def compared(training, options):
    """The speedup from `samples` samples, with its standard error, next to that of many samples of the same step."""
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
    training.block(options.warm)  # the first seconds of a device are slower
    print(f"{options.model}, batch {options.batch}, {options.device}, torch {torch.__version__}, "
          f"{torch.get_num_threads()} threads; interleaved blocks of {options.block} steps")  # fmt: skip
    rows = []
    for every in map(int, options.every.split(",")):
        row = profiled(training, options, every)
        rows.append(row)
        print(
            f"every={every:<3} samples={options.samples}: {row['wall']['plain']:.2f} ms per step, with the profiler "
            f"{row['wall']['profiled']:.2f}; means {100 * (row['wall_ratio_of_means'] - 1):+.1f} %, "
            f"medians {100 * (row['wall_ratio_of_medians'] - 1):+.1f} %; "
            f"CPU time {100 * (row['cpu_ratio_of_means'] - 1):+.1f} %, "
            f"medians {100 * (row['cpu_ratio_of_medians'] - 1):+.1f} %"
        )
        peaks = row["device_mib"]
        print(
            f"  peak {peaks['plain']:.0f} -> {peaks['profiled']:.0f} MiB on the device, {row['host_mib']:+.0f} MiB on "
            f"the host; {row['measured']} measured, {row['dropped']} dropped",
            flush=True,
        )
    sampled = compared(training, options) if options.whole else {}
    for name, numbers in sampled.items():
        print(
            f"{name}: {numbers['sampled']:.4f} ± {numbers['standard_error']:.4f} from {options.samples} samples, "
            f"{numbers['whole']:.4f} ± {numbers['whole_standard_error']:.4f} from {min(options.whole, options.batch)}"
        )
    print(json.dumps(dict(profiled=rows, sampled=sampled)))


if __name__ == "__main__":
    main()
