"""Writes Pillow's results for the C++ tests, which compare them byte for byte.

  pillow_reference.py resize OUT       random pictures before and after Image.resize(BILINEAR), and (BICUBIC)
  pillow_reference.py decode FOLDER    JPEG and PNG files of every mode, each with its FILE.rgb
  pillow_reference.py webp FOLDER      the same for WebP; likewise bmp, gif and tiff
  pillow_reference.py convert FILE...  FILE.rgb for existing files

A picture is written as two little-endian 32-bit numbers, height and width, and height * width * 3 bytes.
"""
import os
import struct
import sys
import warnings
import zlib

import numpy as np
from PIL import Image, ImageOps

warnings.simplefilter("ignore")  # about palettes with alpha

SIZES = [  # (width, height) before and after
    ((8, 8), (8, 8)), ((8, 8), (16, 16)), ((16, 16), (8, 8)), ((28, 28), (32, 32)), ((32, 32), (28, 28)),
    ((16, 16), (32, 32)), ((32, 32), (224, 224)), ((640, 480), (224, 224)), ((480, 640), (256, 256)),
    ((300, 300), (224, 224)), ((1000, 1000), (224, 224)), ((257, 131), (64, 64)), ((131, 257), (33, 65)),
    ((1, 1), (1, 1)), ((1, 1), (7, 5)), ((7, 5), (1, 1)), ((1, 9), (1, 4)), ((9, 1), (4, 1)), ((1, 9), (9, 1)),
    ((9, 1), (1, 9)), ((1, 300), (20, 20)), ((300, 1), (20, 20)), ((2, 2), (3, 3)), ((3, 3), (2, 2)), ((5, 5), (7, 3)),
    ((7, 3), (5, 5)), ((10, 10), (10, 20)), ((10, 10), (20, 10)), ((20, 10), (10, 10)), ((10, 20), (10, 10)),
    ((10, 20), (10, 7)), ((20, 10), (7, 10)), ((99, 101), (100, 100)), ((101, 99), (100, 100)), ((64, 64), (63, 65)),
    ((13, 17), (224, 224)), ((224, 224), (13, 17)), ((500, 3), (3, 500)), ((3, 500), (500, 3)), ((333, 777), (32, 32)),
    ((800, 600), (799, 601)), ((17, 17), (17, 16)), ((17, 17), (16, 17)), ((255, 256), (256, 255)),
    ((1500, 20), (32, 32)), ((20, 1500), (32, 32)), ((6, 6), (1, 6)), ((6, 6), (6, 1)), ((2000, 1), (3, 1)),
    ((1, 2000), (1, 3)),
]


def packed(array):
    array = np.ascontiguousarray(array, dtype=np.uint8)
    return struct.pack("<ii", array.shape[0], array.shape[1]) + array.tobytes()


def reference(path):
    image = Image.open(path)
    image.load()
    if image.mode.startswith("I"):  # 16-bit grey: Pillow clips to white, we keep the high byte
        grey = (np.asarray(image).astype(np.int64) >> 8).astype(np.uint8)
        return np.repeat(grey[:, :, None], 3, axis=2)
    if image.format != "TIFF":  # loading a TIFF applies its orientation
        image = ImageOps.exif_transpose(image)
    return np.asarray(image.convert("RGB"))


def write_reference(path):
    with open(path + ".rgb", "wb") as file:
        file.write(packed(reference(path)))


def resize(out):
    random = np.random.RandomState(1)
    with open(out, "wb") as file:
        for index, (before, after) in enumerate(SIZES):
            shape = (before[1], before[0], 3)
            if index % 3 == 2:  # black and white only, for the largest steps
                pixels = (random.randint(0, 2, shape) * 255).astype(np.uint8)
            else:
                pixels = random.randint(0, 256, shape).astype(np.uint8)
            picture = Image.fromarray(pixels)
            file.write(packed(pixels) + packed(np.asarray(picture.resize(after, Image.BILINEAR))))
            file.write(packed(np.asarray(picture.resize(after, Image.BICUBIC))))


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def raw_png(path, random, width, height, colour, depth, interlaced, extra=b"", behind=b""):
    """A PNG of random bits in any of the format's layouts."""
    samples = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[colour]
    passes = [(0, 0, 1, 1)]
    if interlaced:
        passes = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]
    rows = b""
    for x0, y0, dx, dy in passes:
        columns, lines = -(-(width - x0) // dx), -(-(height - y0) // dy)
        if columns <= 0 or lines <= 0:
            continue
        for _ in range(lines):
            rows += bytes([random.randint(0, 5)]) + random.bytes((columns * samples * depth + 7) // 8)
    data = b"\x89PNG\r\n\x1a\n"
    data += chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, int(interlaced)))
    if colour == 3:
        data += chunk(b"PLTE", random.bytes(3 * 2**depth))
    data += extra + chunk(b"IDAT", zlib.compress(rows)) + behind + chunk(b"IEND", b"")
    with open(path, "wb") as file:
        file.write(data)


def sample(random, mode, width=45, height=31):
    ramp = np.add.outer(np.arange(height) * 3, np.arange(width) * 4)
    pixels = np.stack([ramp, 255 - ramp, ramp * 2], axis=2) + random.randint(-30, 31, (height, width, 3))
    return Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8)).convert(mode)


def decode(folder):
    random = np.random.RandomState(2)

    def picture(mode, width=45, height=31):
        return sample(random, mode, width, height)

    def save(name, image, **options):
        image.save(os.path.join(folder, name), **options)

    save("rgb.jpg", picture("RGB"))
    for name, value in ("444", 0), ("422", 1), ("420", 2):
        save(f"rgb_{name}.jpg", picture("RGB"), subsampling=value, quality=80)
        save(f"progressive_{name}.jpg", picture("RGB", 64, 50), subsampling=value, progressive=True)
    for quality in 5, 30, 100:
        save(f"quality_{quality}.jpg", picture("RGB", 200, 150), quality=quality)
    save("optimised.JPEG", picture("RGB"), optimize=True)
    save("grey.jpg", picture("L"))
    save("grey_progressive.jpg", picture("L"), progressive=True)
    save("cmyk.jpg", picture("CMYK"))
    save("one_pixel.jpg", picture("RGB", 1, 1))
    save("one_column.jpg", picture("RGB", 1, 50))
    save("one_row.jpg", picture("RGB", 50, 1))
    for orientation in range(1, 9):
        exif = Image.Exif()
        exif[0x0112] = orientation
        exif[0x010F] = "a camera with a name longer than four bytes"
        save(f"exif_{orientation}.jpg", picture("RGB", 41, 23), exif=exif.tobytes())
        save(f"exif_grey_{orientation}.jpg", picture("L", 9, 14), exif=exif.tobytes())
        save(f"exif_{orientation}.png", picture("RGB", 41, 23), exif=exif.tobytes())
        behind = chunk(b"eXIf", exif.tobytes()[6:])
        raw_png(os.path.join(folder, f"exif_behind_{orientation}.png"), random, 9, 14, 6, 8, True, behind=behind)

    alpha = Image.fromarray(random.randint(0, 256, (31, 45)).astype(np.uint8))
    for mode in "1", "L", "RGB", "P":
        save(f"mode_{mode}.png", picture(mode))
    for mode in "LA", "RGBA":
        image = picture(mode)
        image.putalpha(alpha)
        save(f"mode_{mode}.png", image)
    palette = picture("RGB").quantize(200)
    save("palette_transparent_bytes.png", palette, transparency=bytes(random.randint(0, 256, 200).astype(np.uint8)))
    save("palette_transparent_index.png", palette, transparency=17)
    for colours in 2, 4, 16:
        save(f"palette_{colours}.png", picture("RGB").quantize(colours))
    grey = picture("L")
    save("grey_transparent.png", grey, transparency=grey.getpixel((3, 3)))
    rgb = picture("RGB")
    save("rgb_transparent.png", rgb, transparency=rgb.getpixel((3, 3)))
    save("grey_16.png", Image.fromarray(random.randint(0, 65536, (31, 45)).astype(np.uint16)))
    save("gamma.png", picture("RGB"), icc_profile=b"not a real profile")

    layouts = [(0, (1, 2, 4, 8, 16)), (2, (8, 16)), (3, (1, 2, 4, 8)), (4, (8, 16)), (6, (8, 16))]
    gamma = chunk(b"gAMA", struct.pack(">I", 100000))
    for colour, depths in layouts:
        for depth in depths:
            for interlaced in False, True:
                for width, height in (19, 13), (1, 1), (3, 9):
                    name = f"raw_{colour}_{depth}_{int(interlaced)}_{width}x{height}.png"
                    raw_png(os.path.join(folder, name), random, width, height, colour, depth, interlaced, gamma)

    for name in sorted(os.listdir(folder)):
        write_reference(os.path.join(folder, name))


def webp(folder):
    random = np.random.RandomState(3)

    def picture(mode, width=45, height=31):
        image = sample(random, mode, width, height)
        if mode == "RGBA":  # all alpha values, and transparent areas
            alpha = random.randint(0, 256, (height, width)).astype(np.uint8)
            alpha[: height // 2, : width // 2] = 0
            image.putalpha(Image.fromarray(alpha))
        return image

    def save(name, image, **options):
        image.save(os.path.join(folder, name + ".webp"), **options)

    for mode in "L", "P", "RGB", "RGBA":
        for quality in 5, 50, 80, 100:
            save(f"lossy_{mode}_{quality}", picture(mode), quality=quality)
        save(f"large_{mode}", picture(mode, 300, 201), quality=75, method=6)
        for width, height in (1, 1), (1, 50), (50, 1), (16, 16), (17, 33):
            save(f"lossy_{mode}_{width}x{height}", picture(mode, width, height))
            save(f"lossless_{mode}_{width}x{height}", picture(mode, width, height), lossless=True)
        save(f"lossless_{mode}", picture(mode), lossless=True)
        save(f"few_colours_{mode}", picture("RGB").quantize(7).convert(mode), lossless=True)
    save("transparent_colours", picture("RGBA"), lossless=True, exact=True)
    save("transparent_colours_lossy", picture("RGBA"), exact=True)
    save("poor_alpha", picture("RGBA"), alpha_quality=20)
    save("profile", picture("RGB"), icc_profile=b"not a real profile", xmp=b"<x/>")
    for orientation in range(0, 10):
        exif = Image.Exif()
        exif[0x0112] = orientation
        exif[0x010F] = "a camera with a name longer than four bytes"
        named = exif.tobytes()  # as in a JPEG, after "Exif" and two zeros
        save(f"exif_{orientation}", picture("RGB", 41, 23), exif=named[6:])
        save(f"exif_named_{orientation}", picture("RGB", 41, 23), exif=named)
        save(f"exif_lossless_{orientation}", picture("RGBA", 9, 14), exif=named[6:], lossless=True)

    for name in sorted(os.listdir(folder)):
        write_reference(os.path.join(folder, name))


def raw_bmp(path, random, width, height, bits, masks=None, runs=None, os2=False, top_down=False):
    """A BMP of random bits, or of `runs`, in any of the format's layouts."""
    palette = random.bytes((3 if os2 else 4) * 2**bits) if bits <= 8 else b""
    compression = {None: 3 if masks else 0, 4: 2, 8: 1}[bits if runs else None]
    fields = b"".join(struct.pack("<I", mask) for mask in masks or ())
    if os2:
        header = struct.pack("<IHHHH", 12, width, height, 1, bits)
    else:
        header = struct.pack("<IiiHHIIiiII", 40, width, -height if top_down else height, 1, bits, compression, 0, 0, 0,
                             0, 0)
    pixels = runs or random.bytes((width * bits + 31) // 32 * 4 * height)
    offset = 14 + len(header) + len(fields) + len(palette)
    with open(path, "wb") as file:
        file.write(struct.pack("<2sIHHI", b"BM", offset + len(pixels), 0, 0, offset))
        file.write(header + fields + palette + pixels)


def bmp(folder):
    random = np.random.RandomState(4)
    for mode in "1", "L", "P", "RGB", "RGBA":
        for width, height in (45, 31), (1, 1), (3, 9):
            sample(random, mode, width, height).save(os.path.join(folder, f"mode_{mode}_{width}x{height}.bmp"))
    kinds = [(bits, None) for bits in (1, 4, 8, 16, 24, 32)]
    kinds += [(16, (0xF800, 0x7E0, 0x1F)), (16, (0x7C00, 0x3E0, 0x1F)), (32, (0xFF0000, 0xFF00, 0xFF))]
    for index, (bits, masks) in enumerate(kinds):
        for width, height in (19, 13), (1, 1), (8, 3):
            for top_down in False, True:
                name = f"raw_{index}_{width}x{height}_{int(top_down)}.bmp"
                raw_bmp(os.path.join(folder, name), random, width, height, bits, masks, top_down=top_down)
    for bits in 1, 4, 8, 24:
        raw_bmp(os.path.join(folder, f"os2_{bits}.bmp"), random, 7, 5, bits, os2=True)
    # Runs, pixels one by one (an odd number of bytes), ends of lines and of the picture.
    runs8 = bytes([9, 17, 0, 3, 1, 2, 3, 0, 0, 0, 12, 200, 0, 0, 5, 7, 0, 4, 9, 8, 7, 6, 3, 1, 0, 0, 0, 1])
    raw_bmp(os.path.join(folder, "runs_8.bmp"), random, 12, 3, 8, runs=runs8)
    runs4 = bytes([6, 0x3A, 0, 6, 0x12, 0x34, 0x56, 0, 0, 0, 12, 0xF1, 0, 0, 5, 0x77, 0, 4, 0x98, 0x76, 3, 0x12, 0, 0, 0, 1])
    raw_bmp(os.path.join(folder, "runs_4.bmp"), random, 12, 3, 4, runs=runs4)


def gif(folder):
    random = np.random.RandomState(5)

    def save(name, image, **options):
        path = os.path.join(folder, name + ".gif")
        image.save(path, **options)
        return path

    for mode in "1", "L", "P", "RGB":
        for interlace in 0, 1:
            for width, height in (45, 31), (1, 1), (2, 9):
                image = sample(random, mode, width, height)
                save(f"{mode}_{interlace}_{width}x{height}", image, interlace=interlace)
    for colours in 2, 5, 16, 200:
        save(f"colours_{colours}", sample(random, "RGB").quantize(colours))
    image = sample(random, "RGB").quantize(50)
    save("transparent", image, transparency=7, comment=b"a comment")
    frames = [sample(random, "RGB").quantize(30) for _ in range(3)]
    save("animated", frames[0], save_all=True, append_images=frames[1:], duration=50, loop=0)
    # A frame within a larger screen, and one that leaves a smaller one.
    for name, options, width, height, left, top in [("within", {}, 60, 40, 3, 5), ("outside", {}, 20, 20, 2, 0),
                                                    ("within_transparent", {"transparency": 9}, 50, 50, 0, 4)]:
        path = save(name, image, **options)
        with open(path, "rb") as file:
            data = bytearray(file.read())
        data[6:10] = struct.pack("<HH", width, height)
        at = data.index(b"," + struct.pack("<HHHH", 0, 0, *image.size))
        data[at + 1:at + 5] = struct.pack("<HH", left, top)
        with open(path, "wb") as file:
            file.write(data)


def raw_tiff(path, random, width, height, order, photometric, bits, samples, tile=None, planes=False, rows=None):
    """An uncompressed TIFF of random bits, in strips of `rows` or tiles of `tile` x `tile`."""
    def entry(tag, kind, *values):
        return tag, kind, values

    block_width, block_height = (tile, tile) if tile else (width, rows or height)
    across, down = -(-width // block_width), -(-height // block_height)
    per_row = (block_width * (1 if planes else samples) * bits + 7) // 8
    blocks = []
    for _ in range(samples if planes else 1):
        for y in range(down):
            lines = block_height if tile else min(block_height, height - y * block_height)
            blocks += [random.bytes(per_row * lines) for _ in range(across)]
    fields = [entry(256, 3, width), entry(257, 3, height), entry(258, 3, *[bits] * samples), entry(259, 3, 1),
              entry(262, 3, photometric), entry(277, 3, samples), entry(284, 3, 2 if planes else 1)]
    if samples > (3 if photometric == 2 else 4 if photometric == 5 else 1):
        fields.append(entry(338, 3, 2 if photometric != 5 else 0))
    if photometric == 3:
        fields.append(entry(320, 3, *[int(value) for value in random.randint(0, 65536, 3 * 2**bits)]))
    offsets, counts = (324, 325) if tile else (273, 279)
    if tile:
        fields += [entry(322, 3, tile), entry(323, 3, tile)]
    else:
        fields.append(entry(278, 3, block_height))
    fields += [entry(offsets, 4, *[0] * len(blocks)), entry(counts, 4, *[len(block) for block in blocks])]
    fields.sort()
    size = {3: 2, 4: 4}
    at = 8 + 2 + 12 * len(fields) + 4
    places = {}
    for tag, kind, values in fields:
        if len(values) * size[kind] > 4:
            places[tag] = at
            at += len(values) * size[kind]
    starts = []
    for block in blocks:
        starts.append(at)
        at += len(block)
    head, tail = struct.pack(order + "H", len(fields)), b""
    for tag, kind, values in fields:
        values = starts if tag == offsets else values
        packed_values = b"".join(struct.pack(order + {3: "H", 4: "I"}[kind], value) for value in values)
        head += struct.pack(order + "HHI", tag, kind, len(values))
        if tag in places:
            head += struct.pack(order + "I", places[tag])
            tail += packed_values
        else:
            head += packed_values.ljust(4, b"\0")
    with open(path, "wb") as file:
        file.write((b"II" if order == "<" else b"MM") + struct.pack(order + "HI", 42, 8))
        file.write(head + b"\0" * 4 + tail + b"".join(blocks))


def tiff(folder):
    random = np.random.RandomState(6)

    def save(name, image, **options):
        image.save(os.path.join(folder, name + ".tiff"), **options)

    for mode in "1", "L", "P", "LA", "RGB", "RGBA", "CMYK":
        for compression in None, "tiff_lzw", "tiff_adobe_deflate", "packbits":
            save(f"{mode}_{compression}", sample(random, mode), compression=compression)
    for mode in "L", "RGB":
        save(f"{mode}_jpeg", sample(random, mode, 64, 50), compression="jpeg", quality=80)
    for compression in "group3", "group4", "tiff_ccitt":
        save(f"fax_{compression}", sample(random, "1", 64, 50), compression=compression)
    save("predictor", sample(random, "RGB"), compression="tiff_lzw", tiffinfo={317: 2})
    save("large", sample(random, "RGB", 300, 201), compression="tiff_adobe_deflate")
    save("pages", sample(random, "RGB"), save_all=True, append_images=[sample(random, "L", 9, 9)])
    for orientation in range(1, 9):
        save(f"orientation_{orientation}", sample(random, "RGB", 41, 23), tiffinfo={274: orientation})
    kinds = [(0, 1, 1), (1, 1, 1), (1, 2, 1), (0, 4, 1), (1, 4, 1), (0, 8, 1), (1, 8, 1), (1, 16, 1), (1, 8, 2),
             (2, 8, 3), (2, 8, 4), (2, 16, 3), (2, 16, 4), (3, 1, 1), (3, 2, 1), (3, 4, 1), (3, 8, 1), (5, 8, 4),
             (5, 8, 5)]
    for photometric, bits, samples in kinds:
        for order in "<", ">":
            for layout in {}, {"rows": 5}:
                name = f"raw_{photometric}_{bits}_{samples}_{'le' if order == '<' else 'be'}_{len(layout)}.tif"
                raw_tiff(os.path.join(folder, name), random, 19, 13, order, photometric, bits, samples, **layout)
    for name, arguments in [("tiles", (2, 8, 3)), ("tiles_grey", (1, 8, 1)), ("tiles_cmyk", (5, 8, 4))]:
        raw_tiff(os.path.join(folder, name + ".tif"), random, 45, 37, "<", *arguments, tile=16)
    raw_tiff(os.path.join(folder, "planes.tif"), random, 19, 13, "<", 2, 8, 3, planes=True)
    raw_tiff(os.path.join(folder, "planes_strips.tif"), random, 19, 13, ">", 2, 8, 3, planes=True, rows=4)


def convert_all(folder):
    for name in sorted(os.listdir(folder)):
        write_reference(os.path.join(folder, name))


if __name__ == "__main__":
    if sys.argv[1] == "resize":
        resize(sys.argv[2])
    elif sys.argv[1] == "decode":
        decode(sys.argv[2])
    elif sys.argv[1] == "webp":
        webp(sys.argv[2])
    elif sys.argv[1] in ("bmp", "gif", "tiff"):
        {"bmp": bmp, "gif": gif, "tiff": tiff}[sys.argv[1]](sys.argv[2])
        convert_all(sys.argv[2])
    else:
        for each in sys.argv[2:]:
            write_reference(each)
