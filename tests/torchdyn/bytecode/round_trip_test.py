"""What is taken apart and put together again is the same, and what has grown in between runs the same."""
import contextlib
import importlib.util
import io
import sys
import tempfile
import unittest

import code_objects
import torchdyn_layers as layers

# Of the standard library's tests, those that ask most of bytecode and little of the machine.
TESTS = """test_augassign test_binop test_bool test_call test_closures test_compare test_comprehensions
test_context test_contextlib test_coroutines test_decorators test_defaultdict test_dictcomps
test_dynamic test_enumerate test_except_star test_exception_variations test_fstring test_generators
test_generator_stop test_genexps test_grammar test_iter test_keywordonlyarg test_listcomps test_named_expressions
test_patma test_pep646_syntax test_raise test_scope test_setcomps test_slice test_super test_type_params
test_unpack test_unpack_ex test_with test_yield_from""".split()


def run_tests(module):
    loaded = unittest.defaultTestLoader.loadTestsFromModule(module)
    result = unittest.TextTestRunner(stream=io.StringIO(), warnings="ignore").run(loaded)
    broken = sorted(str(test) for test, _ in result.failures + result.errors)
    return result.testsRun, broken, len(result.skipped)


class RoundTripTest(unittest.TestCase):
    def test_every_code_object_of_the_standard_library(self):
        count = 0
        for path, code in code_objects.of_standard_library():
            difference = layers.round_trip_difference(code)
            self.assertEqual(difference, "", f"{path}: {code.co_qualname}")
            count += 1
        self.assertGreater(count, 10_000)
        print(f"{count} code objects of CPython {sys.version.split()[0]}, all the same")

    def test_positions_and_stack_size_are_the_code_objects(self):
        for code in code_objects.with_nested(run_tests.__code__):
            again = layers.assembled(layers.disassembled(code), code)
            self.assertEqual(list(again.co_positions()), list(code.co_positions()))
            self.assertEqual(again, code)
            self.assertLessEqual(again.co_stacksize, code.co_stacksize)

    @unittest.skipUnless(importlib.util.find_spec("test"), "this CPython comes without its tests")
    def test_padded_code_runs_the_same(self):
        # CPython's tests write into the current folder, where those of another version may run.
        folder = self.enterContext(tempfile.TemporaryDirectory())
        self.enterContext(contextlib.chdir(folder))
        total = 0
        for name in TESTS:
            if not importlib.util.find_spec("test." + name):
                continue  # of another version
            expected = run_tests(code_objects.run_changed("test." + name, lambda code: code))
            with self.subTest(name):
                self.assertEqual(run_tests(code_objects.run_changed("test." + name, layers.padded)), expected)
            total += expected[0]
        self.assertGreater(total, 500)
        print(f"{total} tests, in code with NOPs everywhere")


if __name__ == "__main__":
    unittest.main()
