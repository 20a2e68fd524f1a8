"""The result of a run, a JSON object a row, kept so that a long run can go on where it was.

    record = Record(path, "default")
    rest = [row for row in rows if not record.holds(row)]
    record.add(results)        # written at once

A row is held while the files are the same that mention, in the tables of capture and lowering, the
operators that its graphs were made of. It names the commit it was made at.
"""
import functools
import hashlib
import json
import pathlib
import subprocess

TREE = pathlib.Path(__file__).resolve().parent.parent.parent
TABLES = ("aten_bridge/decompose", "aten_bridge/fake", "aten_bridge/trace", "inductor/lowering")


@functools.cache
def _sources():
    return [path.read_text() for folder in TABLES for path in sorted((TREE / folder).glob("*.cc"))]


@functools.cache
def _digest_of_operator(op):
    found = [text for text in _sources() if f'"{op}"' in text]
    return hashlib.sha256("".join(found).encode()).hexdigest()


def digest(operators):
    parts = "".join(_digest_of_operator(op) for op in sorted(operators))
    return hashlib.sha256(parts.encode()).hexdigest()[:16]


def _commit():
    """Of this tree; "" where it is a copy without a repository."""
    try:
        return subprocess.run(["git", "-C", str(TREE), "describe", "--always", "--dirty"],
                              capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


class Record:
    def __init__(self, path, how):
        self.path, self.how, self.rows = path, how, {}
        if path is not None and path.exists():
            for line in path.read_text().splitlines():
                row = json.loads(line)
                self.rows[row["row"]] = row
        self.commit = _commit()

    def holds(self, row):
        known = self.rows.get(str(row))
        return (known is not None and known["tables"] == digest(known["operators"]) and
                known.get("how") == self.how)

    def add(self, results):
        for key, result in results.items():
            self.rows[key] = {**result, "commit": self.commit, "how": self.how,
                              "tables": digest(result["operators"])}
        if self.path is None:
            return
        staged = self.path.with_suffix(".new")
        staged.write_text("".join(json.dumps(r) + "\n" for r in self.rows.values()))
        staged.replace(self.path)
