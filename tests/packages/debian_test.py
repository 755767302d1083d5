"""The Debian packages: they unpack into an empty folder from which the program runs; lintian; apt."""
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from command import output

BUILD = Path(os.environ["TRIBUTARY_BUILD"])


@unittest.skipUnless(shutil.which("dpkg-shlibdeps"), "no Debian")
class Packages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = Path(cls.folder.name)
        output("cpack", "-G", "DEB", "-B", cls.path / "debs", "-D", "CPACK_DEBIAN_COMPRESSION_TYPE=gzip", cwd=BUILD)
        cls.files = sorted((cls.path / "debs").glob("*.deb"))
        for file in cls.files:
            output("dpkg-deb", "-x", file, cls.path / "root")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_there_are_three(self):
        names = [output("dpkg-deb", "-f", file, "Package").strip() for file in self.files]
        self.assertEqual(names, ["libtributary-dev", "python3-tributary", "tributary"])

    def test_the_program_runs_unpacked(self):
        self.assertIn("tributary", output(self.path / "root/usr/bin/tributary", "--version"))
        output(self.path / "root/usr/bin/tributary", "data", "make", "digits", self.path / "digits", "--pictures", 10)

    def test_the_module_runs_unpacked(self):
        environment = {**os.environ, "PYTHONPATH": str(self.path / "root/usr/lib/python3/dist-packages")}
        text = output("/usr/bin/python3", "-c", "import tributary; print(tributary.digits('street', 2)[0].shape)",
                      env=environment)
        self.assertEqual(text, "(2, 32, 32, 3)\n")

    def test_apt_resolves_their_dependencies(self):
        text = output("apt-get", "install", "--simulate", "--no-install-recommends", *self.files,
                      env={**os.environ, "LC_ALL": "C"})
        for name in ("libtributary-dev", "python3-tributary", "tributary"):
            self.assertRegex(text, rf"(?m)^Inst {name} ")

    @unittest.skipUnless(shutil.which("lintian"), "lintian is not installed")
    def test_lintian_finds_no_errors(self):
        done = subprocess.run(["lintian", "--fail-on", "error", "--tag-display-limit", "0", *self.files],
                              capture_output=True, text=True, env={**os.environ, "LC_ALL": "C.UTF-8"})
        errors = [line for line in done.stdout.splitlines() if line.startswith("E:")]
        self.assertEqual((errors, done.returncode), ([], 0), done.stderr)


if __name__ == "__main__":
    unittest.main()
