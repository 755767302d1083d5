"""Reads, writes and compares dumps of tensors.

The format is safetensors: eight bytes with the length of a JSON header, the header (name -> dtype, shape, byte range;
`__metadata__` -> strings), then the bytes of all tensors. It is implemented with json, struct and numpy only, so that
the C++ reader and writer are tested against an independent implementation.
"""
import json
import math
import os
import struct

import numpy as np
import torch

DTYPES = {
    "F32": np.dtype("<f4"),
    "F64": np.dtype("<f8"),
    "I64": np.dtype("<i8"),
    "I32": np.dtype("<i4"),
    "U8": np.dtype("u1"),
    "BOOL": np.dtype("?"),
}
NAMES = {dtype: name for name, dtype in DTYPES.items()}


class Tensors(dict):
    """Maps names to tensors; a missing name exits with a message instead of a traceback."""

    def __init__(self, path):
        super().__init__()
        self.path = path

    def __missing__(self, name):
        raise SystemExit(f"{self.path}: no tensor {name}")

    def below(self, prefix):
        """The tensors whose names start with `prefix`, without it."""
        return {name[len(prefix):]: tensor for name, tensor in self.items() if name.startswith(prefix)}


def read(path):
    """Returns (name -> torch tensor, metadata). Rejects files whose tensors do not cover the data exactly once."""
    with open(path, "rb") as file:
        content = file.read()
    if len(content) < 8:
        raise ValueError(f"{path}: {len(content)} bytes are too few for a header")
    (length,) = struct.unpack("<Q", content[:8])
    if length > len(content) - 8:
        raise ValueError(f"{path}: a header of {length} bytes in a file of {len(content)}")
    header = json.loads(content[8:8 + length].decode("utf-8"))
    metadata = header.pop("__metadata__", {})
    data = memoryview(content)[8 + length:]

    tensors, end_of_last = Tensors(path), 0
    for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        if entry["dtype"] not in DTYPES:
            raise ValueError(f"{path}: {name} is of type {entry['dtype']}; we read {', '.join(DTYPES)}")
        dtype, shape = DTYPES[entry["dtype"]], entry["shape"]
        begin, end = entry["data_offsets"]
        if begin != end_of_last or end - begin != dtype.itemsize * math.prod(shape) or end > len(data):
            raise ValueError(f"{path}: {name} {shape} at bytes {begin} to {end}; the last one ended at {end_of_last}")
        array = np.frombuffer(data[begin:end], dtype=dtype).reshape(shape)
        tensors[name] = torch.from_numpy(array.copy())
        end_of_last = end
    if end_of_last != len(data):
        raise ValueError(f"{path}: {len(data) - end_of_last} bytes belong to no tensor")
    return tensors, metadata


def write(path, tensors, metadata=None):
    """Writes name -> torch tensor (or numpy array); `metadata` is a flat dict of strings."""
    header, chunks, offset = {}, [], 0
    if metadata:
        header["__metadata__"] = dict(metadata)
    for name, tensor in tensors.items():
        array = np.asarray(tensor.detach().cpu().numpy() if torch.is_tensor(tensor) else tensor)
        chunk = array.tobytes()  # C order, for any strides
        header[name] = {
            "dtype": NAMES[array.dtype],
            "shape": list(array.shape),
            "data_offsets": [offset, offset + len(chunk)],
        }
        chunks.append(chunk)
        offset += len(chunk)
    text = json.dumps(header, separators=(",", ":")).encode("utf-8")
    text += b" " * (-len(text) % 8)  # the data starts at a multiple of eight bytes
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)))
        file.write(text)
        for chunk in chunks:
            file.write(chunk)


class Comparison:
    """Collects results, group by group, and compares them with the tensors of a dump.

    Floats: max|ours - expected| <= 1e-5 max|expected|. Some tensors are zero in exact arithmetic and contain only
    rounding, such as the gradient of a bias before a BatchNorm (1e-6 of the largest gradient, measured with a batch of
    64). A tensor below 1e-5 of the largest value of its group is treated like this and compared relative to that
    largest value. Integers must be equal.
    """

    TOLERANCE = 1e-5
    ZERO = 1e-5

    def __init__(self, expected):
        self.expected = expected
        self.groups = {}
        self.failures = []
        self.notes = []
        self.seen = set()

    def check(self, group, name, ours, floor=0.0):
        """`floor` is the smallest scale for `name`: the magnitude of the terms whose difference it is."""
        self.groups.setdefault(group, []).append((name, ours, floor))
        self.seen.add(name)

    def fail(self, name, why):
        self.failures.append(f"{name}: {why}")

    def note(self, text):
        self.notes.append(text)

    def report(self, inputs=()):
        """Prints one line per group and the failures; returns the exit code. `inputs`: prefixes of tensors to skip."""
        for group, members in self.groups.items():
            self._report_group(group, members)
        for text in self.notes:
            print(f"note: {text}")
        unused = [name for name in self.expected if name not in self.seen and not name.startswith(tuple(inputs))]
        if unused:
            print(f"note: {len(unused)} tensors of the dump were not compared: {', '.join(sorted(unused)[:8])}")
        for failure in self.failures:
            print(f"FAIL {failure}")
        name = os.path.basename(getattr(self.expected, "path", "the dump"))
        print(f"{name}: {'DIFFERENT' if self.failures else 'equal'}, {len(self.seen)} tensors compared")
        return 1 if self.failures else 0

    def _report_group(self, group, members):
        floats = [self.expected[name] for name, _, _ in members if name in self.expected]
        group_scale = max((largest(t) for t in floats if t.is_floating_point()), default=0.0)
        worst, worst_name, compared = -1.0, "", 0
        for name, ours, floor in members:
            if name not in self.expected:
                self.fail(name, "missing in the dump")
                continue
            theirs = self.expected[name]
            if ours.shape != theirs.shape and not ours.numel() == theirs.numel() == 1:
                self.fail(name, f"is {list(theirs.shape)}, should be {list(ours.shape)}")
                continue
            compared += 1
            ratio = self._ratio(ours, theirs, floor, group_scale)
            if not ratio <= worst:  # NaN also counts as the worst
                worst, worst_name = ratio, name
            if not ratio <= self.TOLERANCE:
                self.fail(name, f"off by {ratio:.2e} of its scale, allowed {self.TOLERANCE:.0e}")
        print(f"{group:<28} {compared:>4} tensors   worst {max(worst, 0.0):.1e}   {worst_name}")

    def _ratio(self, ours, theirs, floor, group_scale):
        if not ours.is_floating_point():
            return 0.0 if torch.equal(ours.long().reshape(-1), theirs.long().reshape(-1)) else math.inf
        if ours.numel() == 0:
            return 0.0
        ours, theirs = ours.detach().double().reshape(-1), theirs.double().reshape(-1)
        scale = largest(theirs)
        if max(scale, largest(ours)) < self.ZERO * group_scale:
            scale = group_scale
        scale = max(scale, floor)
        difference = largest(ours - theirs)
        return difference / scale if scale > 0 else (0.0 if difference == 0 else math.inf)


def largest(tensor):
    """max|tensor|, or NaN if the tensor contains one."""
    return tensor.detach().double().abs().max().item() if tensor.numel() else 0.0
