#!/usr/bin/env python3
"""Train a diffusion model of images and record it.

  diffusion.py --data ~/cifar-10-batches-bin                         traces unet_silu_pNNN
  diffusion.py --data ~/cifar-10-batches-bin --activation relu

The U-Net of "Denoising Diffusion Probabilistic Models" (Ho et al., NeurIPS 2020) at a third of its size: it sees an image
with noise and how much of it there is, and predicts the noise. SiLU leaves no zeros; ReLU is there to compare.
"""

import math
import sys
from typing import List

import torch
import torch.nn.functional as F
from torch import nn

from zoolib.attention import attention
from zoolib.images import open_images
from zoolib.training import Task, check_options, run_script, script_parser, train

_LEVELS = 1000  # of noise


class Residual(nn.Module):
    def __init__(self, c: int, k: int, time: int, activation):
        super().__init__()
        self.norm1, self.norm2 = nn.GroupNorm(min(8, c), c), nn.GroupNorm(min(8, k), k)
        self.conv1, self.conv2 = nn.Conv2d(c, k, 3, padding=1), nn.Conv2d(k, k, 3, padding=1)
        self.time = nn.Linear(time, k)
        self.short = nn.Conv2d(c, k, 1) if c != k else nn.Identity()
        self.activation = activation

    def forward(self, x: torch.Tensor, time: torch.Tensor) -> torch.Tensor:
        y = self.conv1(self.activation(self.norm1(x))) + self.time(time)[:, :, None, None]
        return self.short(x) + self.conv2(self.activation(self.norm2(y)))


class Attention(nn.Module):
    def __init__(self, c: int):
        super().__init__()
        self.norm = nn.GroupNorm(min(8, c), c)
        self.qkv, self.proj = nn.Conv2d(c, 3 * c, 1), nn.Conv2d(c, c, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = self.qkv(self.norm(x)).flatten(2).transpose(1, 2)[:, None].chunk(3, -1)
        return x + self.proj(attention(q, k, v)[:, 0].transpose(1, 2).view_as(x))


class UNet(nn.Module):
    """Three resolutions, two residual blocks at each, attention between the two halves."""

    def __init__(self, channels: int, activation):
        super().__init__()
        sizes = [channels, 2 * channels, 2 * channels]
        time = 4 * channels
        self.channels = channels
        self.time1, self.time2, self.activation = nn.Linear(channels, time), nn.Linear(time, time), activation
        self.first = nn.Conv2d(3, channels, 3, padding=1)
        block = lambda c, k: Residual(c, k, time, activation)  # noqa: E731
        self.down, self.up, self.coarser, self.finer = (nn.ModuleList() for _ in range(4))
        c, skipped = channels, [channels]
        for level, k in enumerate(sizes):
            for _ in range(2):
                self.down.append(block(c, k))
                c = k
                skipped.append(c)
            if level + 1 < len(sizes):
                self.coarser.append(nn.Conv2d(c, c, 3, 2, 1))
                skipped.append(c)
        self.middle1, self.attention, self.middle2 = block(c, c), Attention(c), block(c, c)
        for level, k in reversed(list(enumerate(sizes))):
            for _ in range(3):
                self.up.append(block(c + skipped.pop(), k))
                c = k
            if level:
                self.finer.append(nn.Conv2d(c, c, 3, padding=1))
        self.norm, self.last = nn.GroupNorm(min(8, c), c), nn.Conv2d(c, 3, 3, padding=1)

    def forward(self, x: torch.Tensor, level: torch.Tensor) -> torch.Tensor:
        half = self.channels // 2
        angles = level[:, None] * torch.exp(-math.log(10000) * torch.arange(half, device=x.device) / half)
        time = self.activation(self.time2(self.activation(self.time1(torch.cat((angles.sin(), angles.cos()), 1)))))
        x = self.first(x)
        kept: List[torch.Tensor] = [x]
        for number, block in enumerate(self.down):
            x = block(x, time)
            kept.append(x)
            if number % 2 == 1 and number // 2 < len(self.coarser):
                x = self.coarser[number // 2](x)
                kept.append(x)
        x = self.middle2(self.attention(self.middle1(x, time)), time)
        for number, block in enumerate(self.up):
            x = block(torch.cat((x, kept.pop()), 1), time)
            if number % 3 == 2 and number // 3 < len(self.finer):
                x = self.finer[number // 3](F.interpolate(x, scale_factor=2.0))
        return self.last(self.activation(self.norm(x)))


def main(arguments=None):
    parser = script_parser(__doc__, epochs=100, batch=128, lr=2e-4, samples=2)
    parser.set_defaults(points="2,50,100")
    parser.add_argument("--channels", type=int, default=96, help="of the finest resolution (default: 96)")
    parser.add_argument("--activation", default="silu", choices=("silu", "relu"), help="(default: silu)")
    parser.add_argument("--size", type=int, default=32, help="pixels of images from folders (default: 32)")
    options = parser.parse_args(arguments)
    check_options(options)
    images, test, data = open_images(options.data, options.size)
    model = UNet(options.channels, getattr(F, options.activation)).to(options.device)
    # The share of the image in what the network sees, along the cosine of Nichol and Dhariwal (ICML 2021).
    share = torch.cos(torch.linspace(0, 1, _LEVELS, device=options.device) * math.pi / 2) ** 2

    def loss(batch: torch.Tensor) -> torch.Tensor:
        image = batch.to(options.device) / 2
        level = torch.randint(0, _LEVELS, (len(image),), device=image.device)
        kept, noise = share[level, None, None, None], torch.randn_like(image)
        return F.mse_loss(model(kept.sqrt() * image + (1 - kept).sqrt() * noise, level.float()), noise)

    def batches():
        for batch, _ in images.batches(options.batch, options.seed):
            yield batch

    def score():
        parts = [(float(loss(batch)), len(batch)) for batch, _ in test.in_order(options.batch, options.test)]
        return {"loss": sum(value * count for value, count in parts) / sum(count for _, count in parts)}

    optimizer = torch.optim.Adam(model.parameters(), options.lr)
    epoch = max(1, len(images) // options.batch)
    train(Task(f"unet_{options.activation}", data, model, batches(), loss, score, epoch, optimizer), options)


if __name__ == "__main__":
    sys.exit(run_script(main))
