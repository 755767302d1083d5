#!/usr/bin/env python3
"""Measures training speed against GPU memory: ResNet-50 sources, batches of 32, bfloat16.

    bench/memory_speed.py --program build/tributary-main [--sources 2] [--limits 24,12,8] [--steps 10]

Every row is a process of its own under `--gpu-memory`; the first has no limit. The speed is that of the faster of
eager and captured steps, in pictures per second, and its share of the first row. Peak is what the process reserved,
and 1 GiB for the CUDA context. Exits with 1 if a peak exceeds its limit.
"""
import argparse
import json
import subprocess
import sys

CONTEXT = 1.0  # GiB


def measured(options, limit):
    command = [options.program, "bench", "speed", "--sources", str(options.sources), "--steps", str(options.steps),
               "--pictures", str(options.pictures), "--threads", str(options.threads), "--json"]
    command += ["--gpu-memory", str(limit)] if limit else []
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode:
        raise SystemExit(done.stderr.strip().splitlines()[-1])
    result = json.loads(done.stdout)
    rates = [result[entry]["pictures_per_second"] for entry in ("train_eager", "train_recorded") if entry in result]
    memory = result["recompute"] if not result["micro_batch"] else f"micro-batches of {result['micro_batch']}"
    return max(rates), memory, result["memory"]["gpu_gib"] + CONTEXT, result["evaluate"]["share"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/tributary-main")
    parser.add_argument("--sources", type=int, default=2)
    parser.add_argument("--limits", default="24,12,8", help="GiB, separated by commas")
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--pictures", type=int, default=256)
    parser.add_argument("--threads", type=int, default=16)
    options = parser.parse_args()
    free = None
    exceeded = False
    print("| GiB | recomputed | pictures/s | share | peak, GiB | evaluation, share of the roofline |")
    print("|---:|---|---:|---:|---:|---:|")
    for limit in [0] + [float(part) for part in options.limits.split(",")]:
        rate, memory, peak, evaluation = measured(options, limit)
        free = free or rate
        print(f"| {limit or 'all'} | {memory} | {rate:,.0f} | {rate / free:.2f} | {peak:.1f} | {evaluation:.2f} |",
              flush=True)
        exceeded |= bool(limit) and peak > limit
    return 1 if exceeded else 0


if __name__ == "__main__":
    sys.exit(main())
