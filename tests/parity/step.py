"""Recomputes consecutive training steps dumped by Tributary with plain PyTorch, and compares everything.

    /usr/bin/python3 tests/parity/step.py DUMP.safetensors [--float64]

Only the state before the first step and the batches, lambda, permutation, learning rates and dropout masks of each
step come from the dump. Losses, gradients, parameters, BatchNorm statistics and the discriminator are recomputed: the
second step starts from our result of the first one, so that momentum is compared, too. Exits with 0 if everything
matches, else with 1.

--float64 computes in double precision, for a dump in double precision. Dump small batches: with more activations it is
more likely that one of them is on different sides of a ReLU's kink in two correct programs. The script prints the
number of near-ties. In double precision this does not happen.
"""
import argparse
import json
import sys

import torch
from torch.nn import functional as F

sys.dont_write_bytecode = True
from nets import adversary, load_source  # noqa: E402
from tensor_file import Comparison, read  # noqa: E402

EPSILON = 1e-5


def entropy(p):
    return -(p * torch.log(p + EPSILON)).sum(-1)


def information_maximisation(z):
    """Returns IM and Hbar: the mean entropy of the rows minus the entropy of their mean, and the latter."""
    p = F.softmax(z, dim=1)
    marginal = entropy(p.mean(0))
    return entropy(p).mean() - marginal, marginal


def alignment(logit_l, logit_u, label_l):
    """0.5 (BCEL(a_l, label) + BCEL(a_u, 1 - label)): label 1 trains the discriminator, 0 the features against it."""
    return 0.5 * (F.binary_cross_entropy_with_logits(logit_l, torch.full_like(logit_l, label_l))
                  + F.binary_cross_entropy_with_logits(logit_u, torch.full_like(logit_u, 1.0 - label_l)))


def read_masks(dump, comparison, step, j, source, batch):
    masks = []
    for i, rate in enumerate(source.dropout):
        name = f"step.{step}.mask.{j}.{batch}.{i}"
        mask = dump[name]
        masks.append(mask)
        kept = mask != 0
        if not torch.allclose(mask[kept], torch.tensor(1 / (1 - rate), dtype=mask.dtype), rtol=1e-6):
            comparison.fail(name, f"holds values other than 0 and 1/(1-{rate})")
    return masks


def training_step(dump, comparison, config, step, sources, discriminator, optimiser, discriminator_optimiser):
    at = f"step.{step}"
    x_l, x_u, y, perm = (dump[f"{at}.{name}"] for name in ("x_l", "x_u", "y", "perm"))
    mixing = dump[f"{at}.lambda"].item()
    x_mix = mixing * x_l + (1 - mixing) * x_l[perm]
    for group, part in zip(optimiser.param_groups, ("backbone", "bottleneck")):
        group["lr"] = dump[f"{at}.lr_{part}"].item()

    phi_l, phi_u, supervised = [], [], 0.0
    for j, source in enumerate(sources):
        # The order matters: each pass updates the running statistics.
        phi_mix = source.features(x_mix, read_masks(dump, comparison, step, j, source, "mix"))
        phi_l.append(source.features(x_l, read_masks(dump, comparison, step, j, source, "l")))
        phi_u.append(source.features(x_u, read_masks(dump, comparison, step, j, source, "u")))
        z_mix, z_l = source.classify(phi_mix), source.classify(phi_l[j])
        ce = (mixing * F.cross_entropy(z_mix, y) + (1 - mixing) * F.cross_entropy(z_mix, y[perm])
              + F.cross_entropy(z_l, y))
        im, marginal = information_maximisation(z_l)
        supervised = supervised + config["lambda_ce"] * ce + config["lambda_im"] * im
        comparison.check(f"step {step} losses", f"{at}.loss.ce.{j}", ce.detach())
        # IM is a difference of two entropies and may be much smaller than both: their magnitude determines the rounding
        # error.
        comparison.check(f"step {step} losses", f"{at}.loss.im.{j}", im.detach(), floor=marginal.item())

    joint_l, joint_u = torch.cat(phi_l, 1), torch.cat(phi_u, 1)

    discriminator_optimiser.zero_grad()
    discriminator_loss = alignment(discriminator(joint_l.detach()), discriminator(joint_u.detach()), 1.0)
    discriminator_loss.backward()
    discriminator_optimiser.step()
    comparison.check(f"step {step} losses", f"{at}.loss.discriminator", discriminator_loss.detach())

    discriminator.requires_grad_(False)  # from here on only the features get a gradient
    adversarial = alignment(discriminator(joint_l), discriminator(joint_u), 0.0)
    optimiser.zero_grad()
    (supervised + config["lambda_adv"] * adversarial).backward()
    discriminator.requires_grad_(True)
    comparison.check(f"step {step} losses", f"{at}.loss.adversarial", adversarial.detach())
    for j, source in enumerate(sources):
        for key, parameter in source.trainable():
            comparison.check(f"step {step} gradient {j}", f"{at}.grad.source.{j}.{key}", parameter.grad.clone())

    optimiser.step()
    for j, source in enumerate(sources):
        for key, tensor in source.state_dict().items():
            comparison.check(f"step {step} after {j}", f"{at}.after.source.{j}.{key}", tensor.clone())
    for key, tensor in discriminator.state_dict().items():
        # The gradient of the last bias is half the difference of two means below 1, and vanishes if they are equal.
        floor = 0.5 * config["discriminator_lr"] if key == "2.bias" else 0.0
        comparison.check(f"step {step} after adversary", f"{at}.after.adversary.{key}", tensor.clone(), floor)


def check_frozen(dump, comparison, config):
    """The classifiers must be bit-identical before and after training."""
    for step in range(config["steps"]):
        for j in range(len(config["sources"])):
            for key in ("weight_v", "weight_g", "bias"):
                name = f"step.{step}.after.source.{j}.classifier.{key}"
                if name in dump and not torch.equal(dump[name], dump[f"before.source.{j}.classifier.{key}"]):
                    comparison.fail(name, "the frozen classifier has moved")


def main(path, dtype=torch.float32):
    dump, metadata = read(path)
    config = json.loads(metadata["config"])
    comparison = Comparison(dump)
    if dump["before.adversary.0.weight"].dtype == torch.float64:
        dtype = torch.float64
    torch.set_default_dtype(dtype)
    for name, tensor in dump.items():
        if tensor.dtype == torch.float32:
            dump[name] = tensor.to(dtype)

    sources = [load_source(description, config["classes"], dump.below(f"before.source.{j}.")).train()
               for j, description in enumerate(config["sources"])]
    discriminator = adversary(sum(description["feature_width"] for description in config["sources"]))
    discriminator.load_state_dict({key: dump[f"before.adversary.{key}"] for key in discriminator.state_dict()})

    parts = {part: [parameter for source in sources for parameter in getattr(source, part).parameters()]
             for part in ("backbone", "bottleneck")}
    optimiser = torch.optim.SGD([{"params": parameters} for parameters in parts.values()], lr=0.0,
                                momentum=config["momentum"], nesterov=True, weight_decay=config["weight_decay"])
    discriminator_optimiser = torch.optim.SGD(discriminator.parameters(), lr=config["discriminator_lr"])

    for step in range(config["steps"]):
        training_step(dump, comparison, config, step, sources, discriminator, optimiser, discriminator_optimiser)
    check_frozen(dump, comparison, config)
    for j, source in enumerate(sources):
        if source.backbone.kinks.close:
            comparison.note(f"source {j}: {source.backbone.kinks.close} activations within 1e-6 of a kink of ReLU or "
                            "maximum; if the gradients of its backbone differ, try a smaller batch or another seed")
    steps = range(config["steps"])
    names = ("x_l", "x_u", "y", "perm", "lambda", "lr_backbone", "lr_bottleneck", "mask.")
    return comparison.report(["before."] + [f"step.{step}.{name}" for step in steps for name in names])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="compares dumped training steps with PyTorch's")
    parser.add_argument("dump")
    parser.add_argument("--float64", action="store_true", help="compute our side in double")
    options = parser.parse_args()
    sys.exit(main(options.dump, torch.float64 if options.float64 else torch.float32))
