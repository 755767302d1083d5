"""Runs exported models in PyTorch.

    export_reference.py torchscript MODEL BATCHxHxWx3 PIXELS.bin OUT.bin
    export_reference.py torchvision:NETWORK MODEL BATCHxHxWx3 PIXELS.bin OUT.bin

Reads uint8 pixels and writes probabilities as float32. The second form loads a state dictionary with weights_only into
torchvision's own network and normalises as for ImageNet.
"""
import sys

import numpy
import torch


def main(kind, model, shape, pixels, out):
    dims = [int(extent) for extent in shape.split("x")]
    x = torch.from_numpy(numpy.fromfile(pixels, numpy.uint8).reshape(dims))
    with torch.no_grad():
        if kind == "torchscript":
            probabilities = torch.jit.load(model)(x)
        else:
            import torchvision
            state = torch.load(model, weights_only=True)
            classes = len(list(state.values())[-1])  # the bias of the last layer
            network = getattr(torchvision.models, kind.split(":")[1])(weights=None, num_classes=classes)
            network.load_state_dict(state)
            normalise = torchvision.transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
            probabilities = network.eval()(normalise(x.permute(0, 3, 1, 2).float() / 255)).softmax(1)
    probabilities.numpy().astype(numpy.float32).tofile(out)


if __name__ == "__main__":
    main(*sys.argv[1:])
