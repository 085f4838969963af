#!/usr/bin/env python3
"""Train a network and record its zeros every few steps.

  record_torchvision.py                                      ResNet-18 on built-in patterns
  record_torchvision.py --model vgg16 --data ~/imagenette/train --steps 500 --record-every 100
  record_torchvision.py --model small                        needs no torchvision

Each recorded step becomes OUT/MODEL_stepNNNNNN.safetensors[.zst], which `lacuna inspect` and `lacuna simulate` read.
"""

import argparse
import os
import sys
import time

import torch
from torch import nn

try:
    import lacuna
except ImportError:  # not installed: use the package next to this folder
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    import lacuna


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--model", default="resnet18", help="a classifier of torchvision.models, or 'small' (default: resnet18)")
    add("--data", metavar="FOLDER", help="images, one folder per class (default: generated patterns)")
    add("--steps", type=int, default=20, help="training steps (default: 20)")
    add("--record-every", type=int, default=10, metavar="N", help="record every Nth step and the last (default: 10)")
    add("--out", default="traces", metavar="FOLDER", help="where the traces go (default: traces)")
    add("--zst", action="store_true", help="compress the traces")
    add("--samples", type=int, default=2, help="samples of the batch to record (default: 2)")
    add("--values", action="store_true", help="record the values too, not only masks of the non-zeros")
    add("--batch", type=int, default=16, help="samples in a step (default: 16)")
    add("--size", type=int, help="height and width of the images (default: 224; small: 32)")
    add("--classes", type=int, default=10, help="classes of the patterns (default: 10)")
    add("--lr", type=float, default=0.01, help="learning rate (default: 0.01)")
    add("--seed", type=int, default=1, help="(default: 1)")
    add("--device", default="cuda" if torch.cuda.is_available() else "cpu", help="(default: the GPU if there is one)")
    options = parser.parse_args()
    for name in ("steps", "record_every", "samples", "batch", "classes"):
        if getattr(options, name) < 1:
            parser.error(f"--{name.replace('_', '-')} must be at least 1")
    options.size = options.size or (32 if options.model == "small" else 224)
    return options


def small_net(classes):
    """A VGG-like network without batch norm: many zeros in A and in G."""
    return nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(2),
        nn.Conv2d(64, 128, 3, padding=1),
        nn.ReLU(inplace=True),
        nn.AdaptiveAvgPool2d(4),
        nn.Flatten(),
        nn.Linear(128 * 16, 128),
        nn.ReLU(inplace=True),
        nn.Linear(128, classes),
    )


def torchvision_or_exit(what):
    try:
        import torchvision
    except ImportError:
        sys.exit(f"{what} needs torchvision, which is not installed (Debian: python3-torchvision); or use --model small")
    return torchvision


def make_model(name, classes):
    if name == "small":
        return small_net(classes)
    models = torchvision_or_exit(f"--model {name}").models
    make = getattr(models, name, None)
    if not callable(make) or not name.islower():
        known = sorted(n for n in dir(models) if n.islower() and not n.startswith("_") and callable(getattr(models, n)))
        sys.exit(f"torchvision has no model '{name}'; it has: small, {', '.join(known)}")
    # Inception and GoogLeNet train with extra heads unless told otherwise.
    extra = {"aux_logits": False} if name in ("inception_v3", "googlenet") else {}
    return make(num_classes=classes, **extra)


def patterns(options):
    """Endless batches: each class is a fixed coarse pattern under noise, so that there is something to learn."""
    generator = torch.Generator().manual_seed(options.seed)
    coarse = torch.randn(options.classes, 3, 4, 4, generator=generator)
    shapes = nn.functional.interpolate(coarse, size=(options.size, options.size), mode="bilinear", align_corners=False)
    while True:
        labels = torch.randint(0, options.classes, (options.batch,), generator=generator)
        noise = torch.randn(options.batch, 3, options.size, options.size, generator=generator)
        yield shapes[labels] + noise, labels


def folder_batches(options):
    """Endless batches of a folder of images; the number of classes follows from it."""
    torchvision = torchvision_or_exit("--data")
    transforms = torchvision.transforms
    transform = transforms.Compose(
        [
            transforms.RandomResizedCrop(options.size),
            transforms.RandomHorizontalFlip(),
            transforms.ToTensor(),
            transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),  # of ImageNet
        ]
    )
    try:
        images = torchvision.datasets.ImageFolder(options.data, transform)
    except (FileNotFoundError, NotADirectoryError) as error:
        sys.exit(f"--data {options.data}: {error}")
    if len(images) < options.batch:
        sys.exit(f"--data {options.data}: {len(images)} images are fewer than a batch of {options.batch}")
    options.classes = len(images.classes)

    def batches():
        generator = torch.Generator().manual_seed(options.seed)
        loader = torch.utils.data.DataLoader(
            images, options.batch, shuffle=True, drop_last=True, num_workers=2, generator=generator
        )
        while True:
            yield from loader

    return batches()


def main():
    options = arguments()
    torch.manual_seed(options.seed)
    batches = folder_batches(options) if options.data else patterns(options)
    model = make_model(options.model, options.classes).to(options.device)
    model.train()
    optimizer = torch.optim.SGD(model.parameters(), options.lr, momentum=0.9, weight_decay=5e-4)
    criterion = nn.CrossEntropyLoss()
    os.makedirs(options.out, exist_ok=True)
    dataset = os.path.basename(os.path.normpath(options.data)) if options.data else "patterns"

    def backward(images, labels):
        optimizer.zero_grad()
        loss = criterion(model(images), labels)
        loss.backward()
        return loss.item()

    start = time.monotonic()
    for step in range(1, options.steps + 1):
        images, labels = next(batches)
        images, labels = images.to(options.device), labels.to(options.device)
        note = ""
        if step % options.record_every == 0 or step == options.steps:
            name = f"{options.model}_step{step:06d}.safetensors" + (".zst" if options.zst else "")
            path = os.path.join(options.out, name)
            metadata = {"model": options.model, "dataset": dataset, "progress": step / options.steps}
            with lacuna.capture(model, path, options.samples, values=options.values, metadata=metadata) as recorded:
                loss = recorded.metadata["loss"] = backward(images, labels)
            note = f"  recorded {len(recorded.layers)} layers: {path}"
        else:
            loss = backward(images, labels)
        optimizer.step()
        print(f"step {step:6d}  loss {loss:.4f}  {time.monotonic() - start:7.1f} s{note}", flush=True)


if __name__ == "__main__":
    try:
        main()
    except (lacuna.CaptureError, lacuna.TraceError) as error:
        sys.exit(f"record_torchvision.py: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
