"""Sources look as .clang-format says. `tests/run --format` rewrites them. *.def are tables: as written."""
import pathlib
import shutil
import subprocess
import sys
import unittest

import tree

FIX = "run: tests/run --format"


def clang_format():
    beside_python = pathlib.Path(sys.executable).parent / "clang-format"
    return str(beside_python) if beside_python.exists() else shutil.which("clang-format-14")


def unformatted(program, paths):
    result = subprocess.run(
        [program, "--dry-run", "--Werror", "--ferror-limit=1", *paths],
        cwd=tree.ROOT, stderr=subprocess.PIPE, text=True,
    )
    lines = result.stderr.splitlines()
    bad = sorted({l.split(":")[0] for l in lines if "[-Wclang-format-violations]" in l})
    return bad or (lines if result.returncode else [])


def sources():
    return tree.files(".cc", ".h", ".c", ".cuh")


class FormatTest(unittest.TestCase):
    def setUp(self):
        self.program = clang_format()
        if not self.program:
            self.skipTest("no clang-format 14; third_party/setup brings one")

    def test_this_tree(self):
        bad = unformatted(self.program, sources()) if sources() else []
        self.assertFalse(bad, "\n" + "\n".join(bad) + "\n" + FIX)

    def test_can_fail(self):
        text = subprocess.run(
            [self.program, "--dry-run", "--Werror", "--assume-filename=a.cc"],
            cwd=tree.ROOT, input="int  x ;\n", stderr=subprocess.PIPE, text=True,
        )
        self.assertNotEqual(text.returncode, 0)


if __name__ == "__main__":
    if sys.argv[1:] == ["--fix"]:
        sys.exit(subprocess.run([clang_format(), "-i", *sources()], cwd=tree.ROOT).returncode)
    unittest.main()
