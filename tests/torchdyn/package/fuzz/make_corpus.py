"""What fuzz_package begins with, out of a package: make_corpus.py PACKAGE FOLDER"""
import pathlib
import struct
import sys

READERS = {"manifest.json": 1, "weights.safetensors": 2, ".plan": 3, ".graph": 4}


def main(package, folder):
    file = pathlib.Path(package).read_bytes()
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    folder.joinpath("container").write_bytes(b"\0" + file)
    for number in range(struct.unpack_from("<Q", file, 24)[0]):
        entry = file[64 + 128 * number:][:128]
        name = entry[:64].rstrip(b"\0").decode()
        offset, size = struct.unpack_from("<QQ", entry, 64)
        for suffix, reader in READERS.items():
            if name.endswith(suffix):
                section = file[offset:offset + size]
                folder.joinpath(name.replace("/", "_")).write_bytes(bytes([reader]) + section)


main(*sys.argv[1:])
