"""bench/python_cuda.py on the GPU if there is one, else on the CPU."""
import subprocess
import sys
import unittest
from pathlib import Path

import torch

SCRIPT = Path(__file__).resolve().parents[2] / "bench/python_cuda.py"


class Device(unittest.TestCase):
    def test_all_checks_hold(self):
        device = "cuda" if torch.cuda.is_available() else "cpu"
        done = subprocess.run([sys.executable, SCRIPT, "--device", device, "--first", "torch"], capture_output=True,
                              text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertNotIn("assumed to have their classes", done.stderr)  # the list of `classes` is the modules' own
        self.assertGreater(done.stdout.count("\nok "), 12, done.stdout)


if __name__ == "__main__":
    unittest.main()
