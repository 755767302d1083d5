"""Many pretrained models flow in, one adapted model flows out.

    run = tributary.adapt(["a.pth", "b.safetensors"], "photos/")
    run.predict("photos/new").classes
"""
from ._errors import Error, InputError, MissingFileError, OutOfMemoryError, VersionError
from ._load import _core
from ._estimator import MultiSourceAdapter
from ._run import Model, Predictions, Run, adapt, digits

__version__ = _core.version
__all__ = ["Error", "InputError", "MissingFileError", "Model", "MultiSourceAdapter", "OutOfMemoryError", "Predictions",
           "Run", "VersionError", "adapt", "digits"]
