"""lacuna.Profiler: its numbers are those of a recorded step, and the training does not notice it."""

import copy
import gc
import json
import multiprocessing
import os
import tempfile
import threading
import unittest
import unittest.mock
import urllib.error
import urllib.request
import warnings

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, TensorDataset

import lacuna
from test_simulate import MISSING

if not MISSING:
    from lacuna._profiler.series import MachineMeasure, Measurement, Series, Spread, merge


class Net(nn.Module):
    """Something of everything that is measured."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 16, 3, padding=1)
        self.deep = nn.Conv2d(16, 16, 3, padding="same", groups=16)
        self.around = nn.Conv2d(16, 24, 3, stride=2, padding=1, padding_mode="circular")
        self.uneven = nn.Conv2d(24, 24, (2, 4), padding="same")
        self.line = nn.Conv1d(24, 24, 3, padding=1)
        self.token = nn.Linear(24, 24)
        self.last = nn.Linear(24, 10)

    def forward(self, x):
        x = torch.relu_(self.deep(torch.relu_(self.first(x))))
        x = torch.relu_(self.uneven(torch.relu_(self.around(x)))).flatten(2)
        x = torch.relu_(self.line(torch.relu_(self.line(x))))
        return self.last(torch.relu_(self.token(x.transpose(1, 2))).mean(1))


class Unusual(nn.Module):
    """Convolutions that a trace holds in another arrangement."""

    def __init__(self):
        super().__init__()
        self.up = nn.ConvTranspose2d(3, 16, 3, stride=2, padding=1, output_padding=1)
        self.wide = nn.ConvTranspose1d(16, 16, 3, groups=2)
        self.volume = nn.Conv3d(16, 16, (2, 3, 3), padding=(0, 1, 1))
        self.last = nn.Linear(16, 10)

    def forward(self, x):
        x = self.wide(torch.relu_(self.up(x)).flatten(2)).relu()[..., :144].unflatten(2, (4, 6, 6))
        return self.last(torch.relu_(self.volume(x)).mean((2, 3, 4)))


class Functions(nn.Module):
    """Two products that belong to no layer."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(16, 16)
        self.second = nn.Linear(16, 16)

    def forward(self, x):
        x = nn.functional.linear(self.first(x).relu(), self.second.weight)
        return x @ self.second.weight


class Checkpointed(nn.Module):
    """Its middle is computed again in the backward pass."""

    def __init__(self, reentrant):
        super().__init__()
        self.first = nn.Conv2d(3, 16, 3, padding=1)
        self.middle = nn.Sequential(nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 16, 1))
        self.last = nn.Linear(16, 10)
        self.reentrant = reentrant

    def forward(self, x):
        x = checkpoint(self.middle, self.first(x).relu(), use_reentrant=self.reentrant)
        return self.last(x.relu().mean((2, 3)))


def small():
    torch.manual_seed(3)
    return nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(16 * 36, 10))


def batch(size=4, edge=6):
    torch.manual_seed(5)
    return torch.randn(size, 3, edge, edge), torch.randint(0, 10, (size,))


def loss_of(model, data):
    return nn.functional.cross_entropy(model(data[0]), data[1])


def train(model, profiler, steps=1, data=None, wait=True):
    data = data or batch()
    for _ in range(steps):
        loss_of(model, data).backward()
        profiler.step()
        if wait:
            profiler.drain()


def measured(model, data=None, forward=loss_of):
    """The layers of one step, by the profiler and by capture."""
    data = data or batch()
    with lacuna.Profiler(model, every=1, samples=4) as profiler:
        forward(model, data).backward()
        profiler.step()
    with lacuna.capture(model, samples=4) as step:
        forward(model, data).backward()
    return profiler.result().data["runs"][0], lacuna.simulate(step, energy=True).data["runs"][0]


@unittest.skipIf(MISSING, MISSING)
class Numbers(unittest.TestCase):
    def same(self, found, expected):
        self.assertEqual([layer["name"] for layer in found["layers"]], [layer["name"] for layer in expected["layers"]])
        for one, other in zip(found["layers"], expected["layers"]):
            self.assertEqual(one, other)
        for key in ("batch", "total", "per_batch", "energy"):
            self.assertEqual(found[key], expected[key], key)

    def test_are_those_of_a_captured_step(self):
        torch.manual_seed(2)
        self.same(*measured(Net()))
        self.same(*measured(Net().to(memory_format=torch.channels_last)))

    def test_of_transposed_convolutions_and_volumes(self):
        torch.manual_seed(2)
        self.same(*measured(Unusual()))

    def test_of_frozen_layers_and_a_second_layer_on_the_input(self):
        class Adapter(nn.Module):
            def __init__(self):
                super().__init__()
                self.frozen = nn.Conv2d(3, 8, 3).requires_grad_(False)
                self.stem, self.head = nn.Conv2d(3, 8, 3), nn.Linear(8 * 16, 10)
                self.last = nn.Linear(10, 10).requires_grad_(False)

            def forward(self, x):
                return self.last(self.head((self.frozen(x).relu() + self.stem(x)).relu().flatten(1)))

        torch.manual_seed(2)
        found, expected = measured(Adapter())
        self.same(found, expected)
        ran = {layer["name"]: [op["op"] for op in layer["ops"]] for layer in found["layers"]}
        self.assertEqual(ran["frozen"], ["forward"])
        self.assertEqual(ran["stem"], ["forward", "weight_grad"])
        self.assertEqual(ran["last"], ["forward", "input_grad"])

    def test_of_functions_attention_and_recurrent_layers(self):
        """Everything that lacuna.capture records, with nothing left on the model between measured steps."""

        class Mixed(nn.Module):
            def __init__(self):
                super().__init__()
                self.functions = Functions()
                self.attention = nn.MultiheadAttention(16, 2, batch_first=True)
                self.rnn = nn.LSTM(16, 8, batch_first=True)
                self.frozen = nn.Linear(8, 8).requires_grad_(False)
                self.last = nn.Linear(8, 10)

            def forward(self, x):
                x = self.functions(x.flatten(2).transpose(1, 2)[..., :3].repeat(1, 1, 6)[..., :16])
                x = self.rnn(self.attention(x, x, x)[0])[0]
                return self.last(torch.relu(self.frozen(x)).mean(1))

        torch.manual_seed(2)
        model = Mixed()
        self.same(*measured(model))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with lacuna.Profiler(model, every=2, samples=4) as profiler:
                for _ in range(4):
                    train(model, profiler)
                    if profiler._step % 2:
                        self.assertFalse(any("forward" in vars(module) for module in model.modules()))
        self.assertEqual([one.step for one in profiler.measurements], [0, 2])
        first, later = profiler.measurements
        self.assertEqual(list(first.layers), list(later.layers))
        names = {"functions.second", "functions.second#2", "attention.in_proj", "attention.matmul", "rnn.hh_l0", "last"}
        self.assertLessEqual(names, set(first.layers))
        self.assertFalse(any("forward" in vars(module) for module in model.modules()))

    def test_of_a_model_without_convolutions_and_linear_layers(self):
        class Bare(nn.Module):
            def __init__(self):
                super().__init__()
                self.rnn = nn.GRU(16, 8, batch_first=True)
                self.last = nn.Parameter(torch.randn(10, 8))

            def forward(self, x):
                x = self.rnn(x.flatten(2)[..., :16])[0]
                return nn.functional.linear(x.relu().mean(1), self.last)

        self.same(*measured(Bare()))
        with self.assertWarnsRegex(lacuna.ProfilerWarning, "step.. was never called"), lacuna.Profiler(Bare()) as profiler:
            loss_of(profiler._model, batch()).backward()

    def test_of_layers_that_have_no_shape_yet(self):
        warnings.filterwarnings("ignore", "Lazy modules")  # unittest restores it
        model = nn.Sequential(nn.Flatten(), nn.LazyLinear(10))
        with lacuna.Profiler(model, every=1) as profiler:
            train(model, profiler)
        self.assertEqual(list(profiler.measurements[0].layers), ["1"])
        with lacuna.capture(nn.Sequential(nn.Flatten(), nn.LazyLinear(10))) as step:
            loss_of(step._model, batch()).backward()
        self.assertEqual(step.layers, ["1"])

    def test_layers_alone_are_watched_by_hooks(self):
        model = small()
        with lacuna.Profiler(model, every=1) as profiler:
            train(model, profiler, 2)
            self.assertFalse(profiler._by_products)
            self.assertNotIn("forward", vars(model[0]))

    def test_what_is_not_measured_is_said_once(self):
        class Pair(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc, self.pair = nn.Linear(16, 16), nn.Bilinear(16, 16, 1)

            def forward(self, x):
                x = self.fc(x)
                return self.pair(x, x)

        model = Pair()
        with lacuna.Profiler(model, every=1) as profiler, warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for _ in range(2):
                model(torch.randn(4, 16)).sum().backward()
                profiler.step()
        (warning,) = [one for one in caught if one.category is lacuna.ProfilerWarning]
        self.assertIn("not measured: pair (Bilinear, 50 %)", str(warning.message))
        self.assertEqual(warning.filename, __file__)
        self.assertNotIn("forward", model.__dict__)
        self.assertEqual([len(module._forward_hooks) for module in model.modules()], [0] * 3)

    def test_a_fault_in_watching_products_does_not_end_the_training(self):
        model = nn.Sequential(Functions(), nn.Linear(16, 16))
        with unittest.mock.patch("lacuna._profiler.products.pack", side_effect=RuntimeError("broken")):
            with lacuna.Profiler(model, every=1) as profiler:
                model(torch.randn(4, 16)).sum().backward()
                profiler.step()
        self.assertEqual(list(profiler.measurements[0].layers), ["0.first", "1"])  # those that hooks see

    def test_under_autocast(self):
        def forward(model, data):
            with torch.autocast("cpu", torch.bfloat16):
                return loss_of(model, data)

        self.same(*measured(small(), forward=forward))

    def test_with_checkpoints_of_both_kinds(self):
        for reentrant in (True, False):
            torch.manual_seed(2)
            self.same(*measured(Checkpointed(reentrant)))

    def test_of_the_first_pass_of_gradient_accumulation_and_not_of_evaluation(self):
        model = small()
        data = batch()
        with lacuna.Profiler(model, every=1, samples=4) as profiler:
            with torch.no_grad():
                model(torch.zeros(4, 3, 6, 6))
            loss_of(model, data).backward()
            loss_of(model, (data[0] * 0, data[1])).backward()
            with torch.no_grad():
                model(torch.zeros(4, 3, 6, 6))
            profiler.step()
        with lacuna.capture(model, samples=4) as step:
            loss_of(model, data).backward()
        self.same(profiler.result().data["runs"][0], lacuna.simulate(step, energy=True).data["runs"][0])

    def test_and_gradients_are_the_same_to_the_last_bit(self):
        torch.manual_seed(2)
        plain = Net()
        watched = copy.deepcopy(plain)
        data = batch()
        loss_of(plain, data).backward()
        with lacuna.Profiler(watched, every=1) as profiler:
            train(watched, profiler, data=data)
        for one, other in zip(plain.parameters(), watched.parameters()):
            self.assertTrue(torch.equal(one.grad, other.grad))
        self.assertFalse(any(module._forward_hooks for module in watched.modules()))

    def test_zeros_and_spread(self):
        torch.manual_seed(2)
        model = Net()
        with torch.no_grad():
            model.first.weight[:8] = 0
        with lacuna.Profiler(model, ["dense", "tensordash"], every=2, samples=3) as profiler:
            train(model, profiler, 4)
        found = profiler.measurements
        self.assertEqual([one.step for one in found], [0, 2])
        self.assertAlmostEqual(found[0].layers["first"][1], 0.5)
        machine = found[0].machines["tensordash"]
        self.assertEqual(len(machine.per_sample), 3)
        self.assertGreater(machine.speedup, 1)
        self.assertGreater(machine.standard_error, 0)
        self.assertEqual(found[0].machines["dense"].speedup, 1)
        self.assertEqual(profiler.dropped, 0)
        self.assertEqual(len(profiler.to_dicts()), 4)
        found = profiler.measurements[-1].machines["tensordash"]
        shown = f"tensordash: {found.speedup_from_zeros:.3f} ± {found.standard_error:.3f} from zeros"
        self.assertIn(shown, str(profiler))
        self.assertEqual(repr(profiler), "<lacuna.Profiler: 2 measurements in 4 steps, 0 dropped>")

    def test_the_standard_error_covers_the_whole_batch(self):
        torch.manual_seed(2)
        model = Net()
        data = batch(32, 12)
        found = {}
        for samples in (2, 32):
            with lacuna.Profiler(model, every=1, samples=samples) as profiler:
                train(model, profiler, data=data)
            found[samples] = profiler.measurements[0].machines["tensordash"]
        few, whole = found[2], found[32]
        self.assertEqual(whole.drift(32, 32), 0)
        self.assertGreater(abs(few.speedup - whole.speedup), 0)
        self.assertLess(abs(few.speedup - whole.speedup), 2 * few.standard_error)

    def test_the_standard_error_holds(self):
        # 400 batches of which two of 64 are seen: the mean is within two standard errors about 19 times of 20.
        torch.manual_seed(0)
        spread, inside = Spread(), 0
        for _ in range(400):
            whole = 1.5 + 0.1 * torch.randn(64)
            error = spread.add("m", whole[:2].tolist(), 64)
            inside += abs(whole[:2].mean() - whole.mean()) <= 2 * error
        self.assertGreater(inside, 360)
        self.assertLess(inside, 396)


@unittest.skipIf(MISSING, MISSING)
class Training(unittest.TestCase):
    def test_goes_on_when_simulation_is_slower(self):
        model = small()
        gate = threading.Event()
        with lacuna.Profiler(model, every=1, waiting=1) as profiler:
            profiler._workers._work = lambda step, work=profiler._workers._work: (gate.wait(30), work(step))
            train(model, profiler, 7, wait=False)
            self.assertEqual(profiler.dropped, 5)  # of steps 0 to 6: one is simulated, one waits
            gate.set()
        self.assertEqual([one.step for one in profiler.measurements], [0, 1])

    def test_that_never_calls_step_is_warned(self):
        model = small()
        with self.assertWarnsRegex(lacuna.ProfilerWarning, "step.. was never called"):
            with lacuna.Profiler(model):
                for _ in range(3):
                    loss_of(model, batch()).backward()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with lacuna.Profiler(model):  # no training
                pass

    def test_says_what_convert_would_save(self):
        torch.manual_seed(4)
        convs = [nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 32, 3, padding=1), nn.ReLU()]
        model = nn.Sequential(*convs, nn.Flatten(), nn.Linear(32 * 256, 10))
        data = batch(16, 16)
        with lacuna.Profiler(model, every=3) as profiler:
            with self.assertRaisesRegex(lacuna.ProfilerError, "nothing has been measured"):
                profiler.savings()
            train(model, profiler, 4, data)
        before = torch.random.get_rng_state()
        found = profiler.savings()
        self.assertTrue(torch.equal(torch.random.get_rng_state(), before))
        self.assertEqual([row["layer"] for row in found.layers], ["0", "2", "5"])
        self.assertGreater(found.step_ms, 0)
        self.assertNotIn("measuring", {row["state"] for row in found.layers})
        self.assertLessEqual(found.saved_ms, sum(row["pytorch_ms"] for row in found.layers))
        self.assertRegex(str(found), r"^lacuna.convert would save [\d.]+ ms of [\d.]+ ms per step\n")
        self.assertEqual(lacuna.report(model).converted, [])
        with lacuna.Profiler(model, every=1) as profiler:  # no step is without measurement
            train(model, profiler, 3, data)
        self.assertGreater(profiler.savings().step_ms, 0)

    def test_default_bounds_what_simulations_take(self):
        """Steps of a millisecond: the first is measured, and the others wait until it has been paid for."""
        model = small()
        for every, least, most in ((None, 1, 2), (10, 4, 4)):
            with lacuna.Profiler(model, every=every) as profiler:
                for step in range(40):
                    model(batch()[0]).sum().backward()
                    if step == 1:
                        profiler.drain()
                        profiler._workers.seconds = 1e6
                    profiler.step()
                    profiler.drain()
            self.assertIn(len(profiler.measurements), range(least, most + 1), f"every={every}")
            self.assertEqual(profiler.dropped, 0)

    def test_hears_of_each_measurement(self):
        seen = []

        def hear(measurement):
            seen.append(measurement.step)
            if measurement.step == 1:
                raise ValueError("of the caller")

        with self.assertWarnsRegex(lacuna.ProfilerWarning, "on_measurement raised ValueError: of the caller"):
            with lacuna.Profiler(small(), every=1, on_measurement=hear) as profiler:
                train(profiler._model, profiler, 3)
        self.assertEqual(seen, [0, 1, 2])
        self.assertEqual(len(profiler.measurements), 3)

    def test_that_fails_leaves_the_model_as_it_was(self):
        model = small()
        with tempfile.TemporaryDirectory() as folder:
            report = os.path.join(folder, "report.html")
            with self.assertRaises(ZeroDivisionError):
                with lacuna.Profiler(model, every=1, report=report) as profiler:
                    train(model, profiler, 1)
                    model(batch()[0])
                    1 / 0
            self.assertTrue(os.path.exists(report))
        self.assertFalse(any(module._forward_hooks for module in model.modules()))
        self.assertEqual(len(profiler.measurements), 1)
        with self.assertRaisesRegex(lacuna.ProfilerError, "closed"):
            profiler.step()

    def test_with_a_model_that_changes(self):
        model = small()
        with lacuna.Profiler(model, every=1) as profiler:
            train(model, profiler)
            model[0] = nn.Conv2d(3, 16, 1)
            model.add_module("extra", nn.Linear(10, 10))
            train(model, profiler)
        self.assertEqual([sorted(one.layers) for one in profiler.measurements], [["0", "3"], ["0", "3", "extra"]])

    def test_counted_by_its_optimizer(self):
        model = small()
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
        with lacuna.Profiler(model, every=2, optimizer=optimizer).start() as profiler, warnings.catch_warnings():
            warnings.simplefilter("error")
            for _ in range(4):
                loss_of(model, batch()).backward()
                optimizer.step()
                scheduler.step()
                profiler.drain()
        self.assertEqual([one.step for one in profiler.measurements], [0, 2])
        optimizer.step()  # counts no longer

    def test_that_overflows_is_left_out(self):
        model = small()
        data = batch()
        with self.assertWarnsRegex(lacuna.ProfilerWarning, "NaN or infinite"):
            with lacuna.Profiler(model, every=1) as profiler:
                (loss_of(model, data) * float("nan")).backward()
                profiler.step()
                profiler.drain()
                train(model, profiler)
        self.assertEqual([one.step for one in profiler.measurements], [1])
        with self.assertWarnsRegex(lacuna.ProfilerWarning, "no layer got a gradient"):
            with lacuna.Profiler(model, every=1) as profiler:
                profiler.step()

    def test_does_not_end_by_a_fault_of_the_profiler(self):
        model = small()
        with unittest.mock.patch("lacuna._profiler.watch.pack", side_effect=RuntimeError("broken")):
            with self.assertWarnsRegex(lacuna.ProfilerWarning, "step 0 cannot be measured: RuntimeError: broken"):
                with lacuna.Profiler(model, every=1) as profiler:
                    train(model, profiler, 2)
        self.assertEqual(len(profiler.failures), 2)
        self.assertEqual(profiler.measurements, [])

    def test_for_long_takes_no_more_memory(self):
        model = small()
        data = batch(2)

        def resident():
            gc.collect()
            with open("/proc/self/statm", encoding="ascii") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

        with lacuna.Profiler(model, every=1, history=10) as profiler:
            train(model, profiler, 15, data)
            before = resident()
            train(model, profiler, int(os.environ.get("PROFILER_STEPS", 60)), data)
            self.assertLess(resident() - before, 8 << 20)
            self.assertLessEqual(len(profiler.measurements), 11)

    def test_with_workers_of_the_data_loader(self):
        model = small()
        images, labels = batch(8)
        for context in ("fork", "spawn"):
            options = dict(num_workers=1, multiprocessing_context=context, timeout=60)
            loader = DataLoader(TensorDataset(images, labels), 4, **options)
            with lacuna.Profiler(model, every=1) as profiler:
                train(model, profiler, 1)  # threads of the library exist before the workers are forked
                for data in loader:
                    train(model, profiler, 1, data, wait=False)
            self.assertGreaterEqual(len(profiler.measurements), 2)

    def test_on_several_processes_is_merged(self):
        context = multiprocessing.get_context("spawn")  # autograd on a GPU cannot be forked
        with tempfile.TemporaryDirectory() as folder:
            ranks = [context.Process(target=_rank, args=(rank, folder)) for rank in range(2)]
            for process in ranks:
                process.start()
            for process in ranks:
                process.join(100)
                self.assertEqual(process.exitcode, 0)
            with open(os.path.join(folder, "merged.json"), encoding="utf-8") as file:
                self.assertEqual(json.load(file), [[0, 8, 4], [1, 8, 4]])
            self.assertTrue(os.path.exists(os.path.join(folder, "p.rank1.csv")))


def _rank(rank, folder):
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", f"file://{folder}/meet", rank=rank, world_size=2)
    model = nn.parallel.DistributedDataParallel(small())
    with lacuna.Profiler(model, every=1, csv=os.path.join(folder, "p.csv")) as profiler:
        train(model, profiler, 2)
    if rank == 0:
        found = [[one.step, one.batch, len(one.machines["tensordash"].per_sample)] for one in profiler.measurements]
        with open(os.path.join(folder, "merged.json"), "w", encoding="utf-8") as file:
            json.dump(found, file)
    torch.distributed.barrier()


def data_of(page):
    """The data of a page, which must be JSON without NaN."""
    text = page.split('id="lacuna-data">')[1].split("</script>")[0]
    return json.loads(text, parse_constant=lambda name: unittest.TestCase().fail(f"{name} in the page"))


@unittest.skipIf(MISSING, MISSING)
class Outputs(unittest.TestCase):
    def test_files_and_page(self):
        model = small()

        class Writer:
            tags = []

            def add_scalar(self, tag, value, step):
                self.tags.append(tag)

        with tempfile.TemporaryDirectory() as folder:
            csv, report = os.path.join(folder, "p.csv"), os.path.join(folder, "p.html")
            with lacuna.Profiler(model, every=1, csv=csv, report=report, tensorboard=Writer()) as profiler:
                train(model, profiler, 2)
                with open(csv, encoding="utf-8") as file:  # complete while it runs
                    self.assertEqual(len(file.read().splitlines()), 3)
                url = profiler.serve()
                self.assertEqual(profiler.serve(), url)
                with urllib.request.urlopen(url + "data.json") as answer:
                    self.assertEqual([row["step"] for row in json.load(answer)["rows"]], [0, 1])
                with urllib.request.urlopen(url) as answer:
                    live = answer.read().decode()
                self.assertIn("connect-src 'self'", live)
                self.assertEqual([row["step"] for row in data_of(live)["profile"]["rows"]], [0, 1])
                self.assertNotIn("simulate", data_of(live))
                for request in (url + "other", urllib.request.Request(url, headers={"Host": "evil.example"})):
                    with self.assertRaises(urllib.error.HTTPError):
                        urllib.request.urlopen(request)
            with self.assertRaises(urllib.error.URLError):
                urllib.request.urlopen(url)
            with open(os.path.join(folder, "p.layers.csv"), encoding="utf-8") as file:
                self.assertEqual(len(file.read().splitlines()), 1 + 2 * 2)
            with open(report, encoding="utf-8") as file:
                page = file.read()
            self.assertNotIn("connect-src", page)
            data = data_of(page)
            self.assertEqual((data["profile"]["steps"], data["profile"]["live"]), (2, False))
            self.assertEqual(data["simulate"]["runs"][0]["arch"], "tensordash")
            self.assertEqual(data_of(lacuna.Profiler(model).html())["profile"]["rows"], [])
        self.assertIn("lacuna/speedup/tensordash", Writer.tags)
        self.assertIn("lacuna/zeros_of_layers/0/G", Writer.tags)

    def test_history_is_bounded(self):
        series = Series(10)
        for step in range(1000):
            series.add(Measurement(step, 0.0, 1, 1, {}, {}, (0, 0, 0)))
        steps = [one.step for one in series.list()]
        self.assertLessEqual(len(steps), 11)
        self.assertEqual((steps[0], steps[-1]), (0, 999))

    def test_merged_measurements_add_up(self):
        def part(step, cycles, zeros):
            machine = MachineMeasure(100.0, cycles, 90.0, 2.0, 1.0, [100 / cycles, 100 / cycles + 0.1])
            return Measurement(step, 1.0, 4, 2, {"m": machine}, {"x": (zeros,) * 3}, (zeros,) * 3, 1)

        first, second = merge([[part(0, 50.0, 0.5), part(1, 50.0, 0.5)], [part(0, 40.0, 0.7)]])
        self.assertEqual((first.batch, first.samples, first.dropped), (8, 4, 2))
        self.assertAlmostEqual(first.machines["m"].speedup, 200 / 90)
        self.assertAlmostEqual(first.zeros[0], 0.6)
        self.assertEqual(second.batch, 4)

    def test_bad_input(self):
        cases = [
            (lambda: lacuna.Profiler(nn.ReLU()), "has no weights"),
            (lambda: lacuna.Profiler("model"), "is a str, not a torch.nn.Module"),
            (lambda: lacuna.Profiler(small(), every=0), "every is 0"),
            (lambda: lacuna.Profiler(small(), samples=0.5), "samples is 0.5"),
            (lambda: lacuna.Profiler(small(), csv="/nowhere/x.csv"), "its folder does not exist"),
            (lambda: lacuna.Profiler(torch.jit.script(small())), "TorchScript"),
        ]
        for call, message in cases:
            with self.assertRaisesRegex(lacuna.ProfilerError, message):
                call()
        with self.assertRaisesRegex(lacuna.SimulationError, "did you mean 'tensordash'"):
            lacuna.Profiler(small(), ["tensordahs"])
        with self.assertRaisesRegex(lacuna.SimulationError, "did you mean 'rows'"):
            lacuna.Profiler(small(), set={"rowz": 3})
        profiler = lacuna.Profiler(small())
        with self.assertRaisesRegex(lacuna.ProfilerError, "nothing has been measured"):
            profiler.result()
        profiler.close()
        profiler.close()


if __name__ == "__main__":
    unittest.main()
