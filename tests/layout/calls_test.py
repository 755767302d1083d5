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
    ("an element of a JSON array is taken by .at(), which checks its index; [] does not",
     r"\.at\(\"[^\"]*\"\)\[", set()),
    ("numbers are read by std::from_chars, which neither throws nor overflows",
     r"\bsto(?:i|l|ll|ul|ull|f|d|ld)\(|\bato(?:i|l|ll|f)\(",  # elsewhere of few digits, or of our own text
     {"cli/bench_tables.cpp", "tributary/base/files.cpp", "tributary/data/archive/shard_paths.cpp",
      "tributary/distributed/heartbeat.cpp", "tributary/launch/address.cpp", "tributary/report/history.cpp"}),
]


# Files outside of base/ that open files, and why they need no fuzz target of their own.
READS = r"\b(?:read_file|read_text|open_regular)\(|\bdecode_\w+\(std::span"
NOT_FUZZED = {
    "tributary/api/adapt.cpp": "hands out text of a run",
    "tributary/data/crop.cpp": "calls decode.h",
    "tributary/data/archive/gzip_file.cpp": "idx, mat, usps",
    "tributary/data/archive/shard_paths.cpp": "opens tar shards to tell them from others",
    "tributary/data/listing.cpp": "looks at the first bytes",
    "tributary/data/picture_source.cpp": "bytes for the decoders",
    "tributary/data/image/decode_png.cpp": "decode.h",
    "tributary/experiments/decode_speed.cpp": "pictures of bench speed",
    "tributary/experiments/source_store.cpp": "summary.json, run_folder",
    "tributary/experiments/table_jobs.cpp": "numbers of our own runs",
    "tributary/io/tensor_file.cpp": "safetensors, pytorch",
    "tributary/methods/selective/given_prior.cpp": "lines of a name and a number",
    "tributary/model_io/class_list.cpp": "one class name per line",
    "tributary/model_io/import_weights.cpp": "bytes for TorchScript",
    "tributary/model_io/timm_config.cpp": "six values of parsed JSON",
    "tributary/report/history.cpp": "run_folder",
    "tributary/report/report_data.cpp": "run_folder",
    "tributary/run/command_options.cpp": "config.toml of a run: toml",
    "tributary/run/predictions.cpp": "run_folder",
}


def unfuzzed(sources, targets):
    """The sources that read files, by path, whose header is in no fuzz target."""
    return sorted(path for path, text in sources.items()
                  if path.startswith("tributary/") and path.endswith(".cpp") and not path.startswith("tributary/base/")
                  and re.search(READS, text) and path[:-3] + "h" not in targets)


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
                     'std::filesystem::remove_all(folder);', 'accuracy.at("rounds")[0].get<double>();',
                     'const int stage = std::stoi(name);'):
            self.assertEqual(len(violations("cli/new.cpp", line)), 1, line)
        for line in ('Progress progress(std::cerr, true);', 'std::snprintf(reason, size, "%s", text);',
                     'std::ifstream file = open_regular(path);', '// std::cout', 'accuracy.at("rounds").at(0);', 'open(folder, O_RDONLY | O_DIRECTORY);'):
            self.assertEqual(violations("cli/new.cpp", line), [], line)

    def test_this_repository(self):
        found = []
        for folder in ("tributary", "cli"):
            for path in sorted((ROOT / folder).rglob("*")):
                if path.suffix in (".h", ".cpp"):
                    found += violations(str(path.relative_to(ROOT)), path.read_text(encoding="utf-8"))
        self.assertEqual(found, [])


class Readers(unittest.TestCase):
    def test_a_reader_without_a_fuzz_target_is_found(self):
        sources = {"tributary/io/new.cpp": "auto text = read_text(path);", "tributary/io/old.cpp": "read_file(path);",
                   "tributary/data/image/decode_new.cpp": "Picture decode_new(std::span<const uint8_t> bytes) {}",
                   "tributary/io/writer.cpp": "write_file(path);"}
        self.assertEqual(unfuzzed(sources, '#include "tributary/io/old.h"'),
                         ["tributary/data/image/decode_new.cpp", "tributary/io/new.cpp"])

    def test_every_reader_of_this_repository(self):
        sources = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
                   for path in (ROOT / "tributary").rglob("*.cpp")}
        targets = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "fuzz").rglob("*.cpp"))
        self.assertEqual(unfuzzed(sources, targets), sorted(NOT_FUZZED),
                         "give a new reader a target in fuzz/targets/ and its rows in tests/cli/every_reader_test.cpp")


if __name__ == "__main__":
    unittest.main()
