"""The table of opcodes says what this interpreter's own modules say."""
import dis
import opcode
import unittest

import torchdyn_layers as layers

# Not in code objects: forms that the interpreter makes of others as it runs.
MADE_AT_RUN_TIME = {"RESERVED", "ENTER_EXECUTOR"}


def caches(number, name):
    entries = opcode._inline_cache_entries  # a list up to 3.12, then a dict
    if isinstance(entries, dict):
        return entries.get(name, 0)
    return entries[number] if number < len(entries) else 0


def has_argument(number):
    return number in dis.hasarg if hasattr(dis, "hasarg") else number >= dis.HAVE_ARGUMENT


class OpcodesTest(unittest.TestCase):
    def test_rows_are_those_of_the_interpreter(self):
        expected = {
            (name, number, caches(number, name), has_argument(number), number in dis.hasjrel)
            for name, number in opcode.opmap.items()
            if number < 256 and not name.startswith("INSTRUMENTED_") and name not in MADE_AT_RUN_TIME
        }
        self.assertEqual(set(layers.opcode_rows()), expected)

    def test_stack_effects_are_those_of_the_interpreter(self):
        for name, number, _, has_arg, _ in layers.opcode_rows():
            # Before 3.13 the value that a generator is resumed with was counted elsewhere.
            if name in ("RETURN_GENERATOR", "CACHE", "EXTENDED_ARG"):
                continue
            for arg in range(600) if has_arg else (0,):
                for jump in (False, True):
                    expected = dis.stack_effect(number, arg if has_arg else None, jump=jump)
                    self.assertEqual(layers.effect_of(name, arg, jump), expected, (name, arg, jump))


if __name__ == "__main__":
    unittest.main()
