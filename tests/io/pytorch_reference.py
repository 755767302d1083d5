"""Writes state dictionaries with PyTorch, and the expected tensors of each.

    pytorch_reference.py FOLDER   writes NAME.pt for every name in FOLDER/names.txt, and NAME.safetensors: the tensors
                                  made contiguous by PyTorch, with the metadata "ignored" (names, one per line)
"""
import json
import os
import struct
import sys
from collections import OrderedDict

import torch
from torch import nn

DTYPES = {torch.float64: "F64", torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16", torch.int64: "I64",
          torch.int32: "I32", torch.int16: "I16", torch.int8: "I8", torch.uint8: "U8", torch.bool: "BOOL"}


def raw(tensor):
    tensor = tensor.detach().cpu().contiguous()
    if tensor.dtype == torch.bfloat16:
        tensor = tensor.view(torch.int16)
    return tensor.numpy().tobytes()


def write_expected(path, tensors, ignored):
    header, blob = {"__metadata__": {"ignored": "\n".join(ignored)}}, b""
    for name, tensor in tensors.items():
        data = raw(tensor)
        header[name] = {"dtype": DTYPES[tensor.dtype], "shape": list(tensor.shape),
                        "data_offsets": [len(blob), len(blob) + len(data)]}
        blob += data
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + blob)


def views():
    base = torch.arange(60, dtype=torch.float32).reshape(3, 4, 5)
    long = torch.arange(12)
    return {
        "whole": base, "transposed": base.permute(2, 0, 1), "row": base[1], "column": base[:, 2, 3],
        "steps": base[::2, 1:, ::3], "expanded": torch.tensor([1.5, 2.5]).reshape(2, 1).expand(2, 4),
        "tail": long[7:], "shared": long.view(3, 4).t(), "overlapping": long.as_strided((4, 3), (2, 1)),
        "last": torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last),
        "one": base.as_strided((1, 5), (999, 1)), "half.t": torch.randn(3, 4).half().t(),
    }


def cases():
    """Yields name, saved object, expected tensors, ignored names."""
    torch.manual_seed(1)
    kinds = {str(dtype)[6:]: (torch.randn(3, 4) * 40).to(dtype) for dtype in DTYPES if dtype != torch.uint8}
    kinds["uint8"] = torch.arange(7, dtype=torch.uint8)
    yield "kinds", kinds, kinds, []
    strided = views()
    yield "views", strided, strided, []

    shapes = OrderedDict(scalar=torch.tensor(3), empty=torch.empty(0, 4), end=torch.arange(4)[4:], one=torch.ones(1, 1),
                         größe=torch.zeros(2), parameter=nn.Parameter(torch.randn(2, 2)))
    yield "shapes", shapes, shapes, []

    net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Linear(4, 2))
    state = net.state_dict()
    assert hasattr(state, "_metadata")
    yield "plain", state, state, []
    yield "parameters", dict(net.named_parameters()), dict(net.named_parameters()), []
    yield "parallel", nn.DataParallel(net).state_dict(), state, []
    mixed = {"module.a": torch.ones(2), "b": torch.zeros(2)}
    yield "mixed", mixed, mixed, []

    optimizer = torch.optim.Adam(net.parameters())
    for parameter in net.parameters():
        parameter.grad = torch.ones_like(parameter)
    optimizer.step()
    state = {name: tensor.clone() for name, tensor in net.state_dict().items()}
    rest = {"epoch": 7, "best": 0.875, "step": torch.tensor(9),
            "args": {"lr": 1e-3, "layers": [1, (2, 3)], "big": 2**40}, "optimizer": optimizer.state_dict(),
            "dtype": torch.float16, "size": torch.Size([2, 3]), 5: None}
    ignored = ["epoch", "best", "step", "args", "optimizer", "dtype", "size", "5"]
    for key in ["state_dict", "model_state_dict", "model", "net", "module"]:
        yield "wrapped_" + key, {**rest, key: state}, state, ignored
    yield "wrapped_twice", {"epoch": 1, "model": {"x": True, "state_dict": nn.DataParallel(net).state_dict()}}, state, [
        "epoch", "model.x"]
    extra = {"a": torch.ones(2), "a._extra_state": None, "note": "text"}
    yield "extra", {"state_dict": extra, "model": "resnet"}, {"a": torch.ones(2)}, [
        "model", "state_dict.a._extra_state", "state_dict.note"]
    many = {f"t{i}": torch.full((2,), i) for i in range(400)}
    yield "many", many, many, []


FORMS = {"zip": {}, "zip4": {"pickle_protocol": 4}, "legacy": {"_use_new_zipfile_serialization": False},
         "legacy5": {"_use_new_zipfile_serialization": False, "pickle_protocol": 5}}


def main(folder):
    names = []
    for name, saved, tensors, ignored in cases():
        for form, options in FORMS.items():
            names.append(f"{name}.{form}")
            torch.save(saved, os.path.join(folder, names[-1] + ".pt"), **options)
            write_expected(os.path.join(folder, names[-1] + ".safetensors"), tensors, ignored)
    with open(os.path.join(folder, "names.txt"), "w") as file:
        file.write("\n".join(names) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
