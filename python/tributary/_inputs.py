"""Sources and pictures as users have them, for the extension module."""
import contextlib
import operator
import os
import re
import threading
import warnings
from pathlib import Path

import numpy
import torch

from ._errors import InputError, OutOfMemoryError
from ._load import _core


def in_main_thread():
    """Whether Ctrl-C reaches this thread."""
    return threading.current_thread() is threading.main_thread()


def path_of(value, what):
    """The path as text, or as bytes if it is not UTF-8."""
    try:
        path = os.fspath(value)
        encoded = os.fsencode(path)
    except TypeError:
        raise InputError(f"{what} must be a path; this is {type(value).__name__}") from None
    except UnicodeEncodeError:
        raise InputError(f"{what} must be a path; {path!r} cannot be encoded") from None
    if b"\0" in encoded:
        raise InputError(f"{what} must be a path; {path!r} has a null character")
    try:
        return encoded.decode("utf-8")
    except UnicodeDecodeError:
        return encoded


def pictures(value, labels=None):
    """Pictures of a path, an array or a tensor; arrays and CPU tensors are shared."""
    if isinstance(value, _core.Pictures):
        return value
    if isinstance(value, (str, os.PathLike)):
        made = _core.Pictures(path_of(value, "the path of the pictures"))
        return made if labels is None else made.with_labels(label_list(labels))
    if isinstance(value, torch.Tensor):
        kind = f"{value.dtype} {list(value.shape)}, {value.layout}, on {value.device}"
        try:
            value = value.detach().cpu().numpy()
        except (TypeError, NotImplementedError, RuntimeError) as error:
            raise InputError("pictures in memory must be uint8 [n, height, width, 3] with values; these are "
                             f"{kind}") from error
    if not isinstance(value, numpy.ndarray):
        raise InputError("pictures must be a path or a uint8 array [n, height, width, 3]; this is "
                         f"{type(value).__name__}")
    if value.dtype == numpy.uint8 and value.ndim == 4 and value.shape[3] == 3:
        try:
            value = numpy.ascontiguousarray(value)  # copies only other layouts
        except MemoryError:
            raise OutOfMemoryError(f"out of memory: a contiguous copy of {value.nbytes:,} bytes of pictures; hand over "
                                   "fewer, or a contiguous array, which is shared") from None
    made = _core.Pictures(value)
    return made if labels is None else made.with_labels(label_list(labels))


def test_pictures(value):
    """Labelled pictures: a path, or (pictures, labels)."""
    if value is None:
        return None
    if isinstance(value, (tuple, list)):
        if len(value) != 2:
            raise InputError(f"test must be a path or (pictures, labels); this has {len(value)} parts")
        return pictures(*value)
    if not isinstance(value, (str, os.PathLike)):
        raise InputError(f"test must be a path or (pictures, labels); this is {type(value).__name__}")
    return pictures(value)


def label_list(labels):
    """Class indices as a list."""
    labels = numpy.asarray(labels.cpu() if isinstance(labels, torch.Tensor) else labels)
    if labels.ndim != 1 or labels.dtype.kind not in "iu":
        raise InputError(f"labels must be class indices, integers [n]; these are {labels.dtype} {list(labels.shape)}")
    if labels.dtype == numpy.uint64:
        labels = numpy.minimum(labels, numpy.uint64(2**63 - 1))
    return labels.tolist()


def sources(values, folder, classes=None):
    """Sources as texts; modules are written to `folder` as TorchScript, and have their classes in the file `classes`."""
    if isinstance(values, (str, os.PathLike, torch.nn.Module)):
        raise InputError("sources must be a list of model files or modules, even if it is one; put it into [ ]")
    try:
        values = list(values)
    except TypeError:
        raise InputError(f"sources must be a list of model files or modules; this is {type(values).__name__}") from None
    texts = []
    for number, value in enumerate(values):
        if isinstance(value, torch.nn.Module):
            texts.append(_scripted(value, number, folder) + (f",classes={classes}" if classes else ""))
        else:
            texts.append(path_of(value, "a source"))
    if not texts:
        raise InputError("there are no source models in the list; name at least one")
    return texts


def whole_number(value, what, least):
    """The value as an int that is at least `least`."""
    try:
        number = operator.index(value)
    except TypeError:
        raise InputError(f"{what} must be a whole number; this is {value!r}") from None
    if not least <= number < 2**63:
        raise InputError(f"{what} {number}: not allowed; choose {least} or more")
    return number


def make_folder(path):
    """Makes the folder and those above it."""
    try:
        Path(path).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make the folder {path} ({error.strerror}); choose another one") from error


def _scripted(module, number, folder):
    kind = type(module).__name__
    for name, tensor in [*module.named_parameters(), *module.named_buffers()]:
        if tensor.is_meta:
            raise InputError(f"source {number}, a {kind}: {name} has no values (device meta); load its weights first")
    training = module.training
    try:
        with quietly():
            scripted = module.eval() if isinstance(module, torch.jit.ScriptModule) else torch.jit.script(module.eval())
    except Exception as error:  # TorchScript raises many kinds
        raise InputError(f"source {number}, a {kind}, cannot be scripted ({_first_line(error)}); use what "
                         "torch.jit.script accepts, or give its weights as a file") from error
    finally:
        module.train(training)
    path = Path(folder) / f"module{number}.pt"
    make_folder(folder)
    with quietly():
        torch.jit.save(scripted, str(path))
    name = kind.lower() + str(number)
    if all(scripted._c._has_method(method) for method in ("features", "classify")):
        return f"{path}:trust=true,name={name}"
    linear = [name for name, layer in module.named_modules() if _is_linear(layer)]
    if not linear:
        raise InputError(f"source {number}, a {kind}, has neither the methods features and classify nor a last linear "
                         "layer; add one of them")
    return f"{path}:trust=true,last_layer={linear[-1]},name={name}"


def _is_linear(layer):
    if isinstance(layer, torch.jit.ScriptModule):
        return layer.original_name == "Linear"
    return isinstance(layer, torch.nn.Linear)


def _first_line(error):
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__


def with_class_file(options, folder):
    """Options in which a list of class names is a file, as the option `classes` takes it."""
    names = options.get("classes")
    if names is None or isinstance(names, (str, os.PathLike)):
        return options
    try:
        names = names.tolist() if hasattr(names, "tolist") else list(names)
    except TypeError:
        raise InputError(f"classes must be a file or a list of names; this is {type(names).__name__}") from None
    for name in map(str, names):
        if len(name.splitlines()) != 1:
            raise InputError(f"classes: {name!r} is not one line of text; choose another name")
    path = Path(folder) / "classes.txt"
    make_folder(folder)
    path.write_text("".join(f"{name}\n" for name in names), encoding="utf-8", errors="surrogatepass")
    return {**options, "classes": str(path)}


@contextlib.contextmanager
def quietly():
    """Hides that PyTorch 2.10 and later call TorchScript deprecated: whoever calls Tributary cannot help it."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"`?torch\.jit", DeprecationWarning)
        yield


@contextlib.contextmanager
def plain_names(folder):
    """Errors within name modules and class lists as the caller has them, not the files of `folder`."""
    try:
        yield
    except InputError as error:
        text = plain_text(str(error), folder)
        if text == str(error):
            raise
        raise type(error)(text) from None


def plain_text(text, folder):
    """The text with sources and classes in place of the files of `folder`, which may be empty."""
    if not folder:
        return text
    text = text.replace(f"{folder}/classes.txt", "the list of classes")
    return re.sub(re.escape(str(folder)) + r"/module(\d+)\.pt", r"source \1", text)
