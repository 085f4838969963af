"""What a trace does not hold is written down with its multiply-accumulates, computed here by hand."""

import os
import subprocess
import unittest
import warnings

import torch
import torch.nn.functional as F
from support import RecordingTest
from torch import nn
from torch.utils.checkpoint import checkpoint

import lacuna


class Mixed(nn.Module):
    """Of everything a bit: 2 samples of 3 steps of 8."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 6)
        self.rnn = nn.LSTM(6, 5, num_layers=2, bidirectional=True, batch_first=True)
        self.attention = nn.MultiheadAttention(10, 2, batch_first=True)
        self.up = nn.ConvTranspose1d(10, 4, 3, stride=2)

    def forward(self, x):
        x, _ = self.rnn(self.fc(x))
        x, _ = self.attention(x, x, x)
        scores = x @ x.transpose(-2, -1)
        return self.up(x.transpose(1, 2)).sum() + scores.sum()


class LeftOut(RecordingTest):
    def record_quietly(self, model, step, **options):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", lacuna.CaptureWarning)
            with lacuna.capture(model, self.path, **options):
                step()
        return lacuna.read_trace(self.path)

    def parts(self, model, step, **options):
        return {part["name"]: part.get("macs") for part in self.record_quietly(model, step, **options).left_out}

    def test_layers_and_functions_by_hand(self):
        model = Mixed()
        trace = self.record_quietly(model, lambda: model(torch.randn(2, 3, 8)).backward())
        tokens = 2 * 3
        # 4 gates of 5: layer 1 from 6, layer 2 from 10; both from 5 of the step before, in 2 directions
        rnn = tokens * 2 * 20 * ((6 + 5) + (10 + 5))
        attention = tokens * 10 * 10 * 4 + 2 * (tokens * 3 * 10)
        self.assertEqual(
            trace.left_out,
            [
                {"name": "rnn", "type": "LSTM", "macs": rnn},
                {"name": "attention", "type": "MultiheadAttention", "macs": attention},
                {"name": "matmul", "type": "function", "macs": tokens * 3 * 10},
                {"name": "up", "type": "ConvTranspose1d", "macs": tokens * 10 * 4 * 3},
            ],
        )

    def test_other_kinds_by_hand(self):
        cell, bilinear, deep = nn.GRUCell(4, 3), nn.Bilinear(4, 5, 2), nn.Conv3d(2, 4, 2)
        model = nn.ModuleDict({"fc": nn.Linear(4, 4), "cell": cell, "bilinear": bilinear, "deep": deep})

        def step():
            x = model["fc"](torch.randn(7, 4))
            volume = model["fc"](torch.randn(1, 2, 3, 3, 4))
            total = cell(x).sum() + bilinear(x, torch.randn(7, 5)).sum() + deep(volume).sum()
            total = total + torch.einsum("nc,mc->nm", x, x).sum() + torch.bmm(x[None], x.t()[None]).sum()
            (total + F.linear(x, torch.randn(9, 4)).sum()).backward()

        self.assertEqual(
            self.parts(model, step),
            {
                "cell": 7 * 9 * (4 + 3),
                "bilinear": 7 * 2 * 4 * 5,
                "deep": (4 * 2 * 2 * 3) * (2 * 8),
                "einsum": 7 * 7 * 4,
                "bmm": 7 * 7 * 4,
                "linear": 7 * 9 * 4,
            },
        )

    def test_layers_without_a_gradient(self):
        model = nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 2))
        model[0].requires_grad_(False)
        self.assertEqual(self.parts(model, lambda: model(torch.randn(5, 4)).sum().backward()), {"0": 5 * 4 * 3})

    def test_a_checkpointed_product_counts_once(self):
        for reentrant in (True, False):
            model = nn.ModuleDict({"fc": nn.Linear(4, 4)})

            def step():
                x = model["fc"](torch.randn(3, 4))
                checkpoint(lambda y: y @ y.t(), x, use_reentrant=reentrant).sum().backward()

            self.assertEqual(self.parts(model, step), {"matmul": 3 * 3 * 4}, reentrant)

    def test_what_is_not_training_does_not_count(self):
        model = nn.Sequential(nn.Linear(4, 3))

        def step():
            x = torch.randn(5, 4)
            with torch.no_grad():
                model(x) @ torch.randn(3, 3)
            x @ x.t()  # needs no gradient
            model(x).sum().backward()
            model(x) @ torch.randn(3, 3)  # after the step

        self.assertEqual(self.parts(model, step), {})
        self.assertNotIn("left_out", lacuna.read_trace(self.path).metadata)

    def test_a_larger_batch_scales(self):
        model = nn.ModuleDict({"fc": nn.Linear(4, 4)})

        def step():
            x = model["fc"](torch.randn(3, 4))
            (x @ torch.randn(4, 5)).sum().backward()

        self.assertEqual(self.parts(model, step, metadata={"batch": 6}), {"matmul": 6 * 4 * 5})

    @unittest.skipUnless(os.environ.get("LACUNA_PROGRAM"), "LACUNA_PROGRAM is not set")
    def test_the_program_says_so(self):
        model = nn.ModuleDict({"fc": nn.Linear(4, 37), "cell": nn.RNNCell(37, 1)})
        self.parts(model, lambda: model["cell"](model["fc"](torch.randn(2, 4))).sum().backward())
        # 4 x 37 of 4 x 37 + 38
        for command in ("simulate", "inspect"):
            text = subprocess.run(
                [os.environ["LACUNA_PROGRAM"], command, self.path], check=True, capture_output=True, text=True
            ).stdout
            self.assertIn("79 % of the network's MACs recorded; left out: cell (RNNCell)", text)
            self.assertIn("of 79 % of the network", text)


if __name__ == "__main__":
    unittest.main()
