"""Recomputes CoWA's pseudo-labels, scores and one training step from a dump by Tributary.

    /usr/bin/python3 tests/parity/cowa_reference.py DUMP.safetensors

The mixture is fitted as docs/baselines.md (CoWA-JMDS) writes it, class by class with explicit covariances and the
framework's own multivariate normal distribution, in float64. The step takes pictures, labels, weights, partners, ratios
and dropout masks from the dump.
"""
import json
import os
import sys

import torch
from torch.distributions import MultivariateNormal

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from nets import load_source  # noqa: E402
from tensor_file import Comparison, read  # noqa: E402


def densities(x, weights, covariance_weights, epsilon):
    """ln of pi_k N(x; mu_k, Sigma_k), [n, K]"""
    columns = []
    for k in range(weights.shape[1]):
        mass = weights[:, k].sum()
        mean = (weights[:, k:k + 1] * x).sum(0) / mass
        share = covariance_weights[:, k] / covariance_weights[:, k].sum()
        sigma = sum(w * torch.outer(row - mean, row - mean) for w, row in zip(share, x))
        sigma = sigma + epsilon * torch.eye(x.shape[1], dtype=x.dtype)
        columns.append(MultivariateNormal(mean, sigma).log_prob(x) + mass.log())
    return torch.stack(columns, 1)


def joint_score(x, p, epsilon):
    gamma = densities(x, p, torch.ones_like(p), epsilon).softmax(1)
    last = densities(x, gamma, gamma, epsilon)
    ell = last.log_softmax(1)
    label = ell.argmax(1)
    ranked = ell.sort(1, descending=True).values
    gap = ranked[:, 0] - ranked[:, 1]
    return label, ell.exp(), gap, gap / gap.max() * p[torch.arange(len(p)), label]


def check_step(dump, config, comparison):
    source = load_source(config["source"], config["classes"], dump.below("before.")).train()
    source.requires_grad_()
    rates = config["rates"]
    optimiser = torch.optim.SGD([{"params": part.parameters(), "lr": rate} for part, rate in
                                 zip((source.backbone, source.bottleneck, source.classifier), rates)],
                                lr=1.0, momentum=0.9, nesterov=True, weight_decay=1e-3)
    x, label, partner, weight, ratio = (dump[f"step.{name}"] for name in ("x", "label", "partner", "weight", "ratio"))
    own = ratio.view(-1, 1, 1, 1)
    mixed = own * x + (1 - own) * x[partner]
    p = source.classify(source.features(mixed, [dump[f"step.mask.{i}"] for i in range(config["masks"])])).softmax(1)
    loss = 0.0
    for i in range(len(x)):
        j, share = partner[i], ratio[i]
        trust = share * weight[i] + (1 - share) * weight[j]
        entropy = -(share * torch.log(p[i, label[i]] + 1e-6) + (1 - share) * torch.log(p[i, label[j]] + 1e-6))
        loss = loss + trust * entropy / len(x)
    loss.backward()
    optimiser.step()
    comparison.check("loss", "out.loss", loss.detach())
    for key, tensor in source.state_dict().items():
        comparison.check("after the step", f"after.{key}", tensor.clone())


def main(path):
    dump, metadata = read(path)
    config = json.loads(metadata["config"])
    comparison = Comparison(dump)
    features, p = dump["in.features"].double(), dump["in.logits"].double().softmax(1)
    for name, x in (("cosine", features / features.norm(dim=1, keepdim=True)), ("euclidean", features)):
        label, gamma, gap, confidence = joint_score(x, p, config["epsilon"])
        comparison.check(name, f"out.{name}.label", label)
        comparison.check(name, f"out.{name}.gamma", gamma)
        comparison.check(f"{name} gap", f"out.{name}.gap", gap)
        comparison.check(f"{name} confidence", f"out.{name}.confidence", confidence)
        if torch.equal(label, p.argmax(1)):
            comparison.fail(f"out.{name}.label", "the mixture should change some label")
    check_step(dump, config, comparison)
    return comparison.report(["in.", "step.", "before."])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
