"""Writes weight files of torchvision networks, pictures, and torchvision's logits for them.

    torchvision_reference.py FOLDER ROW ..   writes FOLDER/pictures/*.jpg and for every row FOLDER/NAME.EXTENSION, or
                                             the folder FOLDER/NAME of a triplet, and FOLDER/NAME.logits: float32
                                             [pictures, classes]

A row is "name=a;network=resnet18;.."; see DEFAULTS.
"""
import json
import math
import os
import struct
import sys
import zlib

import torch
import torchvision
from PIL import Image
from torch import nn
from torchvision import transforms

CLASSES = 7
DEFAULTS = {
    "name": "", "network": "resnet18",
    "form": "zip",          # legacy, safetensors; triplet
    "type": "float32",      # of the weights in the file
    "wrapping": "",         # module: a name prefix; otherwise the key of the state dictionary
    "classifier": "plain",  # of a triplet: weight_norm, parametrized
    "stride": "3x3",        # 1x1: as in Caffe, recorded in the metadata
    "size": "0", "resize": "0", "aspect": "stretch", "mean": "", "deviation": "",
}
DTYPES = {torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16", torch.int64: "I64"}


def skip_weight_initialisation():
    """Torchvision's takes seconds, and set_weights() overwrites it."""
    nn.init.kaiming_normal_ = lambda tensor, **_: tensor
    nn.init.kaiming_uniform_ = lambda tensor, **_: tensor


def write_pictures(folder):
    """Smooth colours with noise: one wide, one tall, and one small enough to be upscaled."""
    os.mkdir(folder)
    for number, (width, height) in enumerate([(300, 200), (180, 260), (151, 90)]):
        coarse = torch.rand(3, 6, 6)
        smooth = nn.functional.interpolate(coarse[None], (height, width), mode="bicubic", align_corners=False)[0]
        noisy = (smooth + 0.08 * torch.randn(3, height, width)).clamp(0, 1)
        transforms.functional.to_pil_image(noisy).save(os.path.join(folder, f"{number}.jpg"), quality=92)


def fill_uniform(weight, bound):
    """Random numbers, repeated in large tensors: the 100 million of a VGG take seconds."""
    numbers = torch.empty(min(weight.numel(), 1_000_003)).uniform_(-bound, bound)
    weight.copy_(numbers.repeat(-(-weight.numel() // numbers.numel()))[:weight.numel()].view_as(weight))


def set_weights(net, dtype):
    """Random weights and statistics that keep activations near 1, rounded to `dtype`."""
    blocks = [module for module in net.modules() if hasattr(module, "downsample")]
    last = [block.bn3 if hasattr(block, "bn3") else block.bn2 for block in blocks]
    for module in net.modules():
        if isinstance(module, (nn.Conv2d, nn.Linear)):
            bound = math.sqrt(6 / module.weight[0].numel())
            fill_uniform(module.weight, bound)
            if module.bias is not None:
                module.bias.uniform_(-0.2, 0.2)
        elif isinstance(module, (nn.BatchNorm2d, nn.BatchNorm1d)):
            scale = 0.2 if module in last else 1
            module.weight.uniform_(0.5 * scale, 1.5 * scale)
            module.bias.uniform_(-0.2, 0.2)
            module.running_mean.uniform_(-0.2, 0.2)
            module.running_var.uniform_(0.5, 1.5)
            module.num_batches_tracked.fill_(12345)
    for tensor in [*net.parameters(), *net.buffers()]:
        if tensor.is_floating_point():
            tensor.copy_(tensor.to(dtype))


def rounded(state, dtype):
    return {name: value.to(dtype) if value.is_floating_point() else value for name, value in state.items()}


def build(row):
    options = {"init_weights": False} if row["network"].startswith("vgg") else {}
    net = getattr(torchvision.models, row["network"])(weights=None, num_classes=CLASSES, **options)
    if row["stride"] == "1x1":
        for block in net.modules():
            if hasattr(block, "conv3"):
                block.conv1.stride, block.conv2.stride = block.conv2.stride, (1, 1)
    return net


class Triplet(nn.Module):
    """The research scripts' F, B and C."""

    def __init__(self, network):
        super().__init__()
        if network == "dtn":
            layers, channels = [], [3, 64, 128, 256]
            for i, drop in enumerate([0.1, 0.3, 0.5]):
                layers += [nn.Conv2d(channels[i], channels[i + 1], 5, 2, 2), nn.BatchNorm2d(channels[i + 1]),
                           nn.Dropout2d(drop), nn.ReLU()]
            self.f, width = nn.Sequential(), 4096
            self.f.add_module("conv_params", nn.Sequential(*layers))
        elif network.startswith("vgg"):
            whole = build({**DEFAULTS, "network": network})
            head = nn.Sequential()
            for i in range(6):
                head.add_module(f"classifier{i}", whole.classifier[i])
            self.f, width = nn.Sequential(), 4096
            self.f.add_module("features", whole.features)
            self.f.add_module("flatten", nn.Flatten())
            self.f.add_module("classifier", head)
        else:
            self.f, width = build({**DEFAULTS, "network": network}), 512
            self.f.fc = nn.Identity()
        self.b = nn.Sequential()
        self.b.add_module("bottleneck", nn.Linear(width, 256))
        self.b.add_module("bn", nn.BatchNorm1d(256))
        self.c = nn.Sequential()
        self.c.add_module("fc", nn.Linear(256, CLASSES))

    def forward(self, x):
        return self.c(self.b(self.f(x).flatten(1)))

    def classifier(self, spelling):
        """The state of C; its weight is g v / |v| unless the spelling is plain."""
        fc = self.c.fc
        if spelling != "plain":
            nn.utils.weight_norm(fc)
            fc.weight_g.uniform_(0.5, 2)
        state = self.c.state_dict()
        if spelling == "parametrized":  # the names of the newer torch.nn.utils.parametrizations.weight_norm
            names = {"fc.weight_g": "fc.parametrizations.weight.original0",
                     "fc.weight_v": "fc.parametrizations.weight.original1"}
            state = {names.get(name, name): value for name, value in state.items()}
        return state


def write_safetensors(path, tensors, metadata):
    header, blobs, offset = {"__metadata__": metadata} if metadata else {}, [], 0
    for name, tensor in tensors.items():
        values = tensor.contiguous()
        blobs.append((values.view(torch.int16) if values.dtype == torch.bfloat16 else values).numpy().tobytes())
        header[name] = {"dtype": DTYPES[tensor.dtype], "shape": list(tensor.shape),
                        "data_offsets": [offset, offset + len(blobs[-1])]}
        offset += len(blobs[-1])
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.writelines(blobs)


def write_state(path, row, state):
    if row["wrapping"] == "module":
        state = {"module." + name: value for name, value in state.items()}
    elif row["wrapping"]:
        state = {"epoch": 90, "arch": row["network"], "best": 0.75, row["wrapping"]: state,
                 "optimizer": {"state": {}, "param_groups": [{"lr": 0.1, "params": [0, 1]}]}}
    if row["form"] == "safetensors":
        metadata = {"stride": "1x1", "source": "caffe"} if row["stride"] == "1x1" else {}
        write_safetensors(path + ".safetensors", state, metadata)
    else:
        torch.save(state, path + ".pt", _use_new_zipfile_serialization=row["form"] != "legacy")


def transform(row):
    digits = row["network"] == "dtn"
    size, resize = int(row["size"]), int(row["resize"])
    if size == 0:
        size, resize = (32, 32) if digits else (224, resize or 256)
    numbers = lambda text: [float(number) for number in text.split(",")]
    mean = numbers(row["mean"] or ("0.5,0.5,0.5" if digits else "0.485,0.456,0.406"))
    deviation = numbers(row["deviation"] or ("0.5,0.5,0.5" if digits else "0.229,0.224,0.225"))
    return transforms.Compose([
        transforms.Resize(resize if row["aspect"] == "keep" else (resize, resize)), transforms.CenterCrop(size),
        transforms.ToTensor(), transforms.Normalize(mean, deviation)])


def write_row(folder, row):
    torch.manual_seed(zlib.crc32(row["name"].encode()))
    path, dtype = os.path.join(folder, row["name"]), getattr(torch, row["type"])
    if row["form"] == "triplet":
        net = Triplet(row["network"])
        set_weights(net, torch.float32)
        os.mkdir(path)
        for part, state in [("F", net.f.state_dict()), ("B", net.b.state_dict()),
                            ("C", net.classifier(row["classifier"]))]:
            torch.save(state, os.path.join(path, f"source_{part}.pt"))
    else:
        net = build(row)
        set_weights(net, dtype)
        write_state(path, row, rounded(net.state_dict(), dtype))
    pictures = os.path.join(folder, "pictures")
    prepare = transform(row)
    batch = torch.stack([prepare(Image.open(os.path.join(pictures, name)).convert("RGB"))
                         for name in sorted(os.listdir(pictures))])
    logits = net.eval()(batch)
    largest = logits.abs().max()
    spread = (logits.max(0).values - logits.min(0).values).max() / largest
    # Comparing logits is only meaningful if they vary.
    assert 0.1 < largest < 1000 and spread > 0.02, f"{row['name']}: logits up to {largest}, spread {spread}"
    with open(path + ".logits", "wb") as file:
        file.write(logits.contiguous().numpy().tobytes())


def main(folder, rows):
    torch.manual_seed(1)
    write_pictures(os.path.join(folder, "pictures"))
    skip_weight_initialisation()
    with torch.no_grad():
        for row in rows:
            write_row(folder, {**DEFAULTS, **dict(item.split("=") for item in row.split(";"))})


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
