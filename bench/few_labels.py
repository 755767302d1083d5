"""Compares labels of suggested pictures with labels of random ones, and checks the interval of audit samples.

    TRIBUTARY_BINARY=build/tributary bench/few_labels.py [--targets street,signs] [--seeds 3] [--count 20] [--pictures 1000]

Four lenet sources are adapted to each domain of the drawn digits without labels, as published with three rounds. Then
the pictures that `tributary suggest` names get their labels, and in another run as many random ones; both runs adapt
the sources again with these labels. Accuracy is on held-out pictures. Then the audit samples of many seeds are
labelled: their 95 % intervals should hold the accuracy of at least 92 % of them.
"""
import argparse
import csv
import json
import os
import random
import statistics
import struct
import subprocess
import tempfile
from pathlib import Path

PROGRAM = os.environ.get("TRIBUTARY_BINARY", "build/tributary")
DOMAINS = ["handwriting", "postal", "textured", "signs", "street"]
METHOD = ["--variant", "recommended", "--rounds", "3", "--threads", "1", "--no-report", "--no-history"]


def call(*arguments):
    return subprocess.run([PROGRAM, *map(str, arguments)], check=True, capture_output=True, text=True).stdout


def labels_of(path):
    data = Path(path).read_bytes()
    count, = struct.unpack(">I", data[4:8])
    return list(data[8:8 + count])


def accuracy(run, test):
    return json.loads(call("evaluate", run, "--data", test, "--threads", 1, "--json"))["accuracy"]


def fill(path, truth, chosen=None):
    """Writes the true label into every row, or into rows of `chosen` pictures instead."""
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    if chosen is not None:
        rows = [{"picture": name, "drawn": "suggested"} for name in chosen]
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, ["picture", "label", "drawn"], lineterminator="\n")
        writer.writeheader()
        for row in rows:
            writer.writerow({"picture": row["picture"], "label": truth[row["picture"]], "drawn": row["drawn"]})


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--targets", default=",".join(DOMAINS))
    options.add_argument("--seeds", type=int, default=3)
    options.add_argument("--count", type=int, default=20)
    options.add_argument("--pictures", type=int, default=1000)
    options.add_argument("--source-epochs", type=int, default=30)
    options.add_argument("--audits", type=int, default=200)
    options = options.parse_args()
    gains, held, audits = [], 0, 0
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        data = folder / "data"
        call("data", "make", "digits", data, "--pictures", options.pictures, "--test-pictures", options.pictures)
        for seed in range(options.seeds):
            sources = {}
            for domain in DOMAINS:
                sources[domain] = folder / f"{domain}-{seed}.safetensors"
                call("train", "--data", data / domain / "train-images.idx", "--architecture", "lenet", "--epochs",
                     options.source_epochs, "--seed", seed, "--threads", 1, "--out", sources[domain])
            for domain in options.targets.split(","):
                target, test = (data / domain / f"{part}-images.idx" for part in ("train", "test"))
                truth = labels_of(data / domain / "train-labels.idx")
                truth = {f"{target}[{i}]": label for i, label in enumerate(truth)}
                adapt = ["adapt", "--source", *[sources[other] for other in DOMAINS if other != domain], "--target", target,
                         "--seed", seed, *METHOD]
                runs = {name: folder / f"{domain}-{seed}-{name}" for name in ("without", "suggested", "random")}
                call(*adapt, "--run", runs["without"])
                few = folder / "few.csv"
                call("suggest", runs["without"], "--count", options.count, "--seed", seed, "--threads", 1, "--out", few)
                fill(few, truth)
                call(*adapt, "--labels", few, "--run", runs["suggested"])
                fill(few, truth, random.Random(seed).sample(sorted(truth), options.count))
                call(*adapt, "--labels", few, "--run", runs["random"])
                few.unlink()
                results = {name: accuracy(run, test) for name, run in runs.items()}
                gains.append(results["suggested"] - results["random"])
                print(f"{domain:12} seed {seed}  without {results['without']:5.1f}  random {results['random']:5.1f}  "
                      f"suggested {results['suggested']:5.1f}  {gains[-1]:+5.1f}", flush=True)
                whole = accuracy(runs["without"], target)
                share = options.audits * (len(gains)) // (options.seeds * len(options.targets.split(","))) - audits
                for number in range(share):
                    sample = folder / "audit.csv"
                    call("suggest", runs["without"], "--random", "--count", 50, "--seed", number, "--threads", 1, "--out",
                         sample)
                    fill(sample, truth)
                    found = json.loads(call("evaluate", runs["without"], "--audit", sample, "--json"))
                    held += found["low"] <= whole <= found["high"]
                    audits += 1
                    sample.unlink()
    print(f"suggested - random: {statistics.mean(gains):+.2f} points on average, "
          f"higher in {sum(gain > 0 for gain in gains)} of {len(gains)} runs")
    if audits:
        print(f"audit samples of 50: the 95 % interval holds the accuracy in {held} of {audits}")


if __name__ == "__main__":
    main()
