"""torchdyn.compile: torch.compile's arguments, with our own capture behind them."""
import copy
import unittest

import torch

import torchdyn


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
        self.calls = 0

    def forward(self, x, scale=1.0):
        self.calls += 1
        return torch.relu(self.linear(x)) * scale


class CompileTest(unittest.TestCase):
    def test_functions_modules_and_decorators(self):
        def f(x):
            return torch.sin(x) + 1

        @torchdyn.compile
        def plain(x):
            return f(x)

        @torchdyn.compile(backend="eager", fullgraph=True)
        def with_arguments(x):
            return f(x)

        x = torch.randn(3, 4)
        for compiled in (torchdyn.compile(f), plain, with_arguments):
            torch.testing.assert_close(compiled(x), f(x))
        net, eager = Net(), Net()
        eager.load_state_dict(net.state_dict())
        compiled = torchdyn.compile(net)
        for _ in range(2):
            torch.testing.assert_close(compiled(x, scale=2.0), eager(x, scale=2.0))
        self.assertEqual(net.calls, 2)

    def test_a_compiled_module_is_the_module(self):
        net = Net()
        compiled = torchdyn.compile(net, backend="eager")
        self.assertIsInstance(compiled, torch.nn.Module)
        self.assertEqual(list(compiled.state_dict()), list(net.state_dict()))
        self.assertEqual([id(p) for p in compiled.parameters()], [id(p) for p in net.parameters()])
        compiled.eval()
        self.assertFalse(net.training)
        compiled.extra = 3
        self.assertEqual(net.extra, 3)
        compiled(torch.ones(2, 4)).sum().backward()
        self.assertIsNotNone(net.linear.weight.grad)
        self.assertEqual(copy.deepcopy(compiled).calls, 1)

    def test_backends_by_name(self):
        def f(x):
            return torch.relu(x) * 2

        @torchdyn.register_backend(name="remembers")
        def remembers(graph_module, example_inputs):
            seen.append([tuple(e.shape) for e in example_inputs])
            return graph_module.forward

        seen, x = [], torch.randn(3)
        for backend in ("remembers", "eager", "aot_eager", "torchdyn", remembers):
            torch.testing.assert_close(torchdyn.compile(f, backend=backend)(x), f(x))
        self.assertEqual(seen, [[(3,)], [(3,)]])
        self.assertLessEqual({"torchdyn", "remembers", "inductor"}, set(torchdyn.list_backends()))
        with self.assertRaises(Exception):
            torchdyn.compile(f, backend="no such one")
        with self.assertRaises(ValueError):
            torchdyn.compile(f, options={"no such": 1})

    def test_fullgraph_makes_a_break_an_error(self):
        def f(x):
            y = x + 1
            if y.sum() > 0:
                y = y * 2
            return y

        compiled = torchdyn.compile(f, fullgraph=True, backend="eager")
        line = f.__code__.co_firstlineno + 2
        for _ in range(2):
            with self.assertRaisesRegex(RuntimeError, rf"a branch on a tensor's value\n.*:{line}\n.*torch.where"):
                compiled(torch.ones(2))

    def test_disabled_functions_run_as_they_are(self):
        @torchdyn.disable
        def inner(x):
            return helper(x) + 1

        def helper(x):
            return x * 3

        def f(x):
            return inner(x * 2) - 1

        compiled = torchdyn.compile(f, backend="eager")
        x = torch.randn(3)
        torch.testing.assert_close(compiled(x), f(x))
        self.assertNotIn("helper", {e["function"].split(".")[-1] for e in compiled.capture.events})
        self.assertIs(torchdyn.compile(f, disable=True), f)

    def test_functions_that_are_allowed_in_graphs(self):
        @torchdyn.allow_in_graph
        def opaque(x, n):
            for _ in range(n):
                x = x.sin()
            return x

        graphs = []

        def backend(graph_module, example_inputs):
            graphs.append([n.target for n in graph_module.graph.nodes if n.op == "call_function"])
            return graph_module.forward

        compiled = torchdyn.compile(lambda x: opaque(x, 3) + 1, backend=backend)
        x = torch.randn(3)
        torch.testing.assert_close(compiled(x), opaque(x, 3) + 1)
        self.assertIs(graphs[0][0], opaque)

    def test_reset_and_compile_count(self):
        compiled = torchdyn.compile(lambda x: x + 1, backend="eager")
        before = torchdyn.compile_count()
        compiled(torch.ones(1)), compiled(torch.ones(1))
        self.assertEqual(torchdyn.compile_count() - before, 1)
        torchdyn.reset()
        compiled(torch.ones(1))
        self.assertEqual(torchdyn.compile_count() - before, 2)

    def test_explain(self):
        def f(x):
            y = x + 1
            print(end="")
            return y * 2

        explanation = torchdyn.explain(torchdyn.compile(f))(torch.ones(2))
        self.assertEqual(len(explanation.graphs), 2)
        (reason,) = explanation.graph_breaks
        self.assertIn("print", reason)
        self.assertIn(f":{f.__code__.co_firstlineno + 2}", reason)

    def test_training_with_our_own_compiler(self):
        torch.manual_seed(0)
        net = Net()
        eager = copy.deepcopy(net)
        compiled = torchdyn.compile(net)
        x = torch.randn(5, 4)
        for model in (compiled, eager):
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for _ in range(3):
                optimizer.zero_grad()
                model(x).square().sum().backward()
                optimizer.step()
        torch.testing.assert_close(net.state_dict(), eager.state_dict())


if __name__ == "__main__":
    unittest.main()
