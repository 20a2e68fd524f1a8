"""A folder's README.md is its map: its table names what is in the folder, all of it and no more.

A row begins with names in backticks: | `expr.{h,cc}`, `rules.cc` | ... |. `{a,b}` and `*` expand, and a
folder is written `ir/`. Names with a path (`ir/expr.h`) must exist and count for their first folder.
"""
import fnmatch
import re
import unittest

import tree

NEED_README = tree.SOURCE_FOLDERS
NOT_LISTED = {"README.md", "CMakeLists.txt"}


def expand(pattern):
    match = re.search(r"\{([^{}]*)\}", pattern)
    if not match:
        return [pattern]
    head, tail = pattern[: match.start()], pattern[match.end() :]
    return [name for part in match[1].split(",") for name in expand(head + part.strip() + tail)]


def named(readme):
    """The names in the first column of the file tables."""
    names = []
    for row in re.findall(r"^\|([^|]*)\|", readme, re.MULTILINE):
        for quoted in re.findall(r"`([^`]+)`", row):
            names += expand(quoted)
    return [n for n in names if re.fullmatch(r"[\w./*+-]+", n)]


def problems(folder, readme, present, exists):
    """present: what lies in the folder, folders with a slash at the end."""
    names = named(readme)
    found = []
    for name in names:
        if "*" in name:
            known = fnmatch.filter(present, name) or ("/" in name.rstrip("/"))
        else:
            known = name in present or name + "/" in present or exists(name)
        if not known:
            found.append(f"{folder}/README.md names {name}, which is not there")
    tops = {n.split("/")[0] for n in names if "/" in n}
    for item in present:
        if item in NOT_LISTED or item.rstrip("/") in tops or item.rstrip("/") in names:
            continue
        if not any(fnmatch.fnmatch(item, n) for n in names):
            found.append(f"{folder}/README.md does not name {item}")
    return found


class ReadmesTest(unittest.TestCase):
    def test_this_tree(self):
        found = [
            f"{f}/README.md is missing"
            for f in NEED_README
            if (tree.ROOT / f).is_dir() and not (tree.ROOT / f / "README.md").exists()
        ]
        for path in tree.files("/README.md"):
            folder = path.rsplit("/", 1)[0]
            if folder.startswith("."):
                continue
            present = [p.name + ("/" if p.is_dir() else "") for p in tree.children(folder)]
            exists = lambda name: (tree.ROOT / folder / name).exists()
            found += problems(folder, tree.read(path), present, exists)
        self.assertFalse(found, "\n" + "\n".join(found))

    def test_can_fail(self):
        present = ["README.md", "expr.cc", "expr.h", "ir/", "a_test.cc"]
        never = lambda name: False
        whole = "| file | what |\n|---|---|\n| `expr.{h,cc}` | x |\n| `ir/` | y |\n| `*_test.cc` | z |\n"
        self.assertEqual(problems("f", whole, present, never), [])
        self.assertEqual(len(problems("f", whole + "| `gone.h` | x |\n", present, never)), 1)
        self.assertEqual(len(problems("f", whole, present + ["new.h", "new/"], never)), 2)


if __name__ == "__main__":
    unittest.main()
