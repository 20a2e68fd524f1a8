"""A name outside of anonymous namespaces is one type: two of a name in one namespace would share the
functions that the compiler makes of them (std::vector<Name>'s), and the linker keeps either's.

Reads what clang-format has laid out: a definition at namespace scope begins its line.
"""
import re
import unittest

import tree

OPEN = re.compile(r"^(?:inline )?namespace ?([\w:]*) \{$")
CLOSE = re.compile(r"^\}  // namespace ?([\w:]*)$")
TYPE = re.compile(r"^(?:struct|class|union|enum class|enum) (?:\[\[\w+\]\] )?([\w:]*\w)(?![\w:<])[^;()]*$")


def definitions(text):
    """Names of types that are visible to other files, with their namespaces."""
    spaces = []
    for line in text.splitlines():
        if match := OPEN.match(line):
            spaces.append(match[1])
        elif CLOSE.match(line) and spaces:
            spaces.pop()
        elif (match := TYPE.match(line)) and "" not in spaces:
            yield "::".join([*spaces, match[1]])


def twice(texts):
    """texts: by path. Names that more than one file defines, with the files."""
    files = {}
    for path, text in texts.items():
        for name in definitions(text):
            files.setdefault(name, set()).add(path)
    return {name: sorted(paths) for name, paths in files.items() if len(paths) > 1}


class OneDefinitionTest(unittest.TestCase):
    def test_this_tree(self):
        texts = {path: tree.read(path) for path in tree.files(".h", ".cc")}
        self.assertEqual(twice(texts), {})

    def test_finds_a_name_of_two_files(self):
        a = "namespace n {\nstruct Nest {\n  int a;\n};\n}  // namespace n\n"
        self.assertEqual(twice({"a.h": a, "b.h": a}), {"n::Nest": ["a.h", "b.h"]})

    def test_passes_over_anonymous_namespaces_and_declarations(self):
        hidden = "namespace n {\nnamespace {\nstruct Nest {};\n}  // namespace\n}  // namespace n\n"
        declared = "namespace n {\nstruct Nest;\n}  // namespace n\n"
        self.assertEqual(twice({"a.cc": hidden, "b.cc": hidden, "c.h": declared, "d.h": declared}), {})


if __name__ == "__main__":
    unittest.main()
