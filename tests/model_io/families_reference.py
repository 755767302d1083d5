"""Writes weight files of torchvision networks in the names of several libraries, and what torchvision computes with them.

    families_reference.py FOLDER ROW ..   writes for every row FOLDER/NETWORK_NAMES.pt, and per network
                                          FOLDER/NETWORK.safetensors with the pictures "x", their "logits", and with
                                          gradients=1 the gradient "grad.TENSOR" of every parameter in torchvision's names
                                          for the loss (logits * "factor").sum()

A row is "network=swin_t;names=timm;size=64;gradients=1;prefix=model.;wrapper=ema". The renaming is written here once
more, independently of the program's.
"""
import os
import re
import sys
import zlib

import torch
import torchvision
from torch import nn

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "parity"))
import tensor_file  # noqa: E402
import published_networks as published  # noqa: E402

CLASSES = 7
VITS = {"dinov2": {"patch": 14, "scaled": True, "features": "both"},
        "dinov2_reg": {"patch": 14, "scaled": True, "registers": 4, "features": "both"},
        "clip": {"patch": 16, "clip": True}, "clip_raw": {"patch": 16, "clip": True, "features": "raw"}}


def build(name, size):
    models = torchvision.models
    if name.startswith("vit_ti_16"):  # no constructor of its own
        return models.VisionTransformer(image_size=size, patch_size=16, num_layers=12, num_heads=3, hidden_dim=192,
                                        mlp_dim=768, num_classes=CLASSES)
    if name in VITS:
        return published.Vit(size, classes=CLASSES, **VITS[name])
    if name == "convnextv2_tiny":
        return published.ConvNextV2(CLASSES)
    if name == "swin_v2_t_window16":  # the last stage's map is 8 x 8 for the pictures of 256 that it is made for
        swin = models.swin_transformer
        net = swin.SwinTransformer([4, 4], 96, [2, 2, 6, 2], [3, 6, 12, 24], [16, 16], num_classes=CLASSES,
                                   stochastic_depth_prob=0, block=swin.SwinTransformerBlockV2,
                                   downsample_layer=swin.PatchMergingV2)
        for block in net.features[7]:
            block.attn = swin.ShiftedWindowAttentionV2(768, [8, 8], [0, 0], 24)
        return net
    if name == "regnety_008":  # torchvision rounds widths to other multiples
        regnet = models.regnet
        return regnet.RegNet(regnet.BlockParams([1, 3, 8, 2], [64, 128, 320, 768], [16] * 4, [1.0] * 4, [2] * 4, 0.25),
                             num_classes=CLASSES)
    return getattr(models, name)(weights=None, num_classes=CLASSES)


def set_weights(net, size):
    """Random numbers that keep activations near 1 and let every tensor matter."""
    for name, value in [*net.named_parameters(), *net.named_buffers()]:
        if not value.is_floating_point() or name.endswith("relative_coords_table"):
            continue
        if name.endswith("running_var"):
            value.uniform_(0.5, 1.5)
        elif name.endswith(("layer_scale", "gamma")):
            value.uniform_(0.1, 0.4)
        elif name.endswith("logit_scale"):
            value.uniform_(0.5, 3)
        elif name in ("cls_token", "pos_embed", "reg_token"):
            value.uniform_(-0.5, 0.5).mul_(64).round_().div_(64)  # sums of two are exact in half precision
        elif value.dim() <= 1:
            value.uniform_(-0.2, 0.2)
            if name.endswith("weight"):
                value += 1
        else:
            fan = value[0].numel() if value.dim() > 1 else 1
            value.uniform_(-1, 1).mul_((3 / fan) ** 0.5 if fan > 1 else 0.3)
    norms = [module for module in net.modules() if isinstance(module, nn.BatchNorm2d)]
    if norms:  # running statistics that fit the weights
        for norm in norms:
            norm.momentum = 1
        net.train()(torch.randn(4, 3, size, size))
        net.eval()
        for norm in norms:
            norm.running_var.clamp_(min=0.01)  # small variances amplify rounding errors
    for name, value in net.state_dict().items():
        if value.is_floating_point() and not name.endswith("relative_coords_table"):
            value.copy_(value.half())


def replaced(name, rules):
    for pattern, to in rules:
        changed, count = re.subn("^" + pattern, to, name)
        if count:
            return changed
    return name


VIT = r"encoder\.layers\.encoder_layer_(\d+)\."
TIMM = {
    "vit": [(VIT + "ln_", r"blocks.\1.norm"), (VIT + r"self_attention\.in_proj_", r"blocks.\1.attn.qkv."),
            (VIT + r"self_attention\.out_proj", r"blocks.\1.attn.proj"), (VIT + r"mlp\.0", r"blocks.\1.mlp.fc1"),
            (VIT + r"mlp\.3", r"blocks.\1.mlp.fc2"), ("class_token", "cls_token"),
            (r"encoder\.pos_embedding", "pos_embed"), ("conv_proj", "patch_embed.proj"), (r"encoder\.ln", "norm"),
            (r"heads\.head", "head")],
    "convnext": [(r"features\.0\.", "stem."), (r"classifier\.0", "head.norm"), (r"classifier\.2", "head.fc")],
    "swin": [(r"features\.0\.0", "patch_embed.proj"), (r"features\.0\.2", "patch_embed.norm"), ("head", "head.fc")],
    "regnet": [(r"stem\.0", "stem.conv"), (r"stem\.1", "stem.bn"), (r"fc\.", "head.fc.")],
}


def timm_name(network, name):
    family = "regnet" if network.startswith("regnet") else network.split("_")[0]
    if family in ("convnext", "swin"):
        found = re.match(r"features\.(\d+)\.(?:(\d+)\.)?(.*)", name)
        if found and found[1] != "0":
            stage, rest = int(found[1]), found[3]
            if stage % 2 == 0:
                head = "stages" if family == "convnext" else "layers"
                return f"{head}.{stage // 2}.downsample." + (f"{found[2]}." if found[2] else "") + rest
            if family == "convnext":
                rest = replaced(rest, [(r"block\.0", "conv_dw"), (r"block\.2", "norm"), (r"block\.3", "mlp.fc1"),
                                       (r"block\.5", "mlp.fc2"), ("layer_scale", "gamma")])
                return f"stages.{stage // 2}.blocks.{found[2]}.{rest}"
            rest = replaced(rest, [(r"mlp\.0", "mlp.fc1"), (r"mlp\.3", "mlp.fc2")])
            return f"layers.{stage // 2}.blocks.{found[2]}.{rest}"
    if family == "regnet":
        found = re.match(r"trunk_output\.block(\d)\.block\d-(\d+)\.(.*)", name)
        if found:
            rest = replaced(found[3], [(r"proj\.", "downsample."), (r"f\.a\.", "conv1."), (r"f\.b\.", "conv2."),
                                       (r"f\.c\.", "conv3."), (r"f\.se\.", "se.")])
            rest = re.sub(r"^(downsample|conv\d)\.0", r"\1.conv", re.sub(r"^(downsample|conv\d)\.1", r"\1.bn", rest))
            return f"s{found[1]}.b{int(found[2]) + 1}.{rest}"
    return replaced(name, TIMM.get(family, []))


def mobile_to_timm(state, network):
    """timm's names follow from the order of a block's tensors."""
    stages = {"mobilenet_v2": [1, 2, 3, 4, 3, 3, 1], "mobilenet_v3_small": [1, 2, 3, 2, 3],
              "mobilenet_v3_large": [1, 2, 3, 4, 2, 3]}.get(network)
    place = {}
    if stages:
        number = 1
        for stage, count in enumerate(stages):
            for block in range(count):
                place[number] = (stage, block)
                number += 1
    parts = {}
    for name in state:
        found = re.match(r"features\.(\d+)\.(?:(\d+)\.)?(?:block|conv)\.(.*)\.(weight|bias|running_\w+|num_\w+)$", name)
        if found:
            key = place[int(found[1])] if stages else (int(found[1]) - 1, int(found[2]))
            parts.setdefault(key, [])
            if found[3] not in parts[key]:
                parts[key].append(found[3])
    result = {}
    for name, value in state.items():
        found = re.match(r"features\.(\d+)\.(?:(\d+)\.)?(?:block|conv)\.(.*)\.(weight|bias|running_\w+|num_\w+)$", name)
        if found:
            key = place[int(found[1])] if stages else (int(found[1]) - 1, int(found[2]))
            order = [part for part in parts[key] if "fc" not in part]
            convs = len(order) // 2
            if found[3].endswith("fc1") or found[3].endswith("fc2"):
                layer = "se.conv_reduce" if found[3].endswith("fc1") else "se.conv_expand"
            else:
                index = order.index(found[3])
                fused = network == "efficientnet_v2_s" and key[0] < 3
                words = {3: ["conv_pw", "conv_dw", "conv_pwl"], 2: ["conv_dw", "conv_pw"], 1: ["conv"]}[convs]
                if fused and convs == 2:
                    words = ["conv_exp", "conv_pwl"]
                layer = words[index // 2] if index % 2 == 0 else f"bn{index // 2 + 1}"
            result[f"blocks.{key[0]}.{key[1]}.{layer}.{found[4]}"] = value
            continue
        last = max(int(key.split(".")[1]) for key in state if key.startswith("features."))
        v3 = network.startswith("mobilenet_v3")
        end = f"blocks.{len(stages)}.0." if v3 else ""
        renamed = replaced(name, [(r"features\.0\.0", "conv_stem"), (r"features\.0\.1", "bn1"),
                                  (rf"features\.{last}\.0", end + "conv" if v3 else "conv_head"),
                                  (rf"features\.{last}\.1", end + "bn1" if v3 else "bn2"),
                                  (r"classifier\.0", "conv_head"), (r"classifier\.[13]", "classifier")])
        result[renamed] = value[..., None, None] if renamed == "conv_head.weight" and v3 else value
    return result


def split_attention(state, names):
    """Hugging Face keeps queries, keys and values apart."""
    result = {}
    for name, value in state.items():
        found = re.match(r"(.*)\.QKV\.(weight|bias)", name)
        if not found:
            result[name] = value
            continue
        for word, part in zip(names, value.chunk(3)):
            result[f"{found[1]}.{word}.{found[2]}"] = part
    return result


def named_as_published(state, network, names):
    """DINOv2 and CLIP, whose networks here have timm's names."""
    rules = {
        "huggingface": [("reg_token", "embeddings.register_tokens"), ("cls_token", "embeddings.cls_token"),
                        ("pos_embed", "embeddings.position_embeddings"),
                        (r"patch_embed\.proj", "embeddings.patch_embeddings.projection"),
                        (r"blocks\.(\d+)\.attn\.qkv", r"encoder.layer.\1.attention.attention.QKV"),
                        (r"blocks\.(\d+)\.attn\.proj", r"encoder.layer.\1.attention.output.dense"),
                        (r"blocks\.(\d+)\.ls(\d)\.gamma", r"encoder.layer.\1.layer_scale\2.lambda1"),
                        (r"blocks\.(\d+)\.", r"encoder.layer.\1."), ("norm", "layernorm")],
        "authors": [("reg_token", "register_tokens")],
        "timm": [],
    }[names]
    if network.startswith("clip") and names == "huggingface":
        rules = [("cls_token", "embeddings.class_embedding"), ("pos_embed", "embeddings.position_embedding.weight"),
                 (r"patch_embed\.proj", "embeddings.patch_embedding"), ("norm_pre", "pre_layrnorm"),
                 (r"blocks\.(\d+)\.attn\.qkv", r"encoder.layers.\1.self_attn.QKV"),
                 (r"blocks\.(\d+)\.attn\.proj", r"encoder.layers.\1.self_attn.out_proj"),
                 (r"blocks\.(\d+)\.norm", r"encoder.layers.\1.layer_norm"),
                 (r"blocks\.(\d+)\.", r"encoder.layers.\1."), ("norm", "post_layernorm")]
    if network == "dinov2_reg" and names == "timm":  # the class token's position is part of it
        state = {**state, "cls_token": state["cls_token"] + state["pos_embed"][:, :1],
                 "pos_embed": state["pos_embed"][:, 1:]}
    head = {"huggingface": "classifier", "authors": "linear_head", "timm": "head"}[names]
    model = {"authors": "backbone.", "timm": "",
             "huggingface": {"dinov2": "dinov2.", "dinov2_reg": "dinov2_with_registers."}.get(network, "vision_model.")}
    result = {}
    for name, value in state.items():
        if name.startswith("head."):
            result[head + name[4:]] = value
        else:
            result[model[names] + replaced(name, rules)] = value
    if names == "huggingface" and network.startswith("clip"):
        result["vision_model.embeddings.class_embedding"] = state["cls_token"].flatten()
        result["vision_model.embeddings.position_embedding.weight"] = state["pos_embed"][0]
        result["vision_model.embeddings.position_ids"] = torch.arange(state["pos_embed"].shape[1])[None]
        return split_attention(result, ["q_proj", "k_proj", "v_proj"])
    if names != "timm":
        result[model[names] + ("embeddings." if names == "huggingface" else "") + "mask_token"] = torch.zeros(1, 192)
    return split_attention(result, ["query", "key", "value"])


def renamed(state, network, names):
    if names == "torchvision":
        return state
    if network in VITS:
        return named_as_published(state, network, names)
    if network.startswith(("mobilenet", "efficientnet")):
        return mobile_to_timm(state, network)
    timm = {timm_name(network, name): value for name, value in state.items()
            if not name.endswith(("relative_position_index", "relative_coords_table"))}
    if network == "convnextv2_tiny":
        timm = {name: value[None, None, None] if "grn" in name and names == "huggingface" else value
                for name, value in state.items()}
    if names == "timm":
        if network.startswith("convnext"):
            timm = {name: value.flatten() if name.endswith("gamma") else value for name, value in timm.items()}
        if network.startswith("swin_v2"):  # timm stores the biases of queries and values apart
            result = {}
            for name, value in timm.items():
                if name.endswith("qkv.bias"):
                    q, _, v = value.chunk(3)
                    result[name.replace("qkv.bias", "q_bias")], result[name.replace("qkv.bias", "v_bias")] = q, v
                else:
                    result[name] = value
            timm = result
        return timm
    if names == "authors":  # ConvNeXt; Swin with downsampling at the end of a stage and a plain head
        rules = [(r"stem\.", "downsample_layers.0."), (r"stages\.(\d)\.downsample", r"downsample_layers.\1"),
                 (r"stages\.(\d)\.blocks\.(\d+)\.conv_dw", r"stages.\1.\2.dwconv"),
                 (r"stages\.(\d)\.blocks\.(\d+)\.mlp\.fc", r"stages.\1.\2.pwconv"),
                 (r"stages\.(\d)\.blocks\.(\d+)\.", r"stages.\1.\2."), (r"head\.norm", "norm"), (r"head\.fc", "head")]
        shifted = {re.sub(r"^layers\.(\d)\.downsample", lambda m: f"layers.{int(m[1]) - 1}.downsample", name): value
                   for name, value in timm.items()}
        return {replaced(name, rules): value for name, value in shifted.items()}
    family = "regnet" if network.startswith("regnet") else network.split("_")[0]
    rules = {
        "vit": [("cls_token", "vit.embeddings.cls_token"), ("pos_embed", "vit.embeddings.position_embeddings"),
                (r"patch_embed\.proj", "vit.embeddings.patch_embeddings.projection"),
                (r"blocks\.(\d+)\.norm1", r"vit.encoder.layer.\1.layernorm_before"),
                (r"blocks\.(\d+)\.norm2", r"vit.encoder.layer.\1.layernorm_after"),
                (r"blocks\.(\d+)\.attn\.qkv", r"vit.encoder.layer.\1.attention.attention.QKV"),
                (r"blocks\.(\d+)\.attn\.proj", r"vit.encoder.layer.\1.attention.output.dense"),
                (r"blocks\.(\d+)\.mlp\.fc1", r"vit.encoder.layer.\1.intermediate.dense"),
                (r"blocks\.(\d+)\.mlp\.fc2", r"vit.encoder.layer.\1.output.dense"),
                ("norm", "vit.layernorm"), ("head", "classifier")],
        "convnext": [(r"stem\.0", "convnext.embeddings.patch_embeddings"), (r"stem\.1", "convnext.embeddings.layernorm"),
                     (r"stages\.(\d)\.downsample", r"convnext.encoder.stages.\1.downsampling_layer"),
                     (r"stages\.(\d)\.blocks\.(\d+)\.conv_dw", r"convnext.encoder.stages.\1.layers.\2.dwconv"),
                     (r"stages\.(\d)\.blocks\.(\d+)\.norm", r"convnext.encoder.stages.\1.layers.\2.layernorm"),
                     (r"stages\.(\d)\.blocks\.(\d+)\.mlp\.fc", r"convnext.encoder.stages.\1.layers.\2.pwconv"),
                     (r"stages\.(\d)\.blocks\.(\d+)\.mlp\.grn", r"convnext.encoder.stages.\1.layers.\2.grn"),
                     (r"stages\.(\d)\.blocks\.(\d+)\.gamma", r"convnext.encoder.stages.\1.layers.\2.layer_scale_parameter"),
                     (r"head\.norm", "convnext.layernorm"), (r"head\.fc", "classifier")],
        "swin": [(r"patch_embed\.proj", "swin.embeddings.patch_embeddings.projection"),
                 (r"patch_embed\.norm", "swin.embeddings.norm"), (r"norm\.", "swin.layernorm."),
                 (r"layers\.(\d)\.blocks\.(\d+)\.norm1", r"swin.encoder.layers.\1.blocks.\2.layernorm_before"),
                 (r"layers\.(\d)\.blocks\.(\d+)\.norm2", r"swin.encoder.layers.\1.blocks.\2.layernorm_after"),
                 (r"layers\.(\d)\.blocks\.(\d+)\.attn\.qkv", r"swin.encoder.layers.\1.blocks.\2.attention.self.QKV"),
                 (r"layers\.(\d)\.blocks\.(\d+)\.attn\.proj", r"swin.encoder.layers.\1.blocks.\2.attention.output.dense"),
                 (r"layers\.(\d)\.blocks\.(\d+)\.attn\.", r"swin.encoder.layers.\1.blocks.\2.attention.self."),
                 (r"layers\.(\d)\.blocks\.(\d+)\.mlp\.fc1", r"swin.encoder.layers.\1.blocks.\2.intermediate.dense"),
                 (r"layers\.(\d)\.blocks\.(\d+)\.mlp\.fc2", r"swin.encoder.layers.\1.blocks.\2.output.dense"),
                 (r"layers\.1\.downsample", "swin.encoder.layers.0.downsample"),
                 (r"layers\.2\.downsample", "swin.encoder.layers.1.downsample"),
                 (r"layers\.3\.downsample", "swin.encoder.layers.2.downsample"), (r"head\.fc", "classifier")],
    }[family.removesuffix("v2")]
    if network.endswith(("v2_t", "v2_tiny")):  # the second versions have prefixes of their own
        rules = [(pattern, re.sub(r"^(convnext|swin)\.", r"\1v2.", to)) for pattern, to in rules]
    result = split_attention({replaced(name, rules): value for name, value in timm.items()}, ["query", "key", "value"])
    if network == "swin_v2_t":
        result = {name.replace("self.cpb_mlp", "self.continuous_position_bias_mlp"): value
                  for name, value in result.items() if not name.endswith("self.key.bias")}
    return result


def computed(network, size, gradients):
    """The network, and its logits for two pictures."""
    torch.manual_seed(zlib.crc32(network.encode()))
    net = build(network, size).eval()
    with torch.no_grad():
        set_weights(net, size)
    if network == "vit_ti_16_resized":  # the file has the positions of 4 x 4 patches, which timm interpolates so
        net.stored = torch.rand(1, 17, 192).half().float()
        grid = net.stored[:, 1:].view(1, 4, 4, 192).permute(0, 3, 1, 2)
        grid = nn.functional.interpolate(grid, (size // 16, size // 16), mode="bicubic", antialias=True)
        positions = torch.cat([net.stored[:, :1], grid.flatten(2).transpose(1, 2)], 1)
        net.encoder.pos_embedding.data.copy_(positions)
    x = torch.randn(2, 3, size, size)
    with torch.set_grad_enabled(gradients):
        logits = net(x)
    largest = logits.abs().max()
    # Comparing logits is only meaningful if they vary.
    assert 0.05 < largest < 1000 and (logits[0] - logits[1]).abs().max() > 0.002 * largest, f"{network}: {logits}"
    dump = {"x": x, "logits": logits}
    if any(isinstance(module, nn.BatchNorm2d) for module in net.modules()):
        # BatchNorm with random statistics amplifies rounding errors, so both sides compute in double precision.
        with torch.no_grad():
            dump["logits"] = net.double()(x.double()).float()
    if gradients:
        dump["factor"] = torch.randn_like(logits)
        (logits * dump["factor"]).sum().backward()
        for name, value in net.named_parameters():
            dump["grad." + name] = value.grad
    return net, dump


def write_row(folder, row, net):
    state = net.state_dict()
    if hasattr(net, "stored"):
        state["encoder.pos_embedding"] = net.stored
    state = {row["prefix"] + name: value.half().contiguous() if value.is_floating_point() else value
             for name, value in renamed(state, row["network"], row["names"]).items()}
    state = {row["wrapper"]: state, "epoch": 3} if row["wrapper"] else state
    torch.save(state, os.path.join(folder, f"{row['network']}_{row['names']}.pt"))


def main(folder, rows):
    for module in (nn.init, ):  # torchvision's initialisation takes seconds, and set_weights() overwrites it
        for function in ("kaiming_normal_", "kaiming_uniform_", "trunc_normal_", "xavier_uniform_"):
            setattr(module, function, lambda tensor, *_, **__: tensor)
    parsed = [dict(item.split("=") for item in row.split(";")) for row in rows]
    for network in dict.fromkeys(row["network"] for row in parsed):
        same = [row for row in parsed if row["network"] == network]
        net, dump = computed(network, int(same[0]["size"]), same[0]["gradients"] == "1")
        tensor_file.write(os.path.join(folder, network + ".safetensors"), dump)
        for row in same:
            write_row(folder, row, net)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
