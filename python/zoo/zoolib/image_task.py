"""The task of the image classifiers, dense or sparse."""

import argparse
from typing import Dict

import torch
import torch.nn.functional as F

from .classifiers import NETWORKS, make_classifier
from .images import open_images
from .training import Task, make_optimizer


def add_image_options(parser: argparse.ArgumentParser, model: str) -> None:
    parser.add_argument("--model", default=model, choices=sorted(NETWORKS), help="(default: %(default)s)")
    parser.add_argument(
        "--size", type=int, default=224, help="pixels that images are scaled to; CIFAR-10 keeps its 32 (default: 224)"
    )
    parser.add_argument("--optimizer", default="sgd", choices=("sgd", "adamw"), help="(default: sgd)")
    parser.add_argument("--width", type=float, default=1.0, help="scales the number of channels (default: 1)")


def image_task(options: argparse.Namespace) -> Task:
    train, test, data = open_images(options.data, options.size)
    model = make_classifier(options.model, train.classes, options.width).to(options.device)

    def loss(batch) -> torch.Tensor:
        images, labels = (part.to(options.device) for part in batch)
        return F.cross_entropy(model(images), labels)

    def score() -> Dict[str, float]:
        right = total = 0
        for images, labels in test.in_order(options.batch, options.test):
            right += int((model(images.to(options.device)).argmax(1).cpu() == labels).sum())
            total += len(labels)
        return {"accuracy": right / total}

    batches = train.batches(options.batch, options.seed)
    epoch = max(1, len(train) // options.batch)
    return Task(options.model, data, model, batches, loss, score, epoch, make_optimizer(model, options))
