"""Our own capture of frames: what it does not take is run by CPython between two graphs, and all that can be
seen of it is as in eager."""
import contextlib
import gc
import io
import sys
import traceback
import unittest
import weakref

import torch

from captured import CaptureTest, captured, reasons


class BreaksTest(CaptureTest):
    def test_a_branch_on_a_tensor_makes_three_graphs(self):
        def toy(a, b):
            x = a / (torch.abs(a) + 1)
            if b.sum() < 0:
                b = b * -1
            return x * b

        compiled, backend = captured(toy)
        for sign in (1, -1, -1, 1):
            a, b = torch.randn(4), torch.rand(4) * sign
            torch.testing.assert_close(compiled(a, b), toy(a, b), rtol=0, atol=0)
        self.assertEqual([backend.targets(n) for n in range(len(backend.graphs))],
                         [["abs", "add", "truediv", "sum", "lt"], ["mul"], ["mul", "mul"]])
        event = compiled.capture.events[0]
        self.assertEqual((event["reason"], event["line"], event["is_cut"]),
                         ("a branch on a tensor's value", toy.__code__.co_firstlineno + 2, True))

    def test_what_is_printed_comes_in_order(self):
        def f(x):
            y = x + 1
            print("sum", y.sum().item(), end=";")
            z = y * 2
            print("last", sep="-", end="!")
            return z - x

        compiled, backend = captured(f)
        x = torch.ones(2)
        for _ in range(2):
            outputs = []
            for function in (f, compiled):
                with contextlib.redirect_stdout(io.StringIO()) as output:
                    torch.testing.assert_close(function(x), x * 2 + 2 - x)
                outputs.append(output.getvalue())
            self.assertEqual(*outputs)
        self.assertEqual(len(backend.graphs), 3)

    def test_values_of_all_kinds_live_on(self):
        def f(x, *rest, scale=2, **named):
            def add(a, b=y_default, *, c=3):
                return a + b + c + count

            count, pair, parts, table = 1, (x, 2), [x + 1, x], {"a": x * scale, 3: None}
            method, same = x.add, parts
            unbound = 0
            del unbound
            numbers = enumerate(zip(parts, "ab"), start=4)
            first = next(iter(numbers))
            torch.is_tensor(sys.intern("no"))
            count = 2
            same.append(x - 1)
            total = sum(v for n, (v, _) in numbers)
            return (add(x), add(*pair), method(2), parts, same is parts, table["a"] + scale, first[0], total,
                    rest, named, x.shape)

        y_default = torch.randn(3)
        compiled, _ = captured(f)
        x = torch.randn(3)
        for _ in range(2):
            torch.testing.assert_close(compiled(x, 1, x + 1, scale=3, key=x), f(x, 1, x + 1, scale=3, key=x))

    def test_closures_are_shared_with_what_comes_after(self):
        def f(x):
            total = x

            def add(value):
                nonlocal total
                total = total + value
                return total

            add(1)
            print(end="")
            add(x)
            return total, add(2), total, add

        compiled, _ = captured(f)
        x = torch.randn(3)
        for _ in range(2):
            actual, expected = compiled(x), f(x)
            torch.testing.assert_close(actual[:3], expected[:3])
            torch.testing.assert_close(actual[3](5), expected[3](5))

    def test_gradients_flow_through_all_pieces(self):
        def f(x, w):
            y = torch.tanh(x @ w)
            if y.sum() > -1e9:
                y = y * w.sum()
            print(end="")
            return (y * y).sum()

        self.assert_gradients(f)

    def test_callees_that_break_are_captured_on_their_own(self):
        def inner(x):
            y = x * 2
            print(end="")
            return y + 1

        def f(x):
            return inner(x - 1) * inner(x)

        compiled, backend = captured(f)
        x = torch.randn(3)
        for _ in range(2):
            torch.testing.assert_close(compiled(x), f(x))
        self.assertEqual([backend.targets(n) for n in range(len(backend.graphs))],
                         [["sub"], ["mul"], ["add"], ["mul"]])
        self.assertIn("print (in ", reasons(compiled, "f")[0])

    def test_attributes_of_modules_are_written(self):
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.linear = torch.nn.Linear(3, 3)
                self.register_buffer("steps", torch.zeros(()))
                self.seen = []
                self.last = None

            def forward(self, x):
                self.steps = self.steps + 1
                y = self.linear(x)
                self.last = y.detach()
                self.seen.append(len(self.seen))
                return y * self.steps

        torch.manual_seed(0)
        ours, eager = Net(), Net()
        eager.load_state_dict(ours.state_dict())
        compiled, _ = captured(ours)
        x = torch.randn(2, 3)
        for _ in range(3):
            torch.testing.assert_close(compiled(x), eager(x))
            torch.testing.assert_close((ours.steps, ours.last), (eager.steps, eager.last))
            self.assertEqual(ours.seen, eager.seen)


class LoopsTest(CaptureTest):
    def test_with_a_break_in_each_round(self):
        def f(x, rounds):
            parts = []
            for n in rounds:
                x = x * 2
                print(end="")
                if x.sum() > 1e30:
                    break
                parts.append(x + 1)
            else:
                x = x - 1
            return x, parts

        for rounds in ((0, 1, 2, 3), range(4), []):
            compiled, _ = captured(f)
            for scale in (1, 1e30):
                x = torch.ones(3) * scale
                torch.testing.assert_close(compiled(x, rounds), f(x, rounds))

    def test_over_generators(self):
        def numbers(n):
            for k in range(n):
                yield k * 0.5

        def f(x, n):
            for k in numbers(n):
                x = x + k
            return x * 2

        compiled, _ = captured(f)
        for n in (0, 1, 4):
            torch.testing.assert_close(compiled(torch.ones(2), n), f(torch.ones(2), n))

    def test_need_no_deeper_stack(self):
        def f(x, n):
            while n:
                n = int(str(n)) - 1
                x = x + 1
                depths.add(len(traceback.extract_stack()))
            return x

        depths = set()
        compiled, _ = captured(f)
        torch.testing.assert_close(compiled(torch.zeros(1), 2000), torch.full((1,), 2000.0))
        self.assertEqual(len(depths), 1)


class ExceptionsTest(CaptureTest):
    def test_tracebacks_are_eagers(self):
        def fails(x):
            raise ValueError(f"no {x.dim()}")

        def after_a_break(x):
            y = x + 1
            print(end="")
            y = y * 2
            return fails(y)

        def in_a_handler(x):
            y = x + 1
            try:
                fails(y)
            except ValueError as error:
                y = y * 2
                raise KeyError("other") from error

        def in_a_finally(x):
            try:
                y = x + 1
                return fails(y)
            finally:
                print(end="")
                x = x * 2

        def shapes(x):
            y = x + 1
            return y @ y

        for function in (after_a_break, in_a_handler, in_a_finally, shapes):
            self.assert_raises_alike(function, torch.ones(2, 3))

    def test_handlers_run_as_in_eager(self):
        def f(x, key):
            log = []
            y = x + 1
            for attempt in range(3):
                try:
                    y = y * 2
                    log.append(table[key + attempt])
                    y = y + 1
                except KeyError as error:
                    y = y - 5
                    log.append((str(error), sys.exc_info()[0]))
                else:
                    y = y + 100
                finally:
                    print(end="")
                    y = y / 2
            return y, log, sys.exc_info()

        table = {1: "one", 3: "three"}
        for key in (0, 1, 2, 9):
            compiled, _ = captured(f)
            for _ in range(2):
                actual, expected = compiled(torch.ones(2), key), f(torch.ones(2), key)
                torch.testing.assert_close(actual[0], expected[0])
                self.assertEqual(actual[1:], expected[1:])

    def test_with_blocks(self):
        class Manager:
            def __init__(self, swallow):
                self.swallow = swallow

            def __enter__(self):
                log.append("enter")
                return self

            def __exit__(self, kind, value, trace):
                log.append(("exit", kind))
                return self.swallow

        def f(x, manager, fail):
            y = x + 1
            with manager as entered:
                y = y * 2
                if fail:
                    raise ValueError
                y = y + 3
            return y * 2, entered is manager

        for swallow, fail in ((False, False), (True, True), (True, False)):
            results, logs = [], []
            for function in (f, captured(f)[0]):
                log = []
                results.append([function(torch.ones(2), Manager(swallow), fail) for _ in range(2)])
                logs.append(log)
            torch.testing.assert_close(*results)
            self.assertEqual(*logs)
        self.assert_raises_alike(f, torch.ones(2), Manager(False), True)


class LifetimesTest(CaptureTest):
    def test_what_is_needed_no_more_is_let_go(self):
        def f(x):
            y = x + 1
            seen.append(weakref.ref(y))
            z = y * 2
            del y
            alive.append(seen[-1]() is not None)
            return z

        for function in (f, captured(f)[0]):
            seen, alive = [], []
            function(torch.ones(2))
            self.assertEqual(alive, [False])

    def test_functions_that_were_cut_are_freed(self):
        def make():
            def f(x):
                for _ in range(3):
                    x = x + 1
                    print(end="")
                return x

            return f

        f = make()
        compiled, _ = captured(f)
        compiled(torch.ones(1))
        gone = weakref.ref(f)
        del f, compiled
        gc.collect()
        self.assertIsNone(gone())


if __name__ == "__main__":
    unittest.main()
