"""No path of one machine, no open end without a test, no registry's host; no line over 100 columns."""
import re
import unittest

import tree

MACHINE_PATH = re.compile(r"(?<![\w.$}~*-])/(?:work|root|home)(?:/|\b)")
OPEN_END = re.compile(r"\b(?:TODO|FIXME|XXX)\b(?:\((\w+)\.(\w+)\))?")
REGISTRY = re.compile(
    r"pypi\.org|pythonhosted|deb\.debian\.org|archive\.ubuntu|anaconda\.org|npmjs|crates\.io", re.IGNORECASE
)
LONGEST_LINE = 100


def problems(path, text, has_test):
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        where = f"{path}:{number}: "
        if MACHINE_PATH.search(line):
            found.append(where + "a path of one machine: " + line.strip())
        if REGISTRY.search(line):
            found.append(where + "a package registry's host: " + line.strip())
        for match in OPEN_END.finditer(line):
            if not (match[1] and has_test(match[1], match[2])):
                found.append(where + "write TODO(Suite.Test), a test that fails until it is done")
        # Goldens inside tests are as wide as what they pin.
        source = path.endswith((".cc", ".h", ".c", ".cuh")) and not path.startswith("tests/")
        if source and len(line) > LONGEST_LINE:
            found.append(where + f"{len(line)} columns")
    return found


class WordsTest(unittest.TestCase):
    def test_this_tree(self):
        tests = "".join(tree.read(f) for f in tree.files("_test.cc", "_test.py"))
        has_test = lambda suite, name: re.search(rf"\b{suite},\s*{name}\b", tests)
        found = []
        for path in tree.files():
            if not path.startswith("tests/lint/"):
                found += problems(path, tree.read(path), has_test)
        self.assertFalse(found, "\n" + "\n".join(found))

    def test_can_fail(self):
        known = lambda suite, name: suite == "Known"
        # Spelled in pieces, so that this file holds none of them itself.
        for bad in ("cd /" + "work/x", '"/' + 'root/x"', "// TO" + "DO later", "// TO" + "DO(Unknown.Test)", "see pypi" + ".org"):
            self.assertEqual(len(problems("a.cc", bad, known)), 1, bad)
        self.assertEqual(len(problems("a.cc", "x" * 101, known)), 1)
        for good in ("// TO" + "DO(Known.Test): x", "a/" + "work/b", "$HOME/" + "work", "y" * 100):
            self.assertEqual(problems("a.cc", good, known), [], good)


if __name__ == "__main__":
    unittest.main()
