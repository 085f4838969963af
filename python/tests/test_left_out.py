"""Products that a trace does not hold are listed with their multiply-accumulates, computed here independently."""

import os
import subprocess
import unittest
import warnings

import torch
from support import RecordingTest
from torch import nn
from torch.utils.checkpoint import checkpoint

import lacuna


class LeftOut(RecordingTest):
    def record_quietly(self, model, step, **options):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", lacuna.CaptureWarning)
            with lacuna.capture(model, self.path, **options):
                step()
        return lacuna.read_trace(self.path)

    def parts(self, model, step, **options):
        return {part["name"]: part.get("macs") for part in self.record_quietly(model, step, **options).left_out}

    def test_other_kinds_by_hand(self):
        model = nn.ModuleDict({"fc": nn.Linear(4, 4), "bilinear": nn.Bilinear(4, 5, 2)})
        edges = torch.randint(0, 7, (2, 9))

        def step():
            x = model["fc"](torch.randn(7, 4))
            total = model["bilinear"](x, torch.randn(7, 5)).sum()
            total = total + torch.addbmm(x[:2, :3], x[None, :2], x.t()[None, :, :3]).sum()
            graph = torch.sparse_coo_tensor(edges, torch.ones(9), (7, 7))
            (total + torch.sparse.mm(graph, x).sum()).backward()

        parts = self.parts(model, step)
        sparse = "sparse_addmm" if "sparse_addmm" in parts else "sparse_mm"  # depends on the version
        self.assertEqual(parts, {"bilinear": 7 * 2 * 4 * 5, "addbmm": 2 * 4 * 3, sparse: 9 * 4})

    def test_rows_that_do_not_divide_among_the_samples(self):
        model = nn.ModuleDict({"fc": nn.Linear(4, 3), "head": nn.Linear(3, 5)})

        def step():
            x = model["fc"](torch.randn(3, 4))
            model["head"](torch.cat((x, x, x[:1]))).sum().backward()

        # 7 rows are 2 for each of 3 samples and one that is left
        self.assertEqual(self.parts(model, step), {"head": 3 * 5})
        info = lacuna.read_trace(self.path)["head"].info
        self.assertEqual((info["batch"], info["steps"]), (4, 2))

    def test_layers_without_a_gradient(self):
        model = nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 2))
        model[0].requires_grad_(False)
        self.assertEqual(self.parts(model, lambda: model(torch.randn(5, 4)).sum().backward()), {})

        def step():
            with torch.no_grad():
                x = model[0](torch.randn(5, 4))
            model[1](x).sum().backward()

        self.assertEqual(self.parts(model, step), {"0": 5 * 4 * 3})

    def test_a_checkpointed_product_counts_once(self):
        for reentrant in (True, False):
            model = nn.ModuleDict({"fc": nn.Linear(4, 4), "pair": nn.Bilinear(4, 4, 2)})

            def step():
                x = model["fc"](torch.randn(3, 4))
                checkpoint(lambda y: model["pair"](y, y), x, use_reentrant=reentrant).sum().backward()

            self.assertEqual(self.parts(model, step), {"pair": 3 * 2 * 4 * 4}, reentrant)

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
        model = nn.ModuleDict({"fc": nn.Linear(4, 4), "pair": nn.Bilinear(4, 4, 5)})

        def step():
            x = model["fc"](torch.randn(3, 4))
            model["pair"](x, x).sum().backward()

        self.assertEqual(self.parts(model, step, metadata={"batch": 6}), {"pair": 6 * 5 * 4 * 4})

    @unittest.skipUnless(os.environ.get("LACUNA_PROGRAM"), "LACUNA_PROGRAM is not set")
    def test_the_program_says_so(self):
        model = nn.ModuleDict({"fc": nn.Linear(4, 37), "pair": nn.Bilinear(37, 1, 1)})
        self.parts(model, lambda: model["pair"](model["fc"](torch.randn(2, 4)), torch.ones(2, 1)).sum().backward())
        # 4 x 37 of 4 x 37 + 37
        for command in ("simulate", "inspect"):
            text = subprocess.run(
                [os.environ["LACUNA_PROGRAM"], command, self.path], check=True, capture_output=True, text=True
            ).stdout
            self.assertIn("80 % of the network's MACs recorded; left out: pair (Bilinear)", text)
            self.assertIn("of 80 % of the network", text)


if __name__ == "__main__":
    unittest.main()
