#!/usr/bin/env python3
"""The paper's tables: trains a source on each domain, adapts to each in turn, prints the table.

    bench/paper_tables.py digit-five --data DIGITS --out RUNS [--inner-epochs 1] [--oracle] [--jobs 5]
    bench/paper_tables.py office-31 --data OFFICE --init WEIGHTS --out RUNS [--seeds 2]

DIGITS holds mnist, mnist_m, svhn, syn and usps, each with {train,test}-{images,labels}.idx[.gz]: adaptation sees the
target's training pictures without labels, the figures are accuracies on its test pictures. OFFICE holds amazon, dslr
and webcam with a folder a class: adaptation and figures are about the same pictures. All figures are those after the
last round, means over seeds. What is already in RUNS is not done again.
"""
import argparse
import concurrent.futures
import json
import pathlib
import statistics
import subprocess
import time

# Accuracy of the source ensemble, of the method and of its oracle.
PAPER = {
    "digit-five": {"mnist": (96.7, 99.2, 99.4), "mnist_m": (66.7, 97.4, 98.4), "svhn": (76.8, 90.7, 93.8),
                   "syn": (77.6, 98.4, 99.5), "usps": (93.8, 98.4, 99.0)},
    "office-31": {"amazon": (62.5, 77.6, 85.5), "webcam": (95.8, 98.7, 99.2), "dslr": (98.7, 99.8, 100.0)},
}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("benchmark", choices=PAPER)
    parser.add_argument("--binary", default="build/tributary")
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--architecture", default="dtn")
    parser.add_argument("--init", help="first weights of the sources' backbones")
    parser.add_argument("--source-epochs", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--inner-epochs", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--targets")
    parser.add_argument("--oracle", action="store_true", help="run the selective oracle too")
    parser.add_argument("--jobs", type=int, default=5, help="processes side by side")
    parser.add_argument("--threads", type=int, default=2, help="of each process")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--extra", default="", help="further flags of tributary adapt, separated by blanks")
    return parser.parse_args()


class Bench:
    def __init__(self, options):
        self.options = options
        self.domains = list(PAPER[options.benchmark])
        self.common = ["--threads", str(options.threads), "--device", options.device]

    def pictures(self, domain, part):
        folder = self.options.data / domain
        if self.options.benchmark == "office-31":
            return str(folder)
        for suffix in (".idx", ".idx.gz"):
            if (folder / f"{part}-images{suffix}").exists():
                return str(folder / f"{part}-images{suffix}")
        raise SystemExit(f"{folder} has no {part}-images.idx")

    def call(self, command, *flags):
        done = subprocess.run([self.options.binary, command, *flags, *self.common, "--json"], capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(done.stderr)
        return json.loads(done.stdout)

    def model(self, domain, seed):
        return str(self.options.out / f"source-{domain}-seed{seed}.safetensors")

    def train(self, domain, seed):
        if pathlib.Path(self.model(domain, seed)).exists():
            return
        flags = ["--data", self.pictures(domain, "train"), "--epochs", str(self.options.source_epochs), "--name", domain,
                 "--seed", str(seed), "--out", self.model(domain, seed)]
        if self.options.benchmark == "office-31":
            flags += ["--init", self.options.init, "--batch", "32"]
        else:
            flags += ["--validation", self.pictures(domain, "test"), "--architecture", self.options.architecture]
        self.call("train", *flags)

    def sources(self, target, seed):
        return [self.model(domain, seed) for domain in self.domains if domain != target]

    def plain(self, target, seed):
        return self.call("evaluate", *self.sources(target, seed), "--data", self.pictures(target, "test"))

    def adapt(self, target, seed, oracle):
        o = self.options
        run = str(o.out / f"{target}-seed{seed}-inner{o.inner_epochs}-rounds{o.rounds}{'-oracle' if oracle else ''}")
        flags = ["--benchmark", o.benchmark, "--rounds", str(o.rounds), "--inner-epochs", str(o.inner_epochs),
                 "--seed", str(seed), "--target", self.pictures(target, "train"), "--run", run, *o.extra.split()]
        for source in self.sources(target, seed):
            flags += ["--source", source]
        if oracle:
            flags += ["--oracle-labels", self.pictures(target, "train")]
        seconds = self.call("adapt", *flags)["seconds"]
        return self.call("evaluate", run, "--data", self.pictures(target, "test"))["accuracy"], seconds


def figure(values):
    if len(values) == 1:
        return f"{values[0]:.1f}"
    return f"{statistics.mean(values):.1f} ± {statistics.stdev(values):.1f}"


def main():
    options = arguments()
    options.out.mkdir(parents=True, exist_ok=True)
    bench = Bench(options)
    paper = PAPER[options.benchmark]
    targets = options.targets.split(",") if options.targets else bench.domains
    seeds = range(options.seeds)
    start = time.time()
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(lambda job: bench.train(*job), [(domain, seed) for seed in seeds for domain in bench.domains]))
        trained = time.time()
        plain = {target: [pool.submit(bench.plain, target, seed) for seed in seeds] for target in targets}
        adapted = {target: [pool.submit(bench.adapt, target, seed, False) for seed in seeds] for target in targets}
        oracle = {target: [pool.submit(bench.adapt, target, seed, True) for seed in seeds if options.oracle]
                  for target in targets}
        print("| target | each source alone | source ensemble (paper) | adapted, last round (paper) | "
              "selective oracle (paper) | seconds |")
        print("|---|---|---:|---:|---:|---:|")
        columns = []
        for target in targets:
            ensembles = [job.result() for job in plain[target]]
            results = [job.result() for job in adapted[target]]
            before, after = [e["accuracy"] for e in ensembles], [accuracy for accuracy, _ in results]
            ceiling = [job.result()[0] for job in oracle[target]]
            columns.append([statistics.mean(values) if values else float("nan") for values in (before, after, ceiling)])
            alone = ", ".join(f"{s['name']} {statistics.mean(e['sources'][j]['accuracy'] for e in ensembles):.1f}"
                              for j, s in enumerate(ensembles[0]["sources"]))
            cells = [f"{figure(values) if values else '-'} ({theirs})"
                     for values, theirs in zip((before, after, ceiling), paper[target])]
            seconds = statistics.mean(seconds for _, seconds in results)
            print(f"| {target} | {alone} | {' | '.join(cells)} | {seconds:.0f} |", flush=True)
        means = [statistics.mean(column) for column in zip(*columns)]
        theirs = [statistics.mean(paper[target][i] for target in targets) for i in range(3)]
        print("| mean | | " + " | ".join(f"{mean:.2f} ({their:.1f})" for mean, their in zip(means, theirs)) + " | |")
    print(f"\nsources {trained - start:.0f} s, all {time.time() - start:.0f} s; {options.rounds} rounds, "
          f"{options.inner_epochs} inner epochs, {options.source_epochs} source epochs, {options.seeds} seeds, "
          f"{options.jobs} processes side by side")


if __name__ == "__main__":
    main()
