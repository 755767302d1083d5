#!/usr/bin/env python3
"""Compares whole adaptations under limits of GPU memory with one that has none.

    bench/memory_results.py --program build/tributary-main [--limits 0,12,8] [--flags "--method shot"]

Two ResNet-50 sources (or --architecture) are trained on drawn digits, enlarged to 224 pixels, and adapted to a third
domain: without a limit, and under every limit, where 0 repeats the run without one and so shows what bfloat16 and the
order of summation alone change. Prints the memory plan, the accuracy, the share of pictures with the same class as in
the first run, the mean difference of confidences and the peak. Exits with 1 if a run under a limit agrees with the
first one on fewer pictures than the repetition does, by more than two points, or takes more memory than its limit.
"""
import argparse
import csv
import json
import pathlib
import shlex
import subprocess
import sys

SOURCES, TARGET = ("handwriting", "street"), "signs"
TOLERATED = 2.0  # percent of the pictures
GIBIBYTE = 2**30


def call(options, *arguments):
    command = [options.program, *map(str, arguments)]
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode:
        raise SystemExit(f"{shlex.join(command)}: {done.stderr.strip().splitlines()[-1]}")
    return done


def predictions(run):
    with open(run / "predictions.csv", newline="", encoding="utf-8") as file:
        return [(row["class"], float(row["confidence"])) for row in csv.DictReader(file)]


def sources_of(options, data):
    paths = []
    for name in SOURCES:
        path = options.work / f"{name}-{options.architecture}.safetensors"
        if not path.exists():
            call(options, "train", "--data", data / name / "train-images.idx", "--architecture", options.architecture,
                 *options.size_flags, "--epochs", 2, "--device", options.device, "--out", path)
        paths += ["--source", path]
    return paths


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/tributary-main")
    parser.add_argument("--architecture", default="resnet50")
    parser.add_argument("--size", type=int, default=224, help="0 takes that of the network")
    parser.add_argument("--pictures", type=int, default=600)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limits", default="0,12,8", help="GiB, separated by commas; 0 has no limit")
    parser.add_argument("--flags", default="", help="further flags of adapt")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path("build/memory"))
    options = parser.parse_args()
    options.size_flags = ["--size", options.size, "--resize", options.size] if options.size else []
    data = options.work / "digits"
    if not data.exists():
        call(options, "data", "make", "digits", data, "--pictures", options.pictures)
    sources = sources_of(options, data)
    pictures = data / TARGET / "train-images.idx"
    print("| GiB | memory | accuracy | same class | difference of confidences | peak, GiB |\n|---|---|---:|---:|---:|---:|")
    first, noise, failed = None, None, False
    for number, limit in enumerate([0.0] + [float(part) for part in options.limits.split(",")]):
        run = options.work / f"run-{number}"
        limited = ["--gpu-memory", limit] if limit else []
        done = call(options, "adapt", *sources, "--target", pictures, "--test", pictures, "--run", run, "--rounds",
                    options.rounds, "--device", options.device, "--no-report", "--restart", "--json", *limited,
                    *shlex.split(options.flags))
        summary = json.loads(done.stdout)
        plan = [line.split("GPU memory: ")[1] for line in done.stderr.splitlines() if "GPU memory: " in line]
        made = predictions(run)
        first = first or made
        same = 100 * sum(a[0] == b[0] for a, b in zip(made, first)) / len(first)
        apart = sum(abs(a[1] - b[1]) for a, b in zip(made, first)) / len(first)
        peak = summary.get("gpu_peak_bytes", 0) / GIBIBYTE
        print(f"| {limit or 'all'} | {'; '.join(plan)} | {summary['accuracy']['last']:.1f} | {same:.1f} % | {apart:.4f} "
              f"| {peak:.1f} |", flush=True)
        if number and not limit:
            noise = min(same, noise or 100)
        failed |= bool(limit) and (same < (noise or 100) - TOLERATED or peak > limit)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
