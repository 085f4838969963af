"""Networks and images that lacuna.convert is measured with. Nothing is downloaded; CIFAR-10 may be given."""

import os
import pickle

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils import prune


def vgg(classes=10):
    """VGG16's first ten convolutions for 32x32, without batch norm. One small linear layer: a large one would measure
    the BLAS that PyTorch was built with."""
    layers, channels = [], 3
    for block in ((64, 64), (128, 128), (256, 256, 256), (512, 512, 512)):
        for out in block:
            layers += [nn.Conv2d(channels, out, 3, padding=1), nn.ReLU()]
            channels = out
        layers.append(nn.MaxPool2d(2))
    layers += [nn.Flatten(), nn.Dropout(0.5), nn.Linear(512 * 4, classes)]
    model = nn.Sequential(*layers)
    for module in model:
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
            nn.init.zeros_(module.bias)
    return model


def pruned_vgg(classes=10):
    """Nine tenths of the weights of all convolutions but the first are zero, as torch.nn.utils.prune leaves them."""
    model = vgg(classes)
    for module in [module for module in model if isinstance(module, nn.Conv2d)][1:]:
        prune.l1_unstructured(module, "weight", 0.9)
    return model


class Residual(nn.Module):
    def __init__(self, channels, out, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, out, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(out)
        self.conv2 = nn.Conv2d(out, out, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(out)
        self.relu = nn.ReLU(inplace=True)
        self.shortcut = nn.Sequential()
        if stride != 1 or channels != out:
            self.shortcut = nn.Sequential(nn.Conv2d(channels, out, 1, stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, x):
        y = self.relu(self.bn1(self.conv1(x)))
        return self.relu(self.bn2(self.conv2(y)) + self.shortcut(x))


def resnet18(classes=10):
    """ResNet-18 as it is used on 32x32: the first layer is 3x3, without pooling."""
    layers = [nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True)]
    channels = 64
    for out, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        layers += [Residual(channels, out, stride), Residual(out, out, 1)]
        channels = out
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, classes))


def mlp(classes=10):
    return nn.Sequential(
        nn.Flatten(),
        nn.Linear(3072, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, classes),
    )  # fmt: skip


def mobilenet(classes=10):
    """Depthwise and pointwise convolutions alternately, batch norm, ReLU6."""
    layers, channels = [nn.Conv2d(3, 32, 3, 1, 1, bias=False), nn.BatchNorm2d(32), nn.ReLU6()], 32
    for out, stride in ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1)):
        layers += [nn.Conv2d(channels, channels, 3, stride, 1, groups=channels, bias=False), nn.BatchNorm2d(channels)]
        layers += [nn.ReLU6(), nn.Conv2d(channels, out, 1, bias=False), nn.BatchNorm2d(out), nn.ReLU6()]
        channels = out
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(256, classes))


class UNet(nn.Module):
    """Three scales with shortcuts between them; the mean of its output tells the classes apart."""

    def __init__(self, classes=10, width=32):
        super().__init__()
        sizes = [width, 2 * width, 4 * width]
        self.down = nn.ModuleList(self.block(a, b) for a, b in zip([3, *sizes], sizes))
        self.up = nn.ModuleList(self.block(a + b, b) for a, b in zip(sizes[:0:-1], sizes[-2::-1]))
        self.head = nn.Conv2d(width, classes, 1)

    @staticmethod
    def block(channels, out):
        layers = []
        for size in (channels, out):
            layers += [nn.Conv2d(size, out, 3, padding=1, bias=False), nn.BatchNorm2d(out), nn.ReLU(inplace=True)]
        return nn.Sequential(*layers)

    def forward(self, x):
        kept = []
        for block in self.down:
            x = block(F.max_pool2d(x, 2) if kept else x)
            kept.append(x)
        for block, shortcut in zip(self.up, kept[-2::-1]):
            x = block(torch.cat([F.interpolate(x, scale_factor=2), shortcut], 1))
        return self.head(x).mean((2, 3))


def squared_relu(x):
    return F.relu(x).square()


class Transformer(nn.Module):
    """A small vision transformer on patches of 4x4. GELU makes no zeros, ReLU and its square do."""

    def __init__(self, classes=10, width=128, layers=3, activation=F.gelu):
        super().__init__()
        self.patches = nn.Conv2d(3, width, 4, 4)
        layer = nn.TransformerEncoderLayer(width, 4, 4 * width, 0.0, activation, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers)
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        return self.head(self.encoder(self.patches(x).flatten(2).transpose(1, 2)).mean(1))


class PaddedTransformer(Transformer):
    """With GELU, on sequences of which half is padding on average: no loss depends on it."""

    def forward(self, x):
        tokens = self.patches(x).flatten(2).transpose(1, 2)
        longest = tokens.shape[1]
        lengths = torch.linspace(1, longest, len(x)).round()
        padding = torch.arange(longest)[None, :] >= lengths[:, None]
        encoded = self.encoder(tokens, src_key_padding_mask=padding).masked_fill(padding[..., None], 0.0)
        return self.head(encoded.sum(1) / lengths[:, None])


def tiny(classes=10):
    """Layers so small that calling them costs more than computing them."""
    layers, channels = [], 3
    for out in (8, 8, 8, 8):
        layers += [nn.Conv2d(channels, out, 3, 2, 1), nn.ReLU()]
        channels = out
    layers += [nn.Flatten(), nn.Linear(8 * 4, 16), nn.ReLU()]
    for _ in range(4):
        layers += [nn.Linear(16, 16), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(16, classes))


# name: (model, batch, learning rate)
MODELS = {
    "vgg": (vgg, 64, 0.02),
    "resnet18": (resnet18, 64, 0.05),
    "mlp": (mlp, 128, 0.05),
    "mobilenet": (mobilenet, 16, 0.05),
    "transformer": (Transformer, 32, 0.05),
    "tiny": (tiny, 16, 0.02),
    "pruned": (pruned_vgg, 64, 0.02),
    "resnet18-8": (resnet18, 8, 0.02),
    "unet": (UNet, 16, 0.05),
    "relu": (lambda: Transformer(activation=F.relu), 32, 0.05),
    "relu2": (lambda: Transformer(activation=squared_relu), 32, 0.05),
    "padded": (lambda: PaddedTransformer(width=256), 32, 0.02),
    "lengths": (lambda: Transformer(activation=F.relu), 32, 0.05),
}
VARIED = {"lengths"}  # images of another width in every step, so that sequences have random lengths


def batches(name, batch, steps, seed=0, folder=""):
    """Batches of images and labels: the same for everyone who gives the same seed."""
    pixels, labels = images(2048, folder=folder)
    draw = torch.Generator().manual_seed(seed)
    for _ in range(steps):
        chosen = torch.randint(len(labels), (batch,), generator=draw)
        width = 4 * int(torch.randint(2, 9, (1,), generator=draw)) if name in VARIED else 32
        yield pixels[chosen][..., :width], labels[chosen]


def images(count, seed=0, folder=""):
    """Images of 32x32 in ten classes: CIFAR-10's first file, or patterns with noise that a network can learn."""
    if folder:
        with open(os.path.join(folder, "data_batch_1"), "rb") as file:
            data = pickle.load(file, encoding="bytes")
        pixels = torch.tensor(data[b"data"][:count]).view(-1, 3, 32, 32).float() / 255
        return (pixels - 0.47) / 0.25, torch.tensor(data[b"labels"][:count])
    draw = torch.Generator().manual_seed(seed)
    labels = torch.randint(10, (count,), generator=draw)
    coarse = torch.randn(10, 3, 6, 6, generator=draw)
    patterns = nn.functional.interpolate(coarse, size=(40, 40), mode="bicubic", align_corners=False)
    shifts = torch.randint(9, (count, 2), generator=draw)
    pixels = torch.stack([patterns[c, :, y : y + 32, x : x + 32] for c, (y, x) in zip(labels, shifts.tolist())])
    return pixels + 0.7 * torch.randn(count, 3, 32, 32, generator=draw), labels
