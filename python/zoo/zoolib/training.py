"""The options that every script has, and the loop that trains a task and records it."""

import argparse
import contextlib
import math
import os
import sys
import time
import warnings
from dataclasses import dataclass
from typing import Callable, ContextManager, Dict, Iterator, List, Optional

import torch
from torch import nn

import lacuna

from .errors import ZooError
from .recording import add_row, parse_points, steps_of_points


@dataclass
class Task:
    """A network, its data and what is minimised."""

    name: str  # of the model; traces are OUT/NAME_pNNN
    data: str
    model: nn.Module
    batches: Iterator[object]  # endless
    loss: Callable[[object], torch.Tensor]
    score: Callable[[], Dict[str, float]]  # {"accuracy": ...} or {"loss": ...} on the test set
    epoch_steps: int
    optimizer: torch.optim.Optimizer
    after_step: Callable[[int, int], None] = lambda step, steps: None
    while_recorded: Callable[[], ContextManager] = contextlib.nullcontext  # changes the recorded step alone


def script_parser(
    text: Optional[str], *, epochs: float, batch: Optional[int], lr: float, samples: Optional[int]
) -> argparse.ArgumentParser:
    """The common options with a script's own defaults; `text` is its documentation. None: not an option here."""
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--data", metavar="FOLDER", required=True, help="the data set as it was downloaded and unpacked")
    add("--out", metavar="FOLDER", default="traces", help="where traces and MANIFEST.csv go (default: traces)")
    add("--points", metavar="LIST", default="2,10,30,50,75,100", help="percentages to record at (default: %(default)s)")
    add("--epochs", type=float, default=epochs, help="length of the training (default: %(default)s)")
    add("--steps", type=int, help="length of the training in steps, instead of --epochs")
    if batch is not None:
        add("--batch", type=int, default=batch, help="samples per step (default: %(default)s)")
    if samples is not None:
        add("--samples", type=int, default=samples, help="samples that a trace holds (default: %(default)s)")
    add("--lr", type=float, default=lr, help="learning rate at the start (default: %(default)s)")
    add("--warmup", metavar="STEPS", type=int, default=0, help="steps in which the learning rate rises (default: 0)")
    add("--bfloat16", action="store_true", help="multiply in bfloat16, except in the recorded steps")
    add("--test", metavar="N", type=int, default=2048, help="samples of the test set for the score (default: 2048)")
    add("--uncompressed", action="store_true", help="write .safetensors instead of .safetensors.zst")
    add("--seed", type=int, default=1, help="(default: 1)")
    add("--device", default="cuda" if torch.cuda.is_available() else "cpu", help="(default: the GPU if there is one)")
    return parser


def check_options(options: argparse.Namespace) -> None:
    for name in ("batch", "samples", "test", "steps"):
        value = getattr(options, name, None)
        if value is not None and value < 1:
            raise ZooError(f"--{name} {value}: must be at least 1")
    if not options.epochs > 0:
        raise ZooError(f"--epochs {options.epochs}: must be more than 0")
    parse_points(options.points)
    torch.manual_seed(options.seed)


def make_optimizer(model: nn.Module, options: argparse.Namespace) -> torch.optim.Optimizer:
    if options.optimizer == "adamw":
        return torch.optim.AdamW(model.parameters(), options.lr, weight_decay=0.05)
    return torch.optim.SGD(model.parameters(), options.lr, momentum=0.9, weight_decay=5e-4)


def train(task: Task, options: argparse.Namespace) -> List[str]:
    """Train and record; the traces' paths."""
    steps = options.steps or max(1, round(options.epochs * task.epoch_steps))
    points = steps_of_points(parse_points(options.points), steps)
    os.makedirs(options.out, exist_ok=True)
    task.model.train()
    paths: List[str] = []
    start = time.monotonic()
    for step in range(1, steps + 1):
        for group in task.optimizer.param_groups:  # to zero along a cosine
            rise = min(1, step / max(1, options.warmup))
            group["lr"] = options.lr * rise * (1 + math.cos(math.pi * (step - 1) / steps)) / 2
        task.optimizer.zero_grad()
        batch = next(task.batches)
        if step in points:
            paths.append(_record(task, options, batch, step, points[step]))
            print(f"step {step} of {steps}, {time.monotonic() - start:.0f} s: {paths[-1]}", flush=True)
        else:
            with torch.autocast(torch.device(options.device).type, torch.bfloat16, enabled=options.bfloat16):
                loss = task.loss(batch)
            loss.backward()
        task.optimizer.step()
        task.after_step(step, steps)
    return paths


def _record(task: Task, options: argparse.Namespace, batch: object, step: int, percent: int) -> str:
    task.model.eval()
    with torch.no_grad():
        scores = task.score()
    task.model.train()
    epoch = step / task.epoch_steps
    known = {"model": task.name, "batch": options.batch, "epoch": round(epoch, 2)}
    metadata = {**known, "dataset": task.data, "progress": percent / 100, **scores}
    ending = ".safetensors" if options.uncompressed else ".safetensors.zst"
    path = os.path.join(options.out, f"{task.name}_p{percent:03d}{ending}")
    with task.while_recorded(), warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always", lacuna.CaptureWarning)
        with lacuna.capture(task.model, path, options.samples, metadata=metadata) as recorded:
            task.loss(batch).backward()
    if step == 1 or percent == 100:
        for text in dict.fromkeys(str(one.message) for one in found):
            print(f"note: {text}", file=sys.stderr)
    row = {**known, "data": task.data, "progress": f"{percent:03d}", "epoch": f"{epoch:.2f}"}
    row.update(samples=options.samples, layers=len(recorded.layers))
    row.update({key: f"{value:.4f}" for key, value in scores.items()})
    add_row(options.out, path, row)
    return path


def run_script(main: Callable[[Optional[List[str]]], None], arguments: Optional[List[str]] = None) -> int:
    """Exit status of a script: 2 and one line for bad input."""
    try:
        main(arguments)
    except (ZooError, lacuna.CaptureError, OSError) as error:
        print(f"{os.path.basename(sys.argv[0])}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return 0
