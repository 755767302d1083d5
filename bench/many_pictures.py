#!/usr/bin/env python3
"""Measures the memory of adapting to many small pictures in tar shards, on the CPU.

    bench/many_pictures.py [--pictures 200000] [--memory 0.25] [--work WORK]

Generates distinct JPEGs of 32x32: a bar pattern per class with random colours, thickness and position, over noise. They
are written to WebDataset shards. Two small sources (lenet) are trained on a few of them for one epoch. Then one round
of adaptation runs with at most --memory GiB of decoded pictures, which is less than the set needs (count x 3,072 bytes)
from 90,000 pictures on. Prints the peak memory of `tributary adapt` in GiB, its seconds and the time it waited for
pictures. Needs python3-numpy and python3-pil.
"""
import argparse
import io
import json
import multiprocessing
import pathlib
import resource
import subprocess
import sys
import tarfile
import tempfile
import time

import numpy
from PIL import Image

CLASSES = 10
SIDE = 32
SHARD_SIZE = 10000
LIMIT_GIB = 3


def picture(number):
    """A JPEG and its class, which is one of the ten pairs out of five bars."""
    draw = numpy.random.default_rng(number)
    label = number % CLASSES
    pairs = [(i, j) for i in range(5) for j in range(i)]
    background, ink = draw.integers(0, 110, 3), draw.integers(146, 256, 3)
    pixels = background + draw.integers(-20, 21, (SIDE, SIDE, 3))
    thick, x, y = draw.integers(2, 5), draw.integers(2, 8), draw.integers(0, 4)
    for bar in pairs[label]:
        top = y + 6 * bar
        pixels[top:top + thick, x:x + 22] = ink + draw.integers(-20, 21, (min(thick, SIDE - top), 22, 3))
    out = io.BytesIO()
    Image.fromarray(pixels.clip(0, 255).astype("uint8")).save(out, "JPEG", quality=90)
    return out.getvalue(), label


def write_shard(task):
    """Writes pictures [begin, end) with their labels to one shard."""
    path, begin, end = task
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as archive:
        for number in range(begin, end):
            content, label = picture(number)
            for ending, data in (("jpg", content), ("cls", str(label).encode())):
                info = tarfile.TarInfo(f"{number:08}.{ending}")
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))


def write_shards(folder, begin, end):
    """Writes a folder of shards, on all cores."""
    folder.mkdir(parents=True)
    tasks = [(folder / f"{folder.name}-{i:06}.tar", first, min(first + SHARD_SIZE, end))
             for i, first in enumerate(range(begin, end, SHARD_SIZE))]
    with multiprocessing.Pool() as pool:
        pool.map(write_shard, tasks, chunksize=1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="build/tributary")
    parser.add_argument("--pictures", type=int, default=200000)
    parser.add_argument("--memory", type=float, default=0.25)
    parser.add_argument("--work", type=pathlib.Path, help="folder for pictures and run; a temporary one if not given")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        work = options.work or pathlib.Path(temporary)
        begun = time.monotonic()
        write_shards(work / "target", 0, options.pictures)
        sources = []
        for seed in (0, 1):
            # Indices outside of the target set, so that sources have other pictures.
            begin = options.pictures + 2000 * seed
            write_shards(work / f"source-{seed}", begin, begin + 2000)
            sources += ["--source", str(work / f"{seed}.safetensors")]
            subprocess.run([options.binary, "train", "--data", work / f"source-{seed}", "--architecture", "lenet",
                            "--epochs", "1", "--seed", str(seed), "--device", "cpu", "--out", sources[-1]],
                           check=True, capture_output=True)
        print(f"{options.pictures:,} pictures and two sources made in {time.monotonic() - begun:.0f} s", flush=True)
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        done = subprocess.run([options.binary, "adapt", *sources, "--target", work / "target", "--rounds", "1",
                               "--inner-epochs", "1", "--weight-steps", "50", "--batch", "256", "--device", "cpu",
                               "--memory", str(options.memory), "--run", work / "run", "--json"],
                              check=True, stdout=subprocess.PIPE, text=True)
        # Maximum over all children so far; it is that of `adapt` if it exceeds `before`.
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        summary = json.loads(done.stdout)
        waiting = summary["waiting_seconds"]
        print(f"{summary['pictures']:,} pictures, {summary['pictures'] * 3 * SIDE**2 / 2**30:.2f} GiB decoded, at most "
              f"{options.memory:g} GiB in memory: {peak / 2**20:.2f} GiB peak (before it {before / 2**20:.2f}), "
              f"{summary['seconds']:.0f} s, of which {waiting:.1f} s waiting for pictures")
        if peak / 2**20 > LIMIT_GIB:
            sys.exit(f"many_pictures.py: peak memory exceeds the limit of {LIMIT_GIB} GiB")


if __name__ == "__main__":
    main()
