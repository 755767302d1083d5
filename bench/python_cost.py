"""Times one adaptation of 10,000 digits by the program and by the Python module, in turn.

    PYTHONPATH=build/python TRIBUTARY_BINARY=build/tributary /usr/bin/python3 bench/python_cost.py [REPETITIONS [PICTURES]]

    PYTHONPATH=build/python TRIBUTARY_BINARY=build/tributary /usr/bin/python3 bench/python_cost.py --memory [PICTURES]

The first prints wall and CPU seconds of every pair and their medians. Both use one thread; the module adapts to the pictures as an
array, without its import. Wall time says little on a busy machine. `start` is what the program takes to show a model.
Fails if the two write different models. The second prints by how much peak memory rises above an array of 200,000
pictures that a process holds already, when they are predicted and adapted to, and the peak of the program for the same
pictures in a file.
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


HELD = """
import resource, sys, numpy, tributary
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
sources, rounds, target = sys.argv[2:], [], sys.argv[1]
def note(event):
    rounds.append(peak())
options = dict(method="source-ens", trust=True, size=32, resize=32, threads=1, device="cpu", last_layer="2")
model = tributary.Model(sources[0], **{key: value for key, value in options.items() if key != "method"})
pixels = numpy.fromfile(target, numpy.uint8)[20:].reshape(-1, 32, 32, 3)
tributary.adapt(sources, pixels[:2000], progress=False, **options)
model.predict(pixels[:2000])
held = peak()
model.predict(pixels)
print(f"array {pixels.nbytes / 2**20:.0f} MiB; peak of the process {held:.0f} MiB; predict raises it by {peak() - held:.0f}", end="")
tributary.adapt(sources, pixels, progress=note, **options)
print(f", adapt by {rounds[0] - held:.0f} MiB until all pictures were read once, by {peak() - held:.0f} MiB in all")
"""


def memory(pictures=200000):
    import torch
    with tempfile.TemporaryDirectory() as folder:
        sources = []
        for name in "ab":
            net = torch.nn.Sequential(torch.nn.AvgPool2d(16), torch.nn.Flatten(), torch.nn.Linear(12, 10))
            sources.append(f"{folder}/{name}.pt")
            torch.jit.save(torch.jit.script(net.eval()), sources[-1])
        target = Path(folder) / "train-images.idx"
        with open(target, "wb") as file:
            file.write(bytes([0, 0, 8, 4]) + b"".join(n.to_bytes(4, "big") for n in (pictures, 32, 32, 3)))
            file.write(numpy.random.default_rng(1).integers(0, 256, pictures * 3072, numpy.uint8))
        subprocess.run([sys.executable, "-W", "ignore", "-c", HELD, target, *sources], check=True)
        done = subprocess.Popen([PROGRAM, "adapt", "--source", *sources, "--target", target, "--run", f"{folder}/run",
                                 "--method", "source-ens", "--trust", "--last-layer", "2", "--size", "32", "--resize", "32",
                                 "--no-report", "--device", "cpu", "--threads", "1"], stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL)
        _, code, used = os.wait4(done.pid, 0)
        if code != 0:
            sys.exit("python_cost.py: the program failed")
        print(f"peak of the program, which reads the same pictures from a file: {used.ru_maxrss / 1024:.0f} MiB")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--memory"]:
        memory(*map(int, sys.argv[2:]))
    else:
        main(*map(int, sys.argv[1:]))
