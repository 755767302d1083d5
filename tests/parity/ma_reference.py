"""Recomputes MA's three steps (docs/baselines.md, MA) with PyTorch: losses, gradients, singular vectors, Adam.

The random draws (classes, z, dropout masks, initial perturbation of the virtual adversarial loss) come from the dump.
"""
import json
import os
import sys

import torch
from torch.nn import functional as F

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from nets import load_source  # noqa: E402
from tensor_file import Comparison, largest, read  # noqa: E402


def generate(g, labels, z):
    x = torch.cat((z, g["embedding"][labels]), 1)
    x = F.linear(x, g["linear.0.weight"], g["linear.0.bias"])
    if "last.weight" not in g:
        x = F.relu(x)
        for i in (1, 2):
            x = F.relu(F.linear(x, g[f"linear.{i}.weight"], g[f"linear.{i}.bias"]))
        return x
    x = x.reshape(-1, 256, 4, 4)
    for i in range(3):
        x = F.interpolate(x, scale_factor=2, mode="nearest")
        x = F.conv2d(x, g[f"block.{i}.conv.weight"], g[f"block.{i}.conv.bias"], padding=1)
        x = F.relu(F.batch_norm(x, None, None, g[f"block.{i}.bn.weight"], g[f"block.{i}.bn.bias"], training=True))
    return torch.tanh(F.conv2d(x, g["last.weight"], g["last.bias"], padding=1))


def singular_vectors(d, layers):
    """One power iteration per layer."""
    for i in range(layers):
        matrix = d[f"{i}.weight"].detach().flatten(1)
        d[f"{i}.v"] = F.normalize(matrix.t() @ d[f"{i}.u"], dim=0)
        d[f"{i}.u"] = F.normalize(matrix @ d[f"{i}.v"], dim=0)


def judge(d, x, layers):
    for i in range(layers):
        weight = d[f"{i}.weight"]
        weight = weight / (d[f"{i}.u"] @ weight.flatten(1) @ d[f"{i}.v"])
        if i:
            x = F.leaky_relu(x, 0.1 if layers == 4 else 0.2)
        if weight.dim() == 4:
            x = F.conv2d(x, weight, d[f"{i}.bias"], stride=2, padding=1)
        else:
            x = F.linear(x.flatten(1), weight, d[f"{i}.bias"])
    return x


def kl(p, log_q):
    """Mean KL(p || q); F.kl_div(input=log q, target=p) with 'batchmean' is exactly that."""
    return F.kl_div(log_q, p, reduction="batchmean")


BEFORE_BATCH_NORM = ("conv.bias", "conv_params.0.bias", "conv_params.4.bias", "conv_params.8.bias", "linear.bias")


def check_gradients(comparison, name, loss, tensors):
    gradients = dict(zip(tensors, torch.autograd.grad(loss, list(tensors.values()))))
    for key, gradient in gradients.items():
        floor = 0.0
        if key.endswith(BEFORE_BATCH_NORM):
            # A bias before a BatchNorm: its gradient is a sum of terms that cancel, each as large as those of the
            # weight.
            floor = largest(gradients[key[:-len("bias")] + "weight"])
        elif name == "discriminator" and gradient.numel() == 1:  # the last bias: a difference of two means below 1
            floor = 1.0
        comparison.check(f"{name} gradient", f"grad.{name}.{key}", gradient, floor)


def main(path):
    dump, metadata = read(path)
    config = json.loads(metadata["config"])
    comparison = Comparison(dump)
    comparison.TOLERANCE = 5e-5  # the virtual adversarial loss propagates rounding from one pass to the next
    pictures = config["space"] == "image"
    g = {key: tensor.requires_grad_() for key, tensor in dump.below("generator.").items()}
    d = dump.below("discriminator.")
    layers = len(d) // 4
    d_parameters = {key: tensor.requires_grad_() for key, tensor in d.items() if not key.endswith((".u", ".v"))}
    source = load_source(config["source"], 10, dump.below("source."))
    source.requires_grad_()
    theta = dict(source.named_parameters())
    y, z, start = dump["labels"], dump["z"], dump["start"]
    masks = {name: [dump[f"mask.{name}.{i}"] for i in range(config[f"masks_{name}"])] for name in ("g", "t")}

    def predict(x, masks):
        if pictures:
            return source.classify(source.features(x, masks))
        return source.classify(source.bottleneck(x, None if masks is None else masks[-1]))

    x_t = 2 * dump["pixels"] - 1
    source.train()
    real = x_t if pictures else source.backbone(x_t, masks["t"][:-1])

    singular_vectors(d, layers)
    for i in range(layers):
        comparison.check("singular vectors", f"after.{i}.u", d[f"{i}.u"])
        comparison.check("singular vectors", f"after.{i}.v", d[f"{i}.v"])
    a_t, a_g = judge(d, real.detach(), layers), judge(d, generate(g, y, z).detach(), layers)
    loss = (F.binary_cross_entropy_with_logits(a_t, torch.ones_like(a_t))
            + F.binary_cross_entropy_with_logits(a_g, torch.zeros_like(a_g)))
    comparison.check("losses", "loss.discriminator", loss.detach())
    check_gradients(comparison, "discriminator", loss, d_parameters)

    source.eval()
    x_g = generate(g, y, z)
    adversarial, semantic = -F.logsigmoid(judge(d, x_g, layers)).mean(), F.cross_entropy(predict(x_g, None), y)
    comparison.check("losses", "loss.generator", torch.stack((adversarial, semantic)).detach())
    check_gradients(comparison, "generator", adversarial + config["lambda_s"] * semantic, g)

    source.train()
    generated = F.cross_entropy(predict(x_g.detach(), masks["g"]), y)
    z_t = predict(real, masks["t"])
    p = z_t.softmax(1).detach()
    rows = (-1,) + (1,) * (real.dim() - 1)
    r = (config["xi"] * start / start.flatten(1).norm(dim=1).view(rows)).requires_grad_()
    slope, = torch.autograd.grad(kl(p, predict(real.detach() + r, masks["t"]).log_softmax(1)), r)
    radius = config["radius"] * (1 if pictures else real.detach().norm(dim=1).view(rows))
    r = radius * slope / slope.flatten(1).norm(dim=1).view(rows)
    entropy = -(z_t.softmax(1) * z_t.log_softmax(1)).sum(1).mean()
    virtual = kl(p, predict(real + r, masks["t"]).log_softmax(1))
    distance = sum(((theta[key] - origin) ** 2).sum() for key, origin in dump.below("origin.").items())
    marginal = p.mean(0)
    marginal = -(marginal * marginal.log()).sum()
    comparison.check("losses", "loss.predictor",
                     torch.stack((generated, distance, entropy, virtual, marginal)).detach())
    ramped = config["lambda_g"] * generated + config["lambda_clu"] * (entropy + virtual)
    total = config["ramp"] * ramped + config["lambda_w"] * distance
    check_gradients(comparison, "predictor", total, theta)

    weight = dump["adam.start"].clone().requires_grad_()
    optimiser = torch.optim.Adam([weight], lr=config["adam_rate"], betas=config["adam_betas"])
    for i in range(config["adam_steps"]):
        weight.grad = dump[f"adam.gradient.{i}"]
        optimiser.step()
        comparison.check("Adam", f"adam.after.{i}", weight.detach().clone())
    if source.backbone.kinks.close:
        comparison.note(f"{source.backbone.kinks.close} activations within 1e-6 of a kink of ReLU or maximum")
    inputs = ("generator.", "discriminator.", "source.", "origin.", "labels", "z", "start", "mask.", "pixels",
              "adam.start", "adam.gradient.")
    return comparison.report(inputs)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
