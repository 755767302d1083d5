#!/usr/bin/env python3
"""Runs adaptations that are made to fail and shows whether the label-free rule keeps a round that is no worse than the
start.

    bench/failing_runs.py [--targets textured,street] [--seeds 1] [--pictures 1000] [--rounds 10] [--work WORK]

Sources are trained on the drawn digits. Every run breaks one thing: the losses, the rates, a source or the target set.
Accuracy is that on the target pictures: of the unadapted mixture, of the kept round, the last and the best one. A kept
round counts as no worse if it loses at most three pictures, or 0.5 %.
"""
import argparse
import json
import pathlib
import subprocess

DOMAINS = ["handwriting", "postal", "textured", "signs", "street"]
COUNT_BYTES = slice(4, 8)  # of the header of an IDX file
TOLERATED = 0.5  # percent

# Name: flags of `adapt`. SOURCES and TARGETS below break inputs instead.
FLAGS = {
    "prior of one class": ["--class-prior", "{prior}"],
    "no information loss": ["--ablations", "information-loss", "weights"],
    "information loss only": ["--lambda-ce", "0", "--lambda-im", "10"],
    "ten times the rate": ["--rate-backbone", "0.1", "--rate-bottleneck", "0.1", "--schedule", "constant"],
    "thirty times the rate": ["--rate-backbone", "0.3", "--rate-bottleneck", "0.3", "--schedule", "constant"],
    "alignment only": ["--lambda-adv", "100", "--lambda-ce", "0"],
}
SOURCES = {"one random source": 1, "two random sources": 2}


def of_three_classes(labels):
    return [i for i, label in enumerate(labels) if label < 3]


def mostly_one_class(labels):
    return [i for i, label in enumerate(labels) if label == 3 or i % 27 == 0]


TARGETS = {"target of 3 classes": of_three_classes, "target of mostly one class": mostly_one_class}


def call(options, *arguments):
    done = subprocess.run([options.binary, *map(str, arguments), "--threads", "1", "--device", "cpu"], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode:
        raise SystemExit(done.stderr.strip().splitlines()[-1])
    return done.stdout


def subset_of(images, rows_of, name):
    """Writes the pictures that `rows_of` chooses by their labels; returns the path."""
    labels = images.with_name(images.name.replace("images", "labels"))
    pixels, values = images.read_bytes(), labels.read_bytes()
    header, count = 16 + 4, int.from_bytes(values[COUNT_BYTES], "big")
    size = (len(pixels) - header) // count
    rows = rows_of(values[8:])
    number = len(rows).to_bytes(4, "big")
    path = images.parent / f"{name}-images.idx"
    path.write_bytes(pixels[:4] + number + pixels[8:header] +
                     b"".join(pixels[header + i * size:header + (i + 1) * size] for i in rows))
    path.with_name(f"{name}-labels.idx").write_bytes(values[:4] + number + bytes(values[8 + i] for i in rows))
    return path


def random_source(options, data, name, seed):
    """A source that has hardly been trained."""
    path = options.work / f"random-{name}-seed{seed}.safetensors"
    if not path.exists():
        call(options, "train", "--data", data, "--architecture", "lenet", "--epochs", 1, "--rate-backbone", 1e-9,
             "--rate-head", 1e-9, "--seed", seed, "--name", name, "--out", path)
    return path


def adapt(options, target, seed, case):
    """Returns the accuracies of a run after each round, and the kept round."""
    data = options.work / "digits/data"
    pictures = data / target / "train-images.idx"
    if case in TARGETS:
        pictures = subset_of(pictures, TARGETS[case], case.replace(" ", "-"))
    prior = options.work / "prior.txt"
    prior.write_text("".join(f"{k} {0.91 if k == 7 else 0.01}\n" for k in range(10)))
    sources = []
    for j, source in enumerate(name for name in DOMAINS if name != target):
        path = options.work / f"digits/sources/{source}-seed{seed}.safetensors"
        if j < SOURCES.get(case, 0):
            path = random_source(options, data / source / "train-images.idx", source, seed)
        sources += ["--source", path]
    run = options.work / "runs" / f"{case.replace(' ', '-')}-{target}-seed{seed}"
    summary = json.loads(call(options, "adapt", "--target", pictures, "--test", pictures, "--seed", seed, "--run", run,
                              *sources, "--rounds", options.rounds, "--no-history", "--no-report", "--keep",
                              "label-free", "--json", *(flag.format(prior=prior) for flag in FLAGS.get(case, []))))
    rounds, kept = summary["accuracy"]["rounds"], summary["accuracy"]["kept"]
    return rounds, kept["accuracy"], kept["round"], summary["pictures"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="build/tributary")
    parser.add_argument("--targets", default="textured", help="domains joined by commas")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--pictures", type=int, default=1000)
    parser.add_argument("--source-epochs", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path("build/failing"))
    options = parser.parse_args()
    call(options, "bench", "digits", "--methods", "source-ens", "--seeds", options.seeds, "--pictures",
         options.pictures, "--source-epochs", options.source_epochs, "--out", options.work / "digits")
    print("| run | target | seed | start | kept | last | best |\n|---|---|---:|---:|---:|---:|---:|")
    held = total = 0
    for case in [*FLAGS, *SOURCES, *TARGETS]:
        for target in options.targets.split(","):
            for seed in range(options.seeds):
                rounds, kept, number, pictures = adapt(options, target, seed, case)
                total += 1
                held += kept >= rounds[0] - max(TOLERATED, 300 / pictures) - 1e-9
                print(f"| {case} | {target} | {seed} | {rounds[0]:.1f} | {kept:.1f} (round {number}) | {rounds[-1]:.1f} "
                      f"| {max(rounds):.1f} |", flush=True)
    print(f"\nThe kept round is no worse than the start in {held} of {total} runs.")


if __name__ == "__main__":
    main()
