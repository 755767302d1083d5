"""A reference implementation of safetensors with json, struct and numpy.

    safetensors_reference.py write OUT.safetensors   writes the file that `expected` describes
    safetensors_reference.py check IN.safetensors    compares a file with `expected`; fails if they differ
"""
import json
import struct
import sys

import numpy as np

DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1", "U8": "u1",
          "BOOL": "?"}
METADATA = {"format": "pt", "classes": "[\"müll\", \"a\\b\"]", "empty": ""}


def expected():
    """Tensor i of n has the values (i + k) % 100, which every type but BOOL holds exactly."""
    shapes = [(2, 3), (4,), (), (0, 5), (3, 1, 2), (1, 1, 1, 1), (7,), (5,), (3, 3)]
    tensors = {}
    for i, (dtype, shape) in enumerate(zip(DTYPES, shapes)):
        values = (i + np.arange(int(np.prod(shape)))) % 100
        tensors[f"source.{i}.größe \"{dtype}\""] = (dtype, values.reshape(shape).astype(DTYPES[dtype]))
    return tensors


def write(path):
    # Another order than our writer's, and no padding: both are valid.
    header, offset, blob = {}, 0, b""
    for name, (dtype, array) in reversed(list(expected().items())):
        data = array.tobytes()
        header[name] = {"data_offsets": [offset, offset + len(data)], "shape": list(array.shape), "dtype": dtype}
        offset += len(data)
        blob += data
    header["__metadata__"] = METADATA
    text = json.dumps(header, indent=1).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + blob)


def check(path):
    with open(path, "rb") as file:
        raw = file.read()
    (length,) = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8 : 8 + length])
    data = raw[8 + length :]
    assert (8 + length) % 8 == 0, "the data is not aligned"
    assert header.pop("__metadata__") == METADATA, "the metadata differs"
    want = expected()
    assert set(header) == set(want), "the names differ"
    covered = 0
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        assert begin == covered, f"{name} starts at {begin} instead of {covered}"
        covered = end
        dtype, array = want[name]
        got = np.frombuffer(data[begin:end], DTYPES[entry["dtype"]]).reshape(entry["shape"])
        assert entry["dtype"] == dtype and got.shape == array.shape, f"{name} has another type or shape"
        assert (8 + length + begin) % array.itemsize == 0, f"{name} is not aligned"
        assert np.array_equal(got, array), f"{name} has other values"
    assert covered == len(data), "trailing bytes after the last tensor"


if __name__ == "__main__":
    {"write": write, "check": check}[sys.argv[1]](sys.argv[2])
