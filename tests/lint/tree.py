"""The files of this tree that people wrote, for the lint tests.

    for path in tree.files(".cc", ".h"):    # "inductor/ir/expr.cc", sorted
        text = tree.read(path)
"""
import functools
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCE_FOLDERS = ("aten_bridge", "bench", "inductor", "tests", "third_party", "torchdyn")
GENERATED = {"build", "__pycache__", "repro"}


def children(folder):
    """What a reader sees in a folder, as pathlib paths."""
    return sorted(
        p
        for p in (ROOT / folder).iterdir()
        if p.name not in GENERATED and not p.name.startswith(".") and not p.name.endswith(".egg-info")
    )


@functools.cache
def _all_files():
    found = [p for p in ROOT.iterdir() if p.is_file() and not p.name.startswith(".git")]
    pending = [ROOT / f for f in SOURCE_FOLDERS + (".ci", ".github") if (ROOT / f).is_dir()]
    while pending:
        for path in children(pending.pop()):
            (pending if path.is_dir() else found).append(path)
    return sorted(p.relative_to(ROOT).as_posix() for p in found)


def files(*suffixes):
    return [f for f in _all_files() if not suffixes or f.endswith(suffixes)]


def read(path):
    return (ROOT / path).read_text(encoding="utf-8", errors="replace")
