"""What real training code does: shared and repeated layers, frozen ones, accumulation, pruning, checkpointing, mixed
precision, wrappers. Each either is recorded right or says what is missing."""

import unittest

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.utils import parametrize, parametrizations, prune, spectral_norm, weight_norm
from torch.utils.checkpoint import checkpoint

import lacuna
from support import DEVICES, RecordingTest, weight_grad_of


class Repeated(RecordingTest):
    def test_each_call_is_a_layer(self):
        shared = nn.Linear(4, 4)
        model = nn.Sequential(shared, nn.ReLU(inplace=True), shared, nn.Linear(4, 2))
        trace = self.record(model, lambda: model(torch.randn(3, 4)).square().sum().backward(), values=True)
        self.assertEqual(trace.names, ["0", "0#2", "3"])
        both = weight_grad_of(trace["0"]) + weight_grad_of(trace["0#2"])
        self.assert_close(both, shared.weight.grad)

    def test_a_call_whose_output_is_not_used(self):
        layer = nn.Linear(4, 2)

        def step():
            layer(torch.ones(3, 4))
            layer(torch.zeros(3, 4)).sum().backward()

        trace = self.record_warned(layer, step, "some calls of these got no gradient.*linear", values=True)
        self.assertEqual(trace.names, ["linear"])
        self.assertEqual(trace["linear"].zeros("A"), 1)

    def test_two_forward_passes_one_backward(self):
        model = nn.Sequential(nn.Conv1d(2, 3, 3), nn.Conv1d(3, 2, 1))
        one, two = torch.randn(2, 2, 6), torch.randn(2, 2, 6)
        trace = self.record(model, lambda: (model(one) - model(two)).square().sum().backward(), values=True)
        self.assertEqual(trace.names, ["0", "1", "0#2", "1#2"])
        both = weight_grad_of(trace["0"]) + weight_grad_of(trace["0#2"])
        self.assert_close(both.reshape(3, 2, 3), model[0].weight.grad)

    def test_accumulation_records_the_first_pass(self):
        model = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))
        batches = [torch.randn(3, 4), torch.randn(3, 4)]

        def step():
            for batch in batches:
                model(batch).sum().backward()

        trace = self.record_warned(model, step, "ran again after a backward pass", values=True)
        self.assertEqual(trace.names, ["0", "2"])
        self.assert_same(trace["0"].values["A"], batches[0])

    def test_two_backward_passes_through_one_graph(self):
        layer = nn.Linear(4, 2)

        def step():
            y = layer(torch.randn(3, 4))
            y.sum().backward(retain_graph=True)
            (2 * y).sum().backward()

        trace = self.record_warned(layer, step, "second backward pass", values=True)
        self.assert_same(trace["linear"].values["G"], torch.ones(3, 2))


class Missing(RecordingTest):
    def test_a_layer_without_gradient_is_named_and_left_out(self):
        model = nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 3), nn.Linear(3, 2))

        def step():
            with torch.no_grad():
                x = model[0](torch.randn(3, 4))
            model[2](model[1](x)).sum().backward()

        trace = self.record_warned(model, step, "got no gradient.*: 0$")
        self.assertEqual(trace.names, ["1", "2"])

    def test_a_frozen_layer_that_passes_gradients_on_is_recorded(self):
        model = nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 3), nn.Linear(3, 2))
        model[1].requires_grad_(False)
        trace = self.record(model, lambda: model(torch.randn(3, 4)).sum().backward())
        self.assertEqual(trace.names, ["0", "1", "2"])

    def test_a_layer_that_does_not_run_is_named(self):
        model = nn.ModuleDict({"used": nn.Linear(4, 3), "spare": nn.Linear(4, 3)})
        self.record_warned(model, lambda: model["used"](torch.ones(2, 4)).sum().backward(), "did not run.*: spare$")

    def test_products_that_a_trace_cannot_hold_are_named_with_their_share(self):
        model = nn.ModuleDict({"fc": nn.Linear(4, 5), "pair": nn.Bilinear(5, 2, 2)})
        step = lambda: model["pair"](model["fc"](torch.randn(3, 4)), torch.randn(3, 2)).sum().backward()  # noqa: E731
        # 5 x 2 x 2 of those and 4 x 5
        trace = self.record_warned(model, step, r"cannot hold.*left out: pair \(Bilinear, 50 %\)$")
        self.assertEqual(trace.names, ["fc"])

    def test_evaluation_in_the_block_is_not_recorded(self):
        model = nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 2))
        x = torch.randn(3, 4)

        def step():
            with torch.no_grad():
                model(torch.zeros(5, 4))
            model(x).sum().backward()

        trace = self.record(model, step, values=True)
        self.assertEqual(trace.names, ["0", "1"])
        self.assert_same(trace["0"].values["A"], x)

    def test_an_empty_batch_is_left_out(self):
        model = nn.ModuleDict({"one": nn.Linear(4, 3), "none": nn.Linear(4, 3)})

        def step():
            (model["one"](torch.ones(2, 4)).sum() + model["none"](torch.ones(0, 4)).sum()).backward()

        self.assertEqual(self.record_warned(model, step, "did not run.*: none$").names, ["one"])


class Weights(RecordingTest):
    """W is what was multiplied, whatever made it."""

    def check(self, layer, expected, x=None):
        x = torch.randn(3, 4) if x is None else x
        trace = self.record(layer, lambda: layer(x).square().sum().backward(), values=True)
        self.assertEqual(len(trace.layers), 1)
        w = trace.layers[0].values["W"]
        self.assert_same(w if w.dim() == 2 else w.permute(0, 3, 1, 2), expected())
        return trace.layers[0]

    def test_pruned(self):
        layer = nn.Linear(4, 6)
        prune.l1_unstructured(layer, "weight", amount=0.5)
        recorded = self.check(layer, lambda: layer.weight_orig * layer.weight_mask)
        self.assertEqual(recorded.zeros("W"), 0.5)

    def test_weight_norm(self):
        layer = weight_norm(nn.Linear(4, 6))
        self.check(layer, lambda: layer.weight)

    def test_spectral_norm(self):
        layer = spectral_norm(nn.Linear(4, 6))
        self.check(layer, lambda: layer.weight)

    def test_parametrization_is_computed_once_a_call(self):
        class Threshold(nn.Module):
            calls = 0

            def forward(self, weight):
                self.calls += 1
                return torch.where(weight.abs() > 0.2, weight, torch.zeros_like(weight))

        layer = nn.Linear(4, 6)
        threshold = Threshold()
        parametrize.register_parametrization(layer, "weight", threshold)
        threshold.calls = 0
        recorded = self.check(layer, lambda: layer.weight)
        self.assertEqual(threshold.calls, 2, "one in the step, one in the test")
        self.assertGreater(recorded.zeros("W"), 0)

    def test_spectral_norm_as_a_parametrization_keeps_its_state(self):
        layer, twin = nn.Linear(4, 6), nn.Linear(4, 6)
        twin.load_state_dict(layer.state_dict())
        for one in (layer, twin):
            torch.manual_seed(5)
            parametrizations.spectral_norm(one)
        x = torch.randn(3, 4)
        self.record(layer, lambda: layer(x).sum().backward())
        twin(x)
        for one, other in zip(layer.state_dict().values(), twin.state_dict().values()):
            self.assert_same(one, other)

    def test_a_subclass_with_weights_of_its_own(self):
        class Standardised(nn.Conv2d):
            def forward(self, x):
                return F.conv2d(x, self.own(), self.bias, self.stride, self.padding)

            def own(self):
                return self.weight - self.weight.mean((1, 2, 3), keepdim=True)

        layer = Standardised(3, 4, 3, padding=1)
        self.check(layer, layer.own, torch.randn(2, 3, 5, 5))

    def test_weights_changed_before_the_block_ends(self):
        layer = nn.Linear(4, 6)
        before = layer.weight.detach().clone()
        x = torch.randn(3, 4)
        kept = x.clone()

        def step():
            layer(x).square().sum().backward()
            torch.optim.SGD(layer.parameters(), 0.1).step()
            x.zero_()

        trace = self.record(layer, step, values=True)
        self.assert_same(trace["linear"].values["W"], before)
        self.assert_same(trace["linear"].values["A"], kept)


class Checkpointing(RecordingTest):
    def test_both_kinds(self):
        for device in DEVICES:
            self.check_both_kinds(device)

    def check_both_kinds(self, device):
        parts = nn.ModuleList(
            nn.Sequential(nn.Conv2d(3, 3, 3, padding=1), nn.ReLU(inplace=True), nn.Conv2d(3, 3, 1)) for _ in range(3)
        )
        head = nn.Linear(3, 2)
        model = nn.ModuleDict({"parts": parts, "head": head}).to(device)
        x = torch.randn(2, 3, 4, 4, device=device, requires_grad=True)

        def step(run):
            model.zero_grad()
            y = x
            for part in parts:
                y = run(part, y)
            head(y.mean((2, 3))).square().sum().backward()

        plain = self.record(model, lambda: step(lambda part, y: part(y)), values=True)
        for reentrant in (True, False):
            with self.subTest(reentrant=reentrant, device=device):
                run = lambda part, y: checkpoint(part, y, use_reentrant=reentrant)  # noqa: E731, B023
                trace = self.record(model, lambda: step(run), values=True)
                self.assertEqual(trace.names, plain.names)
                for one, other in zip(trace.layers, plain.layers):
                    for role in "AWG":
                        self.assert_same(one.values[role], other.values[role], f"{one.name} {role}")

    def test_a_model_that_ends_in_a_checkpoint(self):
        model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))
        x = torch.randn(3, 4, requires_grad=True)
        for reentrant in (True, False):
            with self.subTest(reentrant=reentrant):
                step = lambda: checkpoint(model, x, use_reentrant=reentrant).sum().backward()  # noqa: E731, B023
                self.assertEqual(self.record(model, step).names, ["0", "2"])

    def test_accumulation_with_checkpoints(self):
        model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2)).to(DEVICES[-1])
        x = torch.randn(3, 4, device=DEVICES[-1], requires_grad=True)
        for reentrant in (True, False):
            with self.subTest(reentrant=reentrant):

                def step():
                    for _ in range(2):
                        checkpoint(model, x, use_reentrant=reentrant).sum().backward()  # noqa: B023

                self.assertEqual(self.record_warned(model, step, "ran again").names, ["0", "2"])


class Precision(RecordingTest):
    def test_autocast(self):
        for device in DEVICES:
            with self.subTest(device=device):
                model = nn.Sequential(nn.Linear(8, 9), nn.ReLU(), nn.Linear(9, 3)).to(device)
                x = torch.randn(4, 8, device=device)
                x[0, 0] = 1e-42  # zero in the type that is multiplied
                model[0].weight.data[0, 0] = 1e-42

                def step():
                    with torch.autocast(device, dtype=torch.bfloat16):  # noqa: B023
                        y = model(x)  # noqa: B023
                    y.float().square().sum().backward()

                trace = self.record(model, step, values=True, dtype="bf16")
                self.assertEqual(trace["0"].values["A"].dtype, torch.bfloat16)
                self.assert_same(trace["0"].values["A"], x.bfloat16())
                self.assert_same(trace["0"].values["W"], model[0].weight.bfloat16())
                self.assertFalse(trace["0"].masks["A"][0, 0])
                self.assertFalse(trace["0"].masks["W"][0, 0])

    def test_half_and_double(self):
        for device in DEVICES:
            for dtype in (torch.float16, torch.bfloat16, torch.float64):
                if device == "cpu" and dtype is torch.float16:
                    continue  # old versions have no such products
                with self.subTest(device=device, dtype=dtype):
                    layer = nn.Linear(8, 3).to(device, dtype)
                    x = torch.randn(4, 8, device=device, dtype=dtype)
                    trace = self.record(layer, lambda: layer(x).sum().backward(), values=True)  # noqa: B023
                    self.assertEqual(trace["linear"].values["A"].dtype, torch.float32)
                    self.assert_same(trace["linear"].values["A"], x.float())

    def test_values_that_the_type_cannot_hold_are_refused(self):
        layer = nn.Linear(4, 2)
        for value, dtype, remedy in ((1e-44, "bf16", "dtype='f32'"), (3.4e38, "bf16", "dtype='f32'")):
            x = torch.full((2, 4), value)
            message = f"A of layer 'linear'.*{remedy}"
            with self.subTest(value=value), self.assertRaisesRegex(lacuna.CaptureError, message):
                with lacuna.capture(layer, self.path, values=True, dtype=dtype):
                    layer(x).sum().backward()
        wide = nn.Linear(4, 2).double()
        x = torch.full((2, 4), 1e-60, dtype=torch.float64)
        with self.assertRaisesRegex(lacuna.CaptureError, "masks only"):
            with lacuna.capture(wide, self.path, values=True):
                wide(x).sum().backward()
        trace = self.record(wide, lambda: wide(x).sum().backward())
        self.assertEqual(trace["linear"].zeros("A"), 0)

    def test_nan_and_infinity_are_refused(self):
        layer = nn.Linear(4, 2)
        for value in (float("nan"), float("inf")):
            with self.subTest(value=value), self.assertRaisesRegex(lacuna.CaptureError, "G of layer 'linear'.*NaN"):
                with lacuna.capture(layer, self.path):
                    (layer(torch.ones(2, 4)) * value).sum().backward()


class Wrappers(RecordingTest):
    def test_data_parallel_on_one_device(self):
        model = nn.DataParallel(nn.Sequential(nn.Linear(4, 2)), device_ids=None if len(DEVICES) == 1 else [0])
        device = DEVICES[-1]
        model.to(device)
        trace = self.record(model, lambda: model(torch.ones(2, 4, device=device)).sum().backward())
        self.assertEqual((trace.names, trace.metadata["model"]), (["0"], "Sequential"))

    @unittest.skipUnless(dist.is_available() and dist.is_gloo_available(), "torch without gloo")
    def test_distributed_data_parallel(self):
        dist.init_process_group("gloo", init_method=f"file://{self.folder}/meet", rank=0, world_size=1)
        self.addCleanup(dist.destroy_process_group)
        model = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(4, 2)))
        x = torch.randn(3, 4)
        trace = self.record(model, lambda: model(x).square().sum().backward(), values=True)
        self.assertEqual(trace.names, ["0"])
        self.assert_close(weight_grad_of(trace["0"]), model.module[0].weight.grad)

    def test_data_parallel_over_many_is_refused(self):
        model = nn.DataParallel(nn.Linear(4, 2))
        model.device_ids = [0, 1]
        with self.assertRaisesRegex(lacuna.CaptureError, "DataParallel over 2 devices"):
            lacuna.capture(model, self.path)

    def test_torchscript_is_refused(self):
        with self.assertRaisesRegex(lacuna.CaptureError, "'1' is a TorchScript module"):
            lacuna.capture(nn.Sequential(nn.Linear(4, 2), torch.jit.script(nn.Linear(2, 2))), self.path)

    @unittest.skipUnless(hasattr(torch, "compile"), "torch 2")
    def test_compiled_is_refused(self):
        model = nn.Sequential(nn.Linear(4, 2))
        with self.assertRaisesRegex(lacuna.CaptureError, "compiled"):
            lacuna.capture(torch.compile(model), self.path)
        if hasattr(model, "compile"):
            model.compile()
            with self.assertRaisesRegex(lacuna.CaptureError, "compiled"):
                lacuna.capture(model, self.path)

    @unittest.skipUnless(hasattr(torch, "compile"), "torch 2")
    def test_a_compiled_step_is_recorded_right_or_not_at_all(self):
        model = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))
        x = torch.randn(5, 4)
        for compiled_before in (False, True):
            with self.subTest(compiled_before=compiled_before):
                torch._dynamo.reset()
                run = torch.compile(lambda x: model(x).square().sum(), backend="eager")
                if compiled_before:
                    run(x)
                model.zero_grad()
                try:
                    with lacuna.capture(model, self.path, values=True):
                        run(x).backward()
                except lacuna.CaptureError:
                    continue
                trace = lacuna.read_trace(self.path)
                self.assertEqual(trace.names, ["0", "2"])
                self.assert_close(weight_grad_of(trace["0"]), model[0].weight.grad)


class Nested(RecordingTest):
    def test_a_recorded_layer_inside_another(self):
        class Adapted(nn.Linear):
            def __init__(self):
                super().__init__(4, 3)
                self.down = nn.Linear(4, 2, bias=False)
                self.up = nn.Linear(2, 3, bias=False)

            def forward(self, x):
                return super().forward(x) + self.up(self.down(x))

        layer = nn.Sequential(Adapted())
        trace = self.record(layer, lambda: layer(torch.randn(2, 4)).sum().backward(), values=True)
        self.assertEqual(trace.names, ["0", "0.down", "0.up"])
        self.assert_same(trace["0.up"].values["W"], layer[0].up.weight)
