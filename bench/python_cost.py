"""Times one adaptation of 10,000 digits by the program and by the Python module, in turn.

    PYTHONPATH=build/python TRIBUTARY_BINARY=build/tributary /usr/bin/python3 bench/python_cost.py [REPETITIONS]

Prints wall and CPU seconds; the module adapts to the pictures as an array, without its import.
"""
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import tributary  # before numpy, whose OpenMP threads would spin (docs/python.md)

import numpy

PROGRAM = os.environ["TRIBUTARY_BINARY"]


def cpu(who):
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def timed(call, who):
    start, before = time.time(), cpu(who)
    call()
    return time.time() - start, cpu(who) - before


def main(repetitions):
    with tempfile.TemporaryDirectory() as folder:
        digits = Path(folder) / "digits"
        quiet = dict(check=True, capture_output=True)
        subprocess.run([PROGRAM, "data", "make", "digits", digits, "--pictures", "10000"], **quiet)
        sources = []
        for domain in ("handwriting", "street"):
            sources.append(str(Path(folder) / f"{domain}.safetensors"))
            subprocess.run([PROGRAM, "train", "--data", digits / domain / "test-images.idx", "--architecture", "lenet",
                            "--epochs", "1", "--out", sources[-1]], **quiet)
        target = digits / "signs/train-images.idx"
        pixels = numpy.frombuffer(target.read_bytes(), numpy.uint8)[20:].reshape(-1, 32, 32, 3)
        for number in range(repetitions):
            program = timed(lambda: subprocess.run(
                [PROGRAM, "adapt", "--source", *sources, "--target", target, "--run", f"{folder}/p{number}", "--rounds",
                 "1", "--inner-epochs", "1", "--no-report", "--device", "cpu"], **quiet), resource.RUSAGE_CHILDREN)
            module = timed(lambda: tributary.adapt(sources, pixels, run=f"{folder}/m{number}", rounds=1, inner_epochs=1,
                                                   report=False, device="cpu", progress=False), resource.RUSAGE_SELF)
            print(f"program {program[0]:6.2f} s wall {program[1]:6.2f} s CPU   "
                  f"module {module[0]:6.2f} s wall {module[1]:6.2f} s CPU", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
