"""Recomputes NRC's neighbours, weights, losses and gradients from a dump by Tributary.

    /usr/bin/python3 tests/parity/nrc_reference.py DUMP.safetensors

The dump has the banks before the step, and the rows, features and logits of the batch. Follows the description of the
method picture by picture, in float64, without any optimisation: no unused neighbours, no masks, sorting instead of
top-k.
"""
import argparse
import json
import os
import sys

import torch
from torch.nn import functional as F

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from tensor_file import Comparison, read  # noqa: E402

WEAK = 0.1
EPSILON = 1e-5


def neighbours_of(features, i, count):
    """The `count` pictures most similar to picture i, excluding itself."""
    order = torch.argsort(features @ features[i], descending=True).tolist()
    return [k for k in order if k != i][:count]


def divergence(score, p):
    """The framework's kl_div applied to probabilities, as in the released code."""
    return F.kl_div(p, score, reduction="none").sum()


def losses_of(features, scores, rows, p, near_count, expanded_count, paper):
    """Returns near indices, their weights, and (L_N, L_E, L_div, L_self)."""
    near, weights, pull, expanded_pull = [], [], 0.0, 0.0
    for b, i in enumerate(rows.tolist()):
        own_near = neighbours_of(features, i, near_count)
        own_weights = []
        for k in own_near:
            around = neighbours_of(features, k, expanded_count)
            own_weights.append(1.0 if i in around else WEAK)
            pull = pull + own_weights[-1] * divergence(scores[k], p[b])
            for m in around:
                if not (paper and m == i):
                    expanded_pull = expanded_pull + WEAK * divergence(scores[m], p[b])
        near.append(own_near)
        weights.append(own_weights)
    marginal = p.mean(0)
    diversity = (marginal * torch.log(marginal + EPSILON)).sum()
    itself = -(p.detach() * p).sum() / len(rows) if paper else torch.zeros((), dtype=p.dtype)
    losses = (pull / len(rows), expanded_pull / len(rows), diversity, itself)
    return torch.tensor(near), torch.tensor(weights, dtype=p.dtype), losses


def main(path):
    dump, metadata = read(path)
    config = json.loads(metadata["config"])
    comparison = Comparison(dump)
    features, scores, phi, z = (dump[name].double() for name in ("in.features", "in.scores", "in.phi", "in.z"))
    rows = dump["in.rows"]

    # Write the batch into the banks first, so that the search finds its current state.
    features[rows] = phi / phi.norm(dim=1, keepdim=True)
    scores[rows] = z.softmax(1)
    comparison.check("banks", "out.features", features)
    comparison.check("banks", "out.scores", scores)
    for case in config["cases"]:
        at = f"out.{case['name']}."
        late = case["done"] > config["steps"] / 2
        near_count, expanded_count = config["later"] if late else config["first"]
        logits = z.clone().requires_grad_()
        near, weights, losses = losses_of(features, scores, rows, logits.softmax(1), near_count, expanded_count,
                                          case["paper"])
        sum(losses).backward()
        comparison.check("neighbours", at + "near", near)
        comparison.check("neighbours", at + "weights", weights)
        comparison.check("losses " + case["name"], at + "losses", torch.stack([loss.detach() for loss in losses]))
        comparison.check("slopes " + case["name"], at + "slopes", logits.grad)
        if not 0 < (weights == 1).sum() < weights.numel():
            comparison.fail(at + "weights", "reciprocal ones and others should both occur")
    return comparison.report(["in."])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="compares NRC's dumped losses with PyTorch's")
    parser.add_argument("dump")
    sys.exit(main(parser.parse_args().dump))
