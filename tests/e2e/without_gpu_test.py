"""Where there is no GPU, what needs one says so and fails; nothing is skipped in silence.

  python3 tests/e2e/without_gpu_test.py PROGRAM...    programs that TORCHDYN_TEST_DEVICE sends to a GPU
"""
import importlib.machinery
import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

TESTS = pathlib.Path(__file__).resolve().parent.parent
PROGRAMS = []
# Hides the GPUs of a machine that has some.
HIDDEN = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "TORCHDYN_TEST_DEVICE": "cuda"}


def run(*command, **environment):
    return subprocess.run(command, env={**HIDDEN, **environment}, text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def load_pack():
    loader = importlib.machinery.SourceFileLoader("pack", str(TESTS / "pack"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("pack", loader))
    loader.exec_module(module)
    return module


class WithoutGpu(unittest.TestCase):
    def test_the_one_command_says_so_and_fails(self):
        done = run(TESTS / "run", "--cuda")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("LibTorch sees no GPU on this machine", done.stdout)

    def test_each_program_says_so_and_fails(self):
        self.assertTrue(PROGRAMS)
        for program in PROGRAMS:
            done = run(program)
            self.assertNotIn(done.returncode, (0, 77), done.stdout)
            self.assertRegex(done.stdout, "no GPU|driver", program)


class Pack(unittest.TestCase):
    """The script that runs the tests of a pack."""

    def run_of(self, *tests):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "run").write_text(load_pack().RUN)
            (folder / "cuda_tests.tsv").write_text("".join(f"{n}\t{c}\n" for n, c in tests))
            return run("bash", folder / "run", "--cuda", PYTHON=sys.executable)

    def test_fails_where_a_test_fails_and_names_it(self):
        done = self.run_of(("fails", "false"), ("passes", "true"))
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("1 of 2 failed: fails", done.stdout)

    def test_passes_where_all_do_and_shows_what_was_skipped(self):
        done = self.run_of(("passes", "true"), ("skips", "echo the reason; exit 77"))
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("the reason\nskips was skipped", done.stdout)


if __name__ == "__main__":
    PROGRAMS = sys.argv[1:]
    unittest.main(argv=sys.argv[:1])
