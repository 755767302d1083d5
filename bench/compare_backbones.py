#!/usr/bin/env python3
"""Compares the logits of every built-in network with torchvision's or timm's, with random weights.

    PYTHONPATH=build/python python3 bench/compare_backbones.py [--timm] [--only PATTERN] [--jobs 1]

For every network the library's own model writes a state dictionary, the Python module reads it and computes the logits
of two pictures. They must equal the library's, computed in double precision, to 1e-5 of the largest logit; the column
"own float32" is what the library itself deviates from that in single precision. No weight keeps a value that would hide
a mistake: BatchNorm has running statistics near those of the activations, LayerScale, positions and tokens are large.
Where two sizes are given, the weights are for the first one and the pictures have the second one, so that positions are
interpolated. Prints a table; exits with 1 if a network differs, is not recognised, or fails.
"""
import argparse
import concurrent.futures
import fnmatch
import json
import multiprocessing
import os
import pathlib
import sys
import tempfile
import traceback
import zlib

import tributary
import torch
from torch import nn

CLASSES, LIMIT = 7, 1e-5
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


# Residual blocks with BatchNorm, of both libraries.
BLOCKS = ("BasicBlock", "Bottleneck", "ResBottleneckBlock", "InvertedResidual", "MBConv", "FusedMBConv", "EdgeResidual",
          "DepthwiseSeparableConv", "ConvBnAct")


class Row:
    def __init__(self, theirs, ours="", size=64, made_for=0, told=False, **arguments):
        self.theirs, self.ours = theirs, ours or theirs
        self.size, self.made_for = size, made_for or size
        self.told = told  # tensors cannot tell the architecture, so the user has to
        self.arguments = arguments

    def title(self):
        extra = "".join(f" {key}={value}" for key, value in self.arguments.items())
        return self.theirs + extra

    def sizes(self):
        return str(self.size) if self.made_for == self.size else f"{self.made_for}, {self.size}"


VITS = {"ti": (192, 12, 3), "s": (384, 12, 6), "b": (768, 12, 12), "l": (1024, 24, 16)}


def torchvision_rows():
    rows = [Row(name) for name in (
        "resnet18", "resnet34", "resnet50", "resnet101", "resnet152", "resnext50_32x4d", "resnext101_32x8d",
        "resnext101_64x4d", "wide_resnet50_2", "wide_resnet101_2", "vgg16", "vgg16_bn", "vgg19", "vgg19_bn",
        "convnext_tiny", "convnext_small", "convnext_base", "convnext_large",
        "mobilenet_v2", "mobilenet_v3_large", "mobilenet_v3_small",
        "efficientnet_b0", "efficientnet_b1", "efficientnet_b2", "efficientnet_b3", "efficientnet_b4",
        "efficientnet_v2_s", "densenet121", "densenet161", "densenet169", "densenet201",
        "regnet_y_400mf", "regnet_y_800mf", "regnet_y_1_6gf", "regnet_y_3_2gf", "regnet_y_8gf", "regnet_y_16gf",
        "regnet_y_32gf")]
    # Maps of 28, 14, 7 and 4 pixels: windows are padded, shifted, and patches are merged from an odd side.
    rows += [Row(name, size=112) for name in ("swin_t", "swin_s", "swin_b", "swin_v2_t", "swin_v2_s", "swin_v2_b")]
    rows += [Row(f"vit_{size}_{patch}", size=2 * patch if patch == 32 else 4 * patch)
             for size in VITS for patch in (8, 14, 16, 32)]
    return rows


def timm_rows():
    rows = [Row("vit_tiny_patch16_224", "vit_ti_16", 96), Row("vit_small_patch16_224", "vit_s_16", 224)]
    for size, letter in (("small", "s"), ("base", "b"), ("large", "l")):
        for patch in (8, 14, 16, 32):
            rows.append(Row(f"vit_{size}_patch{patch}_224", f"vit_{letter}_{patch}", 5 * patch, 224))
        rows += [Row(f"vit_{size}_patch14_dinov2", f"vit_{letter}_14_ls", 98, 518),
                 Row(f"vit_{size}_patch14_reg4_dinov2", f"vit_{letter}_14_ls_reg", 112, 518),
                 Row(f"deit3_{size}_patch16_224", f"vit_{letter}_16_ls", 96, 224)]
    rows += [Row("vit_small_patch14_dinov2", "vit_s_14_ls", 518),
             Row("deit_tiny_patch16_224", "vit_ti_16", 64), Row("deit_small_patch16_224", "vit_s_16", 64),
             Row("deit_base_patch16_224", "vit_b_16", 288, 224),
             # timm gives this one 16 heads, which no weights show; SigLIP's, of the same shapes, has 12.
             Row("vit_base_patch16_gap_224", "vit_b_16_gap", 96, 224, num_heads=12),
             Row("vit_base_patch16_224", "vit_b_16_mean", 96, 224, global_pool="avg")]
    for name, ours in (("vit_base_patch32_clip", "vit_b_32"), ("vit_base_patch16_clip", "vit_b_16"),
                       ("vit_large_patch14_clip", "vit_l_14")):
        size = 5 * int(ours[-2:])
        rows += [Row(name + "_224", ours + "_prenorm", size, 224),
                 Row(name + "_quickgelu_224", ours + "_clip", size, 224, told=True)]
    for size, letter in (("tiny", "t"), ("small", "s"), ("base", "b")):
        rows += [Row(f"swin_{size}_patch4_window7_224", f"swin_{letter}", 224),
                 Row(f"swinv2_{size}_window8_256", f"swin_v2_{letter}", 256),
                 Row(f"swinv2_{size}_window16_256", f"swin_v2_{letter}_window16", 256, told=True)]
    rows.append(Row("swin_base_patch4_window12_384", "swin_b_window12", 384))
    rows += [Row(name) for name in ("convnext_tiny", "convnext_small", "convnext_base", "convnext_large",
                                    "convnextv2_tiny", "convnextv2_base", "convnextv2_large",
                                    "resnet18", "resnet50", "resnext50_32x4d", "wide_resnet50_2", "wide_resnet101_2",
                                    "densenet121", "densenet161", "densenet169", "densenet201")]
    rows += [Row(f"efficientnet_b{number}") for number in range(5)]
    # An odd side makes TensorFlow's padding differ on opposite sides.
    rows += [Row(f"tf_efficientnet_b{number}", size=75, told=True) for number in range(5)]
    rows += [Row("tf_efficientnetv2_s", size=75, told=True), Row("mobilenetv2_100", "mobilenet_v2"),
             Row("mobilenetv3_large_100"), Row("mobilenetv3_small_100")]
    for number, flops in (("004", "400mf"), ("016", "1_6gf"), ("032", "3_2gf"), ("160", "16gf"), ("320", "32gf")):
        rows.append(Row(f"regnety_{number}", f"regnet_y_{flops}"))
    return rows + [Row("regnety_008"), Row("regnety_080")]


def torchvision_network(row, size):
    import torchvision
    if row.theirs.startswith("vit_"):
        _, letter, patch = row.theirs.split("_")
        width, depth, heads = VITS[letter]
        return torchvision.models.VisionTransformer(
            image_size=size, patch_size=int(patch), num_layers=depth, num_heads=heads, hidden_dim=width,
            mlp_dim=4 * width, num_classes=CLASSES)
    return getattr(torchvision.models, row.theirs)(weights=None, num_classes=CLASSES)


def timm_network(row, size):
    import timm
    if not timm.is_model(row.theirs):
        return None
    sized = {"img_size": size} if any(part in row.theirs for part in ("vit_", "deit", "swin")) else {}
    return timm.create_model(row.theirs, pretrained=False, num_classes=CLASSES, **sized, **row.arguments)


def pictures(count, size):
    """Patches of colour with noise: white noise alone would be the same to a network that averages over places."""
    coarse = nn.functional.interpolate(torch.rand(count, 3, 5, 5), size=(size, size), mode="bilinear")
    fine = torch.rand(count, 3, size, size)
    return ((0.7 * coarse + 0.3 * fine) * 255).byte().permute(0, 2, 3, 1).contiguous()


def normalised(pixels):
    x = pixels.permute(0, 3, 1, 2).float() / 255
    return (x - torch.tensor(MEAN).view(3, 1, 1)) / torch.tensor(DEVIATION).view(3, 1, 1)


def randomise(net, size):
    """Random weights that keep activations near 1 and let every tensor matter."""
    for name, value in net.named_parameters():
        last = name.split(".")[-1]
        if last in ("pos_embed", "pos_embedding", "cls_token", "class_token", "reg_token"):
            value.uniform_(-0.5, 0.5)
        elif last == "layer_scale" or last == "gamma":
            value.uniform_(0.1, 0.4)
        elif last == "relative_position_bias_table":
            value.uniform_(-1, 1)
        elif last == "logit_scale":
            value.uniform_(0.5, 3)
            value.flatten()[0] = 4.8  # above the largest that is used
        elif value.dim() <= 1 or "grn" in name:
            value.uniform_(-0.2, 0.2)
            if last == "weight":
                value += 1
        else:
            value.uniform_(-1, 1).mul_((3 / value[0].numel()) ** 0.5)
    norms = [module for module in net.modules() if isinstance(module, nn.BatchNorm2d)]
    if not norms:
        return
    for block in net.modules():
        if type(block).__name__ in BLOCKS:
            [*_, last] = (module for name, module in block.named_modules() if isinstance(module, nn.BatchNorm2d)
                          and not name.startswith(("downsample", "proj")))
            last.weight *= 0.1  # deep residual networks with large branches amplify rounding errors
    for norm in norms:
        norm.momentum = 1
    net.train()(normalised(pictures(8, size)))
    net.eval()
    for norm in norms:
        deviation = norm.running_var.clamp(min=0.01).sqrt()  # small variances amplify rounding errors
        norm.running_mean += 0.2 * deviation * torch.randn_like(deviation)
        norm.running_var.copy_(deviation * deviation * torch.empty_like(deviation).uniform_(0.7, 1.5))


def without_initialisation():
    """Initialisation takes longer than the comparison, and randomise() overwrites it."""
    for function in ("kaiming_normal_", "kaiming_uniform_", "trunc_normal_", "xavier_uniform_", "normal_", "uniform_"):
        setattr(nn.init, function, lambda tensor, *_, **__: tensor)


def networks(row, make):
    """The network that the weights are for, and the one with the same weights for the pictures."""
    made = make(row, row.made_for)
    if made is None:
        return None, None
    randomise(made.eval(), row.made_for)
    if row.made_for == row.size:
        return made, made
    from timm.layers import resample_abs_pos_embed
    used = make(row, row.size).eval()
    state = dict(made.state_dict())
    prefixed = 0 if getattr(made, "no_embed_class", False) else made.num_prefix_tokens
    state["pos_embed"] = resample_abs_pos_embed(state["pos_embed"], list(used.patch_embed.grid_size),
                                                num_prefix_tokens=prefixed)
    used.load_state_dict(state)
    return made, used


def compare(number, timm, threads):
    """The cells of the table, and whether the network holds; None if this timm does not have it."""
    row = (timm_rows() if timm else torchvision_rows())[number]
    torch.set_num_threads(threads)
    torch.manual_seed(zlib.crc32(row.title().encode()))
    without_initialisation()
    with torch.no_grad(), tempfile.TemporaryDirectory() as folder:
        made, used = networks(row, timm_network if timm else torchvision_network)
        if made is None:
            return None
        pixels = pictures(2, row.size)
        x = normalised(pixels)
        path = pathlib.Path(folder) / "weights.pt"
        torch.save(made.state_dict(), path)
        single = used(x).double()
        exact = used.double()(x.double())
        del made, used
        told = {"architecture": row.ours} if row.told else {}
        model = tributary.Model(path, size=row.size, resize=row.size, mean=MEAN, std=DEVIATION, device="cpu",
                                threads=threads, **told)
        ours = torch.from_numpy(model.predict(pixels.numpy()).logits)[0].double()
        model.export_card(pathlib.Path(folder) / "card.json")
        found = json.loads((pathlib.Path(folder) / "card.json").read_text())["sources"][0]["architecture"]
    largest = exact.abs().max()
    if not 0.05 < largest < 1000 or (exact[0] - exact[1]).abs().max() < 0.002 * largest:
        raise ValueError(f"logits that say nothing: {exact}")
    difference, own = ((value - exact).abs().max() / largest for value in (ours, single))
    right = difference <= LIMIT and found == row.ours
    verdict = "equal" if right else "DIFFERS" if found == row.ours else f"DIFFERS: taken for {found}"
    return [row.title(), row.ours, row.sizes(), f"{difference:.1e}", f"{own:.1e}", verdict], bool(right)


def attempt(number, timm, threads):
    row = (timm_rows() if timm else torchvision_rows())[number]
    try:
        result = compare(number, timm, threads)
    except Exception as error:  # every other network is compared nevertheless
        if not isinstance(error, tributary.Error):
            traceback.print_exc()
        return [row.title(), row.ours, row.sizes(), "", "", f"FAILED: {str(error).splitlines()[0][:200]}"], False
    return result or ([row.title(), row.ours, row.sizes(), "", "", "not in this timm"], None)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--timm", action="store_true", help="compare with timm instead of torchvision")
    parser.add_argument("--only", default="*", help="networks of that library, as 'vit_*' or 'swin_t,swin_s'")
    parser.add_argument("--jobs", type=int, default=1, help="networks at the same time; each takes up to 8 GiB")
    options = parser.parse_args()
    rows = timm_rows() if options.timm else torchvision_rows()
    chosen = [number for number, row in enumerate(rows)
              if any(fnmatch.fnmatch(row.theirs, pattern) for pattern in options.only.split(","))]
    if not chosen:
        parser.error(f"no network is called {options.only}")
    threads = max(1, len(os.sched_getaffinity(0)) // options.jobs)
    library = "timm" if options.timm else "torchvision"
    print(f"| {library} | here | size | difference | own float32 | verdict |\n|---|---|---|---:|---:|---|", flush=True)
    verdicts = []
    # A process per network returns its memory.
    with concurrent.futures.ProcessPoolExecutor(options.jobs, multiprocessing.get_context("spawn"),
                                                max_tasks_per_child=1) as pool:
        for cells, right in pool.map(attempt, chosen, [options.timm] * len(chosen), [threads] * len(chosen)):
            print("| " + " | ".join(cells) + " |", flush=True)
            verdicts.append(right)
    print(f"\n{verdicts.count(True)} equal, {verdicts.count(False)} not, {verdicts.count(None)} not in this {library}")
    sys.exit(1 if False in verdicts or True not in verdicts else 0)


if __name__ == "__main__":
    main()
