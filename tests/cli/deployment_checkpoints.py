"""Writes the input files of the documentation pages: deployment_checkpoints.py FOLDER

Four torchvision classifiers with random weights in several variants of torch.save, class names, a folder of JPEG files,
one of them rotated by EXIF, and a few in class folders.
"""
import os
import sys

import numpy
import torch
import torchvision
from PIL import Image

CLASSES = ["cat", "dog", "horse", "tree"]


def network(name, seed):
    torch.manual_seed(seed)
    net = getattr(torchvision.models, name)(num_classes=len(CLASSES))
    for module in net.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            torch.nn.init.uniform_(module.running_var, 0.5, 1.5)
    return net


def picture(path, seed, size, orientation=1):
    random = numpy.random.RandomState(seed)
    coarse = random.randint(0, 256, (6, 8, 3)).astype(numpy.uint8)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    exif = Image.Exif()
    exif[0x0112] = orientation
    Image.fromarray(coarse).resize(size, Image.BICUBIC).save(path, quality=90, exif=exif.tobytes())


def main(folder):
    os.chdir(folder)
    torch.save(network("resnet18", 1).state_dict(), "hospital-a.pth")
    wrapped = {"epoch": 3, "state_dict": torch.nn.DataParallel(network("resnet18", 2)).state_dict()}
    torch.save(wrapped, "hospital-b.pth", _use_new_zipfile_serialization=False)
    torch.save({"model": network("resnet34", 3).half().state_dict()}, "hospital-c.pth")
    torch.save(network("mobilenet_v3_small", 4).state_dict(), "hospital-d.pth")
    with open("classes.txt", "w") as file:
        file.write("\n".join(CLASSES) + "\n")
    for i in range(14):
        picture(f"photos/{i:02}.jpg", i, [(96, 80), (73, 73), (60, 130), (200, 150)][i % 4], 6 if i == 3 else 1)
    for i in range(8):
        picture(f"labelled/{CLASSES[i % 4]}/{i}.jpg", 100 + i, (80, 80))


if __name__ == "__main__":
    main(sys.argv[1])
