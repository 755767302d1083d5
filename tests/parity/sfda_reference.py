"""Recomputes SFDA's prototype memory, its labels and the losses and gradients of one step (docs/baselines.md, SFDA).

Follows the released code, with lists and the (bP) x (bP) matrix of distances, whereas the program under test uses
tensors of fixed shape.
"""
import argparse
import json
import math
import sys

import torch
from torch.nn import functional as F

from tensor_file import Comparison, read


def build_memory(features, logits, most):
    """Returns the prototypes as K tensors [P, D]."""
    classes = logits.shape[1]
    p = torch.softmax(logits, 1)
    entropy = -(p * torch.log(p + 1e-10)).sum(1) / math.log(classes)
    predicted = p.argmax(1)
    members = []
    for k in range(classes):
        own = torch.nonzero(predicted == k).reshape(-1).tolist()
        members.append(sorted(own, key=lambda i: (entropy[i].item(), i)))
    eta = max(entropy[own[0]].item() for own in members if own)
    kept = [[i for i in own if entropy[i].item() <= eta] for own in members]
    size = min(most, max(len(own) for own in kept))
    memory = []
    for k, own in enumerate(kept):
        if not own:
            own = [max(range(len(p)), key=lambda i: p[i, k].item())]
        repeated = (own * (size // len(own) + 1))[:size]
        memory.append(features[repeated])
    return memory


def block_diagonal(distances, pictures, size):
    """The blocks that compare a picture with its own prototypes, [b, P * P]."""
    return torch.stack([distances[i * size:(i + 1) * size, i * size:(i + 1) * size].reshape(-1)
                        for i in range(pictures)])


def label_batch(batch, memory):
    """Labels and confidence from the distances to the prototypes."""
    size, pictures = memory[0].shape[0], batch.shape[0]
    similarity = torch.stack([F.cosine_similarity(batch[:, None], rows[None], dim=2).mean(1) for rows in memory], 1)
    best, second = similarity.topk(2, dim=1).indices.unbind(1)
    repeated = F.normalize(batch, dim=1).repeat_interleave(size, 0)

    def distances(classes):
        prototypes = F.normalize(torch.cat([memory[k] for k in classes.tolist()]), dim=1)
        return block_diagonal(1 - repeated @ prototypes.t(), pictures, size)

    farthest, nearest = distances(best).max(1).values, distances(second).min(1).values
    return similarity, best, farthest, nearest, (farthest < nearest).to(batch.dtype)


def main(path):
    dump, metadata = read(path)
    config = json.loads(metadata["config"])
    comparison = Comparison(dump)
    given = {name: tensor.double() if tensor.is_floating_point() else tensor
             for name, tensor in dump.below("in.").items()}

    memory = build_memory(given["features"], given["logits"], config["most"])
    comparison.check("memory", "memory", F.normalize(torch.stack(memory), dim=2))

    batch, source_head, target_head = (given[name].requires_grad_() for name in ("batch", "source_head", "target_head"))
    with torch.no_grad():
        similarity, label, farthest, nearest, confidence = label_batch(batch, memory)
    comparison.check("labels", "similarity", similarity)
    comparison.check("labels", "label", label)
    # Differences of numbers near 1.
    comparison.check("labels", "farthest", farthest, floor=1.0)
    comparison.check("labels", "nearest", nearest, floor=1.0)
    comparison.check("labels", "confidence", confidence)

    trust = 2 / (1 + math.exp(-10 * config["done"] / (config["steps"] // 2))) - 1
    source = F.cross_entropy(batch @ source_head.t(), given["source_labels"])
    each = F.cross_entropy(batch @ target_head.t(), label, reduction="none")
    target = (confidence * each).sum() / len(batch)
    total = (1 - trust) * source + trust * target
    total.backward()
    comparison.check("losses", "trust", torch.tensor(trust, dtype=torch.float64))
    for name, loss in (("source", source), ("target", target), ("total", total)):
        comparison.check("losses", f"loss.{name}", loss.detach())
    for name, tensor in (("batch", batch), ("source_head", source_head), ("target_head", target_head)):
        comparison.check("gradients", f"gradient.{name}", tensor.grad)
    return comparison.report(["in."])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="compares a dumped step of SFDA with PyTorch's")
    parser.add_argument("dump")
    sys.exit(main(parser.parse_args().dump))
