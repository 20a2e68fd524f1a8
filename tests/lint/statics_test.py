"""A static variable of a function that has a destructor is allocated and never freed: exit() destroys
it while other threads go on."""
import re
import unittest

import tree

STATIC = re.compile(r"^\s+(?:\[\[maybe_unused\]\] )?static (?!constexpr )([^=({;]*?)\s*\b\w+( = .*|[{;].*)$")
# Types without a destructor that does anything.
PLAIN = re.compile(
    r"^(const )?(bool|u?int(64_t)?|Py_ssize_t|std::(atomic<[\w:]+>|mutex|once_flag|span<.*>|array<.*>)"
    r"|LoweringRows|c10::DispatchKeySet)$")


def problems(path, text):
    return [
        f"{path}:{number}: a static {match[1]} is destroyed at exit: static auto& name = *new {match[1]}"
        for number, line in enumerate(text.splitlines(), 1)
        if (match := STATIC.match(line)) and not PLAIN.match(match[1])
        and not match[1].endswith(("&", "*", "* const", "*const"))
    ]


class StaticsTest(unittest.TestCase):
    def test_this_tree(self):
        found = [
            p for path in tree.files(".cc") if not path.startswith(("tests/", "bench/"))
            for p in problems(path, tree.read(path))
        ]
        self.assertFalse(found, "\n" + "\n".join(found))

    def test_can_fail(self):
        self.assertEqual(len(problems("a.cc", "  static const CpuBackend backend;\n")), 1)
        self.assertEqual(len(problems("a.cc", '  static std::string s = "a";\n')), 1)
        self.assertEqual(problems("a.cc", "  static auto& known = *new std::string;\n"), [])
        self.assertEqual(problems("a.cc", "  static const int registered =\n"), [])
        self.assertEqual(problems("a.cc", "  static void f(int a = 1);\n  static T* f() { a; }\n"), [])


if __name__ == "__main__":
    unittest.main()
