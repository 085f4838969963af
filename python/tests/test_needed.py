"""lacuna.convert(needed_only=True): input gradients left out where a ReLU discards them."""

import copy
import unittest
from unittest import mock

import torch
import torch.nn.functional as F
from torch import nn

import lacuna
from lacuna._convert import layers as converted_layers
from lacuna._convert.calls import Call
from lacuna._convert.history import History
from lacuna._convert.needed import discards_zeros
from lacuna._convert.tuner import NEEDED, TORCH, Choice


class Residual(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.a, self.b = (nn.Conv2d(channels, channels, 3, padding=1, bias=False) for _ in range(2))
        self.norm_a, self.norm_b = nn.BatchNorm2d(channels), nn.BatchNorm2d(channels)

    def forward(self, x):
        return F.relu(x + self.norm_b(self.b(F.relu(self.norm_a(self.a(x))))))


class Dense(nn.Module):
    """A layer of DenseNet: what it reads has other readers."""

    def __init__(self, channels):
        super().__init__()
        self.norm_a, self.norm_b = nn.BatchNorm2d(channels), nn.BatchNorm2d(32)
        self.a, self.b = nn.Conv2d(channels, 32, 1, bias=False), nn.Conv2d(32, 16, 3, padding=1, bias=False)

    def forward(self, x):
        return torch.cat([x, self.b(F.relu(self.norm_b(self.a(F.relu(self.norm_a(x))))))], 1)


def head(channels):
    return [nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.ReLU(), nn.Linear(4 * channels, 7)]


def resnet():
    first = [nn.Conv2d(3, 32, 3, padding=1, bias=False), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2)]
    return nn.Sequential(*first, Residual(32), Residual(32), nn.Conv2d(32, 48, 1), nn.ReLU(), *head(48))


def densenet():
    return nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), Dense(16), Dense(32), nn.ReLU(), *head(48))


def vgg():
    blocks = []
    for before, after in ((3, 16), (16, 32), (32, 32)):
        blocks += [nn.Conv2d(before, after, 3, padding=1), nn.ReLU(inplace=True)]
    blocks += [nn.MaxPool2d(2), nn.Conv2d(32, 32, 3, padding=1), nn.ReLU(), nn.Dropout(0.3)]
    return nn.Sequential(*blocks, nn.Conv2d(32, 64, 3, padding=1), *head(64))


class NeededTest(unittest.TestCase):
    def setUp(self):
        threads = torch.get_num_threads()
        self.addCleanup(torch.set_num_threads, threads)
        torch.set_num_threads(2)
        torch.manual_seed(3)
        self.left_out = 0
        run = Call._our_input_grad

        def counted(call, used, *tensors):
            self.left_out += used == NEEDED
            return run(call, used, *tensors)

        choose = lambda self: NEEDED if NEEDED in self.candidates else TORCH  # noqa: E731
        for patch in (
            mock.patch("lacuna._convert.calls.history", History(folder="")),
            mock.patch.object(converted_layers, "_FEWEST_MACS", 0),
            mock.patch.multiple(Choice, next=choose, by_rule=choose),
            mock.patch.object(Call, "_our_input_grad", counted),
        ):
            patch.start()
            self.addCleanup(patch.stop)

    def gradients(self, model, x):
        torch.manual_seed(5)  # of dropout
        x = x.clone().requires_grad_()
        model.zero_grad(set_to_none=True)
        model(x).square().sum().backward()
        return [x.grad, *(p.grad for p in model.parameters())]

    def test_whole_networks(self):
        """As near to float64 as PyTorch's gradients are."""
        for make, layers in ((resnet, 6), (densenet, 5), (vgg, 5)):
            for layout in (torch.contiguous_format, torch.channels_last):
                plain = make().to(memory_format=layout)
                exact = copy.deepcopy(plain).double()
                model = lacuna.convert(copy.deepcopy(plain), needed_only=True)
                x = torch.randn(3, 3, 12, 12).to(memory_format=layout)
                self.left_out = 0
                got, torchs = self.gradients(model, x), self.gradients(plain, x)
                for module in exact.modules():  # its masks have another type, and so other values
                    if isinstance(module, nn.Dropout):
                        module.p = 0.0
                self.assertEqual(self.left_out, layers, make.__name__)
                for a, b in zip(got, torchs):
                    scale = b.abs().max().item() + 1e-6
                    self.assertLess((a - b).abs().max().item() / scale, 1e-4, make.__name__)
                if make is vgg:
                    continue
                for a, b, c in zip(got, torchs, self.gradients(exact, x.double())):
                    apart = [(found.double() - c).norm().item() for found in (a, b)]
                    self.assertLessEqual(apart[0], 3 * apart[1] + 1e-5 * c.norm().item(), make.__name__)

    def test_off_by_default(self):
        self.gradients(lacuna.convert(resnet()), torch.randn(2, 3, 12, 12))
        self.assertEqual(self.left_out, 0)

    def test_who_looks_at_the_input_sees_its_whole_gradient(self):
        layer = nn.Conv2d(16, 16, 3, padding=1)
        found = []
        for module in (layer, lacuna.convert(copy.deepcopy(layer), needed_only=True)):
            for look in ("not", "hook", "late hook", "retain"):
                torch.manual_seed(1)
                x = F.relu(torch.randn(2, 16, 9, 9, requires_grad=True) - 1)
                seen = []
                if look == "hook":
                    x.register_hook(seen.append)
                if look == "retain":
                    x.retain_grad()
                y = module(x)
                if look == "late hook":
                    x.register_hook(seen.append)
                self.left_out = 0
                y.sum().backward()
                if look == "retain":
                    seen.append(x.grad)
                found += seen
                self.assertEqual(self.left_out, int(look == "not" and module is not layer), look)
        self.assertEqual(len(found), 6)
        for got, wanted in zip(found[3:], found[:3]):
            self.assertTrue(torch.allclose(got, wanted, atol=1e-5))

    def test_other_readers(self):
        """Gradients of other readers of the same tensor are added, zeros or not."""
        layer = nn.Conv2d(16, 16, 3, padding=1)
        found = []
        for module in (layer, lacuna.convert(copy.deepcopy(layer), needed_only=True)):
            torch.manual_seed(1)
            source = torch.randn(2, 16, 9, 9, requires_grad=True)
            x = F.relu(source)
            (module(x).square().sum() + (x * x.sum()).sum() + module(x).sum()).backward()
            found.append([source.grad, module.weight.grad])
        self.assertEqual(self.left_out, 2)
        for a, b in zip(*found):
            self.assertTrue(torch.allclose(a, b, rtol=1e-4, atol=1e-3))

    def test_paths(self):
        a, b = (torch.randn(2, 4, 6, 6, requires_grad=True) for _ in range(2))
        r, s = F.relu(a), F.relu(b)
        comes_out = {
            "relu": r,
            "in place": (a * 1).relu_(),
            "max pool": F.max_pool2d(r, 2),
            "dropout": F.dropout(r, 0.5),
            "flat": r.flatten(1),
            "cat": torch.cat([r, F.max_pool2d(s, 1)], 1),
            "sum": r + s,
            "squared": r.square(),
            "times itself": r * r,
            "threshold": F.threshold(a, 0.5, 0.0),
        }
        does_not = {
            "leaf": a,
            "constant": torch.randn(3),
            "linear": a * 2,
            "gelu": F.gelu(a),
            "parts that cancel": r * -1 + s,
            "half of a cat": torch.cat([r, b], 1),
            "sum": r + b,
            "difference": torch.sub(r, s),
            "gated": r * b,
            "gated the other way": b * r,
            "mean": F.avg_pool2d(r, 2),
            "low threshold": F.threshold(a, -0.5, 0.0),
            "max pool of both signs": F.max_pool2d(a, 2),
        }
        for name, x in comes_out.items():
            self.assertTrue(discards_zeros(x), name)
        for name, x in does_not.items():
            self.assertFalse(discards_zeros(x), name)


if __name__ == "__main__":
    unittest.main()
