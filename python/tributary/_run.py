"""Models, runs, and `adapt`."""
import html
import json
import os
import shutil
import tempfile
import weakref
from pathlib import Path

import numpy
import torch

from . import _inputs
from ._load import _core
from ._options import ADAPTATION, MODEL, settings_of, with_keywords
from ._progress import Progress

# Options of Model that say how pictures are loaded, and where it runs.
_OF_LOADING = ("device", "threads", "max_skipped", "max_megapixels", "memory", "gpu_memory")


def as_array(values):
    """A tensor of any device, or an array, as an array."""
    return values.cpu().numpy() if isinstance(values, torch.Tensor) else values


class Predictions:
    """The predictions for n pictures. As an array they are the labels.

    labels: int64 [n], indices of the model's classes
    probabilities: float32 [n, classes], of the mixture
    logits: float32 [sources, n, classes]
    names: the pictures; skipped: (picture, reason) of those that could not be read
    classes: the class name of every picture

    Labels, probabilities and logits are tensors on the device of the pictures if those were one, else NumPy arrays.
    """

    def __init__(self, made, classes, device):
        def convert(array):
            return array if device is None else torch.from_numpy(array).to(device)
        self.labels = convert(made["labels"])
        self.probabilities = convert(made["probabilities"])
        self.logits = convert(made["logits"])
        self.names = made["names"]
        self.skipped = made["skipped"]
        self.classes = [classes[label] for label in made["labels"]]

    def __len__(self):
        return len(self.names)

    def __array__(self, dtype=None, copy=None):
        return numpy.asarray(as_array(self.labels), dtype=dtype)

    def __repr__(self):
        return f"<predictions for {len(self)} pictures>"


class Model:
    """A model: a run folder, a mixture file or a source; a list of sources is a plain ensemble."""

    _files = ""  # where modules were while they were read, for messages

    def __init__(self, path, **options):
        """path: a run folder, a model file, PyTorch weights, a torch.nn.Module, or a list of sources."""
        single = isinstance(path, (str, os.PathLike, torch.nn.Module))
        with tempfile.TemporaryDirectory(prefix="tributary-") as folder:
            self._files = folder
            options = _inputs.with_class_file(options, folder)
            sources = _inputs.sources([path] if single else path, folder, options.get("classes"))
            self._settings = settings_of(options, MODEL, "Model")
            with _inputs.plain_names(folder):
                self._core = _core.Model(sources, self._settings, _inputs.in_main_thread())

    @classmethod
    def _of(cls, core, settings):
        model = cls.__new__(cls)
        model._core = core
        model._settings = settings
        return model

    def __getstate__(self):
        with tempfile.TemporaryDirectory(prefix="tributary-") as folder:
            path = Path(folder, "model.safetensors")
            self.export_safetensors(path)
            return {"file": path.read_bytes(), "settings": self._settings}

    def __setstate__(self, state):
        # The file holds what describes the networks. A pickle is code already, so TorchScript in it needs no more trust.
        kept = [setting for setting in state["settings"] if setting[0] in _OF_LOADING]
        self._settings = [*kept, ("trust", ["true"])]
        with tempfile.TemporaryDirectory(prefix="tributary-") as folder:
            path = Path(folder, "model.safetensors")
            path.write_bytes(state["file"])
            self._core = _core.Model([str(path)], self._settings, _inputs.in_main_thread())

    def __repr__(self):
        return f"<model of {', '.join(self.sources)}; {len(self.classes)} classes>"

    @property
    def classes(self):
        """The names of the classes, in the order of the probabilities."""
        return self._core.classes

    @property
    def sources(self):
        """The names of the sources."""
        return self._core.sources

    @property
    def size(self):
        """Pixels per side that the networks see: the centre crop of pictures with `resize` pixels per side."""
        return self._core.size

    @property
    def resize(self):
        """Pixels per side of the pictures before the centre crop."""
        return self._core.resize

    def predict(self, pictures):
        """Predictions for a path, an array or a tensor of pictures."""
        with _inputs.plain_names(self._files):
            made = self._core.predict(_inputs.pictures(pictures), _inputs.in_main_thread())
        return Predictions(made, self.classes, pictures.device if isinstance(pictures, torch.Tensor) else None)

    def evaluate(self, pictures, labels=None):
        """Accuracy (0..1) on labelled pictures: class folders, a labelled list, ... or an array and its labels.

        Returns a dictionary: pictures, accuracy, source_accuracies, class_accuracies, confusion, skipped.
        """
        with _inputs.plain_names(self._files):
            return self._core.evaluate(_inputs.pictures(pictures, labels), _inputs.in_main_thread())

    def export_onnx(self, path):
        """Writes an ONNX file: pixels in, probabilities out."""
        self._core.export("onnx", _inputs.path_of(path, "path"))

    def export_torchscript(self, path):
        """Writes a TorchScript file, for torch.jit.load."""
        self._core.export("torchscript", _inputs.path_of(path, "path"))

    def export_safetensors(self, path):
        """Writes a model file in Tributary's own format."""
        self._core.export("safetensors", _inputs.path_of(path, "path"))

    def export_state_dict(self, path):
        """Writes a state dictionary, for torch.load; a single source gets torchvision's names."""
        self._core.export("state_dict", _inputs.path_of(path, "path"))

    def export_card(self, path):
        """Writes a JSON file with the preprocessing and the classes."""
        self._core.export("card", _inputs.path_of(path, "path"))

    def torch_module(self):
        """The model as a torch.nn.Module: uint8 [n, size, size, 3] to probabilities [n, classes].

        Its parameters can be trained further. BatchNorm keeps its running statistics.
        """
        with tempfile.TemporaryDirectory(prefix="tributary-") as folder:
            path = os.path.join(folder, "module.pt")
            self.export_torchscript(path)
            with _inputs.quietly():
                module = torch.jit.load(path).eval()
        for parameter in module.parameters():
            parameter.requires_grad_(True)
        return module


class Run:
    """A finished adaptation and its folder. Run(folder) opens one."""

    _FILES = ("config.toml", "metrics.jsonl", "model.safetensors", "predictions.csv", "summary.json", "DONE")

    def __init__(self, folder, **options):
        """folder: that of a finished run. The options are those with which its model is loaded."""
        self._open(_inputs.path_of(folder, "folder"), settings_of(options, MODEL, "Run"))

    def _open(self, folder, settings, target=None):
        self._settings = settings
        self._core = _core.Run(folder, settings)
        self._target = target

    @property
    def folder(self):
        """The run's folder; a temporary one is removed with the run."""
        return Path(self._core.folder)

    @property
    def summary(self):
        """The contents of summary.json."""
        return json.loads(self._core.summary)

    @property
    def weights(self):
        """The trust in every source, by its name; they sum to one."""
        return {source["name"]: source["weight"] for source in self.summary["sources"]}

    @property
    def rounds(self):
        """One dictionary per round, round 0 first, as in metrics.jsonl; with "accuracy" (0..1) if labels were given."""
        rounds = [json.loads(line) for line in self._core.rounds]
        for round_, accuracy in zip(rounds, self.summary.get("accuracy", {}).get("rounds", [])):
            round_["accuracy"] = accuracy / 100
        return rounds

    @property
    def model(self):
        """The adapted mixture."""
        return Model._of(self._core.model, self._settings)

    @property
    def classes(self):
        """The names of the classes, in the order of the probabilities."""
        return self.model.classes

    def predict(self, pictures):
        """Predictions for a path, an array or a tensor of pictures."""
        return self.model.predict(pictures)

    def evaluate(self, pictures, labels=None):
        """As Model.evaluate."""
        return self.model.evaluate(pictures, labels)

    def report(self, path):
        """Writes the report of the run as one HTML page, with thumbnails if the run adapted to an array."""
        self._core.report(_inputs.path_of(path, "path"), self._target, _inputs.in_main_thread())

    def export_onnx(self, path):
        """As Model.export_onnx."""
        self.model.export_onnx(path)

    def export_torchscript(self, path):
        """As Model.export_torchscript."""
        self.model.export_torchscript(path)

    def export_safetensors(self, path):
        """As Model.export_safetensors."""
        self.model.export_safetensors(path)

    def export_state_dict(self, path):
        """As Model.export_state_dict."""
        self.model.export_state_dict(path)

    def export_card(self, path):
        """As Model.export_card."""
        self.model.export_card(path)

    def torch_module(self):
        """As Model.torch_module."""
        return self.model.torch_module()

    def __repr__(self):
        summary = self.summary
        return f"<run of {summary['method']}, {summary['rounds']} rounds, in {self.folder}>"

    def _repr_html_(self):
        summary = self.summary
        rows = "".join(f"<tr><td>{html.escape(name)}</td><td>{100 * weight:.1f} %</td></tr>"
                       for name, weight in self.weights.items())
        accuracy = summary.get("accuracy", {}).get("last")
        end = "" if accuracy is None else f", accuracy {accuracy:.1f} %"
        return (f"<p><b>{html.escape(summary['method'])}</b>: {summary['pictures']} pictures, "
                f"{summary['rounds']} rounds{end}</p><table><tr><th>source</th><th>weight</th></tr>{rows}</table>")

    def __getstate__(self):
        paths = [self.folder / name for name in self._FILES] + sorted(self.folder.glob("history/*"))
        files = {str(path.relative_to(self.folder)): path.read_bytes() for path in paths if path.is_file()}
        return {"files": files, "settings": self._settings}

    def __setstate__(self, state):
        folder = _temporary(self)
        for name, content in state["files"].items():
            _inputs.make_folder(Path(folder, name).parent)
            Path(folder, name).write_bytes(content)
        self._open(folder, state["settings"])


def _temporary(owner):
    """A folder that lives as long as `owner`."""
    folder = tempfile.mkdtemp(prefix="tributary-")
    weakref.finalize(owner, shutil.rmtree, folder, ignore_errors=True)
    return folder


def adapt(sources, target, *, run=None, test=None, progress=None, **options):
    """Adapts several source models together to unlabelled pictures and returns the Run.

    sources: a list of model files, PyTorch weights or torch.nn.Modules. FILE:classes=LIST,name=WARD sets options of one.
    target: a folder, a list file, shards, ... or uint8 [n, height, width, 3] as an array or a tensor.
    run: the folder of the run. Called again with it, an interrupted run resumes and a finished one is returned. By
        default a temporary folder, which is removed with the Run; it has no report.html, but Run.report writes one.
    test: labelled pictures of the target domain, a path or (array, labels), only to show the accuracy of every round.
    progress: False for none, True for a bar, or a function of a dictionary. By default a bar in notebooks and terminals.
        Its "kind" is step (with round, rounds, step, steps, share of the run), round (round, rounds, share), warning
        (message), skipped (value: a list of (picture, reason)), resume (value: the round), recompute or micro_batch
        (value: "waiting" or "all", and the size, if the GPU's memory is short).
    """
    made = Run.__new__(Run)
    if run is None:
        folder = os.path.join(_temporary(made), "run")
        options = {"report": False, **options}
    else:
        folder = _inputs.path_of(run, "run")
    beside = os.fsdecode(folder).rstrip("/") + ".sources"
    options = _inputs.with_class_file(options, beside)
    texts = _inputs.sources(sources, beside, options.get("classes"))
    test = _inputs.test_pictures(test)
    pictures = _inputs.pictures(target)
    settings = settings_of(options, ADAPTATION, "adapt")
    shown = Progress(progress, beside)
    try:
        with _inputs.plain_names(beside):
            _core.adapt(texts, pictures, folder, settings, test, shown, _inputs.in_main_thread())
        shown.complete()
    finally:
        shown.close()
    model_settings = [setting for setting in settings if setting[0] in ("device", "threads", "trust")]
    if any(":trust=true" in os.fsdecode(text) for text in texts):
        model_settings = [s for s in model_settings if s[0] != "trust"] + [("trust", ["true"])]
    made._open(folder, model_settings, None if isinstance(target, (str, os.PathLike)) else pictures)
    return made


with_keywords(adapt, {key: option for key, option in ADAPTATION.items() if key != "test"})
with_keywords(Model.__init__, MODEL)
with_keywords(Run.__init__, MODEL)


def digits(domain, count, seed=0):
    """Drawn digits of 32x32 pixels for examples: (uint8 [count, 32, 32, 3], labels int64 [count]).

    domain: handwriting, postal, textured, signs or street
    """
    return _core.digits(str(domain), _inputs.whole_number(count, "count", 1), _inputs.whole_number(seed, "seed", 0))
