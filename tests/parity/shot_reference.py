"""Recomputes a whole SHOT training dumped by Tributary with plain PyTorch, and compares every step.

    /usr/bin/python3 tests/parity/shot_reference.py DUMP.safetensors

Computes the equations of docs/baselines.md (SHOT).

The dump has the pictures, the sources before the first step, and the rows and dropout masks of each step. Everything
else is recomputed: outputs for the target set, labels, losses, rates, steps, BatchNorm statistics, and the mean of the
sources' probabilities. After each step the weights are compared and then taken from the dump, so that rounding errors
do not accumulate; the momentum is ours. Everything is computed in float64, labels picture by picture. Options that are
not in the dump have SHOT's defaults for digits.
"""
import json
import math
import sys

import torch
from torch.nn import functional as F

sys.dont_write_bytecode = True
from nets import load_source  # noqa: E402
from tensor_file import Comparison, read  # noqa: E402

EPSILON = 1e-5
DIGITS = {"beta": 0.1, "backbone": 1e-2, "bottleneck": 1e-2}


def entropy(p):
    return -(p * torch.log(p + EPSILON)).sum(-1)


def evaluate(source, x):
    """Returns features and logits of the whole set."""
    source.eval()
    with torch.no_grad():
        phi = source.features(x)
        z = source.classify(phi)
    source.train()
    return phi, z


def label(phi, p, one=1.0, turns=2, only_live=True):
    """Returns SHOT's pseudo-labels, and the smallest margin to the second nearest centroid."""
    g = [F.normalize(torch.cat((row, torch.tensor([one]))), dim=0) for row in phi]
    weights, labels, margin = p, p.argmax(1).tolist(), math.inf
    for _ in range(turns):
        centroids = [sum(a * row for a, row in zip(column, g)) / (1e-8 + column.sum()) for column in weights.T]
        candidates = sorted(set(labels)) if only_live else range(p.shape[1])
        labels = []
        for row in g:
            distance = [1 - float(row @ c) / max(float(row.norm() * c.norm()), 1e-300) for c in centroids]
            ranked = sorted(candidates, key=distance.__getitem__)
            margin = min([margin] + [distance[k] - distance[ranked[0]] for k in ranked[1:2]])
            labels.append(ranked[0])
        weights = F.one_hot(torch.tensor(labels), p.shape[1]).double()
    return torch.tensor(labels), margin


def check_label_rules(comparison, outputs):
    """Checks that each rule changes some label; otherwise the comparison could not detect a wrong rule."""
    rules = {"the predictions as they are": {"turns": 0}, "one turn": {"turns": 1}, "all classes": {"only_live": False},
             "no one appended": {"one": 0.0}}
    for name, without in rules.items():
        if all(torch.equal(label(phi, z.softmax(1))[0], label(phi, z.softmax(1), **without)[0]) for phi, z in outputs):
            comparison.fail("labels", f"{name}: gives the same labels, so that the data decide nothing")


class Shot:
    """One source in training."""

    def __init__(self, config, state):
        self.source = load_source(config["source"], config["classes"], state).train()
        self.beta = DIGITS["beta"] if config["beta"] is None else config["beta"]
        self.steps = config["steps"]
        self.it = 0
        parts = {"backbone": self.source.backbone, "bottleneck": self.source.bottleneck}
        groups = [{"params": part.parameters(), "lr": config["rates"][name] or DIGITS[name]}
                  for name, part in parts.items()]
        self.optimiser = torch.optim.SGD(groups, lr=1.0, momentum=0.9, nesterov=True, weight_decay=1e-3)
        self.first_rates = [group["lr"] for group in self.optimiser.param_groups]

    def step(self, x, labels, masks):
        """Returns L_pl, L_im and the magnitude of the entropies whose difference L_im is."""
        self.it += 1
        for group, first in zip(self.optimiser.param_groups, self.first_rates):
            group["lr"] = first * math.pow(1 + 10 * self.it / self.steps, -0.75)
        z = self.source.classify(self.source.features(x, masks))
        p = F.softmax(z, dim=1)
        certain, diverse = entropy(p).mean(), entropy(p.mean(0))
        information = certain - diverse
        labelled = torch.zeros(()) if labels is None else -F.log_softmax(z, 1)[range(len(labels)), labels].mean()
        self.optimiser.zero_grad()
        (self.beta * labelled + 1.0 * information).backward()
        self.optimiser.step()
        return labelled.item(), information.item(), diverse.item()


def check_target(comparison, ways, x, r):
    """Compares the outputs for the whole set after round r, per source and averaged. Returns the labels per source."""
    outputs, labels = [evaluate(way.source, x) for way in ways], []
    for j, (phi, z) in enumerate(outputs):
        own, margin = label(phi, z.softmax(1))
        if margin < 1e-5:
            comparison.note(f"round {r}: a picture is as near to two centroids of source {j} as {margin:.0e}")
        comparison.check("features", f"round.{r}.{j}.features", phi)
        comparison.check("logits", f"round.{r}.{j}.logits", z)
        comparison.check("labels", f"round.{r}.{j}.labels", own)
        labels.append(own)
    mean = sum(z.softmax(1) for _, z in outputs) / len(outputs)
    comparison.check("mean probability", f"round.{r}.probabilities", mean)
    if r == 0:
        comparison.check("mean probability", "ensemble", mean)
        mean_logit = sum(z for _, z in outputs) / len(outputs)
        if (mean - mean_logit.softmax(1)).abs().max() < 1e-3:
            comparison.fail("ensemble", "the mean of the logits gives the same, so that the data decide nothing")
        check_label_rules(comparison, outputs)
    return labels


def check_step(dump, comparison, way, x, labels, j):
    """Runs and compares one step of source j. Returns its losses, as `step` does."""
    at = f"draw.{j}.{way.it + 1}"
    rows = dump[f"{at}.rows"]
    masks = [dump[f"{at}.mask.{i}"].double() for i in range(len(way.source.dropout))]
    losses = way.step(x[rows], labels[rows] if way.beta > 0 else None, masks)
    for key, tensor in way.source.state_dict().items():
        name = f"step.{j}.{way.it}.{key}"
        comparison.check(f"source {j} step {way.it}", name, tensor.clone())
        if key.startswith("classifier.") and not torch.equal(dump[name], dump[f"before.{j}.{key}"]):
            comparison.fail(name, "the frozen classifier has moved")
    way.source.load_state_dict(dump.below(f"step.{j}.{way.it}."))
    return losses


def check_round(dump, comparison, config, ways, x, labels, r):
    """Runs the steps of round r and compares the means of their losses."""
    means = []
    for j, way in enumerate(ways):
        losses = [check_step(dump, comparison, way, x, labels[j], j)
                  for _ in range(config["steps"] // config["rounds"])]
        means.append(torch.tensor(losses).mean(0))
    labelled, information, size = torch.stack(means, 1)
    comparison.check(f"losses of round {r}", f"round.{r}.loss.cross_entropy", labelled)
    # A difference of two entropies may be much smaller than both: their magnitude determines the rounding error.
    comparison.check(f"losses of round {r}", f"round.{r}.loss.information", information, floor=size.max().item())


def main(path):
    torch.set_default_dtype(torch.float64)
    dump, metadata = read(path)
    config = json.loads(metadata["config"])
    comparison = Comparison(dump)
    x = (dump["pixels"].double() - 0.5) / 0.5
    ways = [Shot(config, dump.below(f"before.{j}.")) for j in range(config["sources"])]
    labels = check_target(comparison, ways, x, 0)
    for r in range(1, config["rounds"] + 1):
        check_round(dump, comparison, config, ways, x, labels, r)
        labels = check_target(comparison, ways, x, r)
    close = sum(way.source.backbone.kinks.close for way in ways)
    if close:
        comparison.note(f"{close} activations within 1e-6 of a kink of ReLU or maximum")
    return comparison.report(["pixels", "before.", "draw."])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
