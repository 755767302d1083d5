"""Writes digits with SciPy in every layout of mat_digits.h, plain and deflated, with the expected pictures and labels.

Usage: mat_reference.py FOLDER. Writes FORM.mat and FORM.deflated.mat, and for each part FORM[.PART].images (bytes in the
order picture, row, column, channel) and FORM[.PART].labels (bytes).
"""
import os
import sys

import numpy
from scipy.io import savemat

folder = sys.argv[1]
random = numpy.random.RandomState(7)
PARTS = {"train": 13, "test": 5}


def write(form, arrays):
    savemat(os.path.join(folder, form + ".mat"), arrays)
    savemat(os.path.join(folder, form + ".deflated.mat"), arrays, do_compression=True)


def expect(form, images, labels):
    with open(os.path.join(folder, form + ".images"), "wb") as file:
        file.write(images.astype(numpy.uint8).tobytes())
    with open(os.path.join(folder, form + ".labels"), "wb") as file:
        file.write(labels.astype(numpy.uint8).tobytes())


def pictures(count, height, width, channels):
    return random.randint(0, 256, (count, height, width, channels)).astype(numpy.uint8)


def digits(count):
    return numpy.concatenate([[0, 9], random.randint(0, 10, count - 2)])


def one_hot(labels):
    return numpy.eye(10)[labels]


images, labels = pictures(11, 6, 4, 3), digits(11)
rows_first = images.transpose(1, 2, 3, 0)
write("svhn", {"X": rows_first, "y": numpy.where(labels == 0, 10, labels).astype(numpy.uint8)[:, None]})
expect("svhn", images, labels)
write("synth", {"X": rows_first, "y": labels.astype(float)[:, None]})
expect("synth", images, labels)

mnist, mnist_28, mnistm, syn, usps = {}, {}, {}, {}, numpy.empty((2, 2), dtype=object)
for row, (part, count) in enumerate(PARTS.items()):
    labels = digits(count)
    grey, colour = pictures(count, 5, 7, 1), pictures(count, 5, 7, 3)
    mnist["label_" + part] = mnist_28["label_" + part] = mnistm["label_" + part] = one_hot(labels)
    mnist[part + "_32"] = grey[..., 0].astype(float)
    mnist[part + "_28"] = pictures(count, 4, 4, 1)  # ignored by the reader
    mnist_28[part + "_28"] = (grey / 255).astype(numpy.float32)
    mnistm[part] = colour
    syn[part + "_data"], syn[part + "_label"] = colour.astype(numpy.float32), labels[:, None]
    usps[row, 0], usps[row, 1] = grey.transpose(0, 3, 1, 2) / 255, labels[:, None]
    for form, expected in (("mnist", grey), ("mnist_28", grey), ("mnistm", colour), ("syn", colour), ("usps", grey)):
        expect(form + "." + part, expected, labels)
write("mnist", mnist)
write("mnist_28", mnist_28)
write("mnistm", mnistm)
write("syn", syn)
write("usps", {"dataset": usps})
