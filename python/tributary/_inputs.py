"""Sources and pictures as users have them, for the extension module."""
import os
import threading
from pathlib import Path

import numpy
import torch

from ._errors import InputError
from ._load import _core


def in_main_thread():
    """Whether Ctrl-C reaches this thread."""
    return threading.current_thread() is threading.main_thread()


def path_of(value, what):
    """The path as text."""
    try:
        return os.fspath(value)
    except TypeError:
        raise InputError(f"{what} must be a path; this is {type(value).__name__}") from None


def pictures(value, labels=None):
    """Pictures of a path, an array or a tensor; arrays and CPU tensors are shared."""
    if isinstance(value, _core.Pictures):
        return value
    if isinstance(value, (str, os.PathLike)):
        return _core.Pictures(os.fspath(value))
    if isinstance(value, torch.Tensor):
        value = value.detach().cpu().numpy()
    if not isinstance(value, numpy.ndarray):
        raise InputError("pictures must be a path or a uint8 array [n, height, width, 3]; this is "
                         f"{type(value).__name__}")
    made = _core.Pictures(value)
    return made if labels is None else made.with_labels(label_list(labels))


def label_list(labels):
    """Class indices as a list."""
    labels = numpy.asarray(labels.cpu() if isinstance(labels, torch.Tensor) else labels)
    if labels.ndim != 1 or labels.dtype.kind not in "iu":
        raise InputError(f"labels must be class indices, integers [n]; these are {labels.dtype} {list(labels.shape)}")
    return labels.tolist()


def sources(values, folder, classes=None):
    """Sources as texts; modules are written to `folder` as TorchScript, and have their classes in the file `classes`."""
    if isinstance(values, (str, os.PathLike, torch.nn.Module)):
        raise InputError("sources must be a list of model files or modules, even if it is one; put it into [ ]")
    texts = []
    for number, value in enumerate(values):
        if isinstance(value, torch.nn.Module):
            texts.append(_scripted(value, number, folder) + (f",classes={classes}" if classes else ""))
        else:
            texts.append(path_of(value, "a source"))
    if not texts:
        raise InputError("there are no source models in the list; name at least one")
    return texts


def _scripted(module, number, folder):
    kind = type(module).__name__
    training = module.training
    try:
        scripted = module.eval() if isinstance(module, torch.jit.ScriptModule) else torch.jit.script(module.eval())
    except Exception as error:  # TorchScript raises many kinds
        raise InputError(f"source {number}, a {kind}, cannot be scripted ({_first_line(error)}); use what "
                         "torch.jit.script accepts, or give its weights as a file") from error
    finally:
        module.train(training)
    path = Path(folder) / f"module{number}.pt"
    path.parent.mkdir(parents=True, exist_ok=True)
    torch.jit.save(scripted, str(path))
    name = kind.lower() + str(number)
    if all(scripted._c._has_method(method) for method in ("features", "classify")):
        return f"{path}:trust=true,name={name}"
    linear = [name for name, layer in module.named_modules() if isinstance(layer, torch.nn.Linear)]
    if not linear:
        raise InputError(f"source {number}, a {kind}, has neither the methods features and classify nor a last linear "
                         "layer; add one of them")
    return f"{path}:trust=true,last_layer={linear[-1]},name={name}"


def _first_line(error):
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__


def with_class_file(options, folder):
    """Options in which a list of class names is a file, as the option `classes` takes it."""
    names = options.get("classes")
    if not isinstance(names, (list, tuple)):
        return options
    path = Path(folder) / "classes.txt"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{name}\n" for name in names), encoding="utf-8")
    return {**options, "classes": str(path)}
