"""The package: how it is found, its options, explain, and what makes an import an error."""
import importlib
import math
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import torch
import torchdyn
from torchdyn import _build, _C
from torchdyn.explanation import Watched

ONE_LINER = ("import torch; f = torch.compile(lambda x: x.relu() + 1, backend='torchdyn'); "
             "print(f(torch.tensor([-1.0, 2.0])).tolist())")


def run_python(code, path):
    return subprocess.run([sys.executable, "-B", "-c", code], env={"PYTHONPATH": str(path)},
                          capture_output=True, text=True, check=True).stdout


class Found(unittest.TestCase):
    def test_the_backend_is_listed(self):
        self.assertIn("torchdyn", torch._dynamo.list_backends())

    def test_it_is_found_without_an_import(self):
        package = pathlib.Path(torchdyn.__file__).parent
        self.assertEqual(run_python(ONE_LINER, package.parent), "[1.0, 3.0]\n")

    def test_what_is_installed_runs(self):
        build = pathlib.Path(torchdyn.__file__).parents[2]
        with tempfile.TemporaryDirectory() as site:
            subprocess.run(["cmake", "--install", str(build), "--component", "python", "--prefix",
                            site], check=True, capture_output=True)
            code = ONE_LINER.replace("'torchdyn'", "__import__('torchdyn').backend")
            self.assertEqual(run_python(code, site), "[1.0, 3.0]\n")

    def test_the_stub_names_what_the_extension_has(self):
        stub = pathlib.Path(torchdyn.__file__).with_name("_C.pyi").read_text()
        for name in (n for n in dir(_C) if not n.startswith("_")):
            self.assertRegex(stub, rf"(class|def) {name}\b")


class Imports(unittest.TestCase):
    def test_another_torch_is_one_clear_error(self):
        with self.assertRaisesRegex(ImportError, r"built for torch \d.* with torch 2\.0\.1"):
            _build.check("2.0.1+cpu")

    def test_the_owner_of_the_name_is_one_clear_error(self):
        with mock.patch.object(importlib.metadata, "distribution"):
            with self.assertRaisesRegex(ImportError, "pip uninstall torchdyn"):
                _build.check(torch.__version__)


class Options(unittest.TestCase):
    def test_an_unknown_option_lists_the_known_ones(self):
        gm = torch.fx.symbolic_trace(lambda x: x + 1)
        with self.assertRaisesRegex(ValueError, "no option \"foo\".* recompile_limit"):
            torchdyn.backend(gm, [], options={"foo": 1})

    def test_an_unknown_mode_lists_the_known_ones(self):
        gm = torch.fx.symbolic_trace(lambda x: x + 1)
        with self.assertRaisesRegex(ValueError, "'fastest'.* max-autotune"):
            torchdyn.backend(gm, [], mode="fastest")

    def test_torch_compile_passes_options(self):
        f = torch.compile(lambda x: x * 2, backend="torchdyn", options={"recompile_limit": 2})
        torch.testing.assert_close(f(torch.ones(3)), torch.full((3,), 2.0))

    def test_config_is_the_default_and_takes_known_names_alone(self):
        gm = torch.fx.symbolic_trace(lambda x: x * 2)
        with self.assertRaisesRegex(ValueError, "no option"):
            torchdyn.config.foo = 1
        before = torchdyn.config.recompile_limit
        try:
            torchdyn.config.recompile_limit = 1
            compiled = torchdyn.backend(gm, [])
            for size in (2, 3, 4):
                torch.testing.assert_close(compiled(torch.ones(size)), torch.full((size,), 2.0))
            self.assertEqual(len(compiled.variants), 1)
        finally:
            torchdyn.config.recompile_limit = before


class Explain(unittest.TestCase):
    def test_it_tells_graphs_and_breaks(self):
        def f(x):
            y = x.sin()
            torch._dynamo.graph_break()
            return y + 1
        explanation = torchdyn.explain(f)(torch.randn(3))
        self.assertEqual(len(explanation.graphs), 2)
        self.assertEqual(sum(explanation.graph_breaks.values()), 1)
        self.assertEqual(explanation.eager_reasons, [])
        self.assertIn("aten::sin", str(explanation))

    def test_it_tells_that_the_recompile_limit_was_reached(self):
        watched = Watched(options={"recompile_limit": 2})
        compiled = watched(torch.fx.symbolic_trace(lambda x: x * 2), [])
        compiled(torch.ones(2)), compiled(torch.ones(3))
        self.assertEqual(watched.explanation().eager_reasons, [])
        compiled(torch.ones(4))
        self.assertRegex(watched.explanation().eager_reasons[0], r"recompile_limit \(2\) reached")

    def test_it_tells_why_a_size_was_compiled_anew(self):
        gm = torch.fx.symbolic_trace(lambda x: x * 2)
        compiled = torchdyn.backend(gm, [])
        compiled(torch.ones(2)), compiled(torch.ones(3))
        self.assertRegex(compiled.recompile_reasons[0], "size")


class BadInput(unittest.TestCase):
    def test_an_error_of_the_program_is_eagers(self):
        gm = torch.fx.symbolic_trace(lambda x, y: x @ y)
        compiled = torchdyn.backend(gm, [])
        with self.assertRaisesRegex(RuntimeError, "mat1 and mat2 shapes cannot be multiplied"):
            compiled(torch.ones(2, 3), torch.ones(2, 3))
        torch.testing.assert_close(compiled(torch.ones(2, 3), torch.ones(3, 2)),
                                   torch.full((2, 2), 3.0))

    def test_meta_tensors_run_in_eager(self):
        gm = torch.fx.symbolic_trace(lambda x: x + 1)
        y = torchdyn.backend(gm, [])(torch.ones(2, device="meta"))
        self.assertEqual((y.device.type, y.shape), ("meta", (2,)))

    def test_tensors_of_two_devices_run_in_eager(self):
        watched = Watched()
        compiled = watched(torch.fx.symbolic_trace(lambda x, y: (x + 1, y * 2)), [])
        x, y = compiled(torch.ones(2), torch.ones(3, device="meta"))
        torch.testing.assert_close(x, torch.full((2,), 2.0))
        self.assertEqual((y.device.type, y.shape), ("meta", (3,)))
        self.assertTrue(watched.explanation().eager_reasons)

    def test_tensors_that_no_operator_takes_together_raise_what_eager_raises(self):
        gm = torch.fx.symbolic_trace(lambda x, y: x + y)
        with self.assertRaises(Exception) as eager:
            gm(torch.ones(2), torch.ones(2, device="meta"))
        with self.assertRaisesRegex(type(eager.exception), "meta"):
            torchdyn.backend(gm, [])(torch.ones(2), torch.ones(2, device="meta"))

    def test_nan_as_a_number_is_one_variant(self):
        watched = Watched()
        compiled = watched(torch.fx.symbolic_trace(lambda x, s: x * s), [])
        for _ in range(3):
            self.assertTrue(compiled(torch.ones(2), float("nan")).isnan().all())
        self.assertEqual(len(watched.graphs[0].variants), 1)
        torch.testing.assert_close(compiled(torch.ones(2), 3.0), torch.full((2,), 3.0))
        self.assertEqual(watched.explanation().eager_reasons, [])

    def test_nan_as_a_guarded_number_of_torch_compile_is_compiled_once(self):
        watched = Watched()
        compiled = torch.compile(lambda x, s: x * s, backend=watched)
        for _ in range(3):
            self.assertTrue(compiled(torch.ones(2), math.nan).isnan().all())
        self.assertEqual(len(watched.graphs), 1)

    def test_sparse_tensors_run_in_eager(self):
        gm = torch.fx.symbolic_trace(lambda x: x * 2)
        y = torchdyn.backend(gm, [])(torch.eye(3).to_sparse())
        torch.testing.assert_close(y.to_dense(), torch.eye(3) * 2)

    def test_a_read_only_cache_loses_nothing(self):
        package = pathlib.Path(torchdyn.__file__).parent
        code = "import os; os.environ['TORCHDYN_CACHE_DIR'] = '/proc/nowhere'; " + ONE_LINER
        self.assertEqual(run_python(code, package.parent), "[1.0, 3.0]\n")

    def test_a_repro_is_run_again(self):
        graph = pathlib.Path(__file__).parents[2] / "consumer" / "graph.txt"
        command = [sys.executable, "-B", "-m", "torchdyn.replay"]
        self.assertEqual(subprocess.run([*command, str(graph)], check=True, capture_output=True,
                                        text=True).stdout, "compiled, it does what it does in eager\n")
        refused = subprocess.run([*command, "/none"], capture_output=True, text=True, check=False)
        self.assertEqual(refused.returncode, 2)
        self.assertIn("there is no graph in /none", refused.stderr)

    def test_no_compiler_loses_nothing(self):
        package = pathlib.Path(torchdyn.__file__).parent
        with tempfile.TemporaryDirectory() as cache:
            code = (f"import os; os.environ.update(PATH='', TORCHDYN_CACHE_DIR={cache!r}); "
                    + ONE_LINER)
            self.assertEqual(run_python(code, package.parent), "[1.0, 3.0]\n")


if __name__ == "__main__":
    unittest.main()
