#!/usr/bin/env python3
"""Digit-Five: trains a source on each of five domains, adapts to each in turn, prints the table.

    bench/digit_five.py --data DIGITS --out RUNS [--inner-epochs 1] [--oracle] [--jobs 5]

DIGITS holds mnist, mnist_m, svhn, syn and usps, each with {train,test}-{images,labels}.idx[.gz]. Adaptation sees the
target's training pictures without labels; the figures are accuracies on its test pictures after the last round. What is
already in RUNS is not done again.
"""
import argparse
import concurrent.futures
import json
import pathlib
import statistics
import subprocess
import time

DOMAINS = ["mnist", "mnist_m", "svhn", "syn", "usps"]
PAPER = {"mnist": (96.7, 99.2, 99.4), "mnist_m": (66.7, 97.4, 98.4), "svhn": (76.8, 90.7, 93.8),
         "syn": (77.6, 98.4, 99.5), "usps": (93.8, 98.4, 99.0)}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="build/tributary")
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--architecture", default="dtn")
    parser.add_argument("--source-epochs", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--inner-epochs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--targets", default=",".join(DOMAINS))
    parser.add_argument("--oracle", action="store_true", help="run the selective oracle too")
    parser.add_argument("--jobs", type=int, default=5, help="processes side by side")
    parser.add_argument("--threads", type=int, default=2, help="of each process")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--extra", default="", help="further flags of tributary adapt, separated by blanks")
    return parser.parse_args()


class Bench:
    def __init__(self, options):
        self.options = options
        self.common = ["--threads", str(options.threads), "--device", options.device]

    def images(self, domain, part):
        folder = self.options.data / domain
        for suffix in (".idx", ".idx.gz"):
            if (folder / f"{part}-images{suffix}").exists():
                return str(folder / f"{part}-images{suffix}")
        raise SystemExit(f"{folder} has no {part}-images.idx")

    def call(self, command, *flags):
        done = subprocess.run([self.options.binary, command, *flags, *self.common, "--json"], capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(done.stderr)
        return json.loads(done.stdout)

    def model(self, domain):
        return str(self.options.out / f"source-{domain}-seed{self.options.seed}.safetensors")

    def train(self, domain):
        if not pathlib.Path(self.model(domain)).exists():
            self.call("train", "--data", self.images(domain, "train"), "--validation", self.images(domain, "test"),
                      "--architecture", self.options.architecture, "--epochs", str(self.options.source_epochs),
                      "--name", domain, "--seed", str(self.options.seed), "--out", self.model(domain))

    def sources(self, target):
        return [self.model(domain) for domain in DOMAINS if domain != target]

    def plain(self, target):
        return self.call("evaluate", *self.sources(target), "--data", self.images(target, "test"))

    def adapt(self, target, oracle):
        o = self.options
        run = str(o.out / f"{target}-seed{o.seed}-inner{o.inner_epochs}-rounds{o.rounds}{'-oracle' if oracle else ''}")
        flags = ["--benchmark", "digit-five", "--rounds", str(o.rounds), "--inner-epochs", str(o.inner_epochs),
                 "--seed", str(o.seed), "--target", self.images(target, "train"), "--run", run, *o.extra.split()]
        for source in self.sources(target):
            flags += ["--source", source]
        if oracle:
            flags += ["--oracle-labels", self.images(target, "train")]
        seconds = self.call("adapt", *flags)["seconds"]
        return self.call("evaluate", run, "--data", self.images(target, "test"))["accuracy"], seconds


def main():
    options = arguments()
    options.out.mkdir(parents=True, exist_ok=True)
    bench = Bench(options)
    targets = options.targets.split(",")
    start = time.time()
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(bench.train, DOMAINS))
        trained = time.time()
        plain = {target: pool.submit(bench.plain, target) for target in targets}
        adapted = {target: pool.submit(bench.adapt, target, False) for target in targets}
        oracle = {target: pool.submit(bench.adapt, target, True) for target in targets if options.oracle}
        print("| target | each source alone | source ensemble (paper) | adapted, last round (paper) | "
              "selective oracle (paper) | seconds |")
        print("|---|---|---:|---:|---:|---:|")
        columns = []
        for target in targets:
            ensemble = plain[target].result()
            accuracy, seconds = adapted[target].result()
            ceiling = oracle[target].result()[0] if options.oracle else float("nan")
            columns.append((ensemble["accuracy"], accuracy, ceiling))
            alone = ", ".join(f"{s['name']} {s['accuracy']:.1f}" for s in ensemble["sources"])
            paper = PAPER[target]
            print(f"| {target} | {alone} | {ensemble['accuracy']:.1f} ({paper[0]}) | {accuracy:.1f} ({paper[1]}) | "
                  f"{ceiling:.1f} ({paper[2]}) | {seconds:.0f} |", flush=True)
        means = [statistics.mean(column) for column in zip(*columns)]
        paper = [statistics.mean(PAPER[target][i] for target in targets) for i in range(3)]
        print(f"| mean | | {means[0]:.2f} ({paper[0]:.1f}) | {means[1]:.2f} ({paper[1]:.1f}) | "
              f"{means[2]:.2f} ({paper[2]:.1f}) | |")
    print(f"\nsources {trained - start:.0f} s, all {time.time() - start:.0f} s; {options.architecture}, "
          f"{options.rounds} rounds, {options.inner_epochs} inner epochs, {options.source_epochs} source epochs, "
          f"seed {options.seed}, {options.jobs} processes side by side")


if __name__ == "__main__":
    main()
