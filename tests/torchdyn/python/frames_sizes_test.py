"""Our own capture of frames: sizes and ints that change from call to call."""
import gc
import itertools
import math
import sys
import unittest

import torch
from torch import nn

import torchdyn
from captured import CaptureTest, captured

COUNT = 3


def tensor(*sizes):
    return torch.arange(math.prod(sizes), dtype=torch.float32).reshape(sizes) + 1


class SizesTest(CaptureTest):
    def assert_each(self, function, calls, graphs=None, **options):
        """As eager, in values and types; with so many graphs."""
        compiled, backend = captured(function, **options)
        for args in calls:
            actual, expected = compiled(*args), function(*args)
            self.assert_equal_values(actual, expected)
            self.assertEqual(described(actual), described(expected), args)
        if graphs is not None:
            self.assertEqual(len(backend.graphs), graphs, compiled.capture.events)
        return compiled, backend


def described(result):
    if isinstance(result, (tuple, list)):
        return type(result), [described(item) for item in result]
    return (type(result), result.shape, result.stride()) if isinstance(result, torch.Tensor) else (
        type(result), result)


class AutomaticallyOpen(SizesTest):
    def test_a_size_that_changes(self):
        self.assert_each(lambda x: (x * 2).sum(0), [(tensor(n, 4),) for n in (3, 5, 7, 2, 9, 3)], graphs=2)

    def test_each_size_is_captured_where_none_may_be_open(self):
        self.assert_each(lambda x: x * 2, [(tensor(n),) for n in (3, 5, 7)], graphs=3, open_sizes="none")

    def test_all_sizes_from_the_first_call_on(self):
        self.assert_each(lambda x: x * 2, [(tensor(n, n + 1),) for n in (3, 5, 7)], graphs=1, open_sizes="all")

    def test_0_and_1_are_programs_of_their_own(self):
        calls = [(tensor(n, 4), tensor(4, 4)) for n in (4, 1, 4, 1)]
        self.assert_each(lambda x, y: x + y, calls, graphs=2)
        self.assert_each(lambda x: x + 1, [(tensor(n, 4),) for n in (3, 5, 0, 1, 6)], graphs=4)

    def test_sizes_that_must_be_equal(self):
        function = lambda x, y: x + y
        compiled, _ = self.assert_each(function, [(tensor(n), tensor(n)) for n in (3, 5, 7)], graphs=2)
        self.assert_equal_values(compiled(tensor(6), tensor(1)), tensor(6) + 1)
        with self.assertRaises(RuntimeError):
            compiled(tensor(6), tensor(5))

    def test_strides_follow_sizes(self):
        calls = [(tensor(n, m),) for n, m in ((3, 4), (5, 6), (4, 3))] + [(tensor(n, 4).t(),) for n in (3, 5, 7)]
        self.assert_each(lambda x: x.reshape(-1) * 2, calls)

    def test_a_slice_of_a_larger_tensor(self):
        large = tensor(20, 20)
        self.assert_each(lambda x: x.contiguous() + 1, [(large[:n, :n],) for n in (3, 5, 7, 20)])

    def test_gradients(self):
        weight = tensor(4, 4).requires_grad_()
        compiled, backend = captured(lambda x: (x @ weight).sin().sum())
        for n in (3, 5, 7):
            gradients = []
            for function in (compiled, lambda x: (x @ weight).sin().sum()):
                function(tensor(n, 4)).backward()
                gradients.append(weight.grad)
                weight.grad = None
            self.assert_equal_values(*gradients)
        self.assertEqual(len(backend.graphs), 2)

    def test_modules_do_not_open_what_others_of_their_class_hold(self):
        class Shift(nn.Module):
            def __init__(self, n):
                super().__init__()
                self.n = n
                self.register_buffer("by", tensor(n))

            def forward(self, x):
                return x[:, :self.n] + self.by

        shifts = [Shift(n) for n in (3, 5)]
        compiled, backend = captured(Shift.forward)
        for shift in shifts:
            self.assert_equal_values(compiled(shift, tensor(4, 8)), shift(tensor(4, 8)))
        for graph in backend.graphs:
            placeholders = [node for node in graph.graph.nodes if node.op == "placeholder"]
            self.assertEqual([node.meta for node in placeholders if "example_value" in node.meta], [])


class Arithmetic(SizesTest):
    """What programs compute with sizes, in Python."""

    SIZES = [(tensor(n, 2 * m),) for n, m in ((3, 2), (5, 4), (7, 3), (2, 6), (4, 4), (9, 5))]

    def test_views(self):
        def split(x):
            rows, columns = x.shape
            return x.view(rows, columns // 2, 2).transpose(1, 2).reshape(rows * 2, -1)
        self.assert_each(split, self.SIZES, graphs=2)

    def test_what_does_not_divide_raises_as_in_eager(self):
        function = lambda x: x.view(x.shape[0] // 2, 2)
        compiled, _ = self.assert_each(function, [(tensor(n),) for n in (4, 6, 8)])
        with self.assertRaises(RuntimeError):
            compiled(tensor(7))

    def test_slices(self):
        def cut(x):
            half = x.size(1) // 2
            return x[:, :half] + x[:, half:], x[-2:], x[..., 1 - x.size(1):]
        self.assert_each(cut, self.SIZES, graphs=2)

    def test_factories(self):
        def make(x):
            n, m = x.size()
            return torch.arange(n) * 2, torch.zeros(n, m + 1), x.new_ones((n,)), torch.full((m,), 1.0)
        self.assert_each(make, self.SIZES, graphs=2)

    def test_branches(self):
        def choose(x):
            if x.shape[0] > 4 and x.shape[1] != 8:
                return x * 2
            return x - 1 if x.shape[0] % 2 else x + len(x)
        self.assert_each(choose, self.SIZES + self.SIZES[::-1])

    def test_functions_of_numbers(self):
        def compute(x):
            n, m = x.shape
            return x.sum() * max(n, m) + min(n, 4) - abs(n - m) + int(n) + math.prod(x.shape) + round(m) + pow(n, 2)
        self.assert_each(compute, self.SIZES)

    def test_floats(self):
        def scale(x):
            return x / math.sqrt(x.shape[1]) + x * (1.0 / x.shape[0]) + x.shape[0] ** -0.5
        self.assert_each(scale, self.SIZES)

    def test_sizes_as_results(self):
        def tell(x):
            y = x.sin()
            return (y, x.shape, x.shape[0], y.size(1) + 1, x.numel(), x.shape[:1], x.shape[1:] + (5,), len(x),
                    x.shape.numel(), y.stride())
        self.assert_each(tell, self.SIZES, graphs=2)

    def test_floats_and_bools_as_results(self):
        self.assert_each(lambda x: (x.sin(), x.shape[0] / 2), self.SIZES)
        self.assert_each(lambda x: (x.sin(), x.shape[0] > 3), self.SIZES)

    def test_comparisons_of_sizes(self):
        def compare(x, y):
            if x.shape == y.shape:
                return x + y
            return x * 2 if x.shape[1:] == (4,) else x - (1 if x.size() != torch.Size([7, 6]) else 2)
        calls = [(x, y) for (x,), (y,) in itertools.product(self.SIZES, self.SIZES[:2])]
        self.assert_each(compare, calls)

    def test_texts_keys_and_indices(self):
        table = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0]

        def look_up(x):
            n = x.shape[0]
            return x * table[n] + {3: 1.0, 5: 2.0}.get(n, 3.0), f"{n} rows", str(n), n in (3, 7), "a" * n
        self.assert_each(look_up, self.SIZES)

    def test_loops(self):
        def repeat(x):
            for n in range(x.shape[0]):
                x = x + n
            return x, [n for n in x.shape]
        self.assert_each(repeat, self.SIZES)

    def test_types(self):
        def ask(x):
            n = x.shape[0]
            return x + isinstance(n, int) + isinstance(x.shape, tuple), type(n), n is None, n.bit_length()
        self.assert_each(ask, self.SIZES)

    def test_what_raises(self):
        def divide(x):
            try:
                return x + x.shape[0] // (x.shape[1] - 8)
            except ZeroDivisionError:
                return x - 1
        self.assert_each(divide, self.SIZES)

    def test_changes_of_what_is_outside(self):
        class Memory:
            rows = 0
            seen = []

        def keep(x):
            Memory.seen.append(x.shape[0])
            memory.rows = x.shape[0] + 1
            return x * 2
        memory = Memory()
        compiled, backend = captured(keep)
        for (x,) in self.SIZES:
            compiled(x)
            self.assertEqual((memory.rows, Memory.seen[-1]), (x.shape[0] + 1, x.shape[0]))
            self.assertIs(type(memory.rows), int)

    def test_a_break_between(self):
        def cut(x):
            half = x.shape[1] // 2
            y = x[:, :half].sin()
            print(end="")
            return y * half + x.shape[0]
        self.assert_each(cut, self.SIZES, graphs=4)

    def test_all_sizes_of_many_programs(self):
        def program(x):
            n, m = x.shape
            y = x * n if n > m else x + m
            if n * m % 3 == 0:
                y = y.t()
            if (n + 1) // 2 == m:
                y = y - 5
            return y.reshape(m, n)[: m // 2 + 1, : max(n - 2, 1)], n - m
        calls = [(tensor(n, m),) for n, m in itertools.product(range(1, 8), repeat=2)]
        for policy in ("automatic", "all"):
            self.assert_each(program, calls, open_sizes=policy)


class Ints(SizesTest):
    def test_an_argument_that_changes(self):
        self.assert_each(lambda x, n: x * n + 1, [(tensor(3), n) for n in (3, 5, 7, 9, 2)], graphs=2)

    def test_other_numbers_are_programs_of_their_own(self):
        numbers = (3, 5, 7, 1, 0, -4, True, False, 2.0, 2 ** 40, 8)
        self.assert_each(lambda x, n: x * n, [(tensor(3), n) for n in numbers])

    def test_numbers_that_are_no_64_bits(self):
        function = lambda x, n: x if abs(n) > 5 else x + n
        self.assert_each(function, [(tensor(3), n) for n in (3, 4, 6, 2 ** 70, -2 ** 70, 5)])

    def test_an_argument_that_decides_a_branch(self):
        function = lambda x, n: x * 2 if n == 5 else x + n
        self.assert_each(function, [(tensor(3), n) for n in (3, 4, 5, 6, 5, 7)], graphs=3)

    def test_an_argument_that_is_fixed_where_it_is_asked(self):
        table = list(range(10))
        self.assert_each(lambda x, n: x + table[n], [(tensor(3), n) for n in (3, 4, 5, 4, 6, 3)])

    def test_an_argument_that_is_a_size(self):
        self.assert_each(lambda x, n: x[:n] * 2, [(tensor(9, 2), n) for n in (3, 5, 7, 9)])
        self.assert_each(lambda x, n: x.expand(n, 3), [(tensor(3), n) for n in (3, 5, 7)], graphs=2)

    def test_numbers_in_containers(self):
        function = lambda x, pair, named: x * pair[0] + named["n"]
        self.assert_each(function, [(tensor(3), (n, 1), {"n": n + 1}) for n in (3, 5, 7, 9)], graphs=2)

    def test_a_global(self):
        def read(x):
            return x + COUNT
        global COUNT
        compiled, backend = captured(read)
        for COUNT in (3, 5, 7, 9, 1, 8):
            self.assert_equal_values(compiled(tensor(3)), read(tensor(3)))
        COUNT = 3
        self.assertEqual(len(backend.graphs), 3)

    def test_a_counter_of_a_module(self):
        class Counting(nn.Module):
            def __init__(self):
                super().__init__()
                self.calls = 0

            def forward(self, x):
                self.calls += 1
                return x * self.calls

        model = Counting()
        compiled, backend = captured(model)
        for n in range(1, 20):
            self.assert_equal_values(compiled(tensor(3)), tensor(3) * n)
            self.assertEqual((model.calls, type(model.calls)), (n, int))
        self.assertLessEqual(len(backend.graphs), 4)

    def test_references_and_memory_stay_as_they_are(self):
        compiled, _ = captured(lambda x, n: x[: n // 2] * n)
        calls = [(tensor(n), n) for n in (1000, 1002, 1004, 1006)]

        def run(times):
            for _ in range(times):
                for x, n in calls:
                    compiled(x, n)
            gc.collect()
            return [sys.getrefcount(thing) for call in calls for thing in call], len(gc.get_objects())
        run(100)
        (references, objects), blocks = run(1), sys.getallocatedblocks()
        now = run(500)
        self.assertEqual(now[0], references)
        self.assertLess(now[1] - objects, 5)
        self.assertLess(sys.getallocatedblocks() - blocks, 50)


class OtherChanges(SizesTest):
    """What else changes is seen, too, where sizes are open."""

    def assert_seen(self, function, *others):
        compiled, backend = captured(function)

        def compare(make):
            mine, theirs = make(), make()
            actual, expected = compiled(*mine), function(*theirs)
            self.assert_equal_values(actual, expected)
            self.assertEqual(actual.requires_grad, expected.requires_grad)
            self.assert_equal_values(mine, theirs)

        for n in (3, 5, 7):
            compare(lambda: (tensor(n, 4), tensor(n, 4)))
        self.assertEqual(len(backend.graphs), 2)
        for make in others + others:
            compare(make)

    def test_dtypes_gradients_ranks_and_strides(self):
        self.assert_seen(lambda x, y: (x * y).sum(-1) + x.shape[0],
                         lambda: (tensor(6, 4).double(), tensor(6, 4)),
                         lambda: (tensor(6, 4).requires_grad_(), tensor(6, 4)),
                         lambda: (tensor(2, 6, 4), tensor(6, 4)),
                         lambda: (tensor(4, 6).t(), tensor(6, 4)),
                         lambda: (tensor(6, 4), tensor(6, 8)[:, ::2]))

    def test_tensors_in_the_same_memory(self):
        def both():
            x = tensor(6, 4)
            return x, x

        def parts():
            large = tensor(9, 4)
            return large[:6], large[3:]
        self.assert_seen(lambda x, y: x.add_(1) + y.mul_(2) + y.shape[0], both, parts)

    def test_attributes_globals_and_the_grad_mode(self):
        class Scale:
            by = 2.0
        compiled, _ = captured(lambda x: (x * Scale.by).sum(0) * x.shape[0])
        for by, n in itertools.product((2.0, 3.0, 2.0), (3, 5, 7)):
            Scale.by = by
            self.assert_equal_values(compiled(tensor(n)), (tensor(n) * by).sum(0) * n)
            with torch.no_grad():
                self.assertFalse(compiled(tensor(n).requires_grad_()).requires_grad)
            self.assertTrue(compiled(tensor(n).requires_grad_()).requires_grad)


class WithoutSymbols(SizesTest):
    """Where symbols cannot be carried through, each size is a capture, and eager's values."""

    def test_autocast(self):
        def cast(x):
            with torch.autocast("cpu", torch.bfloat16):
                return x @ x.t()
        self.assert_each(cast, [(tensor(n, 4),) for n in (3, 5, 7)], graphs=3)

    def test_shapes_that_depend_on_values(self):
        self.assert_each(lambda x: x[x > 3].sum() + x.shape[0], [(tensor(n),) for n in (3, 5, 7)])

    def test_what_breaks_with_symbols_alone(self):
        def look_up(x):
            return x * len({x.shape[0], 3})
        compiled, _ = self.assert_each(look_up, [(tensor(n),) for n in (3, 5, 7)], graphs=3)
        self.assertEqual([e["reason"] for e in compiled.capture.events if e["reason"]], [])


class Compile(CaptureTest):
    """torchdyn.compile's `dynamic`, with the compiler behind it."""

    @staticmethod
    def run_model(x, n=4):
        return torch.softmax(x.reshape(x.shape[0] // 2, -1) * n, -1).sum(0)

    def graphs(self, sizes, prepare=lambda x: x, **options):
        compiled = torchdyn.compile(self.run_model, **options)
        before = torchdyn.compile_count()
        for n in sizes:
            x = torch.rand(n, 6)
            prepare(x)
            torch.testing.assert_close(compiled(x), self.run_model(x))
        return torchdyn.compile_count() - before

    def test_automatic(self):
        self.assertEqual(self.graphs((4, 6, 8, 10, 4, 12)), 2)

    def test_dynamic(self):
        self.assertEqual(self.graphs((4, 6, 8, 10), dynamic=True), 1)

    def test_not_dynamic(self):
        self.assertEqual(self.graphs((4, 6, 8), dynamic=False), 3)

    def test_a_size_that_is_marked(self):
        mark = lambda x: torchdyn.mark_dynamic(x, 0)
        self.assertEqual(self.graphs((4, 6, 8), mark), 1)
        self.assertEqual(self.graphs((4, 6, 8), mark, dynamic=False), 1)
        self.assertEqual(self.graphs((4, 6, 8), lambda x: torch._dynamo.mark_dynamic(x, 0), dynamic=False), 1)

    def test_a_size_that_is_marked_as_static(self):
        self.assertEqual(self.graphs((4, 6, 8), lambda x: torchdyn.mark_static(x, 0)), 3)
        self.assertEqual(self.graphs((4, 6, 8), torchdyn.mark_static, dynamic=True), 3)

    def test_other_compilers_have_fixed_sizes(self):
        self.assertEqual(self.graphs((4, 6, 8), lambda x: torchdyn.mark_dynamic(x, 0), backend="aot_eager"), 3)

    def test_callables_have_open_sizes_where_these_are_asked_for(self):
        runs = lambda graph_module, example_inputs: graph_module.forward
        self.assertEqual(self.graphs((4, 6, 8), backend=runs), 3)
        self.assertEqual(self.graphs((4, 6, 8), backend=runs, dynamic=True), 1)

    def test_guards_that_a_backend_adds_count(self):
        def likes_eight(graph_module, example_inputs):
            sizes = [node.meta["example_value"].shape[0] for node in graph_module.graph.nodes
                     if node.op == "placeholder"]
            doubled = bool(sizes[0] > 7)
            return lambda x: tuple(y * (2 if doubled else 1) for y in graph_module.forward(x))

        compiled = torchdyn.compile(lambda x: x + 1, backend=likes_eight, dynamic=True)
        for n in (4, 6, 8, 10, 5):
            x = tensor(n)
            self.assert_equal_values(compiled(x), (x + 1) * (2 if n > 7 else 1))

    def test_training(self):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.Linear(8, 3))
        compiled = torchdyn.compile(model)
        before = torchdyn.compile_count()
        for n in (4, 6, 3, 8, 5):
            x = torch.rand(n, 6)
            gradients = []
            for function in (model, compiled):
                model.zero_grad()
                function(x).square().mean().backward()
                gradients.append([p.grad.clone() for p in model.parameters()])
            torch.testing.assert_close(*gradients)
        self.assertEqual(torchdyn.compile_count() - before, 2)

    def test_ints_that_change(self):
        compiled = torchdyn.compile(self.run_model)
        before = torchdyn.compile_count()
        for n in (3, 5, 7, 9):
            x = torch.rand(4, 6)
            torch.testing.assert_close(compiled(x, n), self.run_model(x, n))
        self.assertEqual(torchdyn.compile_count() - before, 2)


if __name__ == "__main__":
    unittest.main()
