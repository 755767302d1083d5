#!/usr/bin/env python3
"""Measures whether the bias of the bound ranks the rounds of a run like the true error.

    bench/bound_ranking.py [--seeds 2] [--rounds 10] [--pictures 600] [--work WORK]

Sources are trained on the generated digits and adapted without labels to each domain in turn. Then, for every pair of
consecutive rounds with different errors, the script checks whether a smaller estimate goes with the smaller error. The
estimates are the bias of Eq. 2 without labels, the bias with the exact mismatch, each of the two divergences, and, as a
baseline, the round number, as if every round were better than the previous one.
"""
import argparse
import json
import pathlib
import subprocess

DOMAINS = ["handwriting", "postal", "textured", "signs", "street"]
ESTIMATES = {
    "bias": lambda round: round["bias"],
    "bias, exact mismatch": lambda round: round["sum_exact"] - round["variance"],
    "mismatch": lambda round: round["mismatch"],
    "exact mismatch": lambda round: round["mismatch_exact"],
    "misalignment": lambda round: round["misalignment_cap" if round["misalignment"] is None else "misalignment"],
    "round number": lambda round: -round["round"],
}


def bound_of_run(options, target, seed):
    """Returns the rounds of one adaptation with the terms of the bound and the error."""
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
    correct = dict.fromkeys(ESTIMATES, 0)
    pairs = 0
    for seed in range(options.seeds):
        for target in DOMAINS:
            rounds = bound_of_run(options, target, seed)
            run_pairs = [pair for pair in zip(rounds, rounds[1:]) if pair[0]["error"] != pair[1]["error"]]
            pairs += len(run_pairs)
            for name, estimate in ESTIMATES.items():
                correct[name] += sum((estimate(a) - estimate(b)) * (a["error"] - b["error"]) > 0 for a, b in run_pairs)
            print(f"{target}, seed {seed}: {len(run_pairs)} pairs, error {rounds[0]['error']:.3f} to "
                  f"{rounds[-1]['error']:.3f}", flush=True)
    print(f"\n| ordered by | pairs of {pairs} | share |\n|---|---|---|")
    for name, count in correct.items():
        print(f"| {name} | {count} | {100 * count / pairs:.0f} % |")


if __name__ == "__main__":
    main()
