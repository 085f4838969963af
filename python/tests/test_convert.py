"""lacuna.convert: the same results with every kernel, the same model before and after, and what PyTorch keeps."""

import contextlib
import copy
import gc
import io
import itertools
import json
import os
import pickle
import random
import shutil
import tempfile
import threading
import time
import unittest
import warnings
from unittest import mock

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils import prune

import lacuna
from lacuna._convert import layers as converted_layers
from lacuna._convert.allowance import Allowance
from lacuna._convert.blocks import Block
from lacuna._convert.calls import Call
from lacuna._convert import memory
from lacuna._convert.history import History, cache_folder
from lacuna._convert.plans import Geometry, has_bfloat16
from lacuna._convert.memory import Workspaces, workspaces
from lacuna._ffn.call import BlockFunction
from lacuna._ffn.call import Call as BlockCall
from lacuna._convert.tuner import OUR_BFLOAT16, OUR_DENSE, SKIP_A, SKIP_G, SKIP_ROWS, SKIP_W, TORCH, Choice

CANDIDATES = (TORCH, OUR_DENSE, SKIP_A, SKIP_G, SKIP_W)
FORMATS = (torch.contiguous_format, torch.channels_last)
TORCH_BACKWARD = Call._torch_backward
NEXT = Choice.next
DONE = Choice.done
FASTEST = Choice._fastest


def always(candidate):
    """Every operation that has this candidate uses it; no call is too small."""
    choose = lambda self: candidate if candidate in self.candidates else TORCH  # noqa: E731
    return mock.patch.multiple(Choice, next=choose, by_rule=choose), mock.patch.object(converted_layers, "_FEWEST_MACS", 0)


@contextlib.contextmanager
def torch_takes(seconds):
    """PyTorch's backward passes take so long, and all else a microsecond."""
    passed = 0.0

    def now():
        nonlocal passed
        passed += 1e-6
        return passed

    def backward(call, *args):
        nonlocal passed
        passed += seconds
        return TORCH_BACKWARD(call, *args)

    with mock.patch("lacuna._convert.calls.clock", lambda threads: now), mock.patch.object(Call, "_torch_backward", backward):
        yield


class ConvertTest(unittest.TestCase):
    def setUp(self):
        threads = torch.get_num_threads()
        self.addCleanup(torch.set_num_threads, threads)
        torch.set_num_threads(2)
        torch.manual_seed(1)
        self.remembers(History(folder=""))
        patch = mock.patch("lacuna._convert.calls.allowance", Allowance(share=1e9))
        patch.start()
        self.addCleanup(patch.stop)

    def remembers(self, history):
        """Nothing that was measured elsewhere, unless a test says so."""
        patch = mock.patch("lacuna._convert.calls.history", history)
        patch.start()
        self.addCleanup(patch.stop)

    def force(self, candidate):
        for patch in always(candidate):
            patch.start()
            self.addCleanup(patch.stop)

    def near(self, got, wanted, what=""):
        self.assertEqual(got is None, wanted is None, what)
        if wanted is None:
            return
        self.assertEqual(got.shape, wanted.shape, what)
        scale = wanted.abs().max().item() + 1e-6
        self.assertLess((got - wanted).abs().max().item() / scale, 2e-5, what)


def run(layer, x, grad):
    """Output and the gradients of input and parameters."""
    x = x.clone(memory_format=torch.preserve_format).requires_grad_()
    layer.zero_grad(set_to_none=True)
    y = layer(x)
    y.backward(grad)
    return [y.detach(), x.grad, *(p.grad for p in layer.parameters())], y


def random_conv(draw):
    groups = draw.choice([1, 1, 1, 1, 2])
    channels = [draw.choice([3, 5, 16, 17, 32, 33, 48]), draw.choice([2, 16, 19, 32, 64])]
    if groups == 2:
        channels = [draw.choice([32, 64]), draw.choice([32, 64])]
    kernel = draw.choice([(1, 1), (3, 3), (3, 3), (3, 3), (5, 3), (2, 2)])
    layer = nn.Conv2d(
        *channels,
        kernel,
        stride=draw.choice([1, 1, 2, (1, 2)]),
        padding=draw.choice([0, 1, 1, (2, 1)]),
        dilation=draw.choice([1, 1, 1, 2]),
        groups=groups,
        bias=draw.random() < 0.5,
    )
    x = torch.randn(draw.choice([1, 2, 5]), channels[0], draw.choice([6, 9]), draw.choice([7, 12, 17])).relu()
    return layer, x


class SameResults(ConvertTest):
    def test_convolutions_of_every_kind(self):
        draw = random.Random(7)
        for case in range(24):
            layer, x = random_conv(draw)
            try:
                y = layer(x)
            except RuntimeError:
                continue  # the kernel is larger than the image
            grad = torch.randn_like(y) * (torch.rand_like(y) < 0.5)
            layout = draw.choice(FORMATS)
            ours = copy.deepcopy(layer)
            if draw.random() < 0.7:
                ours, x = ours.to(memory_format=layout), x.contiguous(memory_format=layout)
            if draw.random() < 0.3:
                grad = grad.transpose(2, 3).contiguous().transpose(2, 3)  # another order
            wanted, y = run(layer, x, grad)
            self.assertEqual(len(lacuna.report(lacuna.convert(ours)).left), 0)
            for candidate in CANDIDATES:
                with always(candidate)[0], always(candidate)[1]:
                    got, ours_y = run(ours, x, grad)
                for a, b in zip(got, wanted):
                    self.near(a, b, f"case {case} {layer} {tuple(x.shape)} {layout} {candidate}")
                reference = copy.deepcopy(layer).to(memory_format=layout)(x) if ours.weight.is_contiguous() else None
                if reference is not None and layout == torch.contiguous_format:
                    self.assertEqual(ours_y.stride(), y.stride())

    def test_linear_layers(self):
        for shape in [(7, 33), (2, 3, 64), (1, 16), (4, 1, 2, 48)]:
            for bias in (True, False):
                layer = nn.Linear(shape[-1], 40, bias=bias)
                x = torch.randn(shape).relu()
                grad = torch.randn(*shape[:-1], 40).relu()
                wanted, _ = run(layer, x, grad)
                ours = copy.deepcopy(layer)
                lacuna.convert(ours)
                for candidate in CANDIDATES:
                    with always(candidate)[0], always(candidate)[1]:
                        for a, b in zip(run(ours, x, grad)[0], wanted):
                            self.near(a, b, f"{shape} {bias} {candidate}")

    def test_memory_format_of_results_is_pytorchs(self):
        for layout in FORMATS:
            layer = nn.Conv2d(16, 32, 3, padding=1).to(memory_format=layout)
            x = torch.randn(2, 16, 8, 8).contiguous(memory_format=layout)
            ours = copy.deepcopy(layer)
            lacuna.convert(ours)
            (wanted, want_y), self_grad = run(layer, x, torch.ones(2, 32, 8, 8)), torch.ones(2, 32, 8, 8)
            self.force(SKIP_A)
            got, y = run(ours, x, self_grad)
            self.assertEqual(y.stride(), want_y.stride())
            self.assertEqual(got[1].stride(), wanted[1].stride())
            self.assertEqual(got[2].stride(), wanted[2].stride())

    def test_results_may_be_changed_in_place(self):
        """Whichever kernel computed them: nn.ReLU(inplace=True) behind the layer."""
        for candidate in CANDIDATES:
            with always(candidate)[0], always(candidate)[1]:
                for layer, x in ((nn.Linear(16, 24), torch.randn(3, 4, 16)), (nn.Conv2d(16, 16, 3), torch.randn(2, 16, 5, 5))):
                    plain = nn.Sequential(layer, nn.ReLU(inplace=True))
                    model = lacuna.convert(copy.deepcopy(plain))
                    grad = torch.randn_like(plain(x))
                    for got, wanted in zip(run(model, x, grad)[0], run(plain, x, grad)[0]):
                        self.near(got, wanted, f"{layer} {candidate}")

    def test_some_gradients_only(self):
        self.force(SKIP_G)
        x = torch.randn(2, 16, 6, 6).relu()
        grad = torch.randn(2, 16, 6, 6).relu()
        for needs in [(True, False, False), (False, True, False), (False, False, True), (True, False, True)]:
            layers = [nn.Conv2d(16, 16, 3, padding=1)]
            layers.append(copy.deepcopy(layers[0]))
            lacuna.convert(layers[1])
            results = []
            for layer in layers:
                layer.weight.requires_grad_(needs[1])
                layer.bias.requires_grad_(needs[2])
                own = x.clone().requires_grad_(needs[0])
                layer(own).backward(grad)
                results.append((own.grad, layer.weight.grad, layer.bias.grad))
            for a, b in zip(*results):
                self.near(a, b, f"{needs}")

    def test_second_derivatives_are_pytorchs(self):
        self.force(SKIP_A)
        for layer, x in [(nn.Conv2d(16, 16, 3), torch.randn(2, 16, 6, 6)), (nn.Linear(16, 16), torch.randn(4, 16))]:
            ours = copy.deepcopy(layer)
            lacuna.convert(ours)
            results = []
            for module in (layer, ours):
                own = x.clone().requires_grad_()
                (first,) = torch.autograd.grad(module(own).square().sum(), own, create_graph=True)
                first.square().sum().backward()
                results.append((own.grad, module.weight.grad))
            for a, b in zip(*results):
                self.near(a, b)

    def test_a_value_changed_behind_autograd_counts(self):
        """`.data` does not change the version of a parameter: nothing of a weight may be kept between calls."""
        self.force(SKIP_A)
        layer = nn.Conv2d(16, 16, 3)
        lacuna.convert(layer)
        x = torch.randn(1, 16, 5, 5)
        layer(x)
        layer.weight.data.mul_(2)
        self.near(layer(x), F.conv2d(x, layer.weight, layer.bias))

    def test_weights_of_another_shape_and_pytorchs_defaults(self):
        """A layer cut down after it was made, while the default type is another."""
        self.force(SKIP_A)
        layers = [nn.Conv2d(32, 32, 3), nn.Linear(32, 32)]
        lacuna.convert(nn.ModuleList(layers))
        self.addCleanup(torch.set_default_dtype, torch.get_default_dtype())
        torch.set_default_dtype(torch.float64)
        for layer, x in zip(layers, (torch.randn(1, 16, 5, 5), torch.randn(4, 16))):
            x = x.float().requires_grad_()
            layer.weight = nn.Parameter(layer.weight.detach()[:20, :16].contiguous())
            layer.bias = nn.Parameter(layer.bias.detach()[:20])
            wanted = (F.conv2d if x.dim() == 4 else F.linear)(x, layer.weight, layer.bias)
            got = layer(x)
            self.near(got, wanted)
            for a, b in zip(*(torch.autograd.grad(y.sum(), (x, layer.weight)) for y in (got, wanted))):
                self.assertEqual(a.dtype, torch.float32)
                self.near(a, b)

    def test_changed_input_is_an_error_as_in_pytorch(self):
        self.force(SKIP_A)
        layer = nn.Conv2d(16, 16, 3)
        lacuna.convert(layer)
        x = torch.randn(1, 16, 5, 5)
        y = layer(x)
        x.mul_(2)
        with self.assertRaisesRegex(RuntimeError, "modified by an inplace operation"):
            y.sum().backward()

    def test_training_follows_the_original(self):
        """Some steps with whatever the tuner chooses; dropout and batch norm draw and count the same."""
        model = small_network()
        ours = copy.deepcopy(model)
        lacuna.convert(ours)
        losses = []
        for network in (model, ours):
            torch.manual_seed(3)
            optimizer = torch.optim.SGD(network.parameters(), 0.02, momentum=0.9)
            images, labels = torch.randn(8, 3, 16, 16), torch.arange(8) % 4
            for _ in range(12):
                optimizer.zero_grad()
                loss = F.cross_entropy(network(images), labels)
                loss.backward()
                optimizer.step()
            network.eval()
            with torch.no_grad():
                losses.append((loss.item(), network(images)))
        self.assertAlmostEqual(losses[0][0], losses[1][0], places=3)
        self.near(losses[1][1] / 100, losses[0][1] / 100)


class Pruned(ConvertTest):
    """Zero weights: kernels that skip them, and gradients of kept weights alone where a mask says which those are."""

    def layers(self):
        for layout in FORMATS:
            layer = nn.Conv2d(20, 24, 3, padding=1).to(memory_format=layout)
            yield layer, torch.randn(3, 20, 7, 6).contiguous(memory_format=layout)
        yield nn.Conv2d(32, 32, 1, groups=2), torch.randn(2, 32, 5, 5)
        yield nn.Conv2d(16, 16, 3, stride=2, padding=1), torch.randn(2, 16, 9, 8)
        yield nn.Linear(40, 24), torch.randn(5, 40)
        yield nn.Linear(40, 24), torch.randn(2, 3, 40)

    def used_for_gradients(self):
        """Candidates that weight gradients used, appended to as layers run."""
        used = []
        compute = Call._our_weight_grad
        spy = lambda call, candidate, *rest: (used.append(candidate), compute(call, candidate, *rest))[1]  # noqa: E731
        patch = mock.patch.object(Call, "_our_weight_grad", spy)
        patch.start()
        self.addCleanup(patch.stop)
        return used

    def test_masks_of_prune(self):
        self.force(SKIP_W)
        used = self.used_for_gradients()
        for layer, x in self.layers():
            prune.custom_from_mask(layer, "weight", torch.rand(layer.weight.shape) < 0.2)
            grad = torch.randn_like(layer(x))
            x.requires_grad_()
            results = []
            for converted in (False, True):
                lacuna.convert(layer) if converted else None
                for parameter in (x, *layer.parameters()):
                    parameter.grad = None
                y = layer(x)
                y.backward(grad)
                results.append([y.detach(), x.grad, layer.weight_orig.grad, layer.bias.grad])
            for a, b in zip(*results):
                self.near(b, a, f"{layer}")
            self.assertGreater(results[1][2].abs().sum(), 0)
            self.assertFalse(results[1][2][layer.weight_mask == 0].any())
            prune.remove(layer, "weight")  # the zeros stay, the mask does not: all gradients count again
            used.clear()
            layer.weight.grad = None
            layer(x).backward(grad)
            self.assertNotIn(SKIP_W, used)
            self.assertTrue(layer.weight.grad[results[1][2] == 0].any())

    def test_own_masks(self):
        self.force(SKIP_W)
        for layer, x in self.layers():
            mask = torch.rand(layer.weight.shape) < 0.2
            layer.weight.data.mul_(mask)
            grad = torch.randn_like(layer(x))
            wanted, _ = run(layer, x, grad)
            lacuna.convert(layer, masks={"weight": mask})
            got, _ = run(layer, x, grad)
            wanted[2] = wanted[2] * mask
            for a, b in zip(got, wanted):
                self.near(a, b, f"{layer}")
            mask.fill_(False)  # in place: the next call sees it
            mask.view(-1)[0] = True
            self.assertLessEqual(run(layer, x, grad)[0][2].count_nonzero(), 1)
            self.near(copy.deepcopy(layer)(x), layer(x))

    def test_all_and_no_weights_are_zero(self):
        self.force(SKIP_W)
        for layer, x in self.layers():
            grad = torch.randn_like(layer(x))
            for share in (0, 1):
                mask = torch.full(layer.weight.shape, share)
                layer.weight.data.mul_(mask)
                wanted, _ = run(layer, x, grad)
                wanted[2] = wanted[2] * mask
                for a, b in zip(run(lacuna.convert(layer, masks={"weight": mask}), x, grad)[0], wanted):
                    self.near(a, b, f"{layer} {share}")
                lacuna.unconvert(layer)
                torch.nn.init.normal_(layer.weight)

    def test_wrong_masks(self):
        model = small_network()
        for masks, pattern in [
            ({"0.wieght": torch.ones(16, 3, 3, 3)}, "no weight '0.wieght'; did you mean '0.weight'"),
            ({"0.weight": torch.ones(16, 3, 3)}, r"0.weight is \(16, 3, 3, 3\), its mask \(16, 3, 3\)"),
            ({"0.weight": 1}, "its mask int"),
        ]:
            with self.assertRaisesRegex(lacuna.ConvertError, pattern):
                lacuna.convert(model, masks=masks)
            self.assertEqual(lacuna.report(model).converted, [])

    def test_dense_weights_are_not_tried(self):
        choice = Choice([TORCH, OUR_DENSE, SKIP_A, SKIP_W])
        choice.saw_zeros(SKIP_W, 0.4)
        choice.saw_zeros(SKIP_A, 0.4)
        self.assertEqual(choice._tried(), (TORCH, OUR_DENSE, SKIP_A))


def rounded(tensor):
    return tensor.detach().bfloat16().float()


class Bfloat16(ConvertTest):
    """PyTorch's own bfloat16 kernels are not run: oneDNN's crash on some machines. The measure is float32 (bfloat16
    operands have exact products there) of operands that were rounded by hand."""

    LAYERS = (
        lambda: (nn.Conv2d(32, 48, 3, padding=1), torch.randn(2, 32, 6, 9).relu()),
        lambda: (nn.Conv2d(16, 16, 1, 2), torch.randn(3, 16, 5, 4).relu()),
        lambda: (nn.Linear(48, 32), torch.randn(7, 5, 48).relu()),
    )

    def close(self, got, wanted, what=""):
        """Within a rounding of the result, half of 2^-8, and of the sums."""
        self.assertEqual(got.shape, wanted.shape, what)
        scale = wanted.abs().max().item() + 1e-6
        self.assertLess(((got.float() - wanted).abs() - wanted.abs() / 256).max().item() / scale, 2e-5, what)

    def both_formats(self):
        for make, layout in itertools.product(self.LAYERS, FORMATS):
            layer, x = make()
            if x.dim() == 4:
                layer, x = layer.to(memory_format=layout), x.contiguous(memory_format=layout)
            yield layer, x, f"{layer} {layout}"

    def test_autocast(self):
        """Results are bfloat16, gradients of parameters float32, of operands that autocast rounds."""
        for candidate in (SKIP_A, SKIP_G, SKIP_W, OUR_DENSE, *([OUR_BFLOAT16] if has_bfloat16() else [])):
            for layer, x, what in self.both_formats():
                self.check_autocast(candidate, layer, x, f"{what} {candidate}")

    def check_autocast(self, candidate, layer, x, what):
        plain = copy.deepcopy(layer)
        for parameter in plain.parameters():
            parameter.data = rounded(parameter)
        lacuna.convert(layer)
        used = []

        def choose(choice):
            # PyTorch's would run where the operation has no such candidate.
            used.append(candidate if candidate in choice.candidates else OUR_DENSE)
            return used[-1]

        with mock.patch.multiple(Choice, next=choose), mock.patch.object(converted_layers, "_FEWEST_MACS", 0):
            own = x.clone(memory_format=torch.preserve_format).requires_grad_()
            with torch.autocast("cpu", torch.bfloat16):
                y = layer(own)
            grad = torch.randn_like(plain(x)).bfloat16()
            y.backward(grad)
        self.assertIn(candidate, used, what)
        self.assertEqual(y.dtype, torch.bfloat16, what)
        (wanted, wanted_x, *wanted_parameters), _ = run(plain, rounded(x), grad.float())
        self.close(y, wanted, what)
        self.assertEqual(own.grad.dtype, torch.float32)
        self.close(own.grad, wanted_x, what)
        for parameter, other in zip(layer.parameters(), wanted_parameters):
            self.assertEqual(parameter.grad.dtype, torch.float32)
            self.close(parameter.grad, other, f"{what}, parameters")

    def test_models_of_bfloat16(self):
        with torch.no_grad():
            for layer, x, what in self.both_formats():
                layer, x = layer.bfloat16(), x.bfloat16()
                wanted = copy.deepcopy(layer).float()(x.float())
                lacuna.convert(layer)
                with always(SKIP_A)[0], always(SKIP_A)[1]:
                    y = layer(x)
                self.assertEqual((y.dtype, len(lacuna.report(layer).converted)), (torch.bfloat16, 1))
                self.close(y, wanted, what)

    def test_other_types_of_autocast_are_pytorchs(self):
        layer, x = nn.Linear(16, 16), torch.randn(4, 16)
        with torch.autocast("cpu", torch.bfloat16):
            self.assertTrue(converted_layers._takes(x, layer.weight, layer.bias))
            self.assertTrue(converted_layers._takes(x.bfloat16(), layer.weight, layer.bias))
            self.assertFalse(converted_layers._takes(x.double(), layer.weight, layer.bias))
        self.assertFalse(converted_layers._takes(x.bfloat16(), layer.weight, layer.bias))
        with mock.patch.object(converted_layers, "autocasts", lambda: True):
            with mock.patch.object(converted_layers, "_autocast_dtype", lambda: torch.float16):
                self.assertFalse(converted_layers._takes(x, layer.weight, layer.bias))

    @unittest.skipUnless(has_bfloat16(), "this CPU has no bfloat16")
    def test_precision_rounds_operands_alone(self):
        self.force(OUR_BFLOAT16)
        for layer, x, what in self.both_formats():
            exact = copy.deepcopy(layer)
            plain = copy.deepcopy(layer)
            plain.weight.data = rounded(plain.weight)  # a bias is not an operand of the product
            lacuna.convert(layer, precision="bfloat16")
            grad = torch.randn_like(plain(x))
            (y, x_grad, w_grad, b_grad), _ = run(layer, x, grad)
            self.near(y, plain(rounded(x)), what)
            (_, wanted_x, wanted_w, _), _ = run(plain, rounded(x), rounded(grad))
            self.near(x_grad, wanted_x, what)
            self.near(w_grad, wanted_w, what)
            self.near(b_grad, run(exact, x, grad)[0][3], what)
            self.assertGreater((y - exact(x)).abs().max().item(), 1e-4, "nothing was rounded")

    @unittest.skipUnless(has_bfloat16(), "this CPU has no bfloat16")
    def test_layers_that_have_no_bfloat16(self):
        self.force(OUR_BFLOAT16)
        layer = nn.Conv2d(16, 17, 3)
        x = torch.randn(2, 16, 6, 6)
        wanted = layer(x)
        self.near(lacuna.convert(layer, precision="bfloat16")(x), wanted)

    def test_training_with_rounded_operands(self):
        """The choice is free; losses follow those of single precision."""
        if not has_bfloat16():
            with self.assertRaisesRegex(lacuna.ConvertError, "this CPU has neither"):
                lacuna.convert(nn.Linear(16, 16), precision="bfloat16")
            return
        with mock.patch.object(converted_layers, "_FEWEST_MACS", 0):
            losses = []
            for precision in ("float32", "bfloat16"):
                torch.manual_seed(3)
                model = small_network()
                lacuna.convert(model, precision=precision)
                optimizer = torch.optim.SGD(model.parameters(), 0.05)
                x, labels = torch.randn(16, 3, 16, 16), torch.arange(16) % 4
                for _ in range(40):
                    optimizer.zero_grad()
                    loss = F.cross_entropy(model(x), labels)
                    loss.backward()
                    optimizer.step()
                losses.append(loss.item())
        self.assertLess(abs(losses[0] - losses[1]), 0.1)

    def test_wrong_precision(self):
        with self.assertRaisesRegex(lacuna.ConvertError, "precision is 'float16'; give 'float32' or 'bfloat16'"):
            lacuna.convert(nn.Linear(16, 16), precision="float16")


class ZeroRows(ConvertTest):
    """Padding and ignored labels: whole rows of the gradient are zero."""

    def test_gradients_are_the_same(self):
        self.force(SKIP_ROWS)
        for kept in (0, 1, 5, 12):
            for layer, shape in ((nn.Linear(16, 24), (3, 4, 16)), (nn.Linear(5, 3, bias=False), (12, 5))):
                plain = copy.deepcopy(layer)
                x = torch.randn(shape)
                grad = torch.randn_like(plain(x)).view(12, -1)
                grad[torch.randperm(12)[kept:]] = 0
                grad[0, 0] = 0  # a zero in a row that counts
                grad = grad.view_as(plain(x))
                for got, wanted in zip(run(lacuna.convert(layer), x, grad)[0], run(plain, x, grad)[0]):
                    self.near(got, wanted, f"{kept} rows")

    def test_a_padded_batch_chooses_them(self):
        """Half of each sequence is padding that no loss looks at; the clock says what rows would save."""
        lengths = torch.tensor([4, 8, 16, 4])
        padding = torch.arange(16)[None, :] >= lengths[:, None]
        model = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 16))
        lacuna.convert(model)
        x = torch.randn(4, 16, 16)
        faster = {SKIP_ROWS: 0.6}
        timed = lambda choice, used, seconds: DONE(choice, used, faster.get(used, 1.0))  # noqa: E731
        with mock.patch.object(converted_layers, "_FEWEST_MACS", 0), mock.patch.object(Choice, "done", timed):
            for _ in range(80):
                model(x)[~padding].square().sum().backward()
        rows = [r for r in lacuna.report(model).choices() if r["layer"] == "2" and r["operation"] != "forward"]
        self.assertEqual([row["runs"] for row in rows], 2 * ["skips rows of G"])
        self.assertAlmostEqual(rows[0]["zeros"], 0.5, delta=0.02)

    def test_few_rows_are_not_tried(self):
        choice = Choice([TORCH, SKIP_ROWS])
        choice.saw_zeros(SKIP_ROWS, 0.05)
        self.assertEqual({choice.next() for _ in range(5)}, {TORCH})


class Pair(nn.Module):
    """Two linear layers with an activation between them, and what else is done with the hidden values."""

    def __init__(self, activation, bias=True, also=lambda h: 0.0):
        super().__init__()
        self.up, self.down = nn.Linear(48, 96, bias), nn.Linear(96, 32, bias)
        self.activation, self.also = activation, also

    def forward(self, x):
        h = self.activation(self.up(x))
        return self.down(h) + self.also(h)


class FeedForward(ConvertTest):
    ACTIVATIONS = {
        "relu": F.relu,
        "in place": nn.ReLU(inplace=True),
        "square": lambda h: F.relu(h).square(),
        "power": lambda h: F.relu(h) ** 2,
        "product": lambda h: (lambda r: r * r)(F.relu(h)),
    }

    def setUp(self):
        super().setUp()
        self.found = []
        patch = mock.patch.object(converted_layers, "_FEWEST_MACS", 0)
        patch.start()
        self.addCleanup(patch.stop)

    def as_blocks(self, always=True):
        """Blocks run as one, whatever the clock says; counts them."""

        def one(block, input):
            self.found.append(block)
            return always

        patch = mock.patch.object(Block, "wants_one", one)
        patch.start()
        self.addCleanup(patch.stop)

    def test_gradients_are_the_same(self):
        self.as_blocks()
        for name, activation in self.ACTIVATIONS.items():
            for bias, shape in ((True, (3, 5, 48)), (False, (7, 48))):
                also = (lambda h: 0.0) if bias else (lambda h: h.sum())  # the hidden values have another reader
                plain = Pair(activation, bias, also)
                model = lacuna.convert(copy.deepcopy(plain), feed_forward=True)
                x = torch.randn(shape)
                grad = torch.randn_like(plain(x))
                before = len(self.found)
                for got, wanted in zip(run(model, x, grad)[0], run(plain, x, grad)[0]):
                    self.near(got, wanted, f"{name} {shape}")
                self.assertEqual(len(self.found), before + 1, f"{name}: no block was found")

    def test_other_layers_are_no_blocks(self):
        self.as_blocks()
        hooked = Pair(F.relu)
        hooked.activation = lambda h: (lambda r: (r.retain_grad(), r)[1])(F.relu(h))
        listened = Pair(F.relu)
        listened.down.register_full_backward_hook(lambda *arguments: None)
        pruned = Pair(F.relu)
        prune.l1_unstructured(pruned.down, "weight", 0.5)
        models = [Pair(F.gelu), Pair(lambda h: F.dropout(F.relu(h), 0.3)), Pair(lambda h: F.relu(h) ** 3), hooked]
        models += [Pair(lambda h: F.relu(h)[..., :] + 1), listened, pruned]
        for model in models:
            lacuna.convert(model, feed_forward=True)
            model(torch.randn(4, 48)).sum().backward()
        model = lacuna.convert(Pair(F.relu))  # not asked for
        model(torch.randn(4, 48)).sum().backward()
        with torch.no_grad():
            lacuna.convert(model, feed_forward=True)(torch.randn(4, 48))
        self.assertEqual(self.found, [])

    def test_second_derivatives_are_pytorchs(self):
        self.as_blocks()
        plain = Pair(F.relu)
        model = lacuna.convert(copy.deepcopy(plain), feed_forward=True)
        x = torch.randn(4, 48)
        found = []
        for module in (model, plain):
            own = x.clone().requires_grad_()
            (first,) = torch.autograd.grad(module(own).square().sum(), own, create_graph=True)
            first.square().sum().backward()
            found.append([own.grad, *(p.grad for p in module.parameters())])
        for got, wanted in zip(*found):
            self.near(got, wanted)

    def test_the_clock_decides(self):
        """Between the two layers as they run alone and the block as one."""
        x = torch.randn(64, 48)
        for factor, blocks in ((0.5, True), (2.0, False)):
            model = lacuna.convert(Pair(F.relu), feed_forward=True)
            timed = lambda choice, used, seconds: DONE(choice, used, 1e-3 if len(choice.candidates) > 2 else seconds)  # noqa: E731
            block_done = BlockCall.done

            def done(call, used, seconds, zeros):
                block_done(call, used, 1.0 if used == TORCH else factor, zeros)  # noqa: B023

            runs = []
            function = BlockFunction.apply
            with mock.patch.object(Choice, "done", timed), mock.patch.object(BlockCall, "done", done), mock.patch.object(
                Choice, "_fastest", lambda choice: OUR_DENSE if len(choice.candidates) > 2 else FASTEST(choice)
            ), mock.patch.object(Call, "_gains", lambda call: True), mock.patch(
                "lacuna._convert.blocks.BlockFunction.apply", lambda *a: (runs.append(step), function(*a))[1]
            ):
                for step in range(80):
                    model(x).sum().backward()
            self.assertGreater(len(runs), 2, "the block was never tried")
            self.assertEqual(runs[-1] == 79, blocks, f"block takes {factor} of two layers")
            report = lacuna.report(model)
            wanted = "one block" if blocks else "two layers"
            self.assertEqual([(row["layer"], row["runs"]) for row in report.blocks()], [("down", wanted)])
            self.assertIn(f"down with the layer before it, relu: {wanted}", str(report))

    def test_training_follows_the_original(self):
        losses = []
        for options in (None, {}, {"feed_forward": True}):
            torch.manual_seed(4)
            model = nn.Sequential(Pair(self.ACTIVATIONS["square"]), nn.Linear(32, 4))
            if options is not None:
                lacuna.convert(model, **options)
            optimizer = torch.optim.SGD(model.parameters(), 0.05)
            x, labels = torch.randn(64, 48), torch.arange(64) % 4
            for _ in range(60):
                optimizer.zero_grad()
                loss = F.cross_entropy(model(x), labels)
                loss.backward()
                optimizer.step()
            losses.append(loss.item())
        self.assertLess(max(losses) - min(losses), 1e-3)


class Memory(ConvertTest):
    def setUp(self):
        super().setUp()
        gc.collect()

    def test_layers_share_one_workspace_and_give_it_back(self):
        self.force(SKIP_A)
        before = workspaces.held_bytes
        model = nn.Sequential(*(nn.Conv2d(16, 16, 3, padding=1) for _ in range(6)))
        report = lacuna.report(lacuna.convert(model))
        model(torch.randn(4, 16, 12, 12)).sum().backward()
        self.assertGreater(report.memory["needed"], 4 * 16 * 144 * 4)  # a copy of the images
        self.assertEqual(report.memory["workspace"], max(before, report.memory["needed"]))
        self.assertIn("MB of workspace", str(report))
        del report
        lacuna.unconvert(model)
        gc.collect()
        self.assertEqual(workspaces.held_bytes, 0)

    def test_threads_have_workspaces_of_their_own(self):
        pool = Workspaces()
        with pool.lent(100) as first, pool.lent(50) as second:
            self.assertNotEqual(first.address, second.address)
            self.assertEqual((first.address % 64, second.address % 64), (0, 0))
            self.assertEqual(pool.held_bytes, 150)
        with pool.lent(120) as one:
            self.assertEqual(one.size, 120)
        pool.trim(110)
        self.assertLessEqual(pool.held_bytes, 110)
        pool.trim(0)
        self.assertEqual(pool.held_bytes, 0)

    def test_kernels_beyond_the_limit_are_not_tried(self):
        layer, x = nn.Conv2d(16, 16, 3, padding=1), torch.randn(2, 16, 9, 9)
        grad = torch.randn_like(layer(x))
        wanted, _ = run(layer, x, grad)
        report = lacuna.report(lacuna.convert(layer, memory_limit=100))
        for candidate in (OUR_DENSE, SKIP_A, SKIP_G):
            with always(candidate)[0], always(candidate)[1]:
                for a, b in zip(run(layer, x, grad)[0], wanted):
                    self.near(a, b)
        self.assertIn("forward, skips zeros of A", {row["kernel"] for row in report.too_large()})
        self.assertIn("MB: not tried", str(report))
        self.assertEqual(report.memory["needed"], 0)
        with self.assertRaisesRegex(lacuna.ConvertError, "memory_limit is -1"):
            lacuna.convert(layer, memory_limit=-1)

    def test_default_limit_is_a_share_of_what_is_free(self):
        self.force(SKIP_A)
        layer, x = nn.Conv2d(16, 16, 3, padding=1), torch.randn(2, 16, 9, 9)
        with mock.patch.object(memory, "free_bytes", lambda: 1000), mock.patch.object(workspaces, "_free", []):
            report = lacuna.report(lacuna.convert(layer))
            self.near(layer(x), F.conv2d(x, layer.weight, layer.bias, padding=1))
        self.assertTrue(report.too_large())
        self.assertGreater(memory.free_bytes(), 1 << 20)

    def test_memory_that_cannot_be_had(self):
        """PyTorch computes what ours has no memory for."""
        self.force(SKIP_A)
        layer, x = lacuna.convert(nn.Conv2d(16, 16, 3, padding=1)), torch.randn(2, 16, 9, 9)
        none_left = mock.patch.object(memory, "Buffer", side_effect=OSError("Cannot allocate memory"))
        with none_left, mock.patch.object(workspaces, "_free", []), torch.no_grad():
            self.near(layer(x), F.conv2d(x, layer.weight, layer.bias, padding=1))


def small_network():
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1, stride=2),
        nn.ReLU(),
        nn.Dropout(0.1),
        nn.Flatten(),
        nn.Linear(32 * 64, 32),
        nn.ReLU(),
        nn.Linear(32, 4),
    )


class SameModel(ConvertTest):
    def test_names_parameters_and_state_stay(self):
        model = small_network()
        before = {name: id(p) for name, p in model.named_parameters()}
        state = copy.deepcopy(model.state_dict())
        text = repr(model)
        attributes = [set(vars(module)) for module in model.modules()]
        self.assertIs(lacuna.convert(model), model)
        self.assertEqual(lacuna.report(model).converted, ["0", "3", "7", "9"])
        self.assertEqual({name: id(p) for name, p in model.named_parameters()}, before)
        self.assertEqual(list(model.state_dict()), list(state))
        self.assertIs(type(model[0]), nn.Conv2d)
        self.assertIs(type(model[7]), nn.Linear)
        plain = small_network()
        plain.load_state_dict(model.state_dict())
        model.load_state_dict(plain.state_dict())
        self.assertEqual(repr(model), text)
        self.assertIs(lacuna.unconvert(model), model)
        self.assertEqual([set(vars(module)) for module in model.modules()], attributes)
        self.assertIs(lacuna.unconvert(model), model)
        self.assertEqual(lacuna.report(model).converted, [])

    def test_for_a_block_and_for_a_function(self):
        self.force(SKIP_A)
        model, x = small_network().eval(), torch.randn(2, 3, 16, 16)
        attributes = [set(vars(module)) for module in model.modules()]
        faster = lacuna.converted(model, only="3")
        with faster as entered:
            self.assertIs(entered, model)
            self.assertEqual(lacuna.report(model).converted, ["3"])
            model(x)
            state = model[3]._lacuna
            with faster:  # a function that calls itself
                self.assertIs(model[3]._lacuna, state)
            self.assertEqual(lacuna.report(model).converted, ["3"])
        self.assertEqual([set(vars(module)) for module in model.modules()], attributes)

        @faster
        def step(images):
            """A step."""
            self.assertIs(model[3]._lacuna, state)  # and what it has measured
            return model(images)

        self.near(step(x), model(x))
        self.assertEqual(step.__doc__, "A step.")
        with self.assertRaises(RuntimeError), faster:
            raise RuntimeError
        self.assertEqual([set(vars(module)) for module in model.modules()], attributes)

    def test_a_block_leaves_a_converted_model_converted(self):
        model = lacuna.convert(small_network(), only="0")
        own = model[0]._lacuna
        with lacuna.converted(model):
            self.assertEqual(lacuna.report(model).converted, ["0", "3", "7", "9"])
        self.assertEqual(lacuna.report(model).converted, ["0"])
        self.assertIs(model[0]._lacuna, own)
        with self.assertRaises(lacuna.ConvertError), lacuna.converted(model, only="nothing"):
            self.fail("entered")
        self.assertIs(model[0]._lacuna, own)

    def test_unconvert_leaves_nothing_in_pytorch(self):
        forwards = nn.Conv2d.forward, nn.Linear.forward
        gc.collect()  # models of other tests
        models = [lacuna.convert(small_network()) for _ in range(2)]
        copied = copy.deepcopy(models[0])
        for model in models:
            lacuna.unconvert(model)
        self.assertIsNot(nn.Linear.forward, forwards[1])
        del copied
        gc.collect()
        self.assertEqual((nn.Conv2d.forward, nn.Linear.forward), forwards)
        self.assertIn("torch", nn.Linear.forward.__module__)

    def test_another_forward_of_the_class(self):
        """Somebody replaces the forward of nn.Linear while there are converted layers, and it is called with each."""
        gc.collect()
        own = nn.Linear.forward
        self.addCleanup(setattr, nn.Linear, "forward", own)
        layer, x = lacuna.convert(nn.Linear(16, 16)), torch.randn(2, 16)
        seen = []

        def other(module, input, inner=nn.Linear.forward):
            seen.append(module)
            return inner(module, input)

        nn.Linear.forward = other
        lacuna.unconvert(layer)
        for _ in range(2):
            lacuna.convert(layer)
            self.near(layer(x), F.linear(x, layer.weight, layer.bias))
            lacuna.unconvert(layer)
        self.assertEqual(seen, 2 * [layer])

    def test_converting_twice_and_the_model_itself(self):
        layer = nn.Conv2d(16, 16, 3)
        self.assertEqual(len(lacuna.report(lacuna.convert(layer)).converted), 1)
        self.assertEqual(len(lacuna.report(lacuna.convert(layer)).converted), 1)
        self.assertIs(type(lacuna.unconvert(layer)), nn.Conv2d)

    def test_copies_and_files(self):
        self.force(SKIP_A)
        model = small_network().eval()
        lacuna.convert(model)
        x = torch.randn(2, 3, 16, 16)
        wanted = model(x)
        with io.BytesIO() as file:
            torch.save(model, file)
            file.seek(0)
            loaded = torch.load(file, weights_only=False)
        for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model)), loaded):
            self.assertEqual(type(other[0]), type(model[0]))
            self.assertEqual(other[0]._lacuna.calls, {})
            self.near(other(x), wanted)

    def test_shared_layers_and_hooks(self):
        self.force(SKIP_A)
        layer = nn.Linear(16, 16)
        model = nn.Sequential(layer, nn.ReLU(), layer)
        seen = []
        layer.register_forward_hook(lambda module, args, output: seen.append(output.shape))
        layer.register_full_backward_hook(lambda module, inputs, outputs: seen.append(outputs[0].shape))
        plain = copy.deepcopy(model)
        self.assertEqual(lacuna.report(lacuna.convert(model)).converted, ["0"])
        x = torch.randn(4, 16)
        wanted, got = run(plain, x, torch.ones(4, 16))[0], run(model, x, torch.ones(4, 16))[0]
        for a, b in zip(got, wanted):
            self.near(a, b)
        self.assertEqual(len(seen), 8)

    def test_threads_follow_torch(self):
        self.force(SKIP_A)
        model = nn.Linear(64, 64)
        report = lacuna.report(lacuna.convert(model))
        for threads in (1, 2):
            torch.set_num_threads(threads)
            model(torch.randn(8, 64))
        self.assertEqual({row["threads"] for row in report.choices()}, {1, 2})

    def test_threads_of_the_caller(self):
        self.force(SKIP_A)
        model = nn.Conv2d(16, 16, 3)
        lacuna.convert(model)
        x = torch.randn(2, 16, 9, 9)
        wanted = F.conv2d(x, model.weight, model.bias)
        wrong = []

        def work():
            for _ in range(20):
                if (model(x) - wanted).abs().max() > 1e-4:
                    wrong.append(1)

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])


class Subclass(nn.Conv2d):
    pass


class Reports(ConvertTest):
    def settle(self, faster, dry_run=False):
        """A layer whose measurements end with ours faster or not, whatever the clock says."""
        layer = lacuna.convert(nn.Linear(64, 64), dry_run=dry_run)
        x = torch.randn(64, 64, requires_grad=True)
        best = OUR_DENSE if faster else TORCH
        with mock.patch.object(Choice, "_fastest", lambda choice: best), mock.patch.object(
            converted_layers, "_FEWEST_MACS", 0
        ), torch_takes(0.01):
            for _ in range(40):
                layer(x).sum().backward()
        return layer, x

    def test_states_times_and_gains(self):
        layer, _ = self.settle(faster=True)
        report = lacuna.report(layer)
        self.assertEqual({row["state"] for row in report.choices()}, {"ours"})
        for row in report.choices():
            self.assertIn("PyTorch", row["ms"])
            self.assertTrue(all(ms > 0 for ms in row["ms"].values()))
        (gain,) = report.gains()
        self.assertEqual(gain["layer"], "Linear")
        self.assertGreater(gain["saved_ms"], 1)
        self.assertAlmostEqual(gain["lacuna_ms"] + gain["saved_ms"], gain["pytorch_ms"])
        self.assertIn("1 layers save", str(report))
        layer, _ = self.settle(faster=False)
        self.assertEqual({row["state"] for row in lacuna.report(layer).choices()}, {"resting"})
        self.assertEqual(lacuna.report(layer).gains(), [])
        layer = lacuna.convert(nn.Linear(8, 8))
        layer(torch.randn(4, 8))
        self.assertEqual({row["state"] for row in lacuna.report(layer).choices()}, {"too small"})
        layer = lacuna.convert(nn.Linear(512, 512))
        layer(torch.randn(64, 512))
        self.assertEqual({row["state"] for row in lacuna.report(layer).choices()}, {"measuring"})

    def test_a_dry_run_measures_and_runs_pytorchs_kernels(self):
        layer, x = self.settle(faster=True, dry_run=True)
        report = lacuna.report(layer)
        self.assertEqual({(row["state"], row["runs"]) for row in report.choices()}, {("would win", "PyTorch")})
        self.assertGreater(report.gains()[0]["saved_ms"], 1)
        self.assertIn("1 layers would save", str(report))
        self.assertEqual(type(layer(x).grad_fn).__name__, "AddmmBackward0")

    def test_only_and_skip(self):
        model = nn.Sequential(small_network(), nn.Linear(4, 4))
        for options, names in [
            ({"only": "0"}, ["0.0", "0.3", "0.7", "0.9"]),
            ({"only": ["0.0", "1"]}, ["0.0", "1"]),
            ({"skip": "0.?"}, ["1"]),
            ({"only": "0.*", "skip": ["0.3"]}, ["0.0", "0.7", "0.9"]),
            ({}, ["0.0", "0.3", "0.7", "0.9", "1"]),
        ]:
            self.assertEqual(lacuna.report(lacuna.convert(model, **options)).converted, names)
        self.assertIn("was not converted", str(lacuna.report(lacuna.convert(model, skip="1"))))
        with self.assertRaisesRegex(lacuna.ConvertError, "only takes names, not Conv2d"):
            lacuna.convert(model, only=nn.Conv2d(1, 1, 1))
        for option in ("only", "skip"):
            message = f"{option}: the model has no module '0.33'; did you mean '0.3'"
            with self.assertRaisesRegex(lacuna.ConvertError, message):
                lacuna.convert(model, **{option: "0.33"})


class LeftToPytorch(ConvertTest):
    def test_what_is_not_covered_is_listed(self):
        warnings.filterwarnings("ignore", "Lazy modules")  # unittest restores it
        model = nn.ModuleDict(
            {
                "good": nn.Conv2d(16, 16, 3),
                "depthwise": nn.Conv2d(32, 32, 3, groups=32),
                "reflecting": nn.Conv2d(16, 16, 3, padding=1, padding_mode="reflect"),
                "same": nn.Conv2d(16, 16, 3, padding="same"),
                "wide": nn.Linear(16, 16).double(),
                "elsewhere": nn.Linear(16, 16, device="meta"),
                "own": Subclass(16, 16, 3),
                "lazy": nn.LazyLinear(4),
                "normed": nn.utils.parametrizations.orthogonal(nn.Linear(16, 16)),
                "turned": nn.ConvTranspose2d(16, 16, 3),
                "norm": nn.BatchNorm2d(16),
            }
        )
        report = lacuna.report(lacuna.convert(model))
        self.assertEqual(report.converted, ["good"])
        reasons = {layer.name: layer.reason for layer in report.left}
        self.assertNotIn("norm", reasons)
        for name, words in {
            "depthwise": "groups of 1 channels",
            "reflecting": "reflect",
            "same": "give numbers",
            "wide": "float64",
            "elsewhere": "meta",
            "own": "Subclass",
            "lazy": "run the model once",
            "normed": "parametrize",
            "turned": "only Conv2d and Linear",
        }.items():
            self.assertIn(words, reasons[name])
            self.assertIn(words, str(report))

    def test_calls_that_fall_back(self):
        self.force(SKIP_A)
        layer = nn.Conv2d(16, 16, 3)
        report = lacuna.report(lacuna.convert(layer))
        x = torch.randn(2, 16, 6, 6)
        self.assertTrue(converted_layers._takes(x, layer.weight, layer.bias))
        self.assertEqual(layer(x[0]).shape, (16, 4, 4))  # without a batch
        self.assertEqual(layer(torch.randn(0, 16, 6, 6)).shape, (0, 16, 4, 4))
        traced = torch.jit.trace(layer, x, check_trace=False)
        self.near(traced(x), F.conv2d(x, layer.weight, layer.bias))
        with self.assertRaisesRegex(RuntimeError, "channels"):
            layer(torch.randn(1, 3, 6, 6))
        self.assertEqual(report.choices(), [])
        layer.double()
        self.assertEqual(layer(x.double()).dtype, torch.float64)
        with self.assertRaisesRegex(RuntimeError, "dtype|type"):
            layer(x)

    def test_wrong_models(self):
        with self.assertRaisesRegex(lacuna.ConvertError, "takes a torch.nn.Module, not function"):
            lacuna.convert(lambda x: x)
        with self.assertRaisesRegex(lacuna.ConvertError, "TorchScript"):
            lacuna.convert(torch.jit.script(nn.Linear(2, 2)))
        with self.assertRaisesRegex(lacuna.ConvertError, "report takes a torch.nn.Module, not ConversionReport"):
            lacuna.report(lacuna.report(nn.ReLU()))
        self.assertEqual(lacuna.report(lacuna.convert(nn.ReLU())).converted, [])

    def test_a_busy_plan_leaves_the_call_to_pytorch(self):
        self.force(SKIP_A)
        layer = nn.Linear(16, 16)
        lacuna.convert(layer)
        x = torch.randn(4, 16)
        with torch.no_grad():
            layer(x)
            ((_, plan),) = next(iter(layer._lacuna.calls.values()))._plans.values()
            with plan._lock:
                self.near(layer(x), F.linear(x, layer.weight, layer.bias))

    def test_capture_sees_every_product_of_a_converted_model(self):
        self.force(SKIP_A)
        model = small_network()
        lacuna.convert(model)
        with lacuna.capture(model) as step:
            model(torch.randn(2, 3, 16, 16)).sum().backward()
        self.assertEqual(len(lacuna.simulate(step, ["dense"]).to_dicts()), 4 * 3 - 1)  # the first has no input_grad

    def test_profiler_measures_a_converted_model(self):
        self.force(SKIP_A)
        model = small_network()
        lacuna.convert(model)
        with lacuna.Profiler(model, every=1) as profiler:
            for _ in range(2):
                model(torch.randn(2, 3, 16, 16)).sum().backward()
                profiler.step()
            profiler.drain()
        self.assertEqual(profiler.failures, [])
        self.assertEqual(len(profiler.measurements[0].layers), 4)


class ToolsOfTorch(ConvertTest):
    """What torch's own tools see: the classes of PyTorch, and PyTorch's kernels wherever a tensor is not plain data."""

    def setUp(self):
        super().setUp()
        self.force(SKIP_A)

    @staticmethod
    def losing():
        """The clock says that PyTorch is faster, for every operation."""
        return mock.patch.multiple(Choice, next=NEXT, _fastest=lambda choice: TORCH)

    def test_functional_call(self):
        """With weights of the caller, also after the layers have lost."""
        call = getattr(torch, "func", None) and torch.func.functional_call or torch.nn.utils.stateless.functional_call
        model = lacuna.convert(small_network())
        x = torch.randn(2, 3, 16, 16)
        for always_torch in (False, True):
            weights = {name: (2 * p.detach()).requires_grad_() for name, p in model.named_parameters()}
            with self.losing() if always_torch else contextlib.nullcontext():
                for _ in range(60):
                    torch.manual_seed(1)
                    got = call(model, weights, (x,))
                    got.sum().backward()
            other = lacuna.unconvert(copy.deepcopy(model))
            torch.manual_seed(1)
            self.near(got, call(other, weights, (x,)))
            self.assertIsNotNone(weights["3.weight"].grad)

    def test_parametrizations_after_convert(self):
        for layer, x in [(nn.Conv2d(16, 16, 3), torch.randn(2, 16, 6, 6)), (nn.Linear(16, 16), torch.randn(4, 16))]:
            plain = copy.deepcopy(layer)
            lacuna.convert(layer)
            for module in (layer, plain):
                torch.manual_seed(1)
                nn.utils.parametrizations.spectral_norm(module)
            for _ in range(3):  # the norm keeps a state that moves with each use of the weight
                self.near(layer(x), plain(x))
            with self.losing():
                for _ in range(80):
                    self.near(layer(x), plain(x))
                    layer(x).sum().backward(), plain(x)
            self.assertGreater(layer._lacuna.left, 0)
            nn.utils.parametrize.remove_parametrizations(layer, "weight")
            self.near(layer(x), plain(x))
            self.assertEqual(len(lacuna.report(layer).converted), 1)

    def test_forward_mode_differentiation(self):
        from torch.autograd import forward_ad

        for layer, x in [(nn.Conv2d(16, 16, 3), torch.randn(2, 16, 6, 6)), (nn.Linear(16, 16), torch.randn(4, 16))]:
            plain = copy.deepcopy(layer)
            lacuna.convert(layer)
            for grad in (False, True):
                tangents = []
                for module in (layer, plain):
                    with forward_ad.dual_level(), torch.set_grad_enabled(grad):
                        y = module(forward_ad.make_dual(x, torch.ones_like(x)))
                        tangents.append(forward_ad.unpack_dual(y).tangent)
                self.near(*tangents)
            tangents = []
            for module in (layer, plain):  # the gradient has a tangent
                y = module(x.clone().requires_grad_())
                with forward_ad.dual_level():
                    grad = forward_ad.make_dual(torch.ones_like(y), torch.randn_like(y).fill_(0.5))
                    (found,) = torch.autograd.grad(y, module.weight, grad)
                    tangents.append(forward_ad.unpack_dual(found).tangent)
            self.near(*tangents)

    def test_batched_gradients(self):
        warnings.filterwarnings("ignore", "There is a performance drop")
        jacobian = torch.autograd.functional.jacobian
        for layer, x in [(nn.Conv2d(16, 16, 3), torch.randn(2, 16, 4, 4)), (nn.Linear(16, 16), torch.randn(4, 16))]:
            plain = copy.deepcopy(layer)
            lacuna.convert(layer)
            self.near(jacobian(layer, x, vectorize=True), jacobian(plain, x))
            forwards = dict(vectorize=True, strategy="forward-mode")
            self.near(jacobian(layer, x, **forwards), jacobian(plain, x))
            found = []
            for module in (layer, plain):
                own = x.clone().requires_grad_()
                y = module(own)
                grads = torch.arange(3 * y.numel()).view(3, *y.shape).remainder(7).float()
                found.append(torch.autograd.grad(y, (own, module.weight), grads, is_grads_batched=True))
            for a, b in zip(*found):
                self.near(a, b)

    def test_functions_of_functorch(self):
        try:
            from torch.func import grad, vmap
        except ImportError:
            try:
                from functorch import grad, vmap
            except ImportError:
                self.skipTest("this torch has no functorch")
        layer = nn.Linear(16, 16)
        plain = copy.deepcopy(layer)
        lacuna.convert(layer)
        x = torch.randn(5, 4, 16)
        found = []
        for module in (layer, plain):
            loss = lambda row: module(row).square().sum()  # noqa: E731, B023
            found.append((vmap(module)(x), grad(loss)(x[0]), vmap(grad(loss))(x)))
        for a, b in zip(*found):
            self.near(a, b)

    def test_checkpoints(self):
        """The second forward pass of a checkpoint saves what the first did, whatever the layers choose in between."""
        from torch.utils.checkpoint import checkpoint

        plain = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 16))
        for reentrant, blocks in itertools.product((True, False), (False, True)):
            model = lacuna.convert(copy.deepcopy(plain), feed_forward=blocks)
            x = torch.randn(4, 16)
            grads = []
            for module in (model, plain):
                with self.losing() if module is model else contextlib.nullcontext():
                    for _ in range(50 if module is model else 1):
                        own = x.clone().requires_grad_()
                        module.zero_grad(set_to_none=True)
                        checkpoint(module, own, use_reentrant=reentrant).square().sum().backward()
                        grads.append([own.grad, *(p.grad for p in module.parameters())])
            for got in grads[:-1]:
                for a, b in zip(got, grads[-1]):
                    self.near(a, b, f"reentrant {reentrant}, blocks {blocks}")

    def test_a_layer_wakes_up_inside_a_checkpoint(self):
        from torch.utils.checkpoint import checkpoint

        layer, x = lacuna.convert(nn.Linear(16, 16)), torch.randn(4, 16, requires_grad=True)
        with self.losing():
            for _ in range(80):
                layer(x).sum().backward()
        self.assertGreater(layer._lacuna.left, 1)
        layer._lacuna.left = 1  # the second forward pass is no longer PyTorch's
        grads = torch.autograd.grad(checkpoint(layer, x, use_reentrant=False).sum(), (x, layer.weight, layer.bias))
        lacuna.unconvert(layer)
        for a, b in zip(grads, torch.autograd.grad(layer(x).sum(), (x, layer.weight, layer.bias))):
            self.near(a, b)
        kind = torch.autograd.graph.saved_tensors_hooks
        gc.collect()
        self.assertEqual({kind.__enter__.__module__, kind.__exit__.__module__}, {"torch.autograd.graph"})

    def test_scripts(self):
        model = lacuna.convert(small_network().eval())
        x = torch.randn(2, 3, 16, 16)
        scripted = torch.jit.script(model)
        self.near(scripted(x), model(x))
        lacuna.unconvert(model)
        with io.BytesIO() as file:
            torch.jit.save(scripted, file)
            file.seek(0)
            self.near(torch.jit.load(file)(x), model(x))
        self.near(torch.jit.script(model)(x), model(x))

    def test_traces_are_the_same_while_layers_wake_up(self):
        """torch.jit.trace compares a second trace with the first."""
        model = lacuna.convert(small_network().eval())
        x = torch.randn(2, 3, 16, 16)
        with self.losing():
            for _ in range(60):
                model(x).sum().backward()
        for module in model:
            if "_lacuna" in vars(module):
                self.assertGreater(module._lacuna.left, 1)
                module._lacuna.left = 1
        self.near(torch.jit.trace(model, x)(x), model(x))

    def test_quantization(self):
        model = lacuna.convert(small_network().eval())
        quantized = torch.quantization.quantize_dynamic(model, {nn.Linear}, dtype=torch.qint8)
        self.assertIn("quantized", type(quantized[7]).__module__)
        quantized(torch.randn(2, 3, 16, 16))

    def test_fx(self):
        model = lacuna.convert(small_network().eval())
        traced = torch.fx.symbolic_trace(model)
        self.assertEqual([n.op for n in traced.graph.nodes], ["placeholder", *10 * ["call_module"], "output"])
        x = torch.randn(2, 3, 16, 16)
        self.near(traced(x), model(x))
        inside = torch.fx.symbolic_trace(model[0])  # the layer itself is looked into
        self.near(inside(x), model[0](x))

    def test_shallow_copies_have_their_own_weights(self):
        layer = lacuna.convert(nn.Linear(16, 16))
        other = copy.copy(layer)
        other._parameters = dict(other._parameters, weight=nn.Parameter(2 * layer.weight.detach()))
        x = torch.randn(4, 16)
        self.near(other(x), F.linear(x, other.weight, layer.bias))
        self.near(layer(x), F.linear(x, layer.weight, layer.bias))

    def test_strides_of_small_kernels_and_images(self):
        """Strides of a size of one decide which format PyTorch takes a tensor for."""
        for kernel, height, width in [(1, 5, 5), (1, 1, 5), (1, 5, 1), (1, 1, 1), (3, 5, 5), (3, 3, 3)]:
            for image, filters, batch in itertools.product(FORMATS, FORMATS, (1, 2)):
                layer = nn.Conv2d(16, 32, kernel).to(memory_format=filters)
                x = torch.randn(batch, 16, height, width).contiguous(memory_format=image)
                ours = lacuna.convert(copy.deepcopy(layer))
                grad = torch.randn_like(layer(x))
                (wanted, y), (got, our_y) = run(layer, x, grad), run(ours, x, grad)
                self.assertEqual(our_y.stride(), y.stride(), f"{kernel} {tuple(x.shape)} {image} {filters}")
                of = 3 if batch > 1 else 2  # PyTorch's weight gradient of one image depends on version and threads
                self.assertEqual([g.stride() for g in got[1:of]], [w.stride() for w in wanted[1:of]])


class Choosing(ConvertTest):
    def setUp(self):
        super().setUp()
        torch.set_num_threads(1)  # many small calls: no time is lost where threads wait for each other

    def train(self, choice, times, zeros, calls):
        """What a choice uses, given the seconds of each candidate."""
        used = []
        for _ in range(calls):
            if choice.wants_zeros():
                for candidate, share in zeros.items():
                    choice.saw_zeros(candidate, share)
            used.append(choice.next())
            choice.done(used[-1], times[used[-1]])
        return used

    def test_the_fastest_is_kept_and_slow_ones_are_not_tried_again(self):
        choice = Choice([TORCH, OUR_DENSE, SKIP_A])
        used = self.train(choice, {TORCH: 1.0, OUR_DENSE: 5.0, SKIP_A: 0.5}, {SKIP_A: 0.6}, 1000)
        self.assertEqual(choice.best, SKIP_A)
        self.assertLess(used.count(OUR_DENSE), 4)
        self.assertLess(used.count(TORCH), 10)

    def test_a_small_gain_is_not_enough(self):
        choice = Choice([TORCH, OUR_DENSE])
        self.train(choice, {TORCH: 1.0, OUR_DENSE: 0.98}, {}, 50)
        self.assertEqual(choice.best, TORCH)

    def test_the_choice_follows_the_zeros(self):
        choice = Choice([TORCH, SKIP_A])
        self.train(choice, {TORCH: 1.0, SKIP_A: 1.2}, {SKIP_A: 0.4}, 40)
        self.assertEqual(choice.best, TORCH)
        self.train(choice, {TORCH: 1.0, SKIP_A: 0.5}, {SKIP_A: 0.8}, 60)
        self.assertEqual(choice.best, SKIP_A)
        self.train(choice, {TORCH: 1.0, SKIP_A: 1.5}, {SKIP_A: 0.1}, 60)
        self.assertEqual(choice.best, TORCH)

    def test_few_zeros_are_not_tried(self):
        choice = Choice([TORCH, OUR_DENSE, SKIP_A])
        used = self.train(choice, {TORCH: 1.0, OUR_DENSE: 0.5}, {SKIP_A: 0.05}, 40)
        self.assertNotIn(SKIP_A, used)
        self.assertEqual(choice.best, OUR_DENSE)

    def test_what_the_library_refuses_is_not_tried_again(self):
        choice = Choice([TORCH, OUR_DENSE, SKIP_A])
        choice.done(choice.next(), 1.0)
        self.assertEqual(choice.next(), OUR_DENSE)
        choice.drop(OUR_DENSE)
        used = self.train(choice, {TORCH: 1.0, SKIP_A: 0.5}, {SKIP_A: 0.6}, 30)
        self.assertNotIn(OUR_DENSE, used)
        self.assertEqual(choice.best, SKIP_A)

    def test_deterministic_runs_give_the_same_bits(self):
        def train():
            torch.manual_seed(5)
            model = small_network()
            report = lacuna.report(lacuna.convert(model, deterministic=True))
            optimizer = torch.optim.SGD(model.parameters(), 0.1)
            images, labels = torch.randn(8, 3, 16, 16), torch.arange(8) % 4
            for _ in range(4):
                optimizer.zero_grad()
                F.cross_entropy(model(images), labels).backward()
                optimizer.step()
            return report, [p.detach().clone() for p in model.parameters()]

        with mock.patch.object(converted_layers, "_FEWEST_MACS", 0):
            (report, first), (_, second) = train(), train()
        self.assertTrue(all(torch.equal(a, b) for a, b in zip(first, second)))
        self.assertIn("skips zeros of G", {row["runs"] for row in report.choices()})

    def test_a_layer_that_cannot_win_goes_straight_to_pytorch(self):
        layer = nn.Linear(8, 8)
        lacuna.convert(layer)
        x = torch.randn(4, 8, requires_grad=True)
        y = layer(x)
        self.assertEqual(type(y.grad_fn).__name__, "AddmmBackward0")
        with mock.patch.object(converted_layers, "_takes", side_effect=AssertionError):
            layer(x)

    def lost(self, layer, x, calls=80):
        """Calls until PyTorch has won, whatever the clock says."""
        always_torch = mock.patch.object(Choice, "_fastest", lambda choice: TORCH)
        with always_torch, mock.patch.object(converted_layers, "_FEWEST_MACS", 0):
            for _ in range(calls):
                y = layer(x)
                if y.requires_grad:
                    y.sum().backward()
        return layer

    def test_a_layer_that_lost_is_pytorchs_own(self):
        """No function of ours, no bookkeeping but a count; the model looks the same, and it wakes up again."""
        for layer, x, node in [
            (nn.Conv2d(16, 16, 3), torch.randn(2, 16, 6, 6), "ConvolutionBackward0"),
            (nn.Linear(16, 16), torch.randn(4, 16), "AddmmBackward0"),
        ]:
            text = repr(layer)
            report = lacuna.report(lacuna.convert(layer))
            self.lost(layer, x)
            self.assertEqual(repr(layer), text)
            self.assertEqual({row["runs"] for row in report.choices()}, {"PyTorch"})
            with mock.patch.object(converted_layers, "_takes", side_effect=AssertionError):
                self.assertEqual(type(layer(x).grad_fn).__name__, node)
            for other in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
                self.assertEqual((other._lacuna.left, other._lacuna.calls), (0, {}))
            self.assertLess(layer._lacuna.left, 200)
            for _ in range(layer._lacuna.left):
                self.assertGreater(layer._lacuna.left, 0)
                layer(x)
            self.assertEqual(layer._lacuna.left, 0)
            self.lost(layer, x)
            self.assertGreater(layer._lacuna.left, 0)
            lacuna.convert(layer)
            self.assertEqual(layer._lacuna.left, 0)
            lacuna.unconvert(self.lost(layer, x))
            self.assertNotIn("_lacuna", layer.__dict__)

    def test_a_layer_rests_only_if_every_shape_has_lost(self):
        layer = nn.Conv2d(16, 16, 3)
        lacuna.convert(layer)
        with torch.no_grad():
            self.force(SKIP_A)
            layer(torch.randn(2, 16, 9, 9))
            self.lost(layer, torch.randn(2, 16, 6, 6))
        self.assertEqual(layer._lacuna.left, 0)

    def test_the_layer_as_a_whole_must_win(self):
        """Every operation looks faster alone; together they are not."""
        layer, x = nn.Linear(16, 16), torch.randn(4, 16, requires_grad=True)
        lacuna.convert(layer)
        for faster in (False, True):
            with mock.patch.object(Choice, "_fastest", lambda choice: OUR_DENSE), mock.patch.object(
                converted_layers, "_FEWEST_MACS", 0
            ), torch_takes(0.01 if faster else 0.0):
                lacuna.convert(layer, remember=False)
                for _ in range(30):
                    layer(x).sum().backward()
            self.assertEqual(layer._lacuna.left > 0, not faster)

    def test_what_others_take_of_one_thread_does_not_count(self):
        layer, x = nn.Linear(16, 16), torch.randn(4, 16, requires_grad=True)
        waits = lambda call, *args: (time.sleep(0.01), TORCH_BACKWARD(call, *args))[1]  # noqa: E731
        torch.set_num_threads(1)
        lacuna.convert(layer)
        with mock.patch.object(Choice, "_fastest", lambda choice: OUR_DENSE), mock.patch.object(
            converted_layers, "_FEWEST_MACS", 0
        ), mock.patch.object(Call, "_torch_backward", waits):
            for _ in range(80):
                layer(x).sum().backward()
        self.assertGreater(layer._lacuna.left, 0)

    def test_measuring_is_bounded(self):
        """Candidates that lose by far are tried once or twice; the others again only after many calls."""
        for slow, most in ((20.0, 21 * 2), (1.4, 0.05 * 300), (1.1, 0.03 * 300)):
            choice = Choice([TORCH, OUR_DENSE, SKIP_A])
            seconds = {TORCH: 1.0, OUR_DENSE: slow, SKIP_A: slow}
            used = self.train(choice, seconds, {SKIP_A: 0.6}, 300)
            self.assertLess(sum(seconds[c] - 1 for c in used), most, slow)
            self.assertEqual(choice.best, TORCH)

    def test_times_that_differ_are_taken_again(self):
        """On a busy machine: PyTorch's times are far off until the sixth."""
        for ours, best in ((1.2, TORCH), (0.8, OUR_DENSE)):
            choice, times = Choice([TORCH, OUR_DENSE]), iter([9.0, 3.0, 2.0, 2.5, 4.0, 1.0, 1.05])
            while not choice.settled:
                used = choice.next()
                choice.done(used, ours if used == OUR_DENSE else next(times))
            self.assertEqual((choice.best, choice.times[TORCH], list(times)), (best, 1.0, []))
        choice, times, used = Choice([TORCH, OUR_DENSE]), itertools.count(100, -13), []
        while not choice.settled:  # that never agree
            used.append(choice.next())
            choice.done(used[-1], 0.2 if used[-1] == OUR_DENSE else next(times))
        self.assertLess(len(used), 16)

    def test_measuring_leaves_the_training_its_time(self):
        """Layers where nothing is gained take turns, whatever they are; one that gains pays for others."""
        passed, spent = 0.0, 0.0
        allowance = Allowance(share=0.02, start=0.0, now=lambda: passed)
        for _ in range(1000):
            passed += 0.025
            for _ in range(10):
                if allowance.is_left():
                    allowance.spend(0.003)
                    spent += 0.003
        self.assertAlmostEqual(spent / passed, 0.02, delta=0.002)
        allowance.spend(-0.01)
        self.assertTrue(allowance.is_left())
        before = allowance._seconds
        passed += 3600  # a pause is not training
        allowance.is_left()
        self.assertLess(allowance._seconds - before, 0.021)

    def test_a_layer_that_waits_is_pytorchs_own(self):
        layer = lacuna.convert(nn.Linear(16, 16))
        x = torch.randn(4, 16)
        allowance = Allowance(share=0.0, start=0.0)
        with mock.patch.object(converted_layers, "_FEWEST_MACS", 0), mock.patch("lacuna._convert.calls.allowance", allowance):
            first = layer(x)
            self.assertEqual(type(first.grad_fn).__name__, "LayerFunctionBackward")
            first.sum().backward()
            self.assertEqual(type(layer(x).grad_fn).__name__, "AddmmBackward0")
            (call,) = layer._lacuna.calls.values()
            self.assertEqual(call.state, "measuring")
            for seconds, node in ((0.95, "AddmmBackward0"), (0.5, "LayerFunctionBackward")):  # may be chance; will pay
                for choice in call.choices:
                    choice._first, choice.times = {TORCH: 1.0, OUR_DENSE: seconds}, {}
                self.assertEqual(type(layer(x).grad_fn).__name__, node)
            allowance.spend(-1.0)
            self.assertEqual(type(layer(x).grad_fn).__name__, "LayerFunctionBackward")

    def test_shapes_that_are_alike_share_their_choices(self):
        for candidate in CANDIDATES:
            with always(candidate)[0], always(candidate)[1]:
                for layer, shapes in [
                    (nn.Linear(48, 32), [(rows, 48) for rows in (100, 93, 107, 100)]),
                    (nn.Conv2d(16, 24, 3), [(8, 16, h, 9) for h in (30, 33, 28)]),
                ]:
                    plain = copy.deepcopy(layer)
                    lacuna.convert(layer)
                    for shape in shapes:
                        x = torch.randn(shape).relu()
                        grad = torch.randn_like(plain(x))
                        for a, b in zip(run(layer, x, grad)[0], run(plain, x, grad)[0]):
                            self.near(a, b, f"{candidate} {shape}")
                    self.assertEqual(len(layer._lacuna.calls), 1)
        self.assertNotEqual(*(Geometry((n, 8, 1, 1), 8, (1, 1), (1, 1), (0, 0), (1, 1), 1).like() for n in (64, 100)))

    def test_times_of_other_shapes_are_scaled(self):
        layer = lacuna.convert(nn.Linear(64, 64))
        with mock.patch.object(converted_layers, "_FEWEST_MACS", 0), torch.no_grad():
            layer(torch.randn(100, 64))
            (call,) = layer._lacuna.calls.values()
            self.assertEqual(call._scale(torch.randn(100, 64)), 1)
            self.assertEqual(call._scale(torch.randn(5, 10, 64)), 2)

    def test_the_longest_unused_of_many_shapes_is_forgotten(self):
        layer, most = nn.Linear(256, 256), converted_layers._MOST_SHAPES
        report = lacuna.report(lacuna.convert(layer))
        sizes = [round(2 ** (i / 2)) for i in range(4, 8 + most)]
        with mock.patch.object(converted_layers, "_FEWEST_MACS", 0), torch.no_grad(), mock.patch.object(
            Call, "forward_alone", lambda call, x, weight, bias: F.linear(x, weight, bias)
        ):
            for rows in (*sizes[: most - 1], sizes[0], *sizes[most - 1 :]):
                layer(torch.empty(rows, 0).new_zeros(rows, 1).expand(rows, 256))
        seen = {row["input"][0] for row in report.choices()}
        self.assertEqual(len(seen), most)
        self.assertIn(sizes[-1], seen)
        self.assertIn(sizes[0], seen)  # used again
        self.assertNotIn(sizes[1], seen)


class Remembered(ConvertTest):
    """What a process measured is what the next one starts with."""

    def setUp(self):
        super().setUp()
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        patch = mock.patch.object(converted_layers, "_FEWEST_MACS", 0)
        patch.start()
        self.addCleanup(patch.stop)

    def train(self, best=OUR_DENSE, steps=40, **options):
        layer, x = lacuna.convert(nn.Linear(64, 64), **options), torch.randn(64, 64, requires_grad=True)
        with mock.patch.object(Choice, "_fastest", lambda choice: best), torch_takes(0.01):
            for _ in range(steps):
                layer(x).sum().backward()
        (call,) = layer._lacuna.calls.values()
        return call

    def next_process(self):
        history = History(folder=self.folder)
        self.remembers(history)
        return history

    def test_the_next_process_measures_nothing(self):
        history = self.next_process()
        first = self.train()
        self.assertEqual(first.state, "ours")
        history.write()
        self.next_process()
        second = self.train(steps=1)
        self.assertEqual(second.state, "ours")
        self.assertTrue(all(choice.settled for choice in second.choices))
        for a, b in zip(second.compared, first.compared):
            self.assertAlmostEqual(a, b)
        self.assertEqual([set(c.times) for c in second.choices], [set(c.times) for c in first.choices])

    def test_a_layer_that_lost_rests_at_once(self):
        history = self.next_process()
        self.assertEqual(self.train(best=TORCH).state, "lost")
        history.write()
        self.next_process()
        self.assertEqual(self.train(best=TORCH, steps=1).state, "lost")

    def test_the_best_at_the_zeros_of_now(self):
        choice = Choice([TORCH, SKIP_A])
        choice.resume({TORCH: (1.0, None), SKIP_A: (0.5, 0.8)})
        self.assertEqual(choice.next(), SKIP_A)
        choice.saw_zeros(SKIP_A, 0.1)
        self.assertEqual(choice.next(), TORCH)  # expected to take 1.6

    def test_who_does_not_ask_starts_anew(self):
        history = self.next_process()
        self.train()
        history.write()
        for options in ({"remember": False}, {"deterministic": True}):
            self.next_process()
            self.assertNotEqual(self.train(steps=1, **options).state, "ours")
        with mock.patch.object(converted_layers, "_machine", lambda: "another machine"):
            self.assertEqual(self.train(steps=1).state, "measuring")

    def test_files_that_are_of_no_use(self):
        history = self.next_process()
        self.train()
        history.write()
        path = os.path.join(self.folder, "convert.json")
        with open(path, encoding="utf-8") as file:
            good = json.load(file)
        ((key, record),) = good.items()
        for bad in [
            "", "[]", "nonsense", "[" * 100000, "{", json.dumps({key: 1}), json.dumps({key: {**record, "when": 0}}),
            json.dumps({key: {**record, "operations": []}}), json.dumps({key: {**record, "compared": [0, "x"]}}),
            json.dumps({key: {**record, "operations": [{"0": [-1, None]}, {}, {}]}}),
            json.dumps({key: {**record, "operations": [{"x": [1, None]}, {}, {}]}}),
            json.dumps({key: {**record, "operations": [{"²": [1, None]}, {}, {}]}}),  # a digit to str.isdigit()
            json.dumps({key: {**record, "operations": [{"9" * 5000: [1, None]}, {}, {}]}}),
        ]:  # fmt: skip
            with open(path, "w", encoding="utf-8") as file:
                file.write(bad)
            self.next_process()
            self.assertEqual(self.train(steps=1).state, "measuring", bad[:60])
        os.unlink(path)
        os.mkdir(path)
        history = self.next_process()
        history.put(key, record)
        history.write()  # cannot, and says nothing
        self.assertEqual(sorted(os.listdir(self.folder)), ["convert.json", "convert.json.lock"])

    def test_processes_add_to_one_file(self):
        ours, theirs = History(self.folder), History(self.folder)
        record = {"operations": [{}, {}, {}], "compared": None}
        ours.put("a", record)
        theirs.put("b", record)
        ours.write()
        theirs.write()
        both = History(self.folder)
        self.assertTrue(both.find("a") and both.find("b"))
        self.assertIsNone(both.find("c"))

    def test_folder(self):
        for variables, folder in [
            ({"LACUNA_CACHE_DIR": "/a", "HOME": "/h"}, "/a/"),
            ({"XDG_CACHE_HOME": "/x", "HOME": "/h"}, "/x/lacuna"),
            ({"HOME": "/h"}, "/h/.cache/lacuna"),
            ({}, ""),
        ]:
            with mock.patch.dict(os.environ, variables, clear=True):
                self.assertEqual(cache_folder(), folder)


class Processes(ConvertTest):
    def test_a_forked_child_computes_too(self):
        self.force(SKIP_A)
        layer = nn.Conv2d(16, 16, 3)
        lacuna.convert(layer)
        x = torch.randn(2, 16, 6, 6)
        wanted = layer(x).detach()
        child = os.fork()
        if child == 0:
            torch.set_num_threads(1)  # as a data loader's worker does
            with torch.no_grad():
                os._exit(0 if (layer(x) - wanted).abs().max() < 1e-4 else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)

    @unittest.skipUnless(torch.distributed.is_available(), "torch was built without torch.distributed")
    def test_distributed_data_parallel(self):
        self.force(SKIP_A)
        with tempfile.NamedTemporaryFile() as store:
            torch.distributed.init_process_group("gloo", f"file://{store.name}", rank=0, world_size=1)
            self.addCleanup(torch.distributed.destroy_process_group)
            model = nn.Sequential(nn.Conv2d(16, 16, 3), nn.Flatten(), nn.Linear(144, 4))
            plain = copy.deepcopy(model)
            lacuna.convert(model)
            parallel = nn.parallel.DistributedDataParallel(model)
            x = torch.randn(2, 16, 5, 5)
            parallel(x).square().sum().backward()
            plain(x).square().sum().backward()
            for a, b in zip(model.parameters(), plain.parameters()):
                self.near(a.grad, b.grad)

    def test_loader_with_workers(self):
        self.force(SKIP_A)
        model = nn.Linear(16, 16)
        lacuna.convert(model)
        loader = torch.utils.data.DataLoader(torch.randn(8, 16), batch_size=4, num_workers=1)
        for batch in loader:
            model(batch).sum().backward()


if __name__ == "__main__":
    unittest.main()
