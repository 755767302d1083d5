"""Recomputes AaD's neighbours, losses and their slopes from a dump by Tributary.

    /usr/bin/python3 tests/parity/aad_reference.py DUMP.safetensors

From the dump come the banks before the step, and the batch's rows, features and logits. Written from the description
of the method pair by pair, in float64: the attraction as the framework's kl_div of probabilities, as in the released
code, and the dispersion as the product of all pairs.
"""
import argparse
import json
import os
import sys

import torch
from torch.nn import functional as F

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from tensor_file import Comparison, read  # noqa: E402


def neighbours_of(features, i, count):
    """The `count` pictures most similar to picture i, without itself."""
    order = torch.argsort(features @ features[i], descending=True).tolist()
    return [k for k in order if k != i][:count]


def losses_of(features, scores, rows, p, count, one_sided):
    """-> near indices, the loss to differentiate for the attraction, its logged value, the dispersion"""
    near, pull, logged = [], 0.0, 0.0
    for b, i in enumerate(rows.tolist()):
        near.append(neighbours_of(features, i, count))
        for k in near[-1]:
            pull = pull + F.kl_div(p[b], scores[k], reduction="sum") / len(rows)
            logged = logged - (scores[k] @ p[b]).item() / len(rows)
    push = 0.0
    for i in range(len(rows)):
        for j in range(len(rows)):
            if i != j:
                push = push + p[i] @ (p[j].detach() if one_sided else p[j]) / len(rows)
    return torch.tensor(near), pull, logged, push


def main(path):
    dump, metadata = read(path)
    config = json.loads(metadata["config"])
    comparison = Comparison(dump)
    features, scores, phi, z = (dump[name].double() for name in ("in.features", "in.scores", "in.phi", "in.z"))
    rows = dump["in.rows"]

    # The batch is written into the banks first, so that it is searched for as it is now.
    features[rows] = phi / phi.norm(dim=1, keepdim=True)
    scores[rows] = z.softmax(1)
    comparison.check("banks", "out.features", features)
    comparison.check("banks", "out.scores", scores)
    for case in config["cases"]:
        at = f"out.{case['name']}."
        count = config["later"] if case["done"] > config["steps"] / 2 else config["first"]
        weight = config["alpha"] * (1 + 10 * case["done"] / config["steps"]) ** -config["beta"]
        logits = z.clone().requires_grad_()
        near, pull, logged, push = losses_of(features, scores, rows, logits.softmax(1), count, case["one_sided"])
        (pull + weight * push).backward()
        comparison.check("neighbours", at + "near", near)
        comparison.check("losses " + case["name"], at + "losses",
                         torch.tensor([logged, push.item(), weight], dtype=torch.float64))
        comparison.check("slopes " + case["name"], at + "slopes", logits.grad)
    return comparison.report(["in."])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="compares AaD's dumped losses with PyTorch's")
    parser.add_argument("dump")
    sys.exit(main(parser.parse_args().dump))
