"""Hash tables are aten_bridge/base/hash_map.h's: Abseil's are broken by an insertion that finds no memory."""
import re
import unittest

import tree

ABSEILS = re.compile(r"absl(?:/container/|::)(?:(?:flat|node)_hash_(?:map|set)|btree_\w+)")


def problems(path, text):
    return [
        f"{path}:{number}: {match[0]}: use HashMap or HashSet of aten_bridge/base/hash_map.h"
        for number, line in enumerate(text.splitlines(), 1)
        if (match := ABSEILS.search(line))
    ]


class HashTablesTest(unittest.TestCase):
    def test_this_tree(self):
        found = [p for path in tree.files(".cc", ".h") for p in problems(path, tree.read(path))]
        self.assertFalse(found, "\n" + "\n".join(found))

    def test_can_fail(self):
        self.assertEqual(len(problems("a.h", '#include "absl/container/flat_hash_map.h"\n')), 1)
        self.assertEqual(len(problems("a.cc", "int a;\nabsl::node_hash_set<int> b;\n")), 1)
        self.assertEqual(problems("a.cc", "HashSet<int> b;\nabsl::InlinedVector<int, 2> c;\n"), [])


if __name__ == "__main__":
    unittest.main()
