"""Times one adaptation of 10,000 digits by the program and by the Python module, in turn.

    PYTHONPATH=build/python TRIBUTARY_BINARY=build/tributary /usr/bin/python3 bench/python_cost.py [REPETITIONS [PICTURES]]

Prints wall and CPU seconds of every pair and their medians. Both use one thread; the module adapts to the pictures as an
array, without its import. Wall time says little on a busy machine. `start` is what the program takes to show a model.
Fails if the two write different models.
"""
import os
import resource
import statistics
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


def median(pairs):
    return [statistics.median(values) for values in zip(*pairs)]


def main(repetitions=3, pictures=10000):
    with tempfile.TemporaryDirectory() as folder:
        digits = Path(folder) / "digits"
        quiet = dict(check=True, capture_output=True)
        subprocess.run([PROGRAM, "data", "make", "digits", digits, "--pictures", str(pictures)], **quiet)
        sources = []
        for domain in ("handwriting", "street"):
            sources.append(str(Path(folder) / f"{domain}.safetensors"))
            subprocess.run([PROGRAM, "train", "--data", digits / domain / "test-images.idx", "--architecture", "lenet",
                            "--epochs", "1", "--threads", "1", "--out", sources[-1]], **quiet)
        target = digits / "signs/train-images.idx"
        pixels = numpy.frombuffer(target.read_bytes(), numpy.uint8)[20:].reshape(-1, 32, 32, 3)

        def program(number):
            return timed(lambda: subprocess.run(
                [PROGRAM, "adapt", "--source", *sources, "--target", target, "--run", f"{folder}/p{number}", "--rounds", "1",
                 "--inner-epochs", "1", "--no-report", "--device", "cpu", "--threads", "1"], **quiet),
                resource.RUSAGE_CHILDREN)

        def module(number):
            return timed(lambda: tributary.adapt(sources, pixels, run=f"{folder}/m{number}", rounds=1, inner_epochs=1,
                                                 report=False, device="cpu", threads=1, progress=False),
                         resource.RUSAGE_SELF)

        starts, programs, modules = [], [], []
        for number in range(repetitions):
            starts.append(timed(lambda: subprocess.run([PROGRAM, "inspect", sources[0]], **quiet),
                                resource.RUSAGE_CHILDREN))
            for call, times in ((program, programs), (module, modules))[::1 if number % 2 == 0 else -1]:
                times.append(call(number))
            print(f"program {programs[-1][0]:6.2f} s wall {programs[-1][1]:6.2f} s CPU   "
                  f"module {modules[-1][0]:6.2f} s wall {modules[-1][1]:6.2f} s CPU", flush=True)
            if (Path(folder) / f"p{number}/model.safetensors").read_bytes() != \
                    (Path(folder) / f"m{number}/model.safetensors").read_bytes():
                sys.exit("python_cost.py: the program and the module wrote different models")
        start, program, module = median(starts), median(programs), median(modules)
        print(f"medians: program {program[0]:.2f} s wall {program[1]:.2f} s CPU (start {start[1]:.2f} s CPU), module "
              f"{module[0]:.2f} s wall {module[1]:.2f} s CPU: {100 * (module[1] / program[1] - 1):+.1f} % CPU, "
              f"{100 * (module[1] / (program[1] - start[1]) - 1):+.1f} % without the start; the same bytes")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
