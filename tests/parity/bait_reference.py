"""Recomputes BAIT's losses, gradients and steps with plain PyTorch and compares them with a dump by Tributary.

    /usr/bin/python3 tests/parity/bait_reference.py DUMP.safetensors

Computes the equations of docs/baselines.md (BAIT).

The first part takes the logits of two heads and compares the losses of cast and bite with their gradients. The second
starts from a source and a bait and takes only the batch and dropout masks of each step from the dump: the second step
starts from our result of the first one, so that momentum is compared, too.
"""
import json
import sys

import torch
from torch import nn
from torch.nn import functional as F

sys.dont_write_bytecode = True
from nets import load_source  # noqa: E402
from tensor_file import Comparison, read  # noqa: E402

EPSILON = 1e-5


def entropy(p):
    return -(p * torch.log(p + EPSILON)).sum(-1)


def distances(p_a, p_b, form):
    if form == "paper":
        return 0.5 * (p_a * (p_a.log() - p_b.log()) + p_b * (p_b.log() - p_a.log())).sum(1)
    there = F.kl_div(F.log_softmax(p_b, dim=1), p_a.detach(), reduction="none").sum(1)
    back = F.kl_div(F.log_softmax(p_a, dim=1), p_b.detach(), reduction="none").sum(1)
    return 0.5 * (there + back)


def signs_of(p_a):
    """+1 for the half of the batch, rounded down, of which the anchor is least certain."""
    ranked = sorted(range(len(p_a)), key=entropy(p_a).tolist().__getitem__, reverse=True)
    signs = -torch.ones(len(p_a))
    signs[ranked[:len(p_a) // 2]] = 1
    return signs


def cast_loss(z_a, z_b, config, z_split=None):
    """Returns the loss and the magnitude of the terms that it sums. `z_split` are the logits that split the batch."""
    p_a, p_b = z_a.softmax(1), z_b.softmax(1)
    d = distances(p_a, p_b, config["form"])
    p_split = p_a if z_split is None else z_split.softmax(1)
    return -config["cast_weight"] * (signs_of(p_split.detach()) * d).mean(), config["cast_weight"] * d.mean().item()


def bite_loss(z_a, z_b):
    """Returns the loss and the magnitude of the terms that it sums."""
    p_a, p_b = z_a.softmax(1), z_b.softmax(1)
    mutual = (-(p_a * torch.log(p_b + EPSILON)).sum(1) - (p_b * torch.log(p_a + EPSILON)).sum(1)).mean()
    mean_a, mean_b = p_a.mean(0), p_b.mean(0)
    balance = (mean_a * torch.log(mean_a + EPSILON)).sum() + (mean_b * torch.log(mean_b + EPSILON)).sum()
    return mutual + balance, mutual.item()


def check_losses(dump, comparison, config):
    for name, function in (("cast", lambda a, b: cast_loss(a, b, config)), ("bite", bite_loss)):
        z_a, z_b = (dump[f"logits.{head}"].clone().requires_grad_() for head in ("anchor", "bait"))
        loss, scale = function(z_a, z_b)
        loss.backward()
        comparison.check("losses", f"loss.{name}", loss, scale)
        comparison.check(f"gradient {name}", f"gradient.{name}.anchor", z_a.grad)
        comparison.check(f"gradient {name}", f"gradient.{name}.bait", z_b.grad)


def check_steps(dump, comparison, config):
    source = load_source(config["source"], config["classes"], dump.below("before.source.")).train()
    bait = nn.utils.weight_norm(nn.Linear(config["source"]["feature_width"], config["classes"]))
    bait.load_state_dict(dump.below("before.bait.classifier."))
    sgd = {"momentum": 0.9, "nesterov": True, "weight_decay": 5e-4}
    rates = config["rates"]
    of_features = torch.optim.SGD([{"params": source.backbone.parameters(), "lr": rates["backbone"]},
                                   {"params": source.bottleneck.parameters(), "lr": rates["bottleneck"]}],
                                  lr=1.0, **sgd)
    of_bait = torch.optim.SGD(bait.parameters(), lr=rates["bait"], **sgd)
    for step in range(config["steps"]):
        at = f"step.{step}"

        def heads(half):
            masks = [dump[f"{at}.mask.{half}.{i}"] for i in range(len(source.dropout))]
            f = source.features(dump[f"{at}.x"], masks)
            return source.classify(f), bait(f)

        z_split = None
        if config["split_in_evaluation"]:
            source.eval()
            z_split = source.classify(source.features(dump[f"{at}.x"])).detach()
            source.train()
        loss, scale = cast_loss(*heads("cast"), config, z_split)
        of_bait.zero_grad()
        loss.backward()
        of_bait.step()
        comparison.check(f"step {step} losses", f"{at}.loss.cast", loss, scale)
        loss, scale = bite_loss(*heads("bite"))
        of_features.zero_grad()
        loss.backward()
        of_features.step()
        comparison.check(f"step {step} losses", f"{at}.loss.bite", loss, scale)
        for key, tensor in source.state_dict().items():
            comparison.check(f"step {step} source", f"{at}.source.{key}", tensor.clone())
        for key, tensor in bait.state_dict().items():
            comparison.check(f"step {step} bait", f"{at}.bait.classifier.{key}", tensor.clone())
    if source.backbone.kinks.close:
        comparison.note(f"{source.backbone.kinks.close} activations within 1e-6 of a kink of ReLU or maximum")


def main(path):
    dump, metadata = read(path)
    config = json.loads(metadata["config"])
    comparison = Comparison(dump)
    check_losses(dump, comparison, config)
    check_steps(dump, comparison, config)
    steps = range(config["steps"])
    return comparison.report(["before.", "logits."] + [f"step.{i}.{name}" for i in steps for name in ("x", "mask.")])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
