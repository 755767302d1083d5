"""The notebook of examples/python runs, shows its plots, and its adaptation gains accuracy."""
import re
import unittest
import warnings
from pathlib import Path

import nbformat
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).resolve().parents[2] / "examples/python/demo.ipynb"


class Notebook(unittest.TestCase):
    def test_runs(self):
        warnings.simplefilter("ignore")
        notebook = nbformat.read(NOTEBOOK, as_version=4)
        self.assertTrue(all(not cell.get("outputs") for cell in notebook.cells), "clear the outputs before committing")
        NotebookClient(notebook, timeout=300).execute()
        outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
        shown = [output["data"] for output in outputs if "data" in output]
        self.assertEqual(sum("image/png" in data for data in shown), 3)
        html = "".join(data.get("text/html", "") for data in shown)
        self.assertIn("<progress", html)
        self.assertIn("<th>weight</th>", html)
        text = "".join(output.get("text", "") for output in outputs)
        self.assertGreater(float(re.search(r"accuracy gained: (\S+) points", text).group(1)), 5)


if __name__ == "__main__":
    unittest.main()
