"""Writes __init__.pyi of the built package, with every option as a keyword: write_stubs.py FOLDER"""
import sys
from pathlib import Path

TEMPLATE = '''"""Written by python/write_stubs.py from the table of options."""
import os
from pathlib import Path
from typing import Any, Callable, Literal, Sequence, Tuple, Union

import numpy
import torch

__version__: str
_Path = Union[str, "os.PathLike[str]"]
_Pictures = Union[str, "os.PathLike[str]", "numpy.ndarray[Any, Any]", torch.Tensor]
_Source = Union[str, "os.PathLike[str]", torch.nn.Module]
_Array = Any  # a NumPy array, or a tensor if the pictures were one
_Progress = Union[None, bool, Callable[[dict[str, Any]], None]]
_Test = Union[None, str, "os.PathLike[str]", Tuple[Any, Any]]

class Error(Exception): ...
class InputError(Error, ValueError): ...
class MissingFileError(InputError, FileNotFoundError): ...
class OutOfMemoryError(Error, MemoryError): ...
class VersionError(Error, ImportError): ...

class Predictions:
    labels: _Array
    probabilities: _Array
    logits: _Array
    names: list[str]
    skipped: list[tuple[str, str]]
    classes: list[str]
    def __len__(self) -> int: ...
    def __array__(self, dtype: Any = ..., copy: Any = ...) -> "numpy.ndarray[Any, Any]": ...

class _Exports:
    @property
    def classes(self) -> list[str]: ...
    def predict(self, pictures: _Pictures) -> Predictions: ...
    def evaluate(self, pictures: _Pictures, labels: Any = ...) -> dict[str, Any]: ...
    def export_onnx(self, path: _Path) -> None: ...
    def export_torchscript(self, path: _Path) -> None: ...
    def export_safetensors(self, path: _Path) -> None: ...
    def export_state_dict(self, path: _Path) -> None: ...
    def export_card(self, path: _Path) -> None: ...
    def torch_module(self) -> torch.nn.Module: ...

class Model(_Exports):
    def __init__(
        self,
        path: Union[_Source, Sequence[_Source]],
        *,
@MODEL@
    ) -> None: ...
    @property
    def sources(self) -> list[str]: ...
    @property
    def size(self) -> int: ...
    @property
    def resize(self) -> int: ...

class Run(_Exports):
    def __init__(
        self,
        folder: _Path,
        *,
@MODEL@
    ) -> None: ...
    @property
    def folder(self) -> Path: ...
    @property
    def summary(self) -> dict[str, Any]: ...
    @property
    def weights(self) -> dict[str, float]: ...
    @property
    def rounds(self) -> list[dict[str, Any]]: ...
    @property
    def model(self) -> Model: ...
    def report(self, path: _Path) -> None: ...

def adapt(
    sources: Sequence[_Source],
    target: _Pictures,
    *,
    run: Union[None, str, "os.PathLike[str]"] = ...,
    test: _Test = ...,
    progress: _Progress = ...,
@ADAPT@
) -> Run: ...

class MultiSourceAdapter:
@ATTRIBUTES@
    run_: Run
    classes_: "numpy.ndarray[Any, Any]"
    def __init__(
        self,
        sources: Union[None, Sequence[_Source]] = ...,
        *,
        run: Union[None, str, "os.PathLike[str]"] = ...,
        progress: _Progress = ...,
@INIT@
    ) -> None: ...
    def get_params(self, deep: bool = ...) -> dict[str, Any]: ...
    def set_params(self, **parameters: Any) -> "MultiSourceAdapter": ...
    def fit(self, X: _Pictures, y: Any = ...) -> "MultiSourceAdapter": ...
    def predict(self, X: _Pictures) -> "numpy.ndarray[Any, Any]": ...
    def predict_proba(self, X: _Pictures) -> "numpy.ndarray[Any, Any]": ...
    def score(self, X: _Pictures, y: Any) -> float: ...

def digits(domain: str, count: int, seed: int = ...) -> tuple["numpy.ndarray[Any, Any]", "numpy.ndarray[Any, Any]"]: ...
'''
KINDS = {"bool": "bool", "int": "int", "float": "float", "list": "Sequence[str]"}


def type_of(option):
    if option["choices"]:
        return "Literal[" + ", ".join(repr(choice) for choice in option["choices"]) + "]"
    if option["key"] in ("classes", "mean", "std"):  # lists are texts there, too
        return "Union[str, Sequence[Any]]"
    return KINDS.get(option["kind"], "Union[str, os.PathLike[str]]")


def lines(options, indent, form):
    return "\n".join(f"{indent}{form.format(key=o['key'], type='Union[None, ' + type_of(o) + ']')}" for o in options)


def stubs(adaptation, model):
    own = [option for option in adaptation if option["key"] != "test"]
    keyword = "{key}: {type} = ...,"
    return (TEMPLATE.replace("@MODEL@", lines(model, "        ", keyword)).replace("@ADAPT@", lines(own, "    ", keyword))
            .replace("@INIT@", lines(own, "        ", keyword)).replace("@ATTRIBUTES@", lines(own, "    ", "{key}: {type}")))


if __name__ == "__main__":
    sys.path.insert(0, str(Path(sys.argv[1]).parent))  # the built package, not its sources beside this file
    from tributary._load import _core
    (Path(sys.argv[1]) / "__init__.pyi").write_text(stubs(_core.adaptation_options(), _core.model_options()),
                                                    encoding="utf-8")
