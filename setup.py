"""The Python package: pip install --no-build-isolation --no-index .

CMake builds the module with the PyTorch that is installed. TRIBUTARY_BUILD names a build folder to use instead of a new
one.
"""
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent
GIVEN = os.environ.get("TRIBUTARY_BUILD")
BUILD = Path(GIVEN or ROOT / "build" / "wheel").resolve()
WORK = BUILD / "setuptools"
WORK.mkdir(parents=True, exist_ok=True)


def torch_version():
    """As its metadata say, which pip compares with: Debian's differ from torch.__version__."""
    try:
        return importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        sys.exit("setup.py: PyTorch is not installed for " + sys.executable +
                 "; install it first, and use --no-build-isolation")


def cmake_prefix():
    """Where the wheel of PyTorch has LibTorch; empty for Debian's."""
    import torch
    prefix = Path(torch.utils.cmake_prefix_path)
    return str(prefix) if (prefix / "Torch").is_dir() else ""


def is_current():
    """Whether the build folder was configured for this Python and this PyTorch."""
    def found(file, pattern):
        text = (BUILD / file).read_text(encoding="utf-8") if (BUILD / file).exists() else ""
        return "".join(re.findall(pattern, text, re.M))
    return (found("python/tributary/_build.py", r'^TORCH = "(.*)"$') == torch_version() and
            (GIVEN or found("CMakeCache.txt", r"^Python3_EXECUTABLE:\w+=(.*)$") == sys.executable))


class BuildModule(build_py):
    def run(self):
        if not shutil.which("cmake"):
            sys.exit("setup.py: there is no cmake, which builds the module; install it first")
        if not is_current():
            if GIVEN and (BUILD / "CMakeCache.txt").exists():
                sys.exit(f"setup.py: {BUILD} is no build of the module with PyTorch {torch_version()}; choose another "
                         "TRIBUTARY_BUILD")
            subprocess.check_call(
                ["cmake", "--fresh", "-S", ROOT, "-B", BUILD, "-DCMAKE_BUILD_TYPE=Release", "-DTRIBUTARY_UNITY=ON",
                 "-DTRIBUTARY_PROGRAM=OFF", "-DTRIBUTARY_TESTS=OFF", f"-DPython3_EXECUTABLE={sys.executable}",
                 f"-DCMAKE_PREFIX_PATH={cmake_prefix()}"])
        subprocess.check_call(["cmake", "--build", BUILD, "--target", "tributary_python", "-j",
                               str(len(os.sched_getaffinity(0)))])
        made = BUILD / "python" / "tributary"
        to = Path(self.build_lib) / "tributary"
        shutil.rmtree(to, ignore_errors=True)
        shutil.copytree(made, to, ignore=shutil.ignore_patterns("__pycache__"))

    def get_outputs(self, include_bytecode=1):
        return [str(path) for path in (Path(self.build_lib) / "tributary").rglob("*") if path.is_file()]


class BinaryDistribution(Distribution):
    def has_ext_modules(self):
        return True


def version():
    text = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    return text.split("project(tributary VERSION ", 1)[1].split()[0]


setup(
    name="tributary", version=version(), description="Multi-source-free domain adaptation of image classifiers",
    license="MIT", python_requires=">=3.9", packages=["tributary"], package_dir={"tributary": "python/tributary"},
    install_requires=[f"torch=={torch_version()}", "numpy"], cmdclass={"build_py": BuildModule},
    distclass=BinaryDistribution,
    options={"egg_info": {"egg_base": str(WORK)}, "build": {"build_base": str(WORK)},
             "bdist_wheel": {"bdist_dir": str(WORK / "wheel")}})
