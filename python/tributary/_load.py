"""Loads the extension module after PyTorch, whose libraries it shares."""
import importlib.metadata
import os
import sys

from ._build import TORCH
from ._errors import VersionError


def require_torch(installed):
    """Raises VersionError unless this is the PyTorch that the module was built with: its C++ types would differ."""
    if TORCH and installed != TORCH:
        raise VersionError(f"tributary was built with PyTorch {TORCH}, and PyTorch {installed} is installed; "
                           "install the former, or build tributary again with the latter")


def import_torch():
    """Imports PyTorch as the program starts: its threads must not spin while they wait (docs/performance.md)."""
    first = "torch" not in sys.modules
    waits = "OMP_WAIT_POLICY" in os.environ or "GOMP_SPINCOUNT" in os.environ
    if first and not waits:
        os.environ["GOMP_SPINCOUNT"] = "1000"
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise VersionError(f"tributary needs PyTorch {TORCH}, which cannot be imported: {error}") from error
    finally:
        if first and not waits:
            del os.environ["GOMP_SPINCOUNT"]


try:
    _installed = importlib.metadata.version("torch")
except importlib.metadata.PackageNotFoundError:
    _installed = "none"
require_torch(_installed)
import_torch()

from . import _core  # noqa: E402, F401
