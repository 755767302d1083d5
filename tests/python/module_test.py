"""The Python module: results, memory, errors, interrupts, stubs."""
import ast
import contextlib
import inspect
import io
import json
import os
import pickle
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import unittest.mock
import warnings
from pathlib import Path

import numpy
import pandas
import torch
from PIL import Image

import tributary
from fixtures import INPUT, PROGRAM, SHORT, Fixture, Net, program, trained_net
from tributary._progress import Progress


def setUpModule():
    global DATA, NETS, RUN
    warnings.simplefilter("ignore", UserWarning)
    DATA = Fixture()
    NETS = [trained_net("handwriting"), trained_net("street")]
    RUN = tributary.adapt(DATA.sources, DATA.pixels, test=(DATA.pixels, DATA.labels), **SHORT)


class Results(unittest.TestCase):
    def test_same_bytes_as_the_program(self):
        run = DATA.path / "python"
        tributary.adapt(DATA.sources, DATA.target, run=run, seed=3, report=False, **SHORT)
        program("adapt", "--source", *DATA.sources, "--target", DATA.target, "--run", DATA.path / "program", "--seed", 3,
                "--no-report", "--rounds", 1, "--inner-epochs", 1, "--threads", 1, "--device", "cpu", "--json")
        for name in ("model.safetensors", "predictions.csv", "config.toml"):
            self.assertEqual((run / name).read_bytes(), (DATA.path / "program" / name).read_bytes(), name)
        array = tributary.adapt(DATA.sources, idx_pixels(DATA.target), seed=3, **SHORT)
        self.assertEqual((array.folder / "model.safetensors").read_bytes(), (run / "model.safetensors").read_bytes())

    def test_a_finished_run_is_opened_again(self):
        folder = DATA.path / "again"
        first = tributary.adapt(DATA.sources, DATA.pixels, run=folder, report=False, **SHORT)
        before = (folder / "model.safetensors").stat().st_mtime_ns
        tributary.adapt(DATA.sources, DATA.pixels, run=folder, report=False, **SHORT)
        self.assertEqual((folder / "model.safetensors").stat().st_mtime_ns, before)
        self.assertEqual(tributary.Run(folder).weights, first.weights)
        with self.assertRaisesRegex(ValueError, "holds another run|other options|differ"):
            tributary.adapt(DATA.sources, DATA.pixels[::-1], run=folder, report=False, **SHORT)

    def test_weights_rounds_and_summary(self):
        self.assertEqual(list(RUN.weights), ["handwriting", "street"])
        self.assertAlmostEqual(sum(RUN.weights.values()), 1, 4)
        self.assertEqual([round_["round"] for round_ in RUN.rounds], [0, 1])
        self.assertAlmostEqual(RUN.rounds[-1]["accuracy"], RUN.evaluate(DATA.pixels, DATA.labels)["accuracy"], 6)
        self.assertIn("<td>street</td>", RUN._repr_html_())
        self.assertIn("selective", repr(RUN))

    def test_predictions_in_the_kind_of_the_input(self):
        arrays, tensors = RUN.predict(DATA.pixels), RUN.predict(torch.from_numpy(DATA.pixels))
        self.assertIsInstance(arrays.probabilities, numpy.ndarray)
        self.assertIsInstance(tensors.probabilities, torch.Tensor)
        self.assertTrue((arrays.probabilities == tensors.probabilities.numpy()).all())
        self.assertEqual(arrays.probabilities.shape, (100, 10))
        self.assertEqual(arrays.classes, [str(label) for label in numpy.asarray(arrays)])
        self.assertEqual(len(RUN.predict(DATA.target)), 100)

    def test_exports_and_report(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = Path(folder)
            for kind in ("onnx", "torchscript", "safetensors", "state_dict", "card"):
                getattr(RUN, "export_" + kind)(folder / kind)
                self.assertGreater((folder / kind).stat().st_size, 100)
            again = tributary.Model(folder / "safetensors")
            self.assertTrue((again.predict(DATA.pixels).labels == RUN.predict(DATA.pixels).labels).all())
            RUN.report(folder / "report.html")
            self.assertIn("<html", (folder / "report.html").read_text(encoding="utf-8"))

    def test_torch_module_equals_the_program_and_can_be_trained(self):
        with tempfile.TemporaryDirectory() as folder:
            RUN.export_safetensors(Path(folder) / "m.safetensors")
            lines = program("predict", Path(folder) / "m.safetensors", "--data", DATA.target, "--json").splitlines()
        confidence = [json.loads(line)["confidence"] for line in lines]
        module = RUN.torch_module()
        self.assertIsInstance(module, torch.nn.Module)
        x = torch.from_numpy(idx_pixels(DATA.target).copy())
        with torch.no_grad():
            probabilities = module(x)
        self.assertLess(numpy.abs(probabilities.max(1).values.numpy() - confidence).max(), 1e-5)
        self.assertLess(numpy.abs(probabilities.numpy() - RUN.predict(x).probabilities.numpy()).max(), 1e-5)
        # One epoch on the labels of the target.
        x, y = torch.from_numpy(DATA.pixels), torch.from_numpy(DATA.labels)
        optimiser = torch.optim.SGD(module.parameters(), 1e-3)
        losses = []
        for rows in [None, *torch.arange(100).view(5, 20), None]:
            batch = slice(None) if rows is None else rows
            loss = torch.nn.functional.nll_loss(module(x[batch]).clamp_min(1e-9).log(), y[batch])
            if rows is None:
                losses.append(loss.item())
            else:
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
        self.assertLess(losses[1], losses[0])

    def test_modules_are_sources(self):
        run = tributary.adapt(NETS, DATA.pixels, **INPUT, **SHORT)
        self.assertEqual(list(run.weights), ["net0", "net1"])
        mixed = tributary.adapt([NETS[0], DATA.sources[1]], DATA.pixels, **INPUT, **SHORT)
        self.assertEqual(mixed.predict(DATA.pixels).logits.shape, (2, 100, 10))

    def test_traced_modules_and_options_as_arrays(self):
        traced = torch.jit.trace(NETS[0], torch.zeros(1, 3, 32, 32))
        options = {**INPUT, "mean": numpy.array(INPUT["mean"]), "std": torch.tensor(INPUT["std"]),
                   "classes": numpy.array(INPUT["classes"])}
        scripted, expected = tributary.Model(traced, **options), tributary.Model(NETS[0], **INPUT)
        self.assertTrue((scripted.predict(DATA.pixels).labels == expected.predict(DATA.pixels).labels).all())

    def test_deprecations_of_torchscript_are_not_passed_on(self):
        script = torch.jit.script

        def deprecated(module):  # as in PyTorch 2.10
            warnings.warn("`torch.jit.script` is deprecated. Please switch to `torch.compile`.", DeprecationWarning)
            return script(module)
        with unittest.mock.patch("torch.jit.script", deprecated), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            tributary.Model(NETS[0], **INPUT)
        self.assertEqual([str(warning.message) for warning in caught], [])

    def test_paths_that_are_not_utf_8(self):
        folder = os.path.join(os.fsencode(DATA.path), b"caf\xe9")
        os.mkdir(folder)
        Image.fromarray(DATA.pixels[0]).save(os.fsdecode(os.path.join(folder, b"\xff.png")))
        with open(os.path.join(folder, b"\xfe.png"), "wb") as file:
            file.write(b"no picture")
        made = RUN.predict(os.fsdecode(folder))
        self.assertEqual([os.fsencode(os.path.basename(name)) for name in made.names], [b"\xff.png"])
        self.assertEqual(os.fsencode(os.path.basename(made.skipped[0][0])), b"\xfe.png")
        with self.assertRaisesRegex(FileNotFoundError, "no pictures|does not exist"):
            RUN.predict(os.fsdecode(folder + b"\xff"))

    def test_runs_and_models_can_be_pickled(self):
        again = pickle.loads(pickle.dumps(RUN))
        self.assertNotEqual(again.folder, RUN.folder)
        again.report(again.folder / "report.html")
        ensemble = tributary.Model(DATA.sources, rule="mean_logit", threads=1)
        for model, copy in ((RUN, again), (RUN.model, pickle.loads(pickle.dumps(RUN.model))),
                            (ensemble, pickle.loads(pickle.dumps(ensemble))),
                            (tributary.Model(NETS, **INPUT), pickle.loads(pickle.dumps(tributary.Model(NETS, **INPUT))))):
            self.assertTrue((copy.predict(DATA.pixels).probabilities == model.predict(DATA.pixels).probabilities).all())

    def test_rounds_make_a_table(self):
        table = pandas.DataFrame(RUN.rounds)
        self.assertEqual(table["round"].tolist(), [0, 1])
        self.assertEqual(table["accuracy"].dtype, numpy.float64)
        self.assertLess(table["mean_confidence"].max(), 1.0001)

    def test_skipped_pictures_are_named_without_flags(self):
        folder = DATA.path / "large"
        folder.mkdir()
        for number in range(20):
            Image.fromarray(DATA.pixels[number]).save(folder / f"{number}.png")
        Image.new("RGB", (1100, 1100)).save(folder / "large.png")
        reason = r"1100 x 1100 pixels, more than the limit of 1 megapixels \(max_megapixels\)"
        (name, text), = tributary.Model(DATA.sources, max_megapixels=1).predict(folder).skipped
        self.assertEqual(Path(name).name, "large.png")
        self.assertRegex(text, reason)
        events = []
        tributary.adapt(DATA.sources, folder, max_megapixels=1, **{**SHORT, "progress": events.append})
        (_, text), = next(event["value"] for event in events if event["kind"] == "skipped")
        self.assertRegex(text, reason)

    def test_prints_nothing(self):
        code = ("import sys, tributary; pixels, _ = tributary.digits('signs', 60); "
                "run = tributary.adapt(sys.argv[1:], pixels, rounds=1, inner_epochs=1, threads=1); run.predict(pixels); "
                "run.report(str(run.folder) + '/r.html'); run.export_onnx(str(run.folder) + '/m.onnx')")
        done = subprocess.run([sys.executable, "-W", "ignore", "-c", code, *DATA.sources], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_temporary_folders_are_removed(self):
        run = tributary.adapt(DATA.sources, DATA.pixels, method="source-ens", device="cpu", threads=1, progress=False)
        folder = run.folder
        self.assertTrue(folder.exists())
        del run
        self.assertFalse(folder.exists())

    def test_settings_of_torch_are_left_alone(self):
        torch.set_num_threads(2)
        torch.manual_seed(5)
        before = torch.random.get_rng_state()
        tributary.adapt(NETS, DATA.pixels, **INPUT, **SHORT)
        self.assertEqual(torch.get_num_threads(), 2)
        self.assertTrue(torch.equal(torch.random.get_rng_state(), before))
        self.assertTrue(torch._C._get_graph_executor_optimize())  # off within the run


class Keywords(unittest.TestCase):
    def test_every_option_is_a_keyword_with_help(self):
        keywords = inspect.signature(tributary.adapt).parameters
        for key in ("rounds", "method", "seed", "save_every", "aad_alpha", "mean"):
            self.assertIn(key, keywords)
            self.assertIn(f"    {key}: ", tributary.adapt.__doc__)
        self.assertNotIn("processes", keywords)
        self.assertNotIn("--", tributary.adapt.__doc__)

    def test_models_and_runs_have_their_own(self):
        for kind in (tributary.Model, tributary.Run):
            self.assertIn("max_megapixels", inspect.signature(kind).parameters)
            self.assertNotIn("rounds", inspect.signature(kind).parameters)
            self.assertIn("    max_megapixels: ", kind.__init__.__doc__)
        for name in tributary.__all__:
            public = getattr(tributary, name)
            self.assertTrue(public.__doc__, name)
            for member, value in vars(public).items() if inspect.isclass(public) else ():
                if not member.startswith("_") and (inspect.isfunction(value) or isinstance(value, property)):
                    self.assertTrue(value.__doc__, f"{name}.{member}")

    def test_progress_calls_a_function(self):
        events = []
        tributary.adapt(DATA.sources, DATA.pixels, **{**SHORT, "progress": events.append})
        self.assertEqual([e["round"] for e in events if e["kind"] == "round"], [0, 1])
        shares = [e["share"] for e in events if "share" in e]
        self.assertEqual(shares, sorted(shares))
        self.assertEqual(shares[-1], 1)

    def test_progress_true_shows_a_bar(self):
        text = io.StringIO()
        with contextlib.redirect_stderr(text):
            tributary.adapt(DATA.sources, DATA.pixels, **{**SHORT, "progress": True})
        self.assertIn("] 100 %  round 1 of 1", text.getvalue())
        with contextlib.redirect_stderr(io.StringIO()) as stopped:  # before its last round
            bar = Progress(True, "")
            bar("step", (2, 30, 1, 10))
            bar.complete()
        self.assertIn("] 100 %  round 2 of 30", stopped.getvalue())
        with contextlib.redirect_stderr(io.StringIO()) as quiet:
            tributary.adapt(DATA.sources, DATA.pixels, **{**SHORT, "progress": None})  # nobody watches
        self.assertEqual(quiet.getvalue(), "")

    def test_an_exception_of_the_function_ends_the_run(self):
        def fail(event):
            raise ZeroDivisionError("mine")
        with self.assertRaisesRegex(ZeroDivisionError, "mine"):
            tributary.adapt(DATA.sources, DATA.pixels, **{**SHORT, "progress": fail})

    def test_stubs_name_all_that_there_is(self):
        stubs = ast.parse((Path(tributary.__file__).parent / "__init__.pyi").read_text(encoding="utf-8"))
        made = {node.name: node for node in stubs.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
        exports = made.pop("_Exports")  # what models and runs have in common
        self.assertEqual(sorted(made), tributary.__all__)

        def arguments(node):
            return [a.arg for a in node.args.posonlyargs + node.args.args + node.args.kwonlyargs]
        self.assertEqual(arguments(made["adapt"]), list(inspect.signature(tributary.adapt).parameters))
        self.assertEqual(arguments(made["digits"]), list(inspect.signature(tributary.digits).parameters))
        for kind in (tributary.Model, tributary.Run, tributary.MultiSourceAdapter, tributary.Predictions):
            shared = exports.body if made[kind.__name__].bases else []
            members = {node.name: node for node in [*shared, *made[kind.__name__].body]
                       if isinstance(node, ast.FunctionDef)}
            public = {name for name, value in vars(kind).items()
                      if not name.startswith("_") and (inspect.isfunction(value) or isinstance(value, property))}
            self.assertEqual({name for name in members if not name.startswith("_")}, public, kind)
            for name, node in members.items():
                value = inspect.getattr_static(kind, name)
                self.assertEqual(bool(node.decorator_list), isinstance(value, property), name)
                if inspect.isfunction(value) and name != "set_params":
                    self.assertEqual(arguments(node), list(inspect.signature(value).parameters), f"{kind}.{name}")

    def test_stubs_satisfy_mypy(self):
        package = Path(tributary.__file__).parent
        with tempfile.TemporaryDirectory() as folder:
            good, bad = Path(folder) / "good.py", Path(folder) / "bad.py"
            page = (Path(__file__).resolve().parents[2] / "docs/python.md").read_text(encoding="utf-8")
            blocks = re.findall(r"^```python\n(.*?)^```", page, re.M | re.S)
            good.write_text("".join(blocks) + "x: float = run.weights['a']\nprint(adapter.fit('p').run_)\n")
            bad.write_text("import tributary\ntributary.adapt(['a.pth'], 'photos', rounds='3', roundz=1)\n")
            check = [sys.executable, "-m", "mypy", "--ignore-missing-imports", "--follow-imports=skip",
                     "--cache-dir", folder, str(package / "__init__.pyi")]  # without torch, which takes minutes
            environment = {**os.environ, "MYPYPATH": str(package.parent)}
            accepted = subprocess.run([*check, str(good)], capture_output=True, text=True,
                                      env=environment)
            self.assertEqual(accepted.returncode, 0, accepted.stdout)
            refused = subprocess.run([*check, str(bad)], capture_output=True, text=True, env=environment)
            self.assertIn("roundz", refused.stdout)
            self.assertIn('"rounds"', refused.stdout)


class BadInput(unittest.TestCase):
    def refused(self, kind, text, call, *arguments, **keywords):
        with self.assertRaises(kind) as caught:
            call(*arguments, **keywords)
        self.assertIsInstance(caught.exception, tributary.Error)
        self.assertRegex(str(caught.exception), text)
        self.assertNotIn("--", str(caught.exception))

    def test_arrays(self):
        for array, text in ((DATA.pixels.astype("float32"), "uint8 .* float32"),
                            (DATA.pixels[..., 0], r"\[100, 32, 32\]"),
                            (DATA.pixels[:0], "none of them 0"), (DATA.pixels[:1], "at least 2"),
                            (DATA.pixels.transpose(0, 3, 1, 2), "uint8"), ([[1]], "path or a uint8 array"),
                            (None, "path or a uint8 array"), (numpy.array(["x"], dtype=object), "uint8"),
                            (torch.from_numpy(DATA.pixels).to_sparse(), "sparse"),
                            (torch.from_numpy(DATA.pixels).to("meta"), "on meta"), ("a\0b", "null character")):
            self.refused(ValueError, text, tributary.adapt, DATA.sources, array, **SHORT)
        endless = numpy.broadcast_to(numpy.uint8(0), (10**9, 32, 32, 3))
        self.refused(MemoryError, "a contiguous copy of 3,072,000,000,000 bytes", RUN.predict, endless)

    def test_labels(self):
        for test, text in (((DATA.pixels, DATA.labels[:3]), "3 labels for 100"), ((DATA.pixels,), "1 parts"),
                           ((DATA.pixels, DATA.labels, 3), "3 parts"), (DATA.pixels, r"a path or \(pictures, labels\)"),
                           ((DATA.target, DATA.labels), "has labels of its own"),
                           ((DATA.pixels, DATA.labels + 50), "none of the model"),
                           ((DATA.pixels, DATA.labels / 2), "class indices"),
                           ((DATA.pixels, numpy.full(100, 2**64 - 1, numpy.uint64)), "none of the model")):
            self.refused(ValueError, text, tributary.adapt, DATA.sources, DATA.pixels, test=test, **SHORT)

    def test_paths(self):
        empty = DATA.path / "empty"
        empty.mkdir(exist_ok=True)
        self.refused(FileNotFoundError, "no pictures", tributary.adapt, DATA.sources, empty, **SHORT)
        self.refused(FileNotFoundError, "does not exist", tributary.adapt, DATA.sources, "/nowhere/at/all", **SHORT)
        self.refused(FileNotFoundError, "no such file", tributary.adapt, ["/no.pth"], DATA.pixels, **SHORT)
        self.refused(ValueError, "cannot make the folder /proc/no", tributary.adapt, NETS, DATA.pixels,
                     run="/proc/no/run", **SHORT)
        self.refused(ValueError, "is not a run folder", tributary.Run, DATA.path)
        self.refused(ValueError, "is no folder; name the folder of a run", tributary.Run, DATA.sources[0])
        self.refused(FileNotFoundError, "does not exist", tributary.Run, "/nowhere/at/all")
        self.refused(ValueError, "name of a model file is empty", tributary.adapt, [""], DATA.pixels)

    def test_the_sentences_of_the_program(self):
        empty = DATA.path / "none"
        empty.mkdir()
        for sources, target in ((DATA.sources, "/nowhere/at/all"), (DATA.sources, str(empty)),
                                (["/no.pth"], DATA.target)):
            done = subprocess.run([PROGRAM, "adapt", "--source", *sources, "--target", target], capture_output=True,
                                  text=True)
            with self.assertRaises(tributary.Error) as caught:
                tributary.adapt(sources, target)
            self.assertEqual(done.stderr.strip(), f"tributary adapt: {caught.exception}")

    def test_sources(self):
        self.refused(ValueError, "no source models", tributary.adapt, [], DATA.pixels)
        self.refused(ValueError, r"put it into \[ \]", tributary.adapt, "a.pth", DATA.pixels)
        self.refused(ValueError, "must be a path", tributary.adapt, [3], DATA.pixels)

        class Unscriptable(Net):
            def forward(self, x):
                return [eval("x"), *x][0]
        self.refused(ValueError, "source 0, a Unscriptable, cannot be scripted", tributary.adapt, [Unscriptable()],
                     DATA.pixels)
        self.refused(ValueError, "nor a last linear layer", tributary.adapt, [torch.nn.ReLU()], DATA.pixels)
        for sources in (None, 3):
            self.refused(ValueError, "sources must be a list", tributary.adapt, sources, DATA.pixels)
        self.refused(ValueError, r"^source 0: the module fails on two pictures of 32x32 \(.*Half", tributary.adapt,
                     [Net().half()], DATA.pixels, **INPUT)
        few = {**INPUT, "classes": ["a", "b"]}
        self.refused(ValueError, "^the list of classes has 2 class names but source 1 has 10 classes", tributary.adapt,
                     [DATA.sources[0], NETS[0]], DATA.pixels, **few)
        for names in (["a\nb"], ["\udcff", *INPUT["classes"][1:]]):
            self.refused(ValueError, "one line|UTF-8", tributary.adapt, NETS, DATA.pixels,
                         **{**INPUT, "classes": names})

    def test_modules_that_fail_on_larger_batches(self):
        class Raising(Net):
            def forward(self, x):
                if x.size(0) > 2:
                    raise ValueError("mine")
                return self.head(self.body(x))

        class Short(Net):
            def forward(self, x):
                return self.head(self.body(x))[:2]  # the right shape for the two pictures of the first check
        for module, text in ((Raising(), r"^source 0: the module fails on \d+ pictures \(mine\)"), (Short(), r"returned Float \[2, 128\] for \d+")):
            self.refused(ValueError, text, tributary.Model(module, **INPUT).predict, DATA.pixels)
            self.refused(ValueError, text, tributary.adapt, [module, DATA.sources[0]], DATA.pixels, **INPUT, **SHORT)

    def test_modules_with_nothing_to_train(self):
        frozen = Net()
        for parameter in frozen.parameters():
            parameter.requires_grad_(False)
        self.refused(ValueError, "^net0 has no parameter before its classifier .* choose method source-ens",
                     tributary.adapt, [frozen, DATA.sources[0]], DATA.pixels, **INPUT, **SHORT)
        run = tributary.adapt([frozen, DATA.sources[0]], DATA.pixels, method="source-ens", threads=1, device="cpu",
                              progress=False, **INPUT)
        self.assertEqual(len(run.weights), 2)

    def test_digits(self):
        for arguments, text in ((("none", 3), "choose one of handwriting"), (("signs", "3"), "count must be a whole number"),
                                (("signs", 0), "count 0: not allowed"), (("signs", 3, -1), "seed -1: not allowed"),
                                (("signs", 1.5), "this is 1.5")):
            self.refused(ValueError, text, tributary.digits, *arguments)
        self.refused(MemoryError, "out of memory", tributary.digits, "signs", 10**15)

    def test_modules_without_values(self):
        empty = Net().to("meta")
        self.refused(ValueError, "source 0, a Net: body.0.weight has no values", tributary.adapt, [empty], DATA.pixels)
        path = DATA.path / "empty.pt"
        torch.jit.save(torch.jit.script(empty), str(path))
        self.refused(ValueError, "body.0.weight has no values", tributary.Model, path, trust=True, last_layer="head",
                     **INPUT)

    def test_options(self):
        self.refused(ValueError, "did you mean rounds", tributary.adapt, DATA.sources, DATA.pixels, roundz=1)
        self.refused(ValueError, "rounds -1: not allowed", tributary.adapt, DATA.sources, DATA.pixels, rounds=-1)
        self.refused(ValueError, "choose one of", tributary.adapt, DATA.sources, DATA.pixels, method="none")
        self.refused(ValueError, "see help.tributary.Model.", tributary.Model, DATA.sources, rounds_of_all=1)
        self.refused(ValueError, "progress must be", tributary.adapt, DATA.sources, DATA.pixels, progress="yes")
        self.refused(ValueError, "classes must be", tributary.adapt, NETS, DATA.pixels, **{**INPUT, "classes": 10})
        self.refused(ValueError, "3 labels for 100", RUN.evaluate, DATA.pixels, [1, 2, 3])
        self.refused(ValueError, "has labels of its own", RUN.evaluate, DATA.target, DATA.labels)
        self.refused(ValueError, "class indices", RUN.evaluate, DATA.pixels, DATA.labels / 2)

    def test_another_torch(self):
        from tributary import _load
        with self.assertRaisesRegex(ImportError, "built with PyTorch .*, and PyTorch 0.4 is installed"):
            _load.require_torch("0.4")
        # A whole import beside the metadata of another version.
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "torch-9.9.dist-info").mkdir()
            (Path(folder) / "torch-9.9.dist-info/METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 9.9\n")
            code = "try:\n    import tributary\nexcept ImportError as error:\n    print(type(error).__name__, error)"
            done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                                  env={**os.environ, "PYTHONPATH": f"{folder}:{os.environ['PYTHONPATH']}"})
        self.assertRegex(done.stdout, "^VersionError tributary was built with PyTorch .*, and PyTorch 9.9 is installed; ")


class Interrupts(unittest.TestCase):
    SCRIPT = """
import os, signal, sys, threading, time, tributary
pixels, _ = tributary.digits("signs", 600, seed=2)
def interrupt(event):
    if event["kind"] == "step" and event["round"] == 2:
        os.kill(os.getpid(), signal.SIGINT)
try:
    tributary.adapt(sys.argv[1:3], pixels, run=sys.argv[3], rounds=50, threads=1, report=False, progress=interrupt)
except KeyboardInterrupt as error:
    print("interrupted:", error)
assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
print(tributary.Model(sys.argv[1]).predict(pixels[:3]).labels.shape)
"""

    def test_ctrl_c_raises_keyboard_interrupt_and_the_run_resumes(self):
        run = DATA.path / "interrupted"
        done = subprocess.run([sys.executable, "-c", self.SCRIPT, *DATA.sources, str(run)], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("interrupted: interrupted; run the same command again to resume", done.stdout)
        self.assertIn("(3,)", done.stdout)  # the interpreter and the module go on
        self.assertTrue((run / "checkpoint").exists())

    PREDICTION = """
import os, signal, sys, threading, tributary
model, pixels = tributary.Model(sys.argv[1], threads=1), tributary.digits("signs", 50)[0].repeat(600, 0)
threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    while True:
        model.predict(pixels)
except KeyboardInterrupt as error:
    print("interrupted" if str(error).startswith("interrupted") else "between two calls")
print(model.predict(pixels[:3]).labels.shape)
"""

    def test_ctrl_c_interrupts_predictions(self):
        done = subprocess.run([sys.executable, "-c", self.PREDICTION, DATA.sources[0]], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (0, "interrupted\n(3,)\n"), done.stderr)

    def test_other_threads_run_meanwhile(self):
        # The lock is free during the call: this thread counts while the other adapts.
        worker = threading.Thread(target=lambda: tributary.adapt(DATA.sources, DATA.pixels, **SHORT))
        count = 0
        worker.start()
        while worker.is_alive():
            count += 1
            time.sleep(0.001)
        self.assertGreater(count, 20)


class Memory(unittest.TestCase):
    SCRIPT = """
import resource, numpy, torch, tributary
pixels = numpy.full((200_000, 32, 32, 3), 7, numpy.uint8)
net = torch.nn.Sequential(torch.nn.AvgPool2d(16), torch.nn.Flatten(), torch.nn.Linear(12, 10))
model = tributary.Model(net, size=32, resize=32, threads=1, device="cpu")
model.predict(pixels[:2000])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
model.predict(pixels)
class Enough(Exception):
    pass
def stop(event):  # after the first pass over the pictures: what a round needs beside them is the method's own
    raise Enough
try:
    tributary.adapt([net, net], pixels, method="source-ens", size=32, resize=32, threads=1, device="cpu", progress=stop)
except Enough:
    print(1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before))
"""

    def test_handing_over_600_megabytes_takes_less_than_100(self):
        done = subprocess.run([sys.executable, "-c", self.SCRIPT], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertLess(int(done.stdout), 100e6)


def idx_pixels(path):
    """The pictures of an IDX file as an array."""
    data = Path(path).read_bytes()
    shape = [int.from_bytes(data[4 + 4 * i:8 + 4 * i], "big") for i in range(data[3])]
    return numpy.frombuffer(data, numpy.uint8, offset=4 + 4 * data[3]).reshape(shape)


if __name__ == "__main__":
    unittest.main()
