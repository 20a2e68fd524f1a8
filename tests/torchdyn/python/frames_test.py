"""Our own capture of frames: what straight-line functions compute becomes one graph, and the rest runs as
it is, with the reason."""
import collections
import contextlib
import gc
import io
import sys
import traceback
import unittest

import torch
import torch.nn.functional as F
from torch.utils.flop_counter import FlopCounterMode

from captured import CaptureTest, captured, reasons
from torchdyn import _C, frames

SCALE = 2.0


class FramesTest(CaptureTest):
    def test_operators_functions_and_methods(self):
        def f(x, y):
            z = torch.relu(x) @ y.t() - 1
            z *= SCALE
            return F.softmax(-z, dim=-1).sum(0, keepdim=True)

        backend = self.assert_same(f, torch.randn(3, 4), torch.randn(5, 4))
        self.assertEqual(backend.targets(),
                         ["relu", "t", "matmul", "sub", "imul", "neg", "softmax", "sum"])

    def test_what_a_frame_returns(self):
        def f(x, n):
            y = x + n
            return y, [x, y.shape[0], y], None, n, y

        x = torch.randn(3)
        compiled, _ = captured(f)
        for _ in range(2):
            first, (same, size, again), nothing, number, last = compiled(x, 3)
            self.assertIs(same, x)
            self.assertIs(again, first)
            self.assertIs(last, first)
            self.assertEqual((size, nothing, number), (3, None, 3))

    def test_default_keyword_and_variable_arguments(self):
        def f(x, /, scale=2, *, shift):
            return x * scale + shift

        self.assert_same(f, torch.randn(3), shift=1)
        self.assert_same(f, torch.randn(3), 5, shift=torch.randn(3))

    def test_calls_with_tuples_of_tensors_and_several_results(self):
        def f(x, y):
            low, high = torch.split(torch.cat([x, y], dim=0), [2, 4])
            return torch.stack((low.sum(), high.sum())), torch.split(x, 2)[0]

        self.assert_same(f, torch.randn(3, 2), torch.randn(3, 2))

    def test_closures(self):
        weight = torch.randn(4)

        def f(x):
            local = x * weight
            other = local + SCALE
            return other, local

        self.assert_same(f, torch.randn(4))
        compiled, backend = captured(f)
        x = torch.randn(4)
        compiled(x)
        weight = torch.randn(4)  # the cell has another tensor
        torch.testing.assert_close(compiled(x), f(x))
        self.assertEqual(len(backend.graphs), 1)

    def test_changes_in_place_and_identity(self):
        def f(x, y):
            z = x.add_(y)
            return z, x.mul(2)

        x, expected = torch.zeros(3), torch.zeros(3)
        compiled, _ = captured(f)
        for _ in range(2):
            result, _ = compiled(x, torch.ones(3))
            f(expected, torch.ones(3))
            self.assertIs(result, x)
            torch.testing.assert_close(x, expected)

    def test_gradients(self):
        def f(x, w):
            return torch.tanh(x @ w).sum()

        self.assert_gradients(f)

    def test_modules(self):
        class Block(torch.nn.Module):
            power = 2

            def __init__(self):
                super().__init__()
                self.linear = torch.nn.Linear(4, 4)
                self.scale = torch.nn.Parameter(torch.randn(4))
                self.register_buffer("shift", torch.randn(4))
                self.bias = None
                self.eps = 1e-3

            def forward(self, x):
                return (x * self.scale + self.shift) ** self.power + self.eps

        block, x = Block(), torch.randn(2, 4)
        compiled, backend = captured(block)
        torch.testing.assert_close(compiled(x), block(x))
        self.assertEqual(reasons(compiled, "forward"), [""])
        block.scale = torch.nn.Parameter(torch.randn(4))
        block.shift.add_(1)
        torch.testing.assert_close(compiled(x), block(x))
        self.assertEqual(len(backend.graphs), 1)  # found where they are now
        block.eps = 10.0
        Block.power = 3
        torch.testing.assert_close(compiled(x), block(x))
        self.assertEqual(len(backend.graphs), 2)

    def test_callees_are_captured_where_callers_are_not(self):
        model = torch.nn.Linear(4, 8)

        def f(x):
            print(end="")
            return model(x)

        x = torch.randn(3, 4)
        compiled, backend = captured(f)
        torch.testing.assert_close(compiled(x), model(x))
        self.assertEqual(backend.targets(), ["linear"])
        self.assertEqual(reasons(compiled, "f")[0].split(":")[0], "a call of something other than a tensor function")

    def test_questions_are_answered_by_the_guards(self):
        def f(x):
            return x.reshape(-1, x.size(0)) * x.dim() + x.numel(), x.shape, x.new_ones(2, dtype=x.dtype), x.stride()

        self.assert_same(f, torch.randn(3, 4))
        self.assert_same(f, torch.randn(4, 3, dtype=torch.float64).t())

    def test_the_random_stream_is_eagers(self):
        def f(x):
            return F.dropout(torch.rand_like(x), 0.5) + torch.bernoulli(x)

        compiled, backend = captured(f)
        x = torch.rand(16)
        for function in (compiled, compiled):
            torch.manual_seed(0)
            expected = f(x), torch.rand(1)
            torch.manual_seed(0)
            torch.testing.assert_close((function(x), torch.rand(1)), expected, rtol=0, atol=0)
        self.assertEqual(len(backend.graphs), 1)

    def test_branches_that_constants_decide(self):
        class Block(torch.nn.Module):
            def __init__(self, bias):
                super().__init__()
                self.bias = torch.nn.Parameter(torch.randn(3)) if bias else None
                self.mode = "sum"

            def forward(self, x, extra=None, flag=False):
                if self.bias is not None:
                    x = x + self.bias
                if not self.training or flag and x.dim() > 1:
                    x = x * 2
                if extra is None:
                    extra = x
                return (x - extra).sum() if self.mode == "sum" else x.mean() + extra

        for bias in (True, False):
            block, x = Block(bias), torch.randn(2, 3)
            compiled, backend = captured(block)
            for graphs, change in enumerate((lambda: None, block.eval, lambda: setattr(block, "mode", "mean")), 1):
                change()
                for _ in range(2):
                    torch.testing.assert_close(compiled(x), block(x))
                self.assertEqual(reasons(compiled, "forward"), [""] * graphs)
            for arguments in ((x, x + 1), (x, 2.0), (x, None, True)):
                torch.testing.assert_close(compiled(*arguments), block(*arguments))
            self.assertEqual(set(reasons(compiled, "forward")), {""})

    def test_a_value_that_becomes_none(self):
        def f(x, y):
            return x * 2 if y is None else x * 3

        class Plain:
            pass

        compiled, backend = captured(f)
        x = torch.ones(2)
        for y, expected in ((Plain(), 3), (None, 2), (Plain(), 3), (x + 1, 3), (5, 3), (None, 2)):
            self.assertEqual(compiled(x, y)[0].item(), expected)
        self.assertEqual(len(backend.graphs), 4)

    def test_who_watches_operations_sees_none_of_capture(self):
        def f(x, w):
            return x @ w

        x, w = torch.randn(4, 4), torch.randn(4, 4, requires_grad=True)
        compiled, _ = captured(f)
        with FlopCounterMode(display=False) as counter:
            compiled(x, w)
        self.assertEqual(counter.get_total_flops(), 2 * 4 * 4 * 4)
        compiled, _ = captured(f)
        packed = []

        def pack(tensor):
            packed.append(tensor.device.type)
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            compiled(x, w)
        self.assertEqual(packed, ["cpu"])

    def test_our_own_compiler(self):
        def f(x, w):
            return torch.nn.functional.gelu(x @ w) + 1

        x, w = torch.randn(8, 16), torch.randn(16, 4, requires_grad=True)
        compiled = frames.compile(f)
        torch.testing.assert_close(compiled(x, w), f(x, w))
        self.assertEqual(reasons(compiled, "f"), [""])

    def test_torch_compile_within(self):
        def f(x):
            return inner(x) + outside(x)

        def outside(x):
            return x.relu() * 3

        inner = torch.compile(lambda x: (x * 2).sin(), backend="eager")
        x = torch.randn(5)
        compiled, _ = captured(f)
        for _ in range(3):
            torch.testing.assert_close(compiled(x), f(x))
        self.assertIn("", reasons(compiled, "f"))


class GuardsTest(unittest.TestCase):
    def counts(self, function, *calls):
        """How many graphs there are after each call."""
        compiled, backend = captured(function)
        counts = []
        for call in calls:
            torch.testing.assert_close(compiled(*call), function(*call), rtol=0, atol=0)
            counts.append(len(backend.graphs))
        return counts

    def test_of_tensors(self):
        x = torch.randn(4, 4)
        counts = self.counts(torch_relu, (x,), (x + 1,), (x.double(),), (x.t(),), (x[:2],), (x,))
        self.assertEqual(counts, [1, 1, 2, 3, 4, 4])

    def test_of_constants(self):
        def f(x, n):
            return x * n

        x = torch.ones(2)
        counts = self.counts(f, (x, 1), (x, 1), (x, True), (x, 1.0), (x, 2), (x, 1))
        self.assertEqual(counts, [1, 1, 2, 3, 4, 4])

    def test_of_floats_by_bits(self):
        def f(x, n):
            return x / n

        x = torch.ones(2)
        compiled, backend = captured(f)
        self.assertEqual(compiled(x, 0.0)[0].item(), float("inf"))
        self.assertEqual(compiled(x, -0.0)[0].item(), float("-inf"))
        nan = float("nan")
        compiled(x, nan), compiled(x, nan)
        self.assertEqual(len(backend.graphs), 3)

    def test_of_globals(self):
        x = torch.randn(2)
        compiled, backend = captured(scaled)
        torch.testing.assert_close(compiled(x), x * 2.0)
        global SCALE
        SCALE = 3.0
        self.addCleanup(lambda: globals().update(SCALE=2.0))
        torch.testing.assert_close(compiled(x), x * 3.0)
        self.assertEqual(len(backend.graphs), 2)

    def test_of_functions_that_are_replaced(self):
        x = torch.randn(3)
        compiled, _ = captured(torch_relu)
        compiled(x)
        relu = torch.relu
        self.addCleanup(setattr, torch, "relu", relu)
        torch.relu = torch.sigmoid
        torch.testing.assert_close(compiled(x), torch.sigmoid(x))

    def test_of_the_grad_mode(self):
        w = torch.randn(3, requires_grad=True)
        compiled, backend = captured(torch_relu)
        self.assertTrue(compiled(w).requires_grad)
        with torch.no_grad():
            self.assertFalse(compiled(w).requires_grad)
        self.assertEqual(len(backend.graphs), 2)

    def test_of_subclasses_and_function_modes(self):
        class Doubling(torch.Tensor):
            @classmethod
            def __torch_function__(cls, function, types, args=(), kwargs=None):
                plain = [a.as_subclass(torch.Tensor) for a in args]
                return function(*plain, **(kwargs or {})) * 2

        class Negating(torch.overrides.TorchFunctionMode):
            def __torch_function__(self, function, types, args=(), kwargs=None):
                return -function(*args, **(kwargs or {}))

        x = torch.rand(3)
        compiled, _ = captured(torch_relu)
        torch.testing.assert_close(compiled(x), x)
        torch.testing.assert_close(compiled(x.as_subclass(Doubling)), 2 * x)
        with Negating():
            negative = compiled(x)
        torch.testing.assert_close(negative, -x)
        torch.testing.assert_close(compiled(x), x)

    def test_there_are_no_more_variants_than_the_limit(self):
        def f(x, n):
            return x + n

        x = torch.zeros(1)
        counts = self.counts(f, *[(x, n + 0.5) for n in range(12)])
        self.assertEqual(counts[-1], 8)


def torch_relu(x):
    return torch.relu(x)


def scaled(x):
    return x * SCALE


class BreaksTest(unittest.TestCase):
    def test_every_opcode_is_a_handler_or_a_gap(self):
        opcodes = _C.captured_opcodes()
        self.assertEqual(opcodes["LOAD_FAST"], "")
        self.assertEqual(opcodes["GET_AWAITABLE"], "a generator or coroutine")

    def test_each_names_its_line_and_reason(self):
        def branch(x):
            if x.sum() > 0:
                return x
            return -x

        def prints(x):
            print("x")
            return x + 1

        def item(x):
            return x * x.sum().item()

        def place(x):
            return x.storage_offset()

        def nothing(x):
            return x

        x = torch.ones(2)
        for function, line, reason in (
            (branch, 1, "a branch on a tensor's value"),
            (prints, 1, "a call of something other than a tensor function: print"),
            (item, 1, "a call of something other than a tensor function: Tensor.item"),
            (place, 1, "a result that is neither a tensor nor a constant: storage_offset gives int"),
            (nothing, 1, "nothing to compile"),
        ):
            compiled, backend = captured(function)
            with contextlib.redirect_stdout(io.StringIO()):
                torch.testing.assert_close(compiled(x), function(x))
                compiled(x)
            event = compiled.capture.events[0]
            self.assertTrue(event["reason"].startswith(reason), event)
            self.assertEqual(event["line"], function.__code__.co_firstlineno + line)

    def test_errors_are_eagers(self):
        def f(x, y):
            z = x + 1
            return z @ y

        compiled, _ = captured(f)
        with self.assertRaises(RuntimeError) as eager:
            f(torch.ones(2, 3), torch.ones(2, 3))
        with self.assertRaises(RuntimeError) as ours:
            compiled(torch.ones(2, 3), torch.ones(2, 3))
        self.assertEqual(str(ours.exception), str(eager.exception))

    def test_a_backend_that_raises_leaves_the_frame_as_it_is(self):
        def backend(graph_module, example_inputs):
            raise NotImplementedError("no")

        compiled = frames.compile(torch_relu, backend)
        x = torch.randn(3)
        torch.testing.assert_close(compiled(x), torch.relu(x))
        self.assertEqual(compiled.capture.events[0]["reason"], "NotImplementedError: no")

    def test_ctrl_c_during_capture_is_the_programs(self):
        def backend(graph_module, example_inputs):
            if not interrupted:
                interrupted.append(True)
                raise KeyboardInterrupt
            return graph_module

        interrupted = []
        compiled = frames.compile(torch_relu, backend)
        with self.assertRaises(KeyboardInterrupt):
            compiled(torch.ones(1))
        compiled(torch.ones(1))
        self.assertEqual(reasons(compiled, "torch_relu")[-1], "")

    def test_a_reason_is_told_once(self):
        def numbers(n):
            yield from range(n)

        def f(x):
            for n in collections.deque(numbers(3)):
                x = x + n
            return x

        compiled, _ = captured(f)
        for _ in range(5):
            compiled(torch.ones(1))
        self.assertEqual(reasons(compiled, "numbers"), ["a generator's or coroutine's frame"])

    def test_a_traceback_of_compiled_code_names_the_function(self):
        def raises_at_run_time(*args):
            raise ZeroDivisionError

        compiled = frames.compile(torch_relu, lambda graph_module, example_inputs: raises_at_run_time)
        try:
            compiled(torch.ones(1))
        except ZeroDivisionError as error:
            names = [f.name for f in traceback.extract_tb(error.__traceback__)]
        self.assertEqual(names[-2:], ["torch_relu", "raises_at_run_time"])


class LifetimeTest(unittest.TestCase):
    def test_what_was_captured_is_freed_with_the_function(self):
        class Marker:
            alive = 0

            def __init__(self, graph_module):
                Marker.alive += 1
                self.graph_module = graph_module

            def __call__(self, *args):
                return self.graph_module(*args)

            def __del__(self):
                Marker.alive -= 1

        namespace = {"torch": torch}
        exec("def f(x):\n    return torch.relu(x) + 1\n", namespace)
        compiled = frames.compile(namespace["f"], lambda graph_module, _: Marker(graph_module))
        compiled(torch.ones(2))
        self.assertEqual(Marker.alive, 1)
        del compiled, namespace
        gc.collect()
        self.assertEqual(Marker.alive, 0)

    def test_many_calls_keep_nothing(self):
        def f(x, w):
            return torch.relu(x) * w

        compiled, _ = captured(f)
        x, w = torch.ones(2), torch.ones(2)
        for _ in range(100):
            compiled(x, w)
        gc.collect()
        before = sys.getallocatedblocks(), sys.getrefcount(x)
        for _ in range(20_000):
            compiled(x, w)
        gc.collect()
        self.assertLess(abs(sys.getallocatedblocks() - before[0]), 100)
        self.assertEqual(sys.getrefcount(x), before[1])


if __name__ == "__main__":
    unittest.main()
