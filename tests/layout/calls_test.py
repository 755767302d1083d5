"""Calls that only one file may make, so that no other can forget what that file takes care of; checksums of packages."""
import json
import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# What the call would forget, the call, and the files that may make it.
RULES = [
    ("text for the terminal goes through base/print.h, which shows control characters as ?",
     r"std::cout|std::clog|std::cerr\s*<<|(?<!n)printf\(|\bf?puts\(|STDOUT_FILENO\s*,", {"tributary/base/print.cpp", "cli/start.cpp"}),
    ("JSON is written by json_text, which does not throw on text that is not UTF-8",
     r"\.dump\(", {"tributary/base/json_text.cpp"}),
    ("files are opened by read_file, read_text or open_regular, which refuse FIFOs and devices",
     r"ifstream\s+\w+[({]|ifstream[({]|fopen\([^)]*\"r|O_RDONLY(?!.*(?:O_DIRECTORY|O_NONBLOCK))",
     {"tributary/base/files.cpp", "tributary/base/files.h", "tributary/base/memory.cpp",
      "tributary/base/process.cpp", "tributary/base/threads.cpp", "tributary/launch/launcher.cpp"}),  # /proc and /sys
    ("remove_own_files and remove_folder never follow a link", r"remove_all\(", set()),
]


def violations(path, text):
    """One sentence for every line of `text` that breaks a rule."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        code = line.split("//")[0]
        found += [f"{path}:{number}: {reason}" for reason, call, allowed in RULES
                  if re.search(call, code) and path not in allowed]
    return found


class Packages(unittest.TestCase):
    def test_node_packages_have_checksums(self):
        for folder in ("node", "web"):
            lock = json.loads((ROOT / "tests" / folder / "package-lock.json").read_text(encoding="utf-8"))
            wanted = json.loads((ROOT / "tests" / folder / "package.json").read_text(encoding="utf-8"))
            for name, version in {**wanted.get("dependencies", {}), **wanted.get("devDependencies", {})}.items():
                self.assertEqual(lock["packages"][f"node_modules/{name}"]["version"], version)
            for name, package in lock["packages"].items():
                self.assertTrue(name == "" or package["integrity"].startswith("sha512-"), name)


class Calls(unittest.TestCase):
    def test_rules_find_their_calls(self):
        for line in ('std::cout << name;', 'std::cerr << "x";', 'printf("%s", name);', 'file << facts.dump(2);',
                     'std::ifstream file(path);', 'const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);',
                     'std::filesystem::remove_all(folder);'):
            self.assertEqual(len(violations("cli/new.cpp", line)), 1, line)
        for line in ('Progress progress(std::cerr, true);', 'std::snprintf(reason, size, "%s", text);',
                     'std::ifstream file = open_regular(path);', '// std::cout', 'open(folder, O_RDONLY | O_DIRECTORY);'):
            self.assertEqual(violations("cli/new.cpp", line), [], line)

    def test_this_repository(self):
        found = []
        for folder in ("tributary", "cli"):
            for path in sorted((ROOT / folder).rglob("*")):
                if path.suffix in (".h", ".cpp"):
                    found += violations(str(path.relative_to(ROOT)), path.read_text(encoding="utf-8"))
        self.assertEqual(found, [])


if __name__ == "__main__":
    unittest.main()
