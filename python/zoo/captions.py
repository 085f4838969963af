#!/usr/bin/env python3
"""Train a network that writes captions and record it.

  captions.py --data ~/coco --images 3314 --epochs 20              traces img2txt_pNNN

In the manner of "Show and Tell" (Vinyals et al., CVPR 2015): GoogLeNet with batch normalisation sees the image, an LSTM
gets it as its first word and predicts each next word. The folder holds captions_train2017.json (or annotations/ does) and
the images that it names, or part of them, in train2017/ or images/.
"""

import sys

import torch
import torch.nn.functional as F
from torch import nn

from zoolib.errors import ZooError
from zoolib.images import Images
from zoolib.text import END, PAD, START, Vocabulary, open_captions, padded
from zoolib.training import Task, check_options, run_script, script_parser, train

# Channels of GoogLeNet's inception modules: 1x1; 1x1 and 3x3; 1x1 and 5x5; after the pool. None: a pool of 3x3.
_INCEPTIONS = (
    *((64, 96, 128, 16, 32, 32), (128, 128, 192, 32, 96, 64), None),
    *((192, 96, 208, 16, 48, 64), (160, 112, 224, 24, 64, 64), (128, 128, 256, 24, 64, 64)),
    *((112, 144, 288, 32, 64, 64), (256, 160, 320, 32, 128, 128), None),
    *((256, 160, 320, 32, 128, 128), (384, 192, 384, 48, 128, 128)),
)


class ConvBn(nn.Module):
    def __init__(self, c: int, k: int, kernel: int, stride: int = 1):
        super().__init__()
        self.conv = nn.Conv2d(c, k, kernel, stride, kernel // 2, bias=False)
        self.bn = nn.BatchNorm2d(k)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.relu(self.bn(self.conv(x)))


class Inception(nn.Module):
    def __init__(self, c: int, one: int, three_in: int, three: int, five_in: int, five: int, pool: int):
        super().__init__()
        self.one = ConvBn(c, one, 1)
        self.three = nn.Sequential(ConvBn(c, three_in, 1), ConvBn(three_in, three, 3))
        self.five = nn.Sequential(ConvBn(c, five_in, 1), ConvBn(five_in, five, 5))
        self.pool = nn.Sequential(nn.MaxPool2d(3, 1, 1), ConvBn(c, pool, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cat((self.one(x), self.three(x), self.five(x), self.pool(x)), 1)


class Captions(nn.Module):
    def __init__(self, words: int, hidden: int, width: float):
        super().__init__()
        scaled = lambda channels: max(2, int(channels * width))  # noqa: E731
        c = scaled(192)
        layers = [ConvBn(3, scaled(64), 7, 2), nn.MaxPool2d(3, 2, 1), ConvBn(scaled(64), scaled(64), 1)]
        layers += [ConvBn(scaled(64), c, 3), nn.MaxPool2d(3, 2, 1)]
        for sizes in _INCEPTIONS:
            if sizes is None:
                layers.append(nn.MaxPool2d(3, 2, 1))
                continue
            sizes = [scaled(size) for size in sizes]
            layers.append(Inception(c, *sizes))
            c = sizes[0] + sizes[2] + sizes[4] + sizes[5]
        self.encoder = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.project = nn.Linear(c, hidden)
        self.embed = nn.Embedding(words, hidden, padding_idx=PAD)
        self.lstm = nn.LSTM(hidden, hidden, batch_first=True)
        self.out = nn.Linear(hidden, words)

    def forward(self, images: torch.Tensor, words: torch.Tensor) -> torch.Tensor:
        image = self.project(self.encoder(images))[:, None]
        states, _ = self.lstm(torch.cat((image, self.embed(words)), 1))
        return self.out(states[:, 1:])


def main(arguments=None):
    parser = script_parser(__doc__, epochs=20, batch=64, lr=0.05, samples=4)
    parser.set_defaults(points="2,50,100")
    parser.add_argument("--images", type=int, default=100000, help="images to train on (default: all)")
    parser.add_argument("--size", type=int, default=160, help="pixels that images are scaled to (default: 160)")
    parser.add_argument("--length", type=int, default=10, help="words per caption (default: 10)")
    parser.add_argument("--vocabulary", type=int, default=3094, help="words that are known (default: 3094)")
    parser.add_argument("--hidden", type=int, default=512, help="units of the LSTM (default: 512)")
    parser.add_argument("--width", type=float, default=1.0, help="scales GoogLeNet's channels (default: 1)")
    options = parser.parse_args(arguments)
    check_options(options)

    files, captions = open_captions(options.data, options.images)
    if len(captions) < options.batch:
        sizes = f"{len(captions)} captions are fewer than a batch of {options.batch}"
        raise ZooError(f"{options.data}: {sizes}; give a smaller --batch")
    images = Images(torch.zeros(len(files)), 1, options.size, files=files)
    vocabulary = Vocabulary([words for _, words in captions], options.vocabulary)
    sentences = padded([[START, *vocabulary.encode(words), END] for _, words in captions], options.length + 1)
    image_of = torch.tensor([image for image, _ in captions])
    # One caption in twenty is for the score.
    kept = torch.arange(len(captions)) % 20 == 19
    learnt = (~kept).nonzero()[:, 0]
    tested = (kept.nonzero()[:, 0] if kept.any() else learnt)[: options.test]
    model = Captions(len(vocabulary), options.hidden, options.width).to(options.device)

    def loss(chosen: torch.Tensor) -> torch.Tensor:
        words = sentences[chosen].to(options.device)
        scores = model(images.load(image_of[chosen]).to(options.device), words[:, :-1])
        return F.cross_entropy(scores.flatten(0, 1), words[:, 1:].flatten(), ignore_index=PAD)

    def batches():
        generator = torch.Generator().manual_seed(options.seed)
        while True:
            for chosen in torch.randperm(len(learnt), generator=generator).split(min(options.batch, len(learnt))):
                if len(chosen) == min(options.batch, len(learnt)):
                    yield learnt[chosen]

    def score():
        parts = tested.split(options.batch)
        return {"loss": sum(float(loss(part)) * len(part) for part in parts) / len(tested)}

    options.batch = min(options.batch, len(learnt))
    data = f"COCO captions ({len(files)} training images {options.size}x{options.size}, {len(captions)} captions)"
    optimizer = torch.optim.SGD(model.parameters(), options.lr, momentum=0.9, weight_decay=1e-4)
    train(Task("img2txt", data, model, batches(), loss, score, len(learnt) // options.batch, optimizer), options)


if __name__ == "__main__":
    sys.exit(run_script(main))
