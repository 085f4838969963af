#!/usr/bin/env python3
"""lacuna.Profiler under DistributedDataParallel over NCCL and under torch.compile, compared with a plain training.

    LACUNA_LIBRARY=.../liblacuna.so.2 python/tests/gpu_check.py [--device cuda] [--backend inductor]

Needs torch and liblacuna.so.2; takes a minute. One line per check; exits with 1 if any fails. Without a GPU it runs on
the CPU, over gloo. Not part of `python/tests/run`: a compiler starts cold in every run.
"""

import argparse
import os
import sys
import tempfile
import warnings

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

import torch  # noqa: E402
from torch import nn  # noqa: E402

import lacuna  # noqa: E402

STEPS, EVERY, MACHINES = 7, 2, ["tensordash", "ant-4096"]


def network(device):
    torch.manual_seed(4)
    layers = [nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(inplace=True), nn.Conv2d(32, 64, 3, stride=2, padding=1)]
    layers += [nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.ConvTranspose2d(64, 32, 2, stride=2), nn.ReLU()]
    layers += [nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(512, 64), nn.ReLU(), nn.Linear(64, 10)]
    return nn.Sequential(*layers).to(device)


def batches(device):
    draw = torch.Generator().manual_seed(5)
    for _ in range(STEPS):
        yield torch.randn(16, 3, 32, 32, generator=draw).to(device), torch.randint(10, (16,), generator=draw).to(device)


def series(model, device, run=None, failures=()):
    """Train a few steps with the profiler on; what it measured."""
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    run = run or (lambda images, labels: nn.functional.cross_entropy(model(images), labels))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lacuna.ProfilerWarning)
        with lacuna.Profiler(model, MACHINES, every=EVERY, waiting=STEPS) as profiler:
            for images, labels in batches(device):
                optimizer.zero_grad()
                run(images, labels).backward()
                optimizer.step()
                profiler.step()
            profiler.drain()
    for failure in profiler.failures:
        if not any(words in failure for words in failures):
            raise AssertionError(failure)
    return profiler


def differences(found, expected):
    """The largest difference of a share of zeros and of a speedup, in the first measured step and in all."""
    found, expected = found.measurements, expected.measurements
    steps = [one.step for one in expected]
    if [one.step for one in found] != steps or steps != list(range(0, STEPS, EVERY)):
        raise AssertionError(f"measured in steps {[one.step for one in found]}, plain in {steps}")
    apart = []
    for one, other in zip(found, expected):
        if list(one.layers) != list(other.layers) or len(one.layers) != 5:
            raise AssertionError(f"layers {list(one.layers)}, plain {list(other.layers)}")
        zeros = [abs(a - b) for name in one.layers for a, b in zip(one.layers[name], other.layers[name])]
        speedups = [abs(one.machines[name].speedup / other.machines[name].speedup - 1) for name in MACHINES]
        apart.append(max(zeros + speedups))
    return apart[0], max(apart)


def compare(found, expected, everywhere):
    """In the first step everything is the same; later rounding of the weights may turn a few values to zero."""
    first, all_of_them = differences(found, expected)
    if first > everywhere or all_of_them > max(everywhere, 0.01):
        raise AssertionError(f"differs by {first:.2e} in the first measured step, {all_of_them:.2e} in all")
    return f"{len(found.measurements)} measurements; differ by {first:.1e} in the first, {all_of_them:.1e} at most"


def distributed(device, plain):
    backend = "nccl" if device.type == "cuda" else "gloo"
    with tempfile.TemporaryDirectory() as folder:
        torch.distributed.init_process_group(backend, f"file://{folder}/store", rank=0, world_size=1)
        try:
            ids = [device.index or 0] if device.type == "cuda" else None
            model = nn.parallel.DistributedDataParallel(network(device), device_ids=ids)
            return f"{backend}: " + compare(series(model, device), plain, 1e-5)
        finally:
            torch.distributed.destroy_process_group()


def compiled(device, plain, backend, in_place):
    model = network(device)
    if in_place:
        model.compile(backend=backend)
    else:
        model = torch.compile(model, backend=backend)
    found = series(model, device)
    torch._dynamo.reset()
    return compare(found, plain, 1e-5)


def compiled_and_ddp(device, plain, backend, inside):
    with tempfile.TemporaryDirectory() as folder:
        name = "nccl" if device.type == "cuda" else "gloo"
        torch.distributed.init_process_group(name, f"file://{folder}/store", rank=0, world_size=1)
        try:
            ids = [device.index or 0] if device.type == "cuda" else None
            model = torch.compile(network(device), backend=backend) if inside else network(device)
            model = nn.parallel.DistributedDataParallel(model, device_ids=ids)
            if not inside:
                model = torch.compile(model, backend=backend)
            return compare(series(model, device), plain, 1e-5)
        finally:
            torch.distributed.destroy_process_group()
            torch._dynamo.reset()


def compiled_function(device, backend):
    """Hides its layers: nothing is measured, and the message says what to do."""
    model = network(device)
    run = torch.compile(lambda x, y: nn.functional.cross_entropy(model(x), y), backend=backend)
    images, labels = next(batches(device))
    run(images, labels).backward()  # compiled before the profiler's hooks come
    words = "compile the model instead"
    profiler = series(model, device, run, (words,))
    torch._dynamo.reset()
    if not profiler.measurements and any(words in one for one in profiler.failures):
        return f"says '{words}'"
    first = profiler.measurements[0]
    if len(first.layers) != 5:
        raise AssertionError(f"measured {list(first.layers)} of 5 layers, without a word")
    return f"{len(profiler.measurements)} measurements of all layers"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--backend", default="inductor", help="of torch.compile; aot_eager without a compiler")
    options = parser.parse_args()
    device = torch.device(options.device)
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.benchmark = False
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    print(f"torch {torch.__version__}, {device}")
    plain = series(network(device), device)
    checks = [("the same training again", lambda: compare(series(network(device), device), plain, 1e-6))]
    checks.append(("DistributedDataParallel, a world of one", lambda: distributed(device, plain)))
    if hasattr(getattr(torch, "compiler", None), "set_stance"):
        backend = options.backend
        checks.append(("torch.compile(model)", lambda: compiled(device, plain, backend, False)))
        checks.append(("model.compile()", lambda: compiled(device, plain, backend, True)))
        checks.append(("DDP(torch.compile(model))", lambda: compiled_and_ddp(device, plain, backend, True)))
        checks.append(("torch.compile(DDP(model))", lambda: compiled_and_ddp(device, plain, backend, False)))
        checks.append(("a compiled function around the model", lambda: compiled_function(device, backend)))
    else:
        print("skipped torch.compile: needs torch 2.6 (the profiler refuses compiled models before that)")
    failed = 0
    for name, check in checks:
        try:
            print(f"ok      {name}: {check()}", flush=True)
        except Exception as error:
            failed += 1
            text = str(error).strip().splitlines() or [""]
            print(f"FAILED  {name}: {type(error).__name__}: {text[0][:300]}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
