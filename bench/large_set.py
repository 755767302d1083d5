#!/usr/bin/env python3
"""Measures the memory of adapting to more pictures than fit in memory, on the CPU.

    bench/large_set.py --pictures FOLDER [--count 100000] [--memory 1] [--work WORK]

FOLDER holds class folders of JPEGs; a list repeats them until there are --count. Two small sources (lenet on a centre
crop of pictures of 256x256) are trained on them for one epoch. Then one round of adaptation runs with at most --memory
GiB of decoded pictures; the whole set would take count x 196,608 bytes. Prints the peak memory of `tributary adapt` in
GiB and its seconds.
"""
import argparse
import json
import pathlib
import resource
import subprocess
import tempfile


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="build/tributary")
    parser.add_argument("--pictures", type=pathlib.Path, required=True)
    parser.add_argument("--count", type=int, default=100000)
    parser.add_argument("--memory", type=float, default=1)
    parser.add_argument("--work", type=pathlib.Path, help="folder for the run; a temporary one if not given")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        work = options.work or pathlib.Path(temporary)
        work.mkdir(parents=True, exist_ok=True)
        files = sorted(options.pictures.resolve().rglob("*.jpg"))
        names = [str(files[i % len(files)]) for i in range(options.count)]
        (work / "list.txt").write_text("\n".join(names) + "\n")
        sources = []
        for seed in (0, 1):
            sources += ["--source", str(work / f"{seed}.safetensors")]
            subprocess.run([options.binary, "train", "--data", options.pictures, "--architecture", "lenet", "--size", "32",
                            "--resize", "256", "--epochs", "1", "--seed", str(seed), "--out", sources[-1]],
                           check=True, capture_output=True)
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        done = subprocess.run([options.binary, "adapt", *sources, "--target", work / "list.txt", "--rounds", "1",
                               "--inner-epochs", "1", "--batch", "256", "--memory", str(options.memory), "--device", "cpu",
                               "--run", work / "run", "--json"], check=True, stdout=subprocess.PIPE, text=True)
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        summary = json.loads(done.stdout)
        print(f"{summary['pictures']:,} pictures, {summary['pictures'] * 196608 / 2**30:.1f} GiB decoded: "
              f"{peak / 2**20:.2f} GiB peak (training the sources {before / 2**20:.2f}), {summary['seconds']:.0f} s")


if __name__ == "__main__":
    main()
