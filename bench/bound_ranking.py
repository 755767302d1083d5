#!/usr/bin/env python3
"""Says whether the bias of the bound orders the rounds of a run as the true error does.

    bench/bound_ranking.py [--seeds 2] [--rounds 10] [--pictures 600] [--work WORK]

Sources are trained on the drawn digits, and every digit domain in turn is adapted to without labels. Then, with the
target's labels, every pair of neighbouring rounds with different errors is looked at: does what is said to be smaller
go with the smaller error? Said by the bias of Eq. 2 without labels, by the bias with the exact mismatch, by each of the
two divergences, and by the mere number of the round, as if every round were better than the one before.
"""
import argparse
import json
import pathlib
import subprocess

DOMAINS = ["handwriting", "postal", "textured", "signs", "street"]
JUDGES = {
    "bias": lambda round: round["bias"],
    "bias, exact mismatch": lambda round: round["sum_exact"] - round["variance"],
    "mismatch": lambda round: round["mismatch"],
    "exact mismatch": lambda round: round["mismatch_exact"],
    "misalignment": lambda round: round["misalignment_cap" if round["misalignment"] is None else "misalignment"],
    "number of the round": lambda round: -round["round"],
}


def bound_of_run(options, target, seed):
    """The rounds of one adaptation, each with the terms of its bound and its error."""
    data = options.work / "data" / target / "train-images.idx"
    run = options.work / "bound" / f"{target}-seed{seed}"
    sources = [part for source in DOMAINS if source != target
               for part in ("--source", options.work / "sources" / f"{source}-seed{seed}.safetensors")]
    subprocess.run([options.binary, "adapt", "--target", data, "--seed", str(seed), "--run", run, *sources, "--rounds",
                    str(options.rounds), "--inner-epochs", "1", "--no-report", "--threads", "1", "--device", "cpu"],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    report = subprocess.run([options.binary, "report", run, "--labels", data, "--no-pictures", "--embedded-rounds", "0",
                             "--json"], check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(report.stdout)["bound"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="build/tributary")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--pictures", type=int, default=600)
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path("build/bound"))
    options = parser.parse_args()
    subprocess.run([options.binary, "bench", "digits", "--methods", "source-ens", "--seeds", str(options.seeds),
                    "--pictures", str(options.pictures), "--source-epochs", "20", "--threads", "1", "--out", options.work],
                   check=True, stdout=subprocess.DEVNULL)
    right = dict.fromkeys(JUDGES, 0)
    pairs = 0
    for seed in range(options.seeds):
        for target in DOMAINS:
            rounds = bound_of_run(options, target, seed)
            of_run = [pair for pair in zip(rounds, rounds[1:]) if pair[0]["error"] != pair[1]["error"]]
            pairs += len(of_run)
            for name, judge in JUDGES.items():
                right[name] += sum((judge(a) - judge(b)) * (a["error"] - b["error"]) > 0 for a, b in of_run)
            print(f"{target}, seed {seed}: {len(of_run)} pairs, error {rounds[0]['error']:.3f} to "
                  f"{rounds[-1]['error']:.3f}", flush=True)
    print(f"\n| ordered by | pairs of {pairs} | share |\n|---|---|---|")
    for name, count in right.items():
        print(f"| {name} | {count} | {100 * count / pairs:.0f} % |")


if __name__ == "__main__":
    main()
