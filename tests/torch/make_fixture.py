#!/usr/bin/env python3
"""Make the fixture that the training engine is compared with: `make_fixture.py OUT_DIR`.

Three small networks are trained for three steps in PyTorch (FP32, one thread, fixed seeds). For each, NAME.safetensors
holds the parameters and buffers before and after (with SGD and, from the same start, with AdamW), the batch and the loss of each step; NAME.trace.safetensors holds A,
W and G of the first step with values. tests/data/torch/README.md describes them.
"""

import copy
import os
import sys

import torch
from torch import nn

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "python"))

import lacuna  # noqa: E402
from lacuna._trace.container import write_container  # noqa: E402

STEPS = 3
LEARNING_RATE = 0.05
MOMENTUM = 0.9
WEIGHT_DECAY = 5e-4
# Of AdamW. Its first steps are of about one size whatever the gradients are; with PyTorch's eps of 1e-8 so would be
# those of gradients that are nothing but rounding errors.
ADAMW = dict(lr=0.01, betas=(0.8, 0.95), eps=1e-4, weight_decay=0.1)


class Vgg(nn.Module):
    """Convolution, ReLU and pooling in a row, no batch norm."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, 3, padding=1)
        self.conv2 = nn.Conv2d(8, 20, 3, padding=1)
        self.fc1 = nn.Linear(180, 32)
        self.fc2 = nn.Linear(32, 10)

    def forward(self, x):
        x = torch.max_pool2d(torch.relu(self.conv1(x)), 2)
        x = torch.max_pool2d(torch.relu(self.conv2(x)), 2)
        return self.fc2(torch.relu(self.fc1(x.flatten(1))))


class Block(nn.Module):
    """Two convolutions with batch norm and a shortcut."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        if stride != 1:
            self.down = nn.Conv2d(inputs, outputs, 1, stride, bias=False)
            self.down_bn = nn.BatchNorm2d(outputs)

    def forward(self, x):
        y = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x)))))
        shortcut = self.down_bn(self.down(x)) if hasattr(self, "down") else x
        return torch.relu(y + shortcut)


class Resnet(nn.Module):
    """A shortcut with a convolution, one without, global average pooling."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        self.a = Block(16, 32, 2)
        self.b = Block(32, 32, 1)
        self.fc = nn.Linear(32, 10)

    def forward(self, x):
        x = torch.relu(self.bn1(self.conv1(x)))
        return self.fc(self.b(self.a(x)).mean((2, 3)))


class Concat(nn.Module):
    """A squeeze-and-expand block, then a dense block with a grouped convolution."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, padding=1)
        self.squeeze = nn.Conv2d(16, 8, 1)
        self.expand1 = nn.Conv2d(8, 16, 1)
        self.expand3 = nn.Conv2d(8, 16, 3, padding=1)
        self.bn = nn.BatchNorm2d(32)
        self.grouped = nn.Conv2d(32, 32, 3, padding=1, groups=4, bias=False)
        self.fc = nn.Linear(64 * 3 * 3, 10)

    def forward(self, x):
        x = torch.relu(self.squeeze(torch.relu(self.conv1(x))))
        x = torch.cat([torch.relu(self.expand1(x)), torch.relu(self.expand3(x))], 1)
        x = torch.max_pool2d(x, 3, stride=2, padding=1)
        x = torch.cat([x, self.grouped(torch.relu(self.bn(x)))], 1)
        return self.fc(nn.functional.avg_pool2d(x, 2).flatten(1))


def train_with_adamw(model, images, labels):
    """The parameters and buffers after the same number of steps with AdamW."""
    model = copy.deepcopy(model)
    optimizer = torch.optim.AdamW(model.parameters(), **ADAMW)
    for _ in range(STEPS):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(images), labels).backward()
        optimizer.step()
    return {f"adamw/{key}": value for key, value in model.state_dict().items()}


def make(name, model, folder):
    images = torch.randn(4, 3, 12, 12)
    labels = torch.randint(0, 10, (4,))
    model.train()
    tensors = {"batch/images": images, "batch/labels": labels}
    tensors.update({f"initial/{key}": value.clone() for key, value in model.state_dict().items()})
    tensors.update(train_with_adamw(model, images, labels))
    optimizer = torch.optim.SGD(model.parameters(), LEARNING_RATE, momentum=MOMENTUM, weight_decay=WEIGHT_DECAY)
    criterion = nn.CrossEntropyLoss()
    losses = []

    def backward():
        optimizer.zero_grad()
        loss = criterion(model(images), labels)
        loss.backward()
        losses.append(loss.detach())

    trace = os.path.join(folder, f"{name}.trace.safetensors")
    for step in range(STEPS):
        if step == 0:
            with lacuna.capture(model, trace, samples=4, values=True, metadata={"model": name, "dataset": "noise"}):
                backward()
        else:
            backward()
        optimizer.step()
    tensors["loss"] = torch.stack(losses)
    tensors.update({f"after/{key}": value for key, value in model.state_dict().items()})
    write_container(os.path.join(folder, f"{name}.safetensors"), tensors, {})
    print(name, "loss", *(f"{loss.item():.6f}" for loss in losses))


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    os.makedirs(sys.argv[1], exist_ok=True)
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    for seed, (name, model) in enumerate((("vgg", Vgg), ("resnet", Resnet), ("concat", Concat))):
        torch.manual_seed(seed + 1)
        make(name, model(), sys.argv[1])


if __name__ == "__main__":
    main()
