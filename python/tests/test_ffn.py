"""lacuna.nn.SparseFFN against PyTorch's products in double precision."""

import copy
import gc
import pickle
import unittest

import torch
import torch.nn.functional as F

import lacuna.nn
from lacuna._convert.tuner import SKIP_A, TORCH
from lacuna._ffn.call import plain_forward
from lacuna.errors import ConvertError


def force(block, candidate):
    """Let a block run one candidate, once it has calls."""
    for call in block._calls.values():
        call.pass_by = 0
        call.choice._trials, call.choice.best = (), candidate
        call.choice.candidates = (candidate,)


class SparseFFNTest(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(3)

    def compare(self, block, x, activation, threshold=0.0):
        output = block(x)
        grad = torch.randn_like(output)
        tensors = [block.up.weight, block.up.bias, block.down.weight, block.down.bias]
        got = torch.autograd.grad(output, [x, *(t for t in tensors if t is not None)], grad)
        exact = [None if t is None else t.detach().double().requires_grad_() for t in (x, *tensors)]
        wanted_output = plain_forward(*exact, activation, threshold)
        wanted = torch.autograd.grad(wanted_output, [t for t in exact if t is not None], grad.double())
        for one, other in zip((output, *got), (wanted_output, *wanted)):
            scale = float(other.abs().max()) + 1e-30
            self.assertLess(float((one.double() - other).abs().max()) / scale, 2e-6)

    def test_either_product_matches_double_precision(self):
        for activation, threshold in (("relu", 0.0), ("relu2", 0.0), ("threshold", 0.4)):
            for shape, hidden, bias in (((5, 41, 33), 130, True), ((1, 7), 5, False), ((200, 64), 96, True)):
                block = lacuna.nn.SparseFFN(shape[-1], hidden, 50, activation, threshold, bias)
                x = torch.randn(shape, requires_grad=True)
                block(x)
                for candidate in (TORCH, SKIP_A):
                    with self.subTest(activation=activation, shape=shape, candidate=candidate):
                        force(block, candidate)
                        self.compare(block, x, activation, threshold)

    def test_all_zeros_and_none(self):
        for bias in (-100.0, 100.0):
            block = lacuna.nn.SparseFFN(16, 100)
            torch.nn.init.constant_(block.up.bias, bias)
            x = torch.randn(30, 16, requires_grad=True)
            block(x)
            force(block, SKIP_A)
            self.compare(block, x, "relu2")

    def test_strides_of_any_kind(self):
        block = lacuna.nn.SparseFFN(24, 40)
        x = torch.randn(24, 9).t().requires_grad_()
        block(x)
        force(block, SKIP_A)
        output = block(x)
        output.backward(torch.ones(1).expand_as(output))  # a gradient without strides
        up = block.up.weight.grad.clone()
        block.zero_grad()
        plain_forward(x, block.up.weight, block.up.bias, block.down.weight, block.down.bias, "relu2", 0.0).sum().backward()
        torch.testing.assert_close(up, block.up.weight.grad, rtol=1e-5, atol=1e-6)

    def test_second_derivatives_are_torchs(self):
        block = lacuna.nn.SparseFFN(4, 6, activation="relu2")
        x = torch.randn(3, 4, requires_grad=True)
        block(x)
        force(block, SKIP_A)
        (first,) = torch.autograd.grad(block(x).square().sum(), x, create_graph=True)
        (second,) = torch.autograd.grad(first.square().sum(), x)
        exact = [t.detach().double().requires_grad_() for t in (x, *block.parameters())]
        (first,) = torch.autograd.grad(plain_forward(*exact, "relu2", 0.0).square().sum(), exact[0], create_graph=True)
        (wanted,) = torch.autograd.grad(first.square().sum(), exact[0])
        torch.testing.assert_close(second.double(), wanted, rtol=1e-4, atol=1e-5)

    def test_loss_curves_of_300_steps(self):
        data = torch.randn(64, 12)
        target = F.relu(data @ torch.randn(12, 12))
        curves = []
        for candidate in (TORCH, SKIP_A):
            torch.manual_seed(5)
            block = lacuna.nn.SparseFFN(12, 100)
            block(data)
            force(block, candidate)
            optimizer = torch.optim.SGD(block.parameters(), lr=0.01)
            losses = []
            for _ in range(300):
                optimizer.zero_grad()
                loss = F.mse_loss(block(data), target)
                loss.backward()
                optimizer.step()
                losses.append(float(loss))
            curves.append(losses)
        self.assertLess(curves[1][-1], 0.8 * curves[1][0])
        for one, other in zip(*curves):
            self.assertAlmostEqual(one, other, delta=2e-3 * abs(one))

    def test_lists_go_with_the_graph(self):
        block = lacuna.nn.SparseFFN(16, 32)
        x = torch.randn(8, 16)
        block(x).sum().backward()
        (call,) = block._calls.values()
        force(block, SKIP_A)
        pool = call.plan._pool
        losses = [block(x).sum() for _ in range(2)]  # two graphs at a time: gradient accumulation
        for loss in losses:
            loss.backward()
        gc.collect()
        self.assertEqual(len(pool), 2)  # although the losses are still here
        loss = block(x).sum()
        loss.backward(retain_graph=True)
        first = block.up.weight.grad.clone()
        loss.backward()
        self.assertFalse(torch.equal(first, block.up.weight.grad))
        del losses, loss
        gc.collect()
        self.assertEqual(len(pool), 2)

    def test_what_is_not_ours_is_torchs(self):
        block = lacuna.nn.SparseFFN(8, 12).double()
        block(torch.randn(3, 8, dtype=torch.float64)).sum().backward()
        self.assertEqual(block._calls, {})
        with self.assertRaises(RuntimeError):
            lacuna.nn.SparseFFN(8, 12)(torch.randn(3, 7))
        empty = lacuna.nn.SparseFFN(8, 12)(torch.randn(0, 8))
        self.assertEqual(tuple(empty.shape), (0, 8))

    def test_settles_and_copies(self):
        block = lacuna.nn.SparseFFN(64, 256)
        x = torch.randn(64, 64)
        self.assertEqual(block.runs, "measuring")
        for _ in range(20):
            block(x).sum().backward()
        self.assertIn(block.runs, ("PyTorch", "skips zeros"))
        for other in (copy.deepcopy(block), pickle.loads(pickle.dumps(block))):
            self.assertEqual(other.runs, "measuring")
            torch.testing.assert_close(other(x), block(x))
        self.assertEqual(list(block.state_dict()), ["up.weight", "up.bias", "down.weight", "down.bias"])

    def test_bad_arguments(self):
        with self.assertRaisesRegex(ConvertError, "no activation 'gelu'"):
            lacuna.nn.SparseFFN(8, 12, activation="gelu")
        with self.assertRaisesRegex(ConvertError, "threshold is -1"):
            lacuna.nn.SparseFFN(8, 12, activation="threshold", threshold=-1)


if __name__ == "__main__":
    unittest.main()
