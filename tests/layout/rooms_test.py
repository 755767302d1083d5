"""Tests rooms.py on small trees with one violation each, and on this repository."""
import tempfile
import unittest
from pathlib import Path

import rooms

TABLE = """# Architecture

| folder | another table |
|---|---|
| `tributary/elsewhere/` | not the table of rooms |

| room | what lives there | may include |
|---|---|---|
| `base` | errors, text | nothing |
| `data` | pictures | base |
| `model` | networks | base, `data` |
| `cli` | commands | all |
"""
TREE = {
    "docs/architecture.md": TABLE,
    "CMakeLists.txt": "set(PLAIN_ROOMS base data data/image)\nset(TENSOR_ROOMS\n    model)\n",
    "tributary/base/text.h": "#include <string>\n",
    "tributary/data/image/png.cpp": '#include "tributary/base/text.h"\n#include "tributary/data/load.h"\n',
    "tributary/data/load.h": "",
    "tributary/model/network.cpp": '#include "tributary/data/load.h"\n  #  include "tributary/base/text.h"\n',
    "cli/main.cpp": '#include "tributary/model/network.h"\n',
    "tests/data/load_test.cpp": "",
    "tests/support/tar.h": "",
}


class Rooms(unittest.TestCase):
    def problems(self, changes):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in {**TREE, **changes}.items():
                if text is None:
                    continue
                path = Path(folder) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            (Path(folder) / "tributary/empty").mkdir()  # left by git, holds nothing
            return rooms.problems_of(Path(folder))

    def test_a_tree_like_its_table_passes(self):
        self.assertEqual(self.problems({}), [])

    def test_an_include_that_the_table_does_not_allow(self):
        self.assertEqual(self.problems({"tributary/data/load.h": '#pragma once\n#include "tributary/model/network.h"\n'}),
                         ["tributary/data/load.h:2: data may not include model"])

    def test_an_include_from_a_subfolder(self):
        self.assertEqual(self.problems({"tributary/data/image/png.cpp": '#include "tributary/model/network.h"\n'}),
                         ["tributary/data/image/png.cpp:1: data may not include model"])

    def test_an_include_of_an_unknown_room(self):
        self.assertEqual(self.problems({"tributary/model/network.cpp": '#include "tributary/train/sgd.h"\n'}),
                         ["tributary/model/network.cpp:1: model may not include train"])

    def test_an_include_by_cli(self):
        table = TABLE.replace("| all |", "| base, data |")
        self.assertEqual(self.problems({"docs/architecture.md": table}), ["cli/main.cpp:1: cli may not include model"])

    def test_a_folder_that_the_table_does_not_name(self):
        self.assertEqual(self.problems({"tributary/extra/a.h": ""}), ["tributary/extra/ is missing in the table of rooms"])

    def test_a_room_without_a_folder(self):
        found = self.problems({"docs/architecture.md": TABLE + "| `train` | steps | base |\n"})
        self.assertIn("the table names train, but there is no tributary/train/", found)
        self.assertIn("CMakeLists.txt does not compile the room train", found)

    def test_a_room_that_is_not_compiled(self):
        self.assertEqual(self.problems({"CMakeLists.txt": "set(PLAIN_ROOMS base data)\nset(TENSOR_ROOMS)\n"}),
                         ["CMakeLists.txt sets no PLAIN_ROOMS or no TENSOR_ROOMS"])
        self.assertEqual(self.problems({"CMakeLists.txt": "set(PLAIN_ROOMS base data)\nset(TENSOR_ROOMS comm)\n"}),
                         ["CMakeLists.txt compiles the room comm, which the table does not name",
                          "CMakeLists.txt does not compile the room model"])

    def test_a_folder_of_tests_without_its_room(self):
        self.assertEqual(self.problems({"tests/scale/a_test.cpp": ""}), ["tests/scale/ mirrors no room"])

    def test_rooms_that_include_each_other(self):
        table = TABLE.replace("| `base` | errors, text | nothing |", "| `base` | errors, text | model |")
        self.assertEqual(self.problems({"docs/architecture.md": table}),
                         ["the table lets rooms include each other in a circle: base -> model -> base"])

    def test_a_table_with_a_mistake(self):
        self.assertEqual(self.problems({"docs/architecture.md": TABLE.replace("base, `data`", "base, dta, data")}),
                         ["the table lets model include dta, which it does not name as a room"])
        self.assertEqual(self.problems({"docs/architecture.md": TABLE + "| `data` | again | base |\n"}),
                         ["the table of rooms names data twice"])
        self.assertEqual(self.problems({"docs/architecture.md": "# Nothing\n"}),
                         ["there is no table with the columns room | what lives there | may include"])

    def test_this_repository(self):
        self.assertEqual(rooms.problems_of(Path(__file__).resolve().parents[2]), [])


if __name__ == "__main__":
    unittest.main()
