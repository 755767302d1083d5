"""The installed C++ package: an out-of-tree project finds it, builds the examples and runs them; pkg-config; subproject."""
import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

import numpy
from PIL import Image

from command import output

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ["TRIBUTARY_BUILD"])


def blocks(language):
    """The blocks of docs/cpp.md in this language."""
    page = (ROOT / "docs/cpp.md").read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", page, re.M | re.S)


def setUpModule():
    """Makes the files that docs/cpp.md names, and runs its lines: installs, builds the examples, runs the first."""
    global FOLDER, PREFIX, SOURCES, TARGET
    FOLDER = tempfile.TemporaryDirectory()
    folder = Path(FOLDER.name)
    PREFIX = folder / "prefix"
    (folder / "build").symlink_to(BUILD)
    (folder / "examples").symlink_to(ROOT / "examples")
    program = os.environ["TRIBUTARY_BINARY"]
    output(program, "data", "make", "digits", folder / "digits", "--pictures", 60)
    SOURCES = []
    for name, domain in (("a", "handwriting"), ("b", "street")):
        SOURCES.append(folder / f"{name}.safetensors")
        output(program, "train", "--data", folder / f"digits/{domain}/train-images.idx", "--architecture", "lenet",
               "--epochs", 1, "--out", SOURCES[-1])
    TARGET = folder / "digits/signs/train-images.idx"
    (folder / "photos").mkdir()
    pixels = numpy.frombuffer(TARGET.read_bytes(), numpy.uint8)[20:].reshape(60, 32, 32, 3)
    for number, picture in enumerate(pixels):
        Image.fromarray(picture).save(folder / f"photos/{number}.png")
    # At -O0, which compiles faster: the tests are about names and linking.
    environment = {**os.environ, "CXXFLAGS": "-O0 -Wall -Wextra -Werror", "CMAKE_GENERATOR": "Ninja"}
    for block in blocks("sh"):
        output("bash", "-e", "-c", block, cwd=folder, env=environment)


class Page(unittest.TestCase):
    def test_quotes_the_examples(self):
        sources = [path.read_text() for path in (ROOT / "examples/cpp").iterdir()]
        quoted = blocks("cpp") + [line for block in blocks("cmake") for line in block.splitlines()]
        self.assertGreater(len(quoted), 4)
        for text in quoted:
            self.assertTrue(any(text in source for source in sources), text)


class Examples(unittest.TestCase):
    def run_example(self, name):
        run = Path(FOLDER.name) / "runs" / name
        return run, output(Path(FOLDER.name) / "examples-build" / name, TARGET, run, *SOURCES)

    def test_adapt(self):
        run = Path(FOLDER.name) / "runs/adapt"  # by the line of the page
        self.assertEqual(len((run / "predictions.csv").read_text().splitlines()), 61)
        self.assertTrue((run / "model.onnx").exists())
        # Called again, it finds its finished run and prints the same classes as it wrote.
        text = output(Path(FOLDER.name) / "examples-build/adapt", "photos", "runs/adapt", "a.safetensors",
                      "b.safetensors", cwd=FOLDER.name)
        csv = (run / "predictions.csv").read_text().splitlines()[1:]
        self.assertEqual([line.split(",")[:2] for line in csv], [line.split(",") for line in text.splitlines()])

    def test_own_observer(self):
        run, text = self.run_example("own_observer")
        self.assertIn("round 0 of 3: 100 % changed", text)
        self.assertIn("<html", (run / "settled.html").read_text())

    def test_own_method(self):
        run, text = self.run_example("own_method")
        self.assertIn('"entropy"', text)
        self.assertIn('method = "entropy"', (run / "config.toml").read_text())

    def test_errors(self):
        done = subprocess.run([Path(FOLDER.name) / "examples-build/adapt", "/nowhere", Path(FOLDER.name) / "none",
                               *SOURCES], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (1, "/nowhere does not exist; check the path\n"))


class Files(unittest.TestCase):
    def test_pkg_config_links(self):
        environment = {**os.environ, "PKG_CONFIG_PATH": str(PREFIX / "lib/pkgconfig")}
        flags = output("pkg-config", "--cflags", "--libs", "tributary", env=environment).split()
        source = Path(FOLDER.name) / "version.cpp"
        source.write_text('#include <tributary/api/settings.h>\n#include <tributary/version.h>\n#include <iostream>\n'
                          'int main() { if (!tributary::adaptation_options().empty() && tributary::build_commit()) '
                          'std::cout << tributary::kVersion; }\n')
        output("c++", source, "-o", source.with_suffix(""), *flags)
        version = output("pkg-config", "--modversion", "tributary", env=environment).strip()
        self.assertEqual(output(source.with_suffix("")), version)

    def test_manual_pages_and_completions_are_installed(self):  # manual_test.py reads and runs them
        pages = {path.name for path in (PREFIX / "share/man/man1").iterdir()}
        self.assertLessEqual({"tributary.1.gz", "tributary-adapt.1.gz", "tributary-predict.1.gz"}, pages)
        for name in ("bash-completion/completions/tributary", "zsh/vendor-completions/_tributary",
                     "fish/vendor_completions.d/tributary.fish"):
            self.assertGreater((PREFIX / "share" / name).stat().st_size, 1000, name)

    def test_the_version_names_what_it_was_built_with(self):
        text = output(PREFIX / "bin/tributary", "--version")
        self.assertRegex(text, r"^tributary \d+\.\d+\.\d+, commit \w+(-dirty)?\n"
                               r"LibTorch \S+, CUDA (no|[\d.]+), Gloo (yes|no), NCCL (yes|no)\n$")

    def test_pkg_config_finds_the_prefix_from_any_library_folder(self):
        # As Debian's own packages, which install below lib/TRIPLET.
        build = Path(FOLDER.name) / "multiarch"
        output("cmake", "-S", ROOT, "-B", build, "-G", "Ninja", "-DTRIBUTARY_TESTS=OFF", "-DTRIBUTARY_BENCH=OFF",
               "-DCMAKE_INSTALL_LIBDIR=lib/triplet")
        file = Path(FOLDER.name) / "usr/lib/triplet/pkgconfig/tributary.pc"
        file.parent.mkdir(parents=True)
        file.write_bytes((build / "tributary.pc").read_bytes())
        folders = [output("pkg-config", f"--variable={name}", "tributary",
                          env={**os.environ, "PKG_CONFIG_PATH": str(file.parent)}).strip()
                   for name in ("includedir", "libdir")]
        self.assertEqual([os.path.normpath(folder) for folder in folders],
                         [f"{FOLDER.name}/usr/include", f"{FOLDER.name}/usr/lib/triplet"])

    def test_works_as_a_subproject(self):
        # No forced build type, no tests, no program, no Chart.js; a file of the parent compiles. Building the library
        # itself would take as long as the whole build.
        parent = Path(FOLDER.name) / "parent"
        parent.mkdir()
        (parent / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.25)\nproject(parent LANGUAGES CXX)\n"
            f"add_subdirectory({ROOT} tributary)\nget_property(tests DIRECTORY {ROOT} PROPERTY TESTS)\n"
            'message(STATUS "type [${CMAKE_BUILD_TYPE}] tests [${tests}]")\n'
            "if(TARGET tributary OR NOT TARGET Tributary::tributary)\n  message(FATAL_ERROR targets)\nendif()\n"
            "add_executable(main main.cpp)\n"
            "target_link_libraries(main PRIVATE Tributary::tributary)\n")
        (parent / "main.cpp").write_text("#include <tributary/method.h>\n#include <tributary/tributary.h>\n"
                                         "int main() { return tributary::Run(\"run\").rounds().empty(); }\n")
        text = output("cmake", "-S", parent, "-B", parent / "build", "-G", "Ninja", "-DTRIBUTARY_CHART_JS=NOTFOUND",
                      "-DCMAKE_DISABLE_FIND_PACKAGE_GTest=ON", env={**os.environ, "CMAKE_BUILD_TYPE": ""})
        self.assertIn("type [] tests []", text)
        output("ninja", "-C", parent / "build", "CMakeFiles/main.dir/main.cpp.o")


if __name__ == "__main__":
    unittest.main()
