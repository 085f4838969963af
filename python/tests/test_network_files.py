"""lacuna.save_network: what is written, and messages about models that `lacuna train` does not have."""

import os
import tempfile
import unittest

import torch
import torch.nn.functional as F
from torch import nn

import lacuna


class NetworkFile(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "mine.yaml")

    def layers(self, model, image=(3, 32, 32)):
        lacuna.save_network(model, self.path, image)
        with open(self.path, encoding="utf-8") as file:
            return file.read().split("layers:\n")[1]

    def refused(self, model, message, image=(3, 32, 32)):
        with self.assertRaisesRegex(lacuna.NetworkError, message):
            lacuna.save_network(model, self.path, image)
        self.assertFalse(os.path.exists(self.path))

    def test_a_chain(self):
        model = nn.Sequential(
            nn.Conv2d(1, 8, (3, 5), stride=2, padding=(1, 2), bias=False), nn.BatchNorm2d(8), nn.ReLU(),
            nn.MaxPool2d(2), nn.Flatten(), nn.Dropout(0.25), nn.Linear(8 * 49, 7),
        )  # fmt: skip
        layers = self.layers(model, (1, 28, 28))
        self.assertEqual(
            layers,
            "  - conv: {name: 0, out: 8, kernel: [3, 5], stride: 2, padding: [1, 2], bias: no, init: fan}\n"
            "  - batch_norm: {name: 1}\n  - relu\n  - max_pool: {kernel: 2}\n  - flatten\n  - dropout: {rate: 0.25}\n"
            "  - linear: {name: 6, out: $classes, init: fan}\n",
        )
        with open(self.path, encoding="utf-8") as file:
            head = file.read().split("layers:")[0]
        self.assertIn("parameters: {size: 28, channels: 1, classes: 7}", head)
        self.assertIn('about: "Sequential, from PyTorch"', head)

    def test_the_model_stays_as_it_is(self):
        model = lacuna.convert(nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(3600, 2)))
        before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
        self.layers(model)
        self.assertTrue(model.training)
        for name, tensor in model.state_dict().items():
            self.assertTrue(torch.equal(tensor, before[name]), name)
        self.assertEqual(lacuna.report(model).converted, ["0", "3"])

    def test_dense_blocks_concatenate_what_was_concatenated(self):
        class Dense(nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.b = nn.Conv2d(3, 5, 1), nn.Conv2d(8, 5, 1)
                self.last = nn.Linear(13, 4)

            def forward(self, x):
                found = [x]
                for layer in (self.a, self.b):
                    found.append(layer(torch.cat(found, 1)))
                return self.last(torch.cat(found, 1).mean((2, 3)))

        layers = self.layers(Dense())
        self.assertEqual(layers.count("concat"), 2)
        self.assertEqual(layers.count("- []"), 2)
        self.assertIn("average_pool: global", layers)

    def test_what_there_is_not(self):
        head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 2)]
        for layer, message in [
            (nn.GELU(), "'1', a GELU, has no counterpart in `lacuna train`: there are Conv2d, Linear"),
            (nn.BatchNorm2d(8, eps=1e-3), "eps is 0.001"),
            (nn.BatchNorm2d(8, affine=False), "no weights"),
            (nn.Conv2d(8, 8, 3, padding=1, padding_mode="reflect"), "pads with 'reflect'"),
            (nn.Conv2d(8, 8, 2, padding="same"), "not the same on both sides"),
            (nn.MaxPool2d(3, dilation=2), "dilation"),
            (nn.AvgPool2d(3, padding=1), "counts the padding"),
            (nn.AdaptiveAvgPool2d(7), "overlap"),
            (nn.utils.parametrizations.spectral_norm(nn.Conv2d(8, 8, 1)), "parametri"),
        ]:
            with self.subTest(layer):
                self.refused(nn.Sequential(nn.Conv2d(3, 8, 1), layer, *head), message)
        self.refused(nn.Sequential(nn.Linear(32, 2)), "its input has 4 dimensions")
        self.refused(nn.Sequential(nn.Conv2d(3, 8, 1), nn.ReLU()), "returns 8x32x32 values per image")
        shared = nn.Conv2d(3, 3, 1)
        self.refused(nn.Sequential(shared, shared, nn.Flatten(), nn.Linear(3072, 2)), "'0' is called twice")
        self.refused(lambda x: x, "takes a torch.nn.Module, not function")
        self.refused(nn.ReLU(), "square images", (3, 32, 16))

    def test_what_cannot_be_traced_or_nested(self):
        class Model(nn.Module):
            def __init__(self, forward):
                super().__init__()
                self.a, self.b, self.c = (nn.Conv2d(3, 3, 1) for _ in range(3))
                self.last = nn.Linear(3072, 2)
                self.compute = forward

            def forward(self, x):
                return self.compute(self, x)

        def depends(self, x):
            return self.last((self.a(x) if x.sum() > 0 else x).flatten(1))

        def crosses(self, x):
            a, b = self.a(x), self.b(x)
            return self.last((self.c(a + b) + F.relu(a)).flatten(1))

        def pairs(self, x):
            return self.last(x.flatten(1)), x

        self.refused(Model(depends), "torch.fx cannot trace Model")
        self.refused(Model(crosses), "cannot nest")
        self.refused(Model(pairs), "returns several results")
        self.refused(Model(lambda self, x: self.last((x * 2).flatten(1))), "'mul' has no counterpart")
        self.refused(Model(lambda self, x: F.linear(x.flatten(1), self.last.weight)), "outside of the module")
        self.refused(Model(lambda self, x: self.last(torch.cat([self.a(x), x], 2).flatten(1))), "dim=1|trace")


if __name__ == "__main__":
    unittest.main()
