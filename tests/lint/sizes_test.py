"""Sizes are watched: `sizes_test.py --report` prints the largest files and functions. Never a failure."""
import re
import sys
import unittest

import tree

FILE_NEARS = {".cc": 500, ".h": 300}
FUNCTION_NEARS = 60
SHOWN = 5
OPENS = re.compile(r"^( ? ?)(?! |//|\}|(?:namespace|class|struct|enum|if|for|while|switch|TEST\w*)\b).*\).* \{$")
RAW_STRING = re.compile(r'R"(\w*)\(.*?\)\1"', re.DOTALL)


def functions(text):
    """(lines, head) of every function body, found by its closing brace at the opening line's indent."""
    text = RAW_STRING.sub(lambda m: '""' + "\n" * m[0].count("\n"), text)
    found, lines = [], text.splitlines()
    for start, line in enumerate(lines):
        match = OPENS.match(line)
        for end in range(start + 1, len(lines) if match else 0):
            if lines[end].startswith(match[1] + "}"):
                found.append((end - start + 1, line.strip(" {")))
                break
    return found


def report():
    files, bodies = [], []
    for path in tree.files(".cc", ".h", ".c"):
        text = tree.read(path)
        files.append((text.count("\n"), path))
        bodies += [(size, f"{path}: {head}") for size, head in functions(text)]
    for title, rows in (("files", files), ("functions", bodies)):
        print(f"largest {title} (of {len(rows)}):")
        for size, name in sorted(rows, reverse=True)[:SHOWN]:
            limit = FUNCTION_NEARS if title == "functions" else FILE_NEARS.get("." + name.split(".")[-1], 500)
            print(f"  {size:5}{' *' if size > limit else '  '} {name}")


class SizesTest(unittest.TestCase):
    def test_sees_functions(self):
        text = "int f(int a) {\n  if (a) {\n    b();\n  }\n  return 1;\n}\nnamespace x {\n}\n"
        self.assertEqual(functions(text), [(6, "int f(int a)")])

    def test_reports(self):
        report()


if __name__ == "__main__":
    sys.exit(report()) if sys.argv[1:] == ["--report"] else unittest.main()
