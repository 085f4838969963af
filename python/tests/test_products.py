"""Products whoever asked for them: attention, recurrent layers, transposed and 3-D convolutions, functions without a
module. What is recorded gives torch's outputs and gradients, and its multiply-accumulates are those counted by hand."""

import unittest

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from torch.utils.checkpoint import checkpoint

import lacuna
from support import DEVICES, RecordingTest, forward_of, input_grad_of, macs_of, weight_grad_of

ATTENTION = getattr(F, "scaled_dot_product_attention", None)


class Attention(RecordingTest):
    def check(self, trace, names, samples, heads, inputs, gradients):
        """The products of scores and values of two samples, from [samples, heads, length, size]."""
        q, k, v, weights = inputs
        for name, (a, w, g) in zip(names, ((q, k, gradients[0]), (weights, v.transpose(-2, -1), gradients[1]))):
            layer = trace[name]
            self.assertEqual((layer.info["type"], layer.info["steps"]), ("matmul", heads), name)
            self.assertEqual((layer.info["batch"], layer.info["rows"]), (2 * heads, a.shape[2]), name)
            for role, tensor in (("A", a), ("W", w), ("G", g)):
                self.assert_close(layer.values[role], tensor[:2].flatten(0, 1), text=f"{name} {role}")

    def by_hand(self, q, k, v, causal):
        scores = q @ k.transpose(-2, -1)
        shown = scores / q.shape[-1] ** 0.5
        if causal:
            shown = shown.masked_fill(torch.ones_like(shown).triu(1).bool(), -torch.inf)
        weights = shown.softmax(-1)
        return scores, weights, weights @ v

    def test_matmul_without_a_module(self):
        class Block(nn.Module):
            def __init__(self):
                super().__init__()
                self.qkv = nn.Linear(6, 18)

            def forward(self, x):
                q, k, v = self.qkv(x).reshape(*x.shape[:2], 3, 2, 3).permute(2, 0, 3, 1, 4)
                self.inputs = q, k, v
                scores = q @ k.transpose(-2, -1)
                future = torch.ones_like(scores).triu(1).bool()
                weights = (scores / 3**0.5).masked_fill(future, -torch.inf).softmax(-1)
                return weights @ v

        for device in DEVICES:
            model = nn.Sequential(Block()).to(device)
            x = torch.randn(3, 5, 6, device=device)
            trace = self.record(model, lambda: model(x).square().sum().backward(), values=True)
            self.assertEqual(trace.names, ["0.qkv", "0.matmul", "0.matmul#2"])
            q, k, v = (part.detach() for part in model[0].inputs)
            scores, weights, output = self.by_hand(q.requires_grad_(), k, v, True)
            gradients = torch.autograd.grad(output.square().sum(), (scores, output))
            self.check(trace, trace.names[1:], 3, 2, (q, k, v, weights), gradients)
            self.assertEqual(trace.metadata["version"], "2")
            self.assertAlmostEqual(trace["0.matmul#2"].zeros("A"), 10 / 25)  # what causal attention does not see
            self.assertEqual(macs_of(trace), 3 * 5 * 6 * 18 + 2 * (3 * 2 * 5 * 5 * 3))

    def test_the_three_products_of_a_layer_of_attention(self):
        q, k = (torch.randn(4, 3, 5, 2, requires_grad=True) for _ in range(2))
        model = nn.Sequential(nn.Linear(1, 1))

        def step():
            self.scores = q @ (k * model(torch.ones(4, 1))[:, None, None]).transpose(-2, -1)
            self.scores.relu().sum().backward()

        with torch.no_grad():
            model[0].weight.fill_(1), model[0].bias.zero_()
        layer = self.record(model, step, values=True)["matmul"]
        products = lambda t: t[:2].flatten(0, 1)  # noqa: E731  of two samples
        self.assert_close(forward_of(layer), products(self.scores), text="forward")
        self.assert_close(input_grad_of(layer), products(q.grad), text="gradient of the left factor")
        self.assert_close(weight_grad_of(layer), products(k.grad), text="gradient of the right factor")

    def test_multihead_attention(self):
        for first, packed in ((True, True), (False, True), (True, False)):
            extra = {} if packed else {"kdim": 6, "vdim": 10}
            attention = nn.MultiheadAttention(8, 2, batch_first=first, **extra)
            model = nn.ModuleDict({"attention": attention})
            shape = lambda n, l, c: torch.randn(*((n, l, c) if first else (l, n, c)))  # noqa: E731, B023
            x = shape(3, 5, 8)
            y, z = (x, x) if packed else (shape(3, 4, 6), shape(3, 4, 10))
            trace = self.record(model, lambda: attention(x, y, z)[0].square().sum().backward(), values=True, samples=3)
            products = ["attention.matmul", "attention.matmul#2"]
            inputs = ["attention.in_proj"] if packed else [f"attention.{one}_proj" for one in "qkv"]
            self.assertEqual(trace.names, [*inputs, *products, "attention.out_proj"])
            self.assertEqual(trace.metadata["batch"], "3")
            for name in trace.names:
                if name not in products:
                    path = name.replace("out_proj", "out_proj.") if "out" in name else name + "_"
                    weight = dict(model.named_parameters())[path + "weight"]
                    self.assert_close(weight_grad_of(trace[name]), weight.grad, text=name)
            rows = x if first else x.transpose(0, 1)
            self.assert_same(trace[inputs[0]].values["A"], rows.reshape(15, 8))
            self.assertEqual(trace[inputs[0]].info["steps"], 5)
            length = y.shape[1 if first else 0]
            projections = 15 * 8 * 8 * 2 + 3 * length * 8 * (y.shape[-1] + z.shape[-1])
            self.assertEqual(macs_of(trace), projections + 2 * 15 * length * 8)

    @unittest.skipUnless(ATTENTION, "torch 2")
    def test_scaled_dot_product_attention(self):
        for device in DEVICES:
            model = nn.Sequential(nn.Linear(6, 6)).to(device)
            x = torch.randn(3, 2, 5, 6, device=device)
            before = torch.backends.cuda.flash_sdp_enabled()

            def step():
                y = model(x)  # noqa: B023
                ATTENTION(y, y, y, is_causal=True).square().sum().backward()

            trace = self.record(model, step, values=True)
            self.assertEqual(torch.backends.cuda.flash_sdp_enabled(), before)
            self.assertEqual(trace.names, ["0", "matmul", "matmul#2"])
            self.assertAlmostEqual(trace["matmul#2"].zeros("A"), 10 / 25)
            self.assertEqual(macs_of(trace), 30 * 36 + 2 * (6 * 25 * 6))

    def test_windows_are_steps_of_their_samples(self):
        model = nn.ModuleDict({"patch": nn.Conv2d(3, 4, 2, 2), "qkv": nn.Linear(4, 12)})

        def step():
            x = model["patch"](torch.randn(3, 3, 8, 8))  # 4 x 4 of them, in windows of 2 x 2
            x = x.reshape(3, 4, 2, 2, 2, 2).permute(0, 2, 4, 3, 5, 1).reshape(12, 4, 4)
            q, k, v = model["qkv"](x).chunk(3, -1)
            ((q @ k.transpose(-2, -1)).softmax(-1) @ v).square().sum().backward()

        trace = self.record(model, step)
        self.assertEqual((trace["qkv"].info["batch"], trace["qkv"].info["steps"]), (32, 16))
        self.assertEqual((trace["matmul"].info["batch"], trace["matmul"].info["steps"]), (8, 4))
        self.assertEqual(macs_of(trace), 3 * 16 * 4 * 12 + 48 * 4 * 12 + 2 * 12 * 4 * 4 * 4)


class Recurrent(RecordingTest):
    def check_weights(self, trace, module, prefix=""):
        for name, weight in module.named_parameters():
            if weight.dim() == 2:
                layer = trace[prefix + name.replace("weight_", "")]
                self.assert_close(weight_grad_of(layer), weight.grad, text=name)

    def test_layers_of_every_kind(self):
        for device in DEVICES:
            for kind, gates in ((nn.LSTM, 4), (nn.GRU, 3), (nn.RNN, 1)):
                for first in (True, False):
                    with self.subTest(kind=kind, first=first, device=device):
                        self.check_layer(kind, gates, first, device)

    def check_layer(self, kind, gates, first, device):
        model = nn.ModuleDict({"rnn": kind(6, 5, num_layers=2, bidirectional=True, batch_first=first)}).to(device)
        x = torch.randn((3, 4, 6) if first else (4, 3, 6), device=device)
        trace = self.record(model, lambda: model["rnn"](x)[0].square().sum().backward(), values=True, samples=3)
        self.assertEqual(len(trace.layers), 8)
        self.assertEqual(sorted(trace.names[:2]), ["rnn.hh_l0", "rnn.ih_l0"])  # a GPU may take either first
        self.check_weights(trace, model["rnn"], "rnn.")
        layer = trace["rnn.hh_l0"]
        self.assertEqual((layer.info["batch"], layer.info["steps"], layer.info["recurrent"]), (12, 4, True))
        self.assertNotIn("recurrent", trace["rnn.ih_l0"].info)
        self.assertEqual(trace.metadata["version"], "3")
        backwards = trace["rnn.ih_l0_reverse"].info["operations"]  # reads the input too
        self.assertEqual(backwards, ["forward", "weight_grad"])
        state = layer.values["A"].reshape(4, 3, 5)
        self.assertFalse(state[0].any(), "the state before the first step is zero")
        self.assertTrue(state[1:].all())
        rows = x if first else x.transpose(0, 1)
        self.assert_same(trace["rnn.ih_l0"].values["A"], rows.reshape(12, 6))
        by_hand = 12 * 2 * gates * 5 * ((6 + 5) + (10 + 5))
        self.assertEqual(macs_of(trace), by_hand)
        trace = self.record(model, lambda: model["rnn"](x)[0].square().sum().backward(), samples=2)
        # A GPU multiplies one step after the other, and a step has the rows of the whole batch.
        self.assertEqual((trace["rnn.ih_l0"].info["batch"], macs_of(trace)), (8 if device == "cpu" else 12, by_hand))
        self.assertEqual(trace["rnn.hh_l0"].info["batch"], 12)  # a step has the rows of the whole batch

    def test_two_calls_are_two_layers(self):
        model = nn.ModuleDict({"rnn": nn.GRU(3, 2, batch_first=True)})
        x = torch.randn(2, 4, 3)
        step = lambda: (model["rnn"](x)[0] * model["rnn"](x + 1)[0]).sum().backward()  # noqa: E731
        self.assertEqual(self.record(model, step).names, ["rnn.ih_l0", "rnn.hh_l0", "rnn.ih_l0#2", "rnn.hh_l0#2"])

    def test_a_loop_over_a_cell(self):
        model = nn.ModuleDict({"cell": nn.LSTMCell(4, 3)})
        x = torch.randn(5, 2, 4)

        def step():
            state = None
            for part in x:
                state = model["cell"](part, state)
            state[0].square().sum().backward()

        trace = self.record(model, step, values=True)
        self.assertEqual(sorted(trace.names), ["cell.hh", "cell.ih"])
        self.assertEqual([layer.info["steps"] for layer in trace.layers], [5, 5])
        self.check_weights(trace, model["cell"], "cell.")
        self.assert_same(trace["cell.ih"].values["A"], x.reshape(10, 4))

    def test_sequences_of_unequal_length(self):
        model = nn.ModuleDict({"rnn": nn.LSTM(4, 3, batch_first=True)})
        for lengths in ([4, 3, 2], [4, 3, 1]):
            packed = pack_padded_sequence(torch.randn(3, 4, 4), torch.tensor(lengths), batch_first=True)
            model.zero_grad()
            step = lambda: pad_packed_sequence(model["rnn"](packed)[0])[0].square().sum().backward()  # noqa: E731, B023
            trace = self.record(model, step, values=True)
            self.assertEqual(macs_of(trace), sum(lengths) * 12 * (4 + 3))
            if sum(lengths) % 3 == 0:
                self.check_weights(trace, model["rnn"], "rnn.")
                self.assertFalse(trace.left_out)


CONVOLUTIONS = {
    "3d": (nn.Conv3d(4, 6, (3, 2, 3), stride=(2, 1, 1), padding=(1, 0, 1), groups=2), (3, 4, 5, 4, 4)),
    "3d, dilation": (nn.Conv3d(2, 3, 2, dilation=(2, 1, 1), bias=False), (3, 2, 5, 4, 4)),
    "3d, flat": (nn.Conv3d(2, 3, (1, 3, 3)), (3, 2, 3, 4, 4)),
    "transposed 1d": (nn.ConvTranspose1d(4, 6, 3, stride=2, padding=1, output_padding=1), (3, 4, 5)),
    "transposed 2d": (nn.ConvTranspose2d(4, 6, (2, 3), stride=2, groups=2, dilation=(1, 2)), (3, 4, 4, 5)),
    "transposed 3d": (nn.ConvTranspose3d(2, 3, 2, stride=2, padding=1), (3, 2, 3, 3, 4)),
}


class Convolutions(RecordingTest):
    def test_every_kind(self):
        for device in DEVICES:
            for text, (layer, shape) in CONVOLUTIONS.items():
                with self.subTest(text, device=device):
                    self.check(layer.to(device), shape, device)

    def check(self, layer, shape, device):
        layer.zero_grad()
        x = torch.randn(shape, device=device).relu().requires_grad_()
        output = layer(x)
        factor = torch.randn_like(output)
        step = lambda: (layer(x) * factor).sum().backward()  # noqa: E731
        trace = self.record(layer, step, values=True, samples=3)
        self.assertEqual(len(trace.layers), 1)
        recorded = trace.layers[0]
        output = output - (0 if layer.bias is None else layer.bias.reshape(1, -1, *[1] * (x.dim() - 2)))
        images = recorded.info["batch"]

        def last(t):
            """[N, C, ...] as a trace has it: [images, H, W, C]."""
            t = t.unsqueeze(2) if t.dim() == 3 else t
            t = t.movedim(1, -1)
            return t.reshape(images, *t.shape[-3:])

        deep = x.dim() == 5
        kernel = layer.weight.grad
        if deep:  # the kernel's depth is among the channels
            kernel = kernel.permute(0, 2, 1, 3, 4).flatten(1, 2)
        elif x.dim() == 3:
            kernel = kernel.unsqueeze(2)
        self.assert_close(weight_grad_of(recorded), kernel, 1e-4, text="weight gradient")
        if recorded.info.get("transposed"):
            self.assert_close(forward_of(recorded), last(x.grad), 1e-4, text="input gradient")
            if not deep:
                self.assert_close(input_grad_of(recorded), last(output), 1e-4, text="output")
        else:
            self.assert_close(forward_of(recorded), last(output), 1e-4, text="output")
        points = x if recorded.info.get("transposed") else output
        self.assertEqual(macs_of(trace), points.numel() * layer.weight[0].numel())

    def test_several_images_of_a_sample(self):
        model = nn.ModuleDict({"body": nn.Conv2d(2, 3, 3), "head": nn.Conv2d(3, 4, 1)})

        def step():
            x = model["body"](torch.randn(3, 2, 5, 5))
            model["head"](torch.cat((x, x))).sum().backward()

        trace = self.record(model, step, samples=2)
        self.assertEqual((trace["head"].info["batch"], trace["head"].info["steps"]), (4, 2))
        self.assertEqual(macs_of(trace), 3 * 9 * 3 * 18 + 6 * 9 * 12)


class Functions(RecordingTest):
    def recorded(self, step, *shapes, **options):
        model = nn.ParameterDict({f"w{n}": nn.Parameter(torch.randn(shape)) for n, shape in enumerate(shapes)})
        trace = self.record(model, lambda: step(*model.values()).square().sum().backward(), values=True, **options)
        return trace, list(model.values())

    def test_linear_layers_without_a_module(self):
        x = torch.randn(3, 4, 6)
        cases = {
            "linear": (lambda w: F.linear(x, w), (5, 6), lambda w: w.grad),
            "matmul": (lambda w: x @ w, (6, 5), lambda w: w.grad.t()),
            "einsum": (lambda w: torch.einsum("ntc,ck->ntk", x, w), (6, 5), lambda w: w.grad.t()),
            "addmm": (lambda w: torch.addmm(torch.ones(5), x.view(-1, 6), w), (6, 5), lambda w: w.grad.t()),
            "weights first": (lambda w: w @ x.transpose(1, 2), (5, 6), lambda w: w.grad),
            "a vector": (lambda w: x.view(-1, 6) @ w, (6,), lambda w: w.grad[None]),
        }
        for text, (step, shape, gradient) in cases.items():
            with self.subTest(text):
                model = nn.ParameterDict({"w": nn.Parameter(torch.randn(shape)), "other": nn.Parameter(torch.ones(1, 1))})
                run = lambda: step(model["w"]).square().sum().backward()  # noqa: E731, B023
                trace = self.record(model, run, values=True, samples=3)
                self.assertEqual(trace.names, ["w"])
                self.assert_close(weight_grad_of(trace["w"]), gradient(model["w"]))
                self.assertEqual(macs_of(trace), 12 * model["w"].numel())

    def test_weights_times_a_vector(self):
        x = torch.randn(6)
        trace, (w,) = self.recorded(lambda w: w @ x, (5, 6))
        self.assert_same(trace["w0"].values["A"], x[None])
        self.assert_close(weight_grad_of(trace["w0"]), w.grad)

    def test_weights_of_each_head(self):
        x = torch.randn(3, 4, 2, 6)
        step = lambda w: torch.einsum("nthc,hck->nthk", x, w)  # noqa: E731
        trace, (w,) = self.recorded(step, (2, 6, 5), samples=3, metadata={"batch": 3})
        layer = trace["w0"]
        self.assertEqual(layer.info["groups"], 2)
        self.assert_close(weight_grad_of(layer)[:, :, 0, 0].reshape(2, 5, 6).transpose(1, 2), w.grad)

    def test_convolution_without_a_module(self):
        x = torch.randn(3, 4, 5, 5)
        trace, (w,) = self.recorded(lambda w: F.conv2d(x, w, padding=1, groups=4), (8, 1, 3, 3), samples=3)
        self.assertEqual(trace.names, ["w0"])
        self.assert_close(weight_grad_of(trace["w0"]), w.grad)

    def test_the_weights_of_a_layer_that_is_not_called(self):
        model = nn.ModuleDict({"fc": nn.Linear(4, 3)})
        trace = self.record(model, lambda: F.linear(torch.randn(2, 4), model["fc"].weight).sum().backward())
        self.assertEqual(trace.names, ["fc"])

    def test_tied_weights_are_named_by_who_runs(self):
        model = nn.ModuleDict({"embed": nn.Embedding(7, 4), "body": nn.Linear(4, 4), "head": nn.Linear(4, 7, bias=False)})
        model["head"].weight = model["embed"].weight
        step = lambda: model["head"](model["body"](model["embed"](torch.ones(2, 3).long()))).sum().backward()  # noqa: E731
        for context in (torch.autocast("cpu", dtype=torch.bfloat16), torch.enable_grad()):
            with context:
                trace = self.record(model, step)
            self.assertEqual(trace.names, ["body", "head"])
            self.assertEqual(trace["head"].info["steps"], 3)

    def test_products_of_constants_are_not_layers(self):
        class Rotary(nn.Linear):
            def __init__(self):
                super().__init__(4, 4)
                self.register_buffer("frequencies", torch.ones(2, 1))

            def forward(self, x):
                with torch.no_grad():
                    angles = self.frequencies @ torch.ones(1, 6)
                return super().forward(x) * (self.frequencies @ torch.ones(1, 3)).sum() * angles.sum()

        model = Rotary()
        trace = self.record(model, lambda: model(torch.randn(3, 4)).sum().backward())
        self.assertEqual((trace.names, trace.left_out), (["rotary"], []))

    def test_other_activations_in_the_forward_product(self):
        """As SWAT multiplies: all of them forward, some in the weight gradient."""

        class Cut(nn.Module):
            def __init__(self):
                super().__init__()
                self.conv = nn.Conv2d(3, 4, 3, padding=1)
                self.linear = nn.Linear(4, 5)

            def forward(self, x):
                x = F.relu(x)
                self.all, self.cut = [x], [x * (x > x.mean())]
                y = F.conv2d(lacuna.multiplied(self.cut[0], forward=x), self.conv.weight, padding=1)
                y = F.relu(y).flatten(2).transpose(1, 2)  # with time steps, and not contiguous
                self.all.append(y)
                self.cut.append(y * (y > y.mean()))
                return self.linear(lacuna.multiplied(self.cut[1], forward=y))

        model = Cut()
        step = self.record(model, lambda: model(torch.randn(3, 3, 4, 4)).sum().backward(), values=True)
        self.assertEqual(step.metadata["version"], "3")
        for number, layer in enumerate(step.layers):
            for role, tensors in (("A_forward", model.all), ("A", model.cut)):
                tensor = tensors[number][:2].detach()
                wanted = tensor.permute(0, 2, 3, 1) if number == 0 else tensor.flatten(0, 1)
                self.assert_close(layer.values[role], wanted, text=f"{layer.name} {role}")
        with self.assertRaisesRegex(lacuna.CaptureError, "the shape"):
            lacuna.multiplied(torch.ones(2), forward=torch.ones(3))

    def test_a_product_of_rows_with_rows(self):
        model = nn.Sequential(nn.Linear(4, 3))

        def step():
            x = model(torch.randn(5, 4))
            (x @ x.t()).square().sum().backward()

        trace = self.record(model, step)
        self.assertEqual(trace.names, ["0", "matmul"])
        self.assertEqual(macs_of(trace), 5 * 12 + 5 * 5 * 3)


class Transformer(RecordingTest):
    """All of it at once, and the ways that a step can be run."""

    def setUp(self):
        super().setUp()
        self.model = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, dropout=0.0)
        self.x = torch.randn(3, 5, 8, requires_grad=True)
        self.names = ["self_attn.in_proj", "self_attn.matmul", "self_attn.matmul#2", "self_attn.out_proj"]
        self.names += ["linear1", "linear2"]

    def test_macs(self):
        trace = self.record(self.model, lambda: self.model(self.x).square().sum().backward())
        self.assertEqual(trace.names, self.names)
        self.assertEqual(macs_of(trace), 15 * (4 * 64 + 2 * 128) + 2 * 15 * 5 * 8)

    def test_checkpoints_and_autocast_record_the_same(self):
        plain = self.record(self.model, lambda: self.model(self.x).square().sum().backward())
        for reentrant in (True, False):
            run = lambda: checkpoint(self.model, self.x, use_reentrant=reentrant)  # noqa: E731, B023
            trace = self.record(self.model, lambda: run().square().sum().backward())  # noqa: B023
            self.assertEqual((trace.names, macs_of(trace)), (self.names, macs_of(plain)))
            for one, other in zip(trace.layers, plain.layers):
                for role in "AWG":
                    self.assert_same(one.masks[role], other.masks[role], f"{one.name} {role}")
        with torch.autocast("cpu", dtype=torch.bfloat16):
            trace = self.record(self.model, lambda: self.model(self.x).float().square().sum().backward())
        self.assertEqual((trace.names, macs_of(trace)), (self.names, macs_of(plain)))

    def test_the_products_of_a_backward_pass_are_none_of_it(self):
        def step():  # a gradient penalty: the backward pass has a graph, and is part of the loss
            output = self.model(self.x).square().sum()
            (gradient,) = torch.autograd.grad(output, self.x, create_graph=True)
            (output + gradient.square().sum()).backward()

        self.assertEqual(self.record_warned(self.model, step, "second backward pass").names, self.names)

    def test_a_checkpoint_does_not_hide_the_batch(self):
        model = nn.Sequential(nn.Conv2d(2, 4, 2, 2), nn.Unflatten(2, (2, 2)), nn.Linear(2, 4))

        def body(x):  # the last layer, the first to be recomputed, has 16 times as many rows as there are samples
            return model[2](model[1](model[0](x)).flatten(0, 2))

        x = torch.randn(3, 2, 8, 4, requires_grad=True)
        for reentrant in (True, False):
            trace = self.record(model, lambda: checkpoint(body, x, use_reentrant=reentrant).sum().backward())  # noqa: B023
            self.assertEqual((trace.names, trace.metadata["batch"]), (["0", "2"], "3"))
            self.assertEqual(macs_of(trace), 3 * 8 * 32 + 3 * 16 * 8)

    def test_accumulation_records_the_first_pass(self):
        def step():
            for _ in range(2):
                self.model(self.x).square().sum().backward()

        self.assertEqual(self.record_warned(self.model, step, "ran again").names, self.names)

    def test_time_first_everywhere(self):
        model = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0)
        trace = self.record(model, lambda: model(self.x.transpose(0, 1)).square().sum().backward(), values=True)
        self.assertEqual((trace.metadata["batch"], trace["linear1"].info["steps"]), ("3", 5))
        self.assert_close(trace["self_attn.in_proj"].values["A"], self.x[:2].reshape(10, 8))
        self.assertEqual(macs_of(trace), 15 * (4 * 64 + 2 * 128) + 2 * 15 * 5 * 8)


if __name__ == "__main__":
    unittest.main()
