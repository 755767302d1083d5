"""Recomputes the labels, losses and gradients of DECISION and CAiDA and compares them with a dump by Tributary.

    /usr/bin/python3 tests/parity/joint_reference.py DUMP.safetensors

Computes the equations of docs/baselines.md (DECISION and CAiDA) in the simplest way: full distance matrices, walks hop
by hop, pairs of sources one by one. Everything is computed in float64.
"""
import json
import sys

import torch
from torch.nn import functional as F

from tensor_file import Comparison, read


def with_one(features):
    return F.normalize(torch.cat([features, torch.ones(len(features), 1)], 1), dim=1)


def centroids(rows, weights):
    return torch.stack([(weights[:, k:k + 1] * rows).sum(0) / (1e-8 + weights[:, k].sum())
                        for k in range(weights.shape[1])])


def cosine_distances(rows, others):
    return 1 - F.normalize(rows, dim=1) @ F.normalize(others, dim=1).T


def entropy(p):
    return -(p * (p + 1e-5).log()).sum(-1)


def decision_labels(dump, alpha, comparison):
    """Labels as in docs/baselines.md, DECISION."""
    own, rows = [], []
    for features, logits in zip(dump["in.features"], dump["in.logits"]):
        g = with_one(features)
        soft = centroids(g, logits.softmax(1))
        first = cosine_distances(g, soft).argmin(1)
        hard = centroids(g, F.one_hot(first, logits.shape[1]).double())
        empty = torch.bincount(first, minlength=logits.shape[1]) == 0
        hard[empty] = soft[empty]
        own.append(hard)
        rows.append(g[dump["in.batch"]])
    comparison.check("centroids", "centroids", torch.stack(own))
    rows = sum(a * g for a, g in zip(alpha, rows))
    fused = sum(a * c for a, c in zip(alpha, own))
    return (rows[:, None] - fused[None]).norm(dim=2).argmin(1)


def anchor_of(start, distances, confident):
    """The greedy walk: moves to the nearest picture not visited yet, until it reaches a confident one."""
    visited, first = [start], None
    for _ in range(69):
        row = distances[visited[-1]].clone()
        row[visited] = float("inf")
        node = int(row.argmin())
        first = node if first is None else first
        if confident[node]:
            return node
        visited.append(node)
    return first


def caida_labels(dump, omega, comparison):
    """Labels as in docs/baselines.md, CAiDA."""
    z, phi, backbone = (sum(w * x for w, x in zip(omega, dump[f"in.{name}"]))
                        for name in ("logits", "features", "backbones"))
    count, classes = z.shape
    p = z.softmax(1)
    top = p.sort(1, descending=True).values
    unsure = set((top[:, 0] - top[:, 1]).argsort()[:count // 2].tolist())
    g = with_one(phi)
    distances = cosine_distances(g, centroids(g, p))
    first = distances.argmin(1)
    nearest = distances.sort(1).values
    clear = set((nearest[:, 1] - nearest[:, 0]).argsort(descending=True)[:count // 2].tolist())
    confident = torch.tensor([not (i in unsure and i not in clear) for i in range(count)])
    table = cosine_distances(backbone, backbone)
    anchors = torch.tensor([anchor_of(i, table, confident) for i in range(count)])
    share = dump["in.shares"][:, None]
    drawn = share * g + (1 - share) * g[anchors]
    hard = centroids(drawn, F.one_hot(first, classes).double())
    last = cosine_distances(drawn, hard)
    last[:, torch.bincount(first, minlength=classes) == 0] = float("inf")
    labels = last.argmin(1)
    comparison.check("anchors", "confident", confident.long())
    comparison.check("anchors", "anchors", anchors)
    comparison.check("anchors", "all_labels", labels)
    return labels[dump["in.batch"]]


def class_relations(logits, omega, labels):
    """L_cr as in docs/baselines.md, CAiDA."""
    sources, _, classes = logits.shape
    total = 0.0
    for c in labels.unique():
        r = [(omega[j] * logits[j][labels == c]).mean(0).softmax(0).clamp(1e-8, 1) for j in range(sources)]
        for a in r:
            for b in r:
                total = total + 0.5 * ((a * (a / b).log()).sum() + (b * (b / a).log()).sum())
    return total / (classes * sources)


def main(path):
    torch.set_default_dtype(torch.float64)
    dump, metadata = read(path)
    config = json.loads(metadata["config"])
    comparison = Comparison(dump)
    for name, tensor in dump.items():
        if name.startswith("in.") and tensor.is_floating_point():
            dump[name] = tensor.double()
    raw = dump["in.raw"].clone().requires_grad_()
    logits = dump["in.step_logits"].clone().requires_grad_()
    if config["method"] == "decision":
        weights = raw.sigmoid() / (raw.sigmoid().sum() + 1e-16)
        labels = decision_labels(dump, weights.detach(), comparison)
    else:
        weights = raw.softmax(0)
        labels = caida_labels(dump, weights.detach(), comparison)
    mixed = sum(w * z for w, z in zip(weights, logits))
    p = mixed.softmax(1)
    cross_entropy, marginal = F.cross_entropy(mixed, labels), entropy(p.mean(0))
    parts = [cross_entropy, entropy(p).mean() - marginal]
    objective = config["labels"] * parts[0] + parts[1]
    if config["relations"]:
        parts.append(class_relations(logits, weights, labels))
        objective = objective + config["relations"] * parts[2]
    objective.backward()
    comparison.check("labels", "labels", labels)
    comparison.check("weights", "weights", weights)
    # A difference of two entropies may be much smaller than both: their magnitude determines the rounding error.
    comparison.check("losses", "objective", objective, floor=marginal.item())
    comparison.check("losses", "parts", torch.stack(parts))
    comparison.check("gradients", "gradient.logits", logits.grad)
    comparison.check("gradients", "gradient.raw", raw.grad)
    return comparison.report(["in."])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
