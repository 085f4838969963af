"""lacuna.simulate and what it stands on: the same numbers as the program, errors that say what to do."""

import copy
import io
import json
import multiprocessing
import os
import pickle
import subprocess
import sys
import tempfile
import threading
import unittest

import torch
from torch import nn

import lacuna
from lacuna._native import library as native

DATA = os.path.join(os.path.dirname(__file__), "..", "..", "data")
PROGRAM = os.environ.get("LACUNA_PROGRAM")

try:
    native.library()
    MISSING = ""
except lacuna.LibraryError as error:
    MISSING = str(error)


def small_step(samples=2, values=False, path=None):
    torch.manual_seed(1)
    model = nn.Sequential(
        nn.Conv2d(3, 24, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(24, 16, 3, stride=2),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(144, 10),
    )
    with lacuna.capture(model, path, samples=samples, values=values) as step:
        model(torch.randn(4, 3, 8, 8)).logsumexp(1).sum().backward()
    return step


def program_json(*args):
    done = subprocess.run([PROGRAM, "simulate", *args, "--json", "-"], capture_output=True, check=True, text=True)
    return done.stdout


@unittest.skipIf(MISSING, MISSING)
class Simulate(unittest.TestCase):
    @unittest.skipUnless(PROGRAM, "LACUNA_PROGRAM names no program")
    def test_every_byte_is_the_programs(self):
        trace = os.path.join(DATA, "snli_p100.safetensors.zst")
        result = lacuna.simulate(trace, ["dense", "tensordash", "ant"], {"tensordash.rows": 8}, energy=True)
        options = ["--arch", "dense,tensordash,ant", "--set", "tensordash.rows=8", "--energy"]
        self.assertEqual(result.json(layers=False), program_json(trace, *options))
        self.assertEqual(result.json(), program_json(trace, *options, "--layers"))
        shown = subprocess.run([PROGRAM, "simulate", trace, *options], capture_output=True, check=True, text=True)
        self.assertEqual(result.table(), shown.stdout)
        self.assertIn("whole chip and DRAM", str(result))
        for operations in ("forward", ["input_grad", "weight_grad"]):
            listed = operations if isinstance(operations, str) else ",".join(operations)
            self.assertEqual(
                lacuna.simulate(trace, "tensordash", operations=operations).json(),
                program_json(trace, "--arch", "tensordash", "--operations", listed, "--layers"),
            )

    @unittest.skipUnless(PROGRAM, "LACUNA_PROGRAM names no program")
    def test_a_step_in_memory_is_a_trace(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "step.safetensors")
            for values in (False, True):
                small_step(values=values, path=path)
                from_file = json.loads(program_json(path))
                for source in (small_step(values=values), small_step(values=values).step, lacuna.read_trace(path)):
                    run = lacuna.simulate(source).data["runs"][0]
                    self.assertEqual(run["layers"], from_file["runs"][0]["layers"])
                    self.assertEqual(run["per_batch"], from_file["runs"][0]["per_batch"])
            small_step().step.save(path)
            self.assertEqual(lacuna.simulate(path).data["runs"][0]["layers"], run["layers"])

    @unittest.skipUnless(PROGRAM, "LACUNA_PROGRAM names no program")
    def test_attention_and_recurrent_steps(self):
        torch.manual_seed(1)
        attention, lstm = nn.MultiheadAttention(12, 2, batch_first=True), nn.LSTM(12, 5, batch_first=True)
        x, future = torch.randn(3, 6, 12), torch.ones(6, 6).triu(1).bool()
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "step.safetensors")
            for place in (path, None):
                with lacuna.capture(nn.ModuleList([attention, lstm]), place, values=True) as step:
                    lstm(attention(x, x, x, attn_mask=future)[0])[0].square().sum().backward()
            machines = ["tensordash", "ant", "sparten"]
            from_file = json.loads(program_json(path, "--arch", ",".join(machines)))
            shapes = [layer["shape"] for layer in from_file["runs"][0]["layers"]]
            self.assertIn("matmul 6x6x6 x4", shapes)
            self.assertIn("recurrent 5->20 x6x3", shapes)
            for source in (step, lacuna.read_trace(path)):
                runs = lacuna.simulate(source, machines).data["runs"]
                self.assertEqual([run["layers"] for run in runs], [run["layers"] for run in from_file["runs"]])
            step.step.save(path)
            self.assertEqual(json.loads(program_json(path, "--arch", ",".join(machines)))["runs"], from_file["runs"])

    def test_operations(self):
        step = small_step().step
        cycles = {}
        for name in ("forward", "input_grad", "weight_grad"):
            result = lacuna.simulate(step, "tensordash", operations=name)
            self.assertEqual({row["op"] for row in result.to_dicts()}, {name})
            cycles[name] = result.totals()[0]["cycles_per_batch"]
        self.assertEqual(lacuna.simulate(step).totals()[0]["cycles_per_batch"], sum(cycles.values()))
        both = lacuna.simulate(step, operations=["weight_grad", "forward"]).totals()[0]["cycles_per_batch"]
        self.assertEqual(both, cycles["forward"] + cycles["weight_grad"])

    def test_rows_and_totals(self):
        result = lacuna.simulate(small_step(), ["dense", "tensordash"], energy=True)
        rows = result.to_dicts()
        self.assertEqual(len(rows), 2 * (2 + 3 + 3))  # the first layer needs no input_grad
        self.assertEqual({row["layer"] for row in rows}, {"0", "2", "5"})
        self.assertEqual([total["arch"] for total in result.totals()], ["dense", "tensordash"])
        own = [row for row in rows if row["arch"] == "tensordash"]
        total = result.totals()[1]
        self.assertEqual(sum(row["cycles_per_batch"] for row in own), total["cycles_per_batch"])
        self.assertGreater(total["speedup"], 1)
        self.assertGreater(total["energy_chip_efficiency"], 0.9)
        self.assertLessEqual(set(total), set(rows[0]))
        for key in ("trace", "model", "arch"):
            self.assertEqual(total[key], own[0][key])
        self.assertIsNone(rows[0]["energy_machine_a_muxes_joules_per_batch"])
        try:
            import pandas  # noqa: F401
        except ImportError:
            return
        frame = result.to_pandas()
        self.assertEqual(frame[frame.arch == "tensordash"].cycles_per_batch.sum(), total["cycles_per_batch"])

    def test_in_a_notebook(self):
        result = lacuna.simulate(small_step(), ["dense", "tensordash"], energy=True)
        shown = result._repr_html_()
        self.assertTrue(shown.startswith("<table>"))
        self.assertIn("energy efficiency", shown)
        self.assertLess(len(shown), 10_000)
        try:
            page = result.html()
        except lacuna.SimulationError:  # built without npm
            return
        self.assertIn("<!doctype html>", page.lower())
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "report.html")
            result.save_html(path)
            with open(path, encoding="utf-8") as file:
                self.assertEqual(file.read(), page)

    def test_results_can_be_copied_and_pickled(self):
        result = lacuna.simulate(small_step(), ["dense", "tensordash"])
        for other in (copy.copy(result), copy.deepcopy(result), pickle.loads(pickle.dumps(result))):
            self.assertEqual((other.totals(), other.data, other.csv()), (result.totals(), result.data, result.csv()))
            self.assertEqual(other.to_dicts(), result.to_dicts())
            self.assertEqual((other.table(True), str(other)), (result.table(True), str(result)))
            for width in (80, 100, 120, 160, 240):
                self.assertEqual(other.table(True, width), result.table(True, width))
            try:
                self.assertEqual(other.html(), result.html())
            except lacuna.SimulationError:  # built without npm
                self.assertRaises(lacuna.SimulationError, result.html)
        with tempfile.TemporaryDirectory() as folder:
            again = pickle.loads(pickle.dumps(other))  # one that was stored already
            again.save_html(os.path.join(folder, "report.html"))
            self.assertEqual(os.listdir(folder), ["report.html"])

    def test_short_text_in_a_console(self):
        step = small_step(values=True)
        result = lacuna.simulate(step)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "step.safetensors")
            step.step.save(path)
            trace = lacuna.read_trace(path)
        for shown in (result, step.step, trace, trace.layers[0], lacuna.report(nn.Linear(2, 2))):
            self.assertLess(len(repr(shown)), 200)
            self.assertIn("lacuna.", repr(shown))

    def test_what_can_be_simulated(self):
        names = [machine["name"] for machine in lacuna.machines()]
        self.assertIn("tensordash", names)
        self.assertIn("ant-4096", names)
        rows = {parameter["name"]: parameter for parameter in lacuna.parameters("tensordash")}["rows"]
        self.assertEqual((rows["value"], rows["unit"], rows["allowed"]), (4, "PEs", "1..64"))

    def test_threads_do_not_change_it_and_do_not_wait_for_each_other(self):
        step = small_step().step
        results = [lacuna.simulate(step, threads=threads).json() for threads in (1, 2, 3)]
        self.assertEqual(len(set(results)), 1)
        found = []
        threads = [threading.Thread(target=lambda: found.append(lacuna.simulate(step).json())) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(set(found), set(results))

    def test_progress_cancels_and_raises(self):
        step = small_step().step
        seen = []
        lacuna.simulate(step, progress=seen.append)
        self.assertEqual(seen, sorted(seen))
        self.assertAlmostEqual(seen[-1], 1)
        lacuna.simulate(step, progress=lambda share: True)  # tqdm's update returns true
        try:
            from tqdm import tqdm
        except ImportError:
            tqdm = None
        if tqdm is not None:
            with tqdm(total=1, file=io.StringIO()) as bar:
                lacuna.simulate(step, progress=lambda share: bar.update(share - bar.n))
            self.assertAlmostEqual(bar.n, 1)
        with self.assertRaises(ZeroDivisionError):
            lacuna.simulate(step, progress=lambda share: 1 / 0)

    def test_errors_say_what_to_do(self):
        step = small_step().step
        cases = [
            (lambda: lacuna.simulate(step, ["tensordahs"]), "did you mean 'tensordash'"),
            (lambda: lacuna.simulate(step, set={"rowz": 1}), "set rowz=1: .*did you mean 'rows'"),
            (lambda: lacuna.simulate(step, set={"rows": 1000}), "1..64"),
            (lambda: lacuna.simulate(step, engine="quick"), "unknown engine"),
            (lambda: lacuna.simulate(step, operations=["backward"]), "there are forward, input_grad, weight_grad"),
            (lambda: lacuna.simulate(step, configs=["/nowhere.yaml"]), "/nowhere.yaml"),
            (lambda: lacuna.simulate(step, energy_table="none-such"), "energy_table"),
            (lambda: lacuna.simulate([]), "no trace"),
            (lambda: lacuna.parameters("dens"), "did you mean 'dense'"),
        ]
        for call, message in cases:
            with self.assertRaisesRegex(lacuna.SimulationError, message):
                call()
        with self.assertRaises(AttributeError):
            lacuna.simulat

    def test_wrong_types_are_errors_of_the_caller(self):
        step = small_step().step
        for wrong in (
            dict(threads="all"),
            dict(threads=1 << 32),
            dict(seed=-1),
            dict(seed=1.5),
            dict(node=1 << 40),
            dict(engine=None),
            dict(engine="fast\0x"),
            dict(machines=5),
            dict(machines=["dense", 5]),
            dict(machines=["dense\0"]),
            dict(set=["rows"]),
            dict(configs="machine.yaml"),
            dict(configs=[3]),
            dict(progress="bar"),
        ):
            with self.subTest(**wrong), self.assertRaises(lacuna.SimulationError):
                lacuna.simulate(step, **wrong)

    def test_tensors_of_a_step_are_checked(self):
        step = small_step().step
        name, mask = next((name, mask) for name, mask in step.tensors.items() if name.endswith(".mask"))
        for wrong in (mask.float(), mask.to(torch.int32), mask.to("meta"), [1, 2]):
            tensors = {**step.tensors, name: wrong}
            with self.subTest(str(wrong)[:40]), self.assertRaises(lacuna.TraceError):
                lacuna.simulate(type(step)(step.metadata, tensors))
        with self.assertRaises(lacuna.SimulationError):
            lacuna.simulate(type(step)(step.metadata, {**step.tensors, name: mask[..., :0]}))

    def test_the_same_mistake_is_the_same_error(self):
        with tempfile.TemporaryDirectory() as folder:
            damaged = os.path.join(folder, "damaged.safetensors")
            with open(damaged, "wb") as file:
                file.write(b"12345678 no trace")
            empty = os.path.join(folder, "folder")
            os.mkdir(empty)
            cases = [("/nowhere/x.safetensors", "/nowhere/x"), (damaged, "damaged"), (empty, "folder"), (42, "trace")]
            for source, message in cases:
                for read in (lacuna.simulate, lacuna.read_trace):
                    with self.assertRaisesRegex(lacuna.TraceError, message):
                        read(source)

    def test_a_forked_child_simulates_too(self):
        step = small_step().step
        mine = lacuna.simulate(step, threads=4).json()
        pool = multiprocessing.get_context("fork").Pool(1)
        try:
            self.assertEqual(pool.apply_async(_simulate_again, (step,)).get(60), mine)
        finally:
            pool.terminate()


def _simulate_again(step):
    return lacuna.simulate(step, threads=4).json()


class TheLibrary(unittest.TestCase):
    def tearDown(self):
        native._loaded = None

    def environment(self, value):
        before = os.environ.get("LACUNA_LIBRARY")
        native._loaded = None

        def restore():
            os.environ.pop("LACUNA_LIBRARY", None)
            if before is not None:
                os.environ["LACUNA_LIBRARY"] = before

        self.addCleanup(restore)
        if value is None:
            os.environ.pop("LACUNA_LIBRARY", None)
        else:
            os.environ["LACUNA_LIBRARY"] = value

    def test_one_that_is_missing_or_no_library(self):
        self.environment("/nowhere/liblacuna.so.2")
        with self.assertRaisesRegex(lacuna.LibraryError, r"/nowhere/liblacuna.so.2: cannot be loaded .*run python"):
            lacuna.machines()
        self.environment(__file__)
        with self.assertRaisesRegex(lacuna.LibraryError, "cannot be loaded"):
            lacuna.machines()
        self.environment("libc.so.6")
        with self.assertRaisesRegex(lacuna.LibraryError, "has no function lacuna_abi_version"):
            lacuna.machines()

    @unittest.skipIf(MISSING, MISSING)
    def test_one_of_another_version(self):
        expected = native.ABI_VERSION
        native._loaded = None
        native.ABI_VERSION = 7
        try:
            with self.assertRaisesRegex(lacuna.LibraryError, f"interface {expected}, this package needs interface 7; install"):
                lacuna.machines()
        finally:
            native.ABI_VERSION = expected

    def test_where_it_is_looked_for(self):
        self.environment(None)
        package, clone, system = native.candidates()
        self.assertTrue(package.endswith("lacuna/lib/liblacuna.so.2"))
        self.assertTrue(clone.endswith("build/release/lib/liblacuna.so.2"))
        self.assertEqual(system, "liblacuna.so.2")
        self.environment("/x/y.so")
        self.assertEqual(native.candidates(), ["/x/y.so"])

    @unittest.skipIf(MISSING, MISSING)
    def test_torch_is_not_needed(self):
        code = "import sys; sys.modules['torch'] = None; import lacuna; lacuna.machines()"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_names_without_torch(self):
        """All of them are listed and have help; one that needs torch says so when it is called."""
        code = """
import sys; sys.modules['torch'] = None
import lacuna, pydoc, rlcompleter
assert set(lacuna.__all__) <= set(dir(lacuna)), set(lacuna.__all__) - set(dir(lacuna))
text = pydoc.render_doc(lacuna)
for name in ('capture', 'Profiler', 'convert', 'simulate'):
    assert name in text, name
assert 'Record the training step' in lacuna.capture.__doc__ and 'pip install torch' in lacuna.capture.__doc__
assert isinstance(lacuna.Profiler, type)
assert rlcompleter.Completer({'lacuna': lacuna}).complete('lacuna.capt', 0) == 'lacuna.capture('
for use in (lambda: lacuna.capture(1), lambda: lacuna.Profiler(1)):
    try:
        use()
    except ImportError as error:
        assert 'needs PyTorch 1.13 or later' in str(error), error
    else:
        raise AssertionError
"""
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    @unittest.skipIf(MISSING, MISSING)
    def test_names_with_an_old_torch(self):
        code = """
import sys, types
sys.modules['torch'] = types.ModuleType('torch')  # without the modules that came later
import lacuna
try:
    lacuna.capture()
except ImportError as error:
    assert 'needs PyTorch 1.13 or later' in str(error), error
else:
    raise SystemExit('no error')
"""
        subprocess.run([sys.executable, "-c", code], check=True)

    @unittest.skipIf(MISSING, MISSING)
    def test_traces_are_read_without_torch(self):
        code = """
import sys; sys.modules['torch'] = None
import lacuna
trace = lacuna.read_trace(sys.argv[1])
layer = trace.layers[0]
assert type(layer.values['A']).__module__ == 'numpy' and layer.masks['A'].dtype == bool
assert 0 < trace.layers[1].zeros('A') < 1, repr(trace.layers[1])
print(lacuna.simulate(trace).json())
"""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "step.safetensors")
            for dtype in ("f32", "bf16"):
                torch.manual_seed(1)
                model = nn.Sequential(nn.Linear(20, 9), nn.ReLU(), nn.Linear(9, 3))
                with lacuna.capture(model, path, values=True, dtype=dtype):
                    model(torch.randn(4, 20)).square().sum().backward()
                done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, done.stderr)
                layers = json.loads(done.stdout)["runs"][0]["layers"]
                self.assertEqual(layers, lacuna.simulate(path).data["runs"][0]["layers"])
                with_torch, with_numpy = lacuna.read_trace(path), lacuna.read_trace(path, numpy=True)
                for one, other in zip(with_torch.layers, with_numpy.layers):
                    self.assertEqual(one.info, other.info)
                    for role in "AWG":
                        self.assertEqual(one.masks[role].tolist(), other.masks[role].tolist())
                        self.assertEqual(one.values[role].float().tolist(), other.values[role].tolist())

    def test_names_are_listed_before_they_are_used(self):
        code = (
            "import lacuna; assert set(lacuna.__all__) <= set(dir(lacuna)); import pydoc; pydoc.render_doc(lacuna)\n"
            "assert not {'List', 'TYPE_CHECKING'} & set(dir(lacuna))"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
