#!/usr/bin/env python3
"""Compares the accuracy that runs estimate without labels with the true one.

    bench/estimate_accuracy.py collect RESULTS.jsonl --folder WORK [--domain NAME=LABELLED ...] [--benchmark NAME]
    bench/estimate_accuracy.py gather RESULTS.jsonl FOLDER --benchmark NAME
    bench/estimate_accuracy.py table RESULTS.jsonl [--plot FILE.svg]
    bench/estimate_accuracy.py fit RESULTS.jsonl

`collect` makes every domain in turn the target, trains a source on each of the others, adapts them by several methods,
also in ways that fail, and appends one line per run. Without --domain it draws digits. A run that RESULTS.jsonl has is
not repeated. The labels of the target only measure. `gather` appends the adaptations of a table of `tributary bench`,
whose true accuracy is on test pictures where the benchmark has any. `table` prints errors and coverage per benchmark, verdicts and
calibration errors as Markdown. `fit` prints coefficients for several choices of inputs, the second of which
tributary/estimate/accuracy_estimate.cpp uses, and the errors of runs whose benchmark, or target if there is only one
benchmark, was left out of the fit.
"""
import argparse
import json
import math
import os
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIGITS = ("handwriting", "postal", "signs", "street", "textured")
# Of Evidence in tributary/estimate/accuracy_estimate.h, in the order of its coefficients.
FEATURES = ("sources", "members", "evenness", "confidence", "confident_sources")
USED = FEATURES[:3]  # the others have the coefficient 0
SHORT = ["--rounds", "5", "--inner-epochs", "1"]
METHODS = {
    "selective": ["--rounds", "5"],
    "recommended": ["--variant", "recommended", *SHORT],
    "shot": ["--method", "shot", "--epochs", "5"],
    "decision": ["--method", "decision", "--epochs", "5"],
    "nrc": ["--method", "nrc", "--epochs", "5"],
}
# Ways to fail: options that replace those of the method, the sources to take, the pictures to adapt to.
FAILURES = {
    "": {},
    "weak sources": {"sources": "weak"},
    "large rates": {"options": [*SHORT, "--rate-backbone", "2", "--rate-bottleneck", "2", "--keep", "last"]},
    "no diversity": {"options": ["--variant", "recommended", *SHORT, "--lambda-im", "0", "--lambda-ce", "1"]},
    "two sources": {"count": 2},
}


class Program:
    def __init__(self, path):
        self.path = path

    def run(self, *words):
        environment = dict(os.environ, OMP_NUM_THREADS="1")
        done = subprocess.run([self.path, *map(str, words)], capture_output=True, text=True, env=environment)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip().splitlines()[-1] if done.stderr else f"exit {done.returncode}")
        return done.stdout


def digits(program, folder, seed, pictures):
    """The drawn digits of a seed, as {domain: pictures}; the sources train on one part, the target is the other."""
    made = folder / f"digits-{seed}"
    if not made.exists():
        program.run("data", "make", "digits", made, "--pictures", pictures, "--seed", seed)
    return {name: made / name / "train-images.idx" for name in DIGITS}


def source(program, folder, name, data, seed, kind, options):
    model = folder / f"sources-{seed}" / f"{kind}-{name}.safetensors"
    if not model.exists():
        length = ["--epochs", options.weak_epochs if kind == "weak" else options.source_epochs]
        program.run("train", "--data", data, "--name", name, "--seed", seed, "--out", model, "--threads", "1", *length,
                    *options.train_option)
    return model


def run(program, folder, domains, target, seed, method, failure, options):
    plan = FAILURES[failure]
    names = [name for name in domains if name != target][: plan.get("count")]
    kind = plan.get("sources", "good")
    models = [source(program, folder, name, domains[name], seed, kind, options) for name in names]
    key = f"{target}-{seed}-{method}-{failure or 'sound'}".replace(" ", "_")
    words = ["adapt", "--source", *models, "--target", domains[target], "--test", domains[target], "--seed", seed,
             "--threads", "1", "--no-report", "--no-history", "--json", "--run", folder / "runs" / key,
             *plan.get("options", METHODS[method])]
    if options.full:
        words += ["--estimate", "full"]
    return json.loads(program.run(*words, *options.adapt_option))


def append(results, key, summary):
    accuracy = summary["accuracy"]
    after = accuracy.get("kept", {}).get("accuracy", accuracy["last"])
    verdict = {name: summary["verdict"][name] for name in ("decision", "reasons")}
    line = {"key": key, "before": accuracy["rounds"][0], "after": after, "estimate": summary["estimate"],
            "verdict": verdict, "confidence": summary["confidence"], "pictures": summary["pictures"]}
    with results.open("a") as out:
        out.write(json.dumps(line) + "\n")
    print(f"{' '.join(map(str, key))}: {after:.1f} %", file=sys.stderr)


def keys_of(results):
    lines = results.read_text().splitlines() if results.exists() else []
    return {tuple(json.loads(line)["key"]) for line in lines}


def gather(options):
    results, folder = Path(options.results), Path(options.folder)
    done = keys_of(results)
    made = json.loads((folder / "table.json").read_text())
    for row in made["rows"]:
        for target in row["targets"] if row["method"] != "source-ens" else []:
            for seed in range(made["seeds"]):
                key = (options.benchmark, target, seed, row["method"], "")
                summary = folder / "runs" / f"{row['method']}-{target}-seed{seed}" / "summary.json"
                if key not in done and summary.exists():
                    append(results, key, json.loads(summary.read_text()))


def collect(options):
    program, folder = Program(options.program), Path(options.folder)
    folder.mkdir(parents=True, exist_ok=True)
    results = Path(options.results)
    done = keys_of(results)
    given = dict(pair.split("=", 1) for pair in options.domain)
    plans = [(method, "") for method in options.methods.split(",")]
    plans += [("selective", failure) for failure in options.failures.split(",") if failure]
    for seed in range(options.seed, options.seed + options.seeds):
        domains = given or digits(program, folder, seed, options.pictures)
        for target in options.targets.split(",") if options.targets else domains:
            for method, failure in plans:
                key = (options.benchmark, target, seed, method, failure)
                if key in done:
                    continue
                try:
                    summary = run(program, folder, domains, target, seed, method, failure, options)
                except RuntimeError as error:
                    print(f"{key}: {error}", file=sys.stderr)
                    continue
                append(results, key, summary)


def mean(values):
    values = list(values)
    return sum(values) / len(values) if values else float("nan")


def errors(runs, when):
    """Estimate minus truth, in points."""
    return [run["estimate"][when]["accuracy"] - run[when] for run in runs if run["estimate"][when]]


def covered(runs):
    return [run["estimate"]["after"]["low"] <= run["after"] <= run["estimate"]["after"]["high"]
            for run in runs if run["estimate"]["after"]]


def failed(run):
    return run["after"] < run["before"] - 5


def row(name, runs):
    with_estimate = [run for run in runs if run["estimate"]["after"]]
    if not with_estimate:
        return f"| {name} | {len(runs)} | | | | | | |"
    after = errors(runs, "after")
    return (f"| {name} | {len(runs)} | {len(with_estimate)} | {mean(map(abs, errors(runs, 'before'))):.1f} | "
            f"{mean(map(abs, after)):.1f} | {mean(after):+.1f} | {100 * mean(covered(runs)):.0f} % | "
            f"{statistics.median(run['estimate']['after']['half'] for run in with_estimate):.1f} |")


def share(runs, decisions):
    return (f"{100 * mean(run['verdict']['decision'] in decisions for run in runs):.0f} % of {len(runs)}"
            if runs else "none")


def left_out_error(runs, benchmark):
    """The largest error of the other benchmarks: the term that an interval for this one may use."""
    others = [abs(error) for error in errors([run for run in runs if run["key"][0] != benchmark], "after")]
    return max(others) if others else float("nan")


def table(options):
    runs = [json.loads(line) for line in Path(options.results).read_text().splitlines()]
    sound, bad = [run for run in runs if not failed(run)], [run for run in runs if failed(run)]
    print("| runs | count | estimated | error before | error after | bias | covered | median half |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    for benchmark in sorted({run["key"][0] for run in runs}):
        print(row(benchmark, [run for run in sound if run["key"][0] == benchmark]))
    for how in sorted({run["estimate"]["how"] for run in runs}):
        print(row(f"by {how}", [run for run in sound if run["estimate"]["how"] == how]))
    print(row("all that did not fail", sound))
    print(row("failed (over 5 points below)", bad))
    print("\nLargest error of the other benchmarks, in points: " +
          ", ".join(f"{name} {left_out_error(sound, name):.1f}" for name in sorted({run["key"][0] for run in runs})))
    print("\n| verdict | runs |\n|---|---|")
    worse = [run for run in runs if run["before"] - 5 <= run["after"] < run["before"] - 2]
    gained = [run for run in runs if run["after"] > run["before"]]
    print(f"| \"do not use\" where over 5 points were lost | {share(bad, ['do not use'])} |")
    print(f"| at least \"check\" where 2 to 5 points were lost | {share(worse, ['check', 'do not use'])} |")
    print(f"| \"do not use\" where accuracy rose | {share(gained, ['do not use'])} |")
    calibrated = [run["confidence"] for run in runs if "calibration_error" in run["confidence"]]
    accepted = [c for c in calibrated if "accepted_errors" in c]
    print(f"\nExpected calibration error: {mean(c['calibration_error']['before'] for c in calibrated):.3f} before the "
          f"temperature, {mean(c['calibration_error']['after'] for c in calibrated):.3f} after. Errors among accepted "
          f"pictures at most 1.5 times as many as asked for: "
          f"{100 * mean(c['accepted_errors'] <= 1.5 * c['accept_error'] for c in accepted):.0f} % of {len(accepted)} runs.")
    if options.plot:
        Path(options.plot).write_text(plot(runs))


def logit(share):
    p = min(max(share, 0.02), 0.98)
    return math.log(p / (1 - p))


def examples(runs, features):
    """(group, inputs, truth, classes) of every estimate, before and after adaptation."""
    benchmarks = {run["key"][0] for run in runs}
    rows, seen = [], set()
    for run in runs:
        for when in ("before", "after"):
            evidence = run["estimate"]["evidence"][when]
            if any(evidence[feature] is None for feature in features):
                continue
            inputs = [1.0] + [logit(evidence[feature]) for feature in features]
            group = run["key"][0] if len(benchmarks) > 1 else run["key"][1]
            classes = len(run["estimate"]["classes"]) or 10
            row = (group, tuple(inputs), run[when] / 100, classes, failed(run) and when == "after")
            if row not in seen:  # methods share their state before adaptation
                seen.add(row)
                rows.append(row)
    return rows


def solve(matrix, values):
    """Gaussian elimination with pivoting."""
    rows = [list(line) + [value] for line, value in zip(matrix, values)]
    size = len(rows)
    for i in range(size):
        pivot = max(range(i, size), key=lambda k: abs(rows[k][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for k in range(size):
            if k != i:
                factor = rows[k][i] / rows[i][i]
                rows[k] = [a - factor * b for a, b in zip(rows[k], rows[i])]
    return [rows[i][size] / rows[i][i] for i in range(size)]


def regression(rows, ridge=0.3):
    """Fractional logistic regression of the accuracy above chance (Newton); ridge on all coefficients but the constant."""
    size = len(rows[0][1])
    penalty = [0 if i == 0 else ridge for i in range(size)]
    coefficients = [0.0] * size
    for _ in range(50):
        gradient = [-penalty[i] * coefficients[i] for i in range(size)]
        curvature = [[penalty[i] if i == j else 0.0 for j in range(size)] for i in range(size)]
        for _, inputs, truth, classes, _ in rows:
            share = 1 / (1 + math.exp(-sum(c * x for c, x in zip(coefficients, inputs))))
            wanted = max(0.0, (truth - 1 / classes) / (1 - 1 / classes))
            for i in range(size):
                gradient[i] += inputs[i] * (wanted - share)
                for j in range(size):
                    curvature[i][j] += inputs[i] * inputs[j] * (share * (1 - share) + 1e-6)
        coefficients = [c + step for c, step in zip(coefficients, solve(curvature, gradient))]
    return coefficients


def predicted(coefficients, row):
    odds = sum(c * x for c, x in zip(coefficients, row[1]))
    return 1 / row[3] + (1 - 1 / row[3]) / (1 + math.exp(-odds))


def fit(options):
    runs = [json.loads(line) for line in Path(options.results).read_text().splitlines()]
    for features in (FEATURES[:2], USED, FEATURES[:4], USED + FEATURES[4:]):
        rows = examples(runs, features)
        groups = sorted({row[0] for row in rows})
        if len(groups) < 2:
            print(f"{', '.join(features)}: {len(groups)} group, at least 2 are needed")
            continue
        left_out = []
        for group in groups:
            coefficients = regression([row for row in rows if row[0] != group])
            left_out += [(predicted(coefficients, row) - row[2], row[4]) for row in rows if row[0] == group]
        all_errors = sorted(abs(error) for error, _ in left_out)
        sound = [abs(error) for error, has_failed in left_out if not has_failed]
        print(f"{', '.join(features)}: constant and coefficients "
              f"{', '.join(f'{c:.3f}' for c in regression(rows))}; left out by {len(groups)} groups: mean error "
              f"{100 * mean(all_errors):.1f} points ({100 * mean(sound):.1f} where it did not fail), 90th percentile "
              f"{100 * all_errors[int(0.9 * (len(all_errors) - 1))]:.1f}, of {len(rows)} estimates")


def plot(runs):
    """Estimated against true accuracy after adaptation, with intervals, as SVG."""
    marks = []
    for run in runs:
        estimate = run["estimate"]["after"]
        if not estimate:
            continue
        x, colour = 40 + 4 * run["after"], "#b3261e" if failed(run) else "#1c7288"
        marks.append(f'<path d="M{x:.1f} {440 - 4 * estimate["low"]:.1f} V{440 - 4 * estimate["high"]:.1f}" '
                     f'stroke="{colour}" stroke-opacity="0.35"/><circle cx="{x:.1f}" '
                     f'cy="{440 - 4 * estimate["accuracy"]:.1f}" r="3" fill="{colour}"/>')
    return ('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 460 480" font-family="sans-serif" font-size="12">'
            '<path d="M40 40 V440 H440 M40 440 L440 40" fill="none" stroke="#777"/>'
            '<text x="240" y="470" text-anchor="middle">true accuracy, 0 to 100 %</text>'
            '<text transform="translate(20 240) rotate(-90)" text-anchor="middle">estimated, 90 % interval</text>'
            + "".join(marks) + "</svg>\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    runs = commands.add_parser("collect")
    runs.add_argument("results")
    runs.add_argument("--folder", required=True, help="for data, sources and runs")
    runs.add_argument("--program", default=str(ROOT / "build/tributary"))
    runs.add_argument("--benchmark", default="drawn digits")
    runs.add_argument("--domain", action="append", default=[], metavar="NAME=LABELLED")
    runs.add_argument("--targets", default="")
    runs.add_argument("--methods", default=",".join(METHODS))
    runs.add_argument("--failures", default=",".join(FAILURES))
    runs.add_argument("--seed", type=int, default=0)
    runs.add_argument("--seeds", type=int, default=1)
    runs.add_argument("--pictures", type=int, default=300)
    runs.add_argument("--source-epochs", default="12")
    runs.add_argument("--weak-epochs", default="2")
    runs.add_argument("--full", action="store_true", help="with --estimate full")
    runs.add_argument("--train-option", action="append", default=[])
    runs.add_argument("--adapt-option", action="append", default=[])
    gathered = commands.add_parser("gather")
    gathered.add_argument("results")
    gathered.add_argument("folder", help="--out of tributary bench")
    gathered.add_argument("--benchmark", required=True)
    fitted = commands.add_parser("fit")
    fitted.add_argument("results")
    shown = commands.add_parser("table")
    shown.add_argument("results")
    shown.add_argument("--plot")
    options = parser.parse_args()
    {"collect": collect, "gather": gather, "table": table, "fit": fit}[options.command](options)


if __name__ == "__main__":
    main()
