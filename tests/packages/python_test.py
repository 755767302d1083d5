"""The wheel in a fresh virtual environment beside the system's PyTorch, and the lines of README.md and docs/python.md."""
import importlib.metadata
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ["TRIBUTARY_BUILD"])
sys.path[:0] = [str(BUILD / "python"), str(ROOT / "tests/python")]

import torch  # noqa: E402
from PIL import Image  # noqa: E402

import tributary  # noqa: E402
from fixtures import INPUT, program, trained_net  # noqa: E402


def blocks(page, language):
    """The blocks of a page in this language."""
    return re.findall(rf"^```{language}\n(.*?)^```", (ROOT / page).read_text(encoding="utf-8"), re.M | re.S)


def code_of(page):
    """The Python blocks of a page, in order, as one script."""
    return "\n".join(blocks(page, "python"))


def setUpModule():
    global FOLDER, PYTHON, ENVIRONMENT
    FOLDER = tempfile.TemporaryDirectory()
    folder = Path(FOLDER.name)
    PYTHON = folder / "venv/bin/python3"
    ENVIRONMENT = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    # The lines of the page, with the environment elsewhere, the module of this build, and the Python that it was built for.
    lines = re.sub(r"\bvenv(?=/|$)", str(folder / "venv"), blocks("docs/python.md", "sh")[0], flags=re.M)
    done = subprocess.run(["bash", "-e", "-c", lines], cwd=ROOT, capture_output=True, text=True,
                          env={**ENVIRONMENT, "TRIBUTARY_BUILD": str(BUILD), "PIP_NO_CACHE_DIR": "1",
                               "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"})
    if done.returncode != 0:
        raise AssertionError(done.stdout + done.stderr)
    # What the pages name: a.pth, b.safetensors, photos/, labelled/.
    pixels, labels = tributary.digits("signs", 40, seed=1)
    for number, (picture, label) in enumerate(zip(pixels, labels)):
        for path in (folder / f"photos/{number:02}.png", folder / f"labelled/{label}/{number:02}.png"):
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(picture).save(path)
    program("data", "make", "digits", folder / "digits", "--pictures", 60)
    for name, domain in (("a", "street"), ("b", "handwriting")):
        program("train", "--data", folder / f"digits/{domain}/train-images.idx", "--architecture", "lenet", "--epochs", 1,
                "--out", folder / f"{name}.safetensors")
    tributary.Model(folder / "a.safetensors").export_state_dict(folder / "a.pth")


class Wheel(unittest.TestCase):
    def run_code(self, code, *arguments):
        done = subprocess.run([PYTHON, *arguments, "-c", code], cwd=FOLDER.name, capture_output=True, text=True,
                              env=ENVIRONMENT)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_is_the_installed_one(self):
        where = self.run_code("import tributary; print(tributary.__file__)").strip()
        self.assertTrue(where.startswith(str(Path(FOLDER.name).resolve() / "venv")), where)
        files = {path.name for path in Path(where).parent.iterdir()}
        self.assertLessEqual({"__init__.pyi", "py.typed"}, files)

    def test_requires_the_torch_that_it_was_built_with(self):
        text = self.run_code("import importlib.metadata as m; print(m.requires('tributary'), m.version('torch'))")
        self.assertIn("torch==" + text.split("] ")[1].strip(), text.replace(" ", "").replace("(", "").replace(")", ""))

    def test_the_lines_of_the_readme(self):
        self.run_code(code_of("README.md"))

    def test_the_lines_of_the_page(self):
        self.run_code(code_of("docs/python.md"))


class BuildFolder(unittest.TestCase):
    """setup.py with a cmake that notes its arguments, and makes what the real one would."""

    CMAKE = """#!/bin/sh
echo "$@" >> log
[ "$1" = --build ] && exit
mkdir -p build/wheel/python/tributary
echo "TORCH = \\"$TORCH\\"" > build/wheel/python/tributary/_build.py
echo "Python3_EXECUTABLE:UNINITIALIZED=$PYTHON" > build/wheel/CMakeCache.txt
"""

    def test_is_made_afresh_for_another_pytorch_or_python(self):
        torch_version = importlib.metadata.version("torch")
        with tempfile.TemporaryDirectory() as folder:
            folder = Path(folder)
            for name in ("setup.py", "CMakeLists.txt"):
                (folder / name).write_bytes((ROOT / name).read_bytes())
            (folder / "cmake").write_text(self.CMAKE)
            (folder / "cmake").chmod(0o755)

            def configures(torch="", python=sys.executable, **environment):
                """Whether a build configures, in a folder that was made with these."""
                (folder / "log").write_text("")
                done = subprocess.run([sys.executable, "setup.py", "-q", "build_py"], cwd=folder, capture_output=True,
                                      text=True, env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}",
                                                      "TRIBUTARY_BUILD": "", "TORCH": torch, "PYTHON": python, **environment})
                return "--fresh" in (folder / "log").read_text(), done

            self.assertTrue(configures(torch="0.4")[0])  # a new folder, of which the next call finds an old PyTorch
            self.assertTrue(configures(torch=torch_version, python="/another/python3")[0])
            self.assertTrue(configures(torch=torch_version)[0])
            self.assertFalse(configures()[0])
            self.assertTrue(list((folder / "build/wheel/setuptools").glob("lib*/tributary/_build.py")))
            # A folder that the user names is left alone.
            (folder / "build/wheel/python/tributary/_build.py").write_text('TORCH = "0.4"\n')
            configured, done = configures(TRIBUTARY_BUILD=str(folder / "build/wheel"))
            self.assertFalse(configured)
            self.assertIn(f"is no build of the module with PyTorch {torch_version}; choose another", done.stderr)


if __name__ == "__main__":
    unittest.main()
