"""Image classifiers. Layers are named as in torchvision where it has the network, and have the shapes of the traces of data/.

`width` scales the number of channels, so that a test can train them in moments.
"""

from typing import Callable, Dict, List

import torch
import torch.nn.functional as F
from torch import nn

from .attention import attention
from .errors import ZooError


def _scaled(channels: int, width: float) -> int:
    return max(2, int(channels * width))


def _conv_bn(c: int, k: int, kernel: int = 3, stride: int = 1, groups: int = 1) -> List[nn.Module]:
    return [nn.Conv2d(c, k, kernel, stride, kernel // 2, groups=groups, bias=False), nn.BatchNorm2d(k)]


class Classifier(nn.Module):
    """`features`, the average over places that leaves `grid` x `grid` of them, `classifier`."""

    def __init__(self, features: nn.Module, grid: int, classifier: nn.Module):
        super().__init__()
        self.features = features
        self.avgpool = nn.AdaptiveAvgPool2d(grid)
        self.classifier = classifier

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.classifier(self.avgpool(self.features(x)).flatten(1))


def alexnet(classes: int, width: float) -> nn.Module:
    a, b, c, d, hidden = (_scaled(channels, width) for channels in (64, 192, 384, 256, 4096))
    relu, pool = (lambda: nn.ReLU(inplace=True)), (lambda: nn.MaxPool2d(3, 2))
    features = nn.Sequential(
        *(nn.Conv2d(3, a, 11, 4, 2), relu(), pool()),
        *(nn.Conv2d(a, b, 5, padding=2), relu(), pool()),
        *(nn.Conv2d(b, c, 3, padding=1), relu()),
        *(nn.Conv2d(c, d, 3, padding=1), relu()),
        *(nn.Conv2d(d, d, 3, padding=1), relu(), pool()),
    )
    head = [nn.Dropout(), nn.Linear(d * 36, hidden), relu(), nn.Dropout(), nn.Linear(hidden, hidden), relu()]
    return Classifier(features, 6, nn.Sequential(*head, nn.Linear(hidden, classes)))


_VGG16 = (64, 64, 0, 128, 128, 0, 256, 256, 256, 0, 512, 512, 512, 0, 512, 512, 512, 0)


def _vgg16(classes: int, width: float, normalised: bool, grid: int) -> nn.Module:
    layers: List[nn.Module] = []
    before = 3
    for channels in _VGG16:
        if channels == 0:
            layers.append(nn.MaxPool2d(2))
            continue
        channels = _scaled(channels, width)
        layers.append(nn.Conv2d(before, channels, 3, padding=1))
        layers += [nn.BatchNorm2d(channels)] if normalised else []
        layers.append(nn.ReLU(inplace=True))
        before = channels
    hidden = _scaled(4096, width)
    head: List[nn.Module] = []
    for size in (before * grid * grid, hidden):
        head += [nn.Linear(size, hidden), nn.ReLU(inplace=True), nn.Dropout()]
    model = Classifier(nn.Sequential(*layers), grid, nn.Sequential(*head, nn.Linear(hidden, classes)))
    for module in model.modules():  # without normalisation torch's own start is too small to learn from
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
            nn.init.zeros_(module.bias)
    return model


class _Block(nn.Module):
    """A residual block: two convolutions of 3x3, or 1x1, 3x3 and 1x1 to four times the channels."""

    def __init__(self, c: int, k: int, stride: int, bottleneck: bool):
        super().__init__()
        out = 4 * k if bottleneck else k
        kernels = (1, 3, 1) if bottleneck else (3, 3)
        sizes = (c, k, k, out) if bottleneck else (c, k, k)
        self.depth = len(kernels)
        for n, kernel in enumerate(kernels):
            step = stride if kernel == 3 and (bottleneck or n == 0) else 1
            conv, norm = _conv_bn(sizes[n], sizes[n + 1], kernel, step)
            setattr(self, f"conv{n + 1}", conv)
            setattr(self, f"bn{n + 1}", norm)
        self.downsample = nn.Sequential(*_conv_bn(c, out, 1, stride)) if stride != 1 or c != out else nn.Identity()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x
        for n in range(1, self.depth + 1):
            y = getattr(self, f"bn{n}")(getattr(self, f"conv{n}")(y))
            if n < self.depth:
                y = F.relu(y, inplace=True)
        return F.relu(y + self.downsample(x), inplace=True)


class ResNet(nn.Module):
    def __init__(self, depths, bottleneck: bool, classes: int, width: float, cifar: bool):
        super().__init__()
        c = _scaled(64, width)
        self.conv1, self.bn1 = _conv_bn(3, c, 3) if cifar else _conv_bn(3, c, 7, 2)
        self.maxpool = nn.Identity() if cifar else nn.MaxPool2d(3, 2, 1)
        for stage, depth in enumerate(depths):
            k = _scaled(64 << stage, width)
            blocks = []
            for n in range(depth):
                blocks.append(_Block(c, k, 2 if n == 0 and stage > 0 else 1, bottleneck))
                c = 4 * k if bottleneck else k
            setattr(self, f"layer{stage + 1}", nn.Sequential(*blocks))
        self.stages = len(depths)
        self.fc = nn.Linear(c, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.maxpool(F.relu(self.bn1(self.conv1(x)), inplace=True))
        for stage in range(1, self.stages + 1):
            x = getattr(self, f"layer{stage}")(x)
        return self.fc(x.mean((2, 3)))


class _WideBlock(nn.Module):
    """Normalisation and ReLU before each convolution."""

    def __init__(self, c: int, k: int, stride: int):
        super().__init__()
        self.bn1, self.bn2 = nn.BatchNorm2d(c), nn.BatchNorm2d(k)
        self.conv1 = nn.Conv2d(c, k, 3, stride, 1, bias=False)
        self.conv2 = nn.Conv2d(k, k, 3, padding=1, bias=False)
        self.short = nn.Conv2d(c, k, 1, stride, bias=False) if c != k else None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        start = F.relu(self.bn1(x))
        y = self.conv2(F.relu(self.bn2(self.conv1(start))))
        return y + (x if self.short is None else self.short(start))


class WideResNet(nn.Module):
    """WRN-16-8 for CIFAR."""

    def __init__(self, classes: int, width: float):
        super().__init__()
        c = 16
        self.conv1 = nn.Conv2d(3, c, 3, padding=1, bias=False)
        blocks = []
        for stage in range(3):
            k = _scaled(128 << stage, width)
            for n in range(2):
                blocks.append(_WideBlock(c, k, 2 if n == 0 and stage > 0 else 1))
                c = k
        self.blocks = nn.Sequential(*blocks)
        self.bn = nn.BatchNorm2d(c)
        self.fc = nn.Linear(c, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.fc(F.relu(self.bn(self.blocks(self.conv1(x)))).mean((2, 3)))


class _DenseLayer(nn.Module):
    def __init__(self, c: int, growth: int):
        super().__init__()
        self.norm1, self.norm2 = nn.BatchNorm2d(c), nn.BatchNorm2d(4 * growth)
        self.conv1 = nn.Conv2d(c, 4 * growth, 1, bias=False)
        self.conv2 = nn.Conv2d(4 * growth, growth, 3, padding=1, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cat((x, self.conv2(F.relu(self.norm2(self.conv1(F.relu(self.norm1(x))))))), 1)


def _densenet121(classes: int, width: float, cifar: bool) -> nn.Module:
    growth = _scaled(32, width)
    c = 2 * growth
    first, norm = _conv_bn(3, c, 3) if cifar else _conv_bn(3, c, 7, 2)
    features = nn.Sequential()
    features.add_module("conv0", first)
    features.add_module("norm0", norm)
    features.add_module("relu0", nn.ReLU(inplace=True))
    if not cifar:
        features.add_module("pool0", nn.MaxPool2d(3, 2, 1))
    for number, depth in enumerate((6, 12, 24, 16), 1):
        block = nn.Sequential()
        for n in range(depth):
            block.add_module(f"denselayer{n + 1}", _DenseLayer(c, growth))
            c += growth
        features.add_module(f"denseblock{number}", block)
        if number < 4:
            transition = nn.Sequential()
            transition.add_module("norm", nn.BatchNorm2d(c))
            transition.add_module("relu", nn.ReLU(inplace=True))
            transition.add_module("conv", nn.Conv2d(c, c // 2, 1, bias=False))
            transition.add_module("pool", nn.AvgPool2d(2))
            features.add_module(f"transition{number}", transition)
            c //= 2
    features.add_module("norm5", nn.BatchNorm2d(c))
    features.add_module("relu5", nn.ReLU(inplace=True))
    return Classifier(features, 1, nn.Linear(c, classes))


class _Fire(nn.Module):
    def __init__(self, c: int, squeeze: int, expand: int):
        super().__init__()
        self.squeeze = nn.Conv2d(c, squeeze, 1)
        self.expand1x1 = nn.Conv2d(squeeze, expand, 1)
        self.expand3x3 = nn.Conv2d(squeeze, expand, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.relu(self.squeeze(x), inplace=True)
        return torch.cat((F.relu(self.expand1x1(x)), F.relu(self.expand3x3(x))), 1)


def squeezenet(classes: int, width: float) -> nn.Module:
    """Version 1.1."""
    c = _scaled(64, width)
    features: List[nn.Module] = [nn.Conv2d(3, c, 3, 2), nn.ReLU(inplace=True)]
    for number, squeeze in enumerate((16, 16, 32, 32, 48, 48, 64, 64)):
        if number in (0, 2, 4):
            features.append(nn.MaxPool2d(3, 2, ceil_mode=True))
        expand = _scaled(4 * squeeze, width)
        features.append(_Fire(c, _scaled(squeeze, width), expand))
        c = 2 * expand
    head = nn.Sequential(nn.Dropout(), nn.Conv2d(c, classes, 1), nn.ReLU(inplace=True), nn.AdaptiveAvgPool2d(1))
    model = nn.Sequential()
    model.add_module("features", nn.Sequential(*features))
    model.add_module("classifier", head)
    model.add_module("flat", nn.Flatten())
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_uniform_(module.weight, nonlinearity="relu")
            nn.init.zeros_(module.bias)
    return model


def mobilenet(classes: int, width: float) -> nn.Module:
    """MobileNet, the first version: pairs of a depthwise and a 1x1 convolution."""
    c = _scaled(32, width)
    layers: List[nn.Module] = [*_conv_bn(3, c, 3, 2), nn.ReLU(inplace=True)]
    sizes = [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *[(512, 1)] * 5, (1024, 2), (1024, 1)]
    for channels, stride in sizes:
        k = _scaled(channels, width)
        layers += [*_conv_bn(c, c, 3, stride, groups=c), nn.ReLU(inplace=True)]
        layers += [*_conv_bn(c, k, 1), nn.ReLU(inplace=True)]
        c = k
    return Classifier(nn.Sequential(*layers), 1, nn.Linear(c, classes))


class _Encoder(nn.Module):
    """A transformer's block that sees all places, with ReLU in its feed-forward layers."""

    def __init__(self, size: int, heads: int):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(size), nn.LayerNorm(size)
        self.qkv, self.proj = nn.Linear(size, 3 * size), nn.Linear(size, size)
        self.fc1, self.fc2 = nn.Linear(size, 4 * size), nn.Linear(4 * size, size)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        n, length, size = x.shape
        q, k, v = self.qkv(self.norm1(x)).reshape(n, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        x = x + self.proj(attention(q, k, v).transpose(1, 2).reshape(n, length, size))
        return x + self.fc2(F.relu(self.fc1(self.norm2(x))))


class VisionTransformer(nn.Module):
    """ViT-S for CIFAR: patches of 4x4, 12 blocks, the average over places instead of a class token."""

    def __init__(self, classes: int, width: float, patch: int = 4, image: int = 32):
        super().__init__()
        heads = max(1, round(6 * width))
        size = 64 * heads
        self.patches = nn.Conv2d(3, size, patch, patch)
        self.places = nn.Parameter(0.02 * torch.randn(1, (image // patch) ** 2, size))
        self.blocks = nn.Sequential(*(_Encoder(size, heads) for _ in range(12)))
        self.norm, self.fc = nn.LayerNorm(size), nn.Linear(size, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.patches(x).flatten(2).transpose(1, 2) + self.places
        return self.fc(self.norm(self.blocks(x)).mean(1))


NETWORKS: Dict[str, Callable[[int, float], nn.Module]] = {
    "alexnet": alexnet,
    "vgg16": lambda classes, width: _vgg16(classes, width, normalised=False, grid=7),
    "resnet18": lambda classes, width: ResNet((2, 2, 2, 2), False, classes, width, cifar=False),
    "resnet50": lambda classes, width: ResNet((3, 4, 6, 3), True, classes, width, cifar=False),
    "densenet121": lambda classes, width: _densenet121(classes, width, cifar=False),
    "squeezenet": squeezenet,
    "mobilenet": mobilenet,
    "vgg16_cifar": lambda classes, width: _vgg16(classes, width, normalised=True, grid=1),
    "resnet18_cifar": lambda classes, width: ResNet((2, 2, 2, 2), False, classes, width, cifar=True),
    "resnet50_cifar": lambda classes, width: ResNet((3, 4, 6, 3), True, classes, width, cifar=True),
    "densenet121_cifar": lambda classes, width: _densenet121(classes, width, cifar=True),
    "wrn16_8_cifar": WideResNet,
    "vit_cifar": VisionTransformer,
}


def make_classifier(name: str, classes: int, width: float = 1.0) -> nn.Module:
    if name not in NETWORKS:
        raise ZooError(f"--model {name}: there is no such network; there are {', '.join(NETWORKS)}")
    if not 0 < width <= 4:
        raise ZooError(f"--width {width}: must be more than 0 and at most 4")
    return NETWORKS[name](classes, width)
