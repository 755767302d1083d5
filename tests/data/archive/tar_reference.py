"""Writes archives for our reader, and reads those of our writer, with Python's tarfile.

    tar_reference.py write FOLDER     ustar.tar, pax.tar and gnu.tar, with folders and links among the files
    tar_reference.py read ARCHIVE OUT one line per file: name, tab, bytes in hexadecimal
"""
import io
import sys
import tarfile

LONG = "deep/" * 30 + "name.jpg"  # longer than a header's 100 bytes, shorter than ustar's 255
LONGER = "deep/" * 60 + "name.jpg"
PICTURES = {"a.jpg": 0, "folder/b.png": 511, "folder/b.cls": 512, LONG: 513}


def write(folder):
    for name, form in (("ustar", tarfile.USTAR_FORMAT), ("pax", tarfile.PAX_FORMAT), ("gnu", tarfile.GNU_FORMAT)):
        files = dict(PICTURES)
        if form != tarfile.USTAR_FORMAT:
            files |= {LONGER: 3, "größe.jpg": 4}
        headers = {"comment": "for all of them"} if form == tarfile.PAX_FORMAT else None
        with tarfile.open(f"{folder}/{name}.tar", "w", format=form, pax_headers=headers) as archive:
            for kind, path in ((tarfile.DIRTYPE, "folder"), (tarfile.SYMTYPE, "link.jpg"), (tarfile.FIFOTYPE, "pipe.jpg")):
                info = tarfile.TarInfo(path)
                info.type = kind
                info.linkname = "a.jpg" if kind == tarfile.SYMTYPE else ""
                archive.addfile(info)
            for path, size in files.items():
                info = tarfile.TarInfo(path)
                info.size = size
                info.mtime = 1.5  # a fraction needs a pax record
                archive.addfile(info, io.BytesIO(bytes(i % 251 for i in range(size))))


def read(archive, out):
    with tarfile.open(archive) as members, open(out, "w", encoding="utf-8") as lines:
        for info in members:
            assert info.isreg() and info.mtime == 0 and info.uid == 0, info
            lines.write(f"{info.name}\t{members.extractfile(info).read().hex()}\n")


{"write": write, "read": read}[sys.argv[1]](*sys.argv[2:])
