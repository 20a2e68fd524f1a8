"""Our own capture of frames: calls that become part of their caller's graph, loops, and what is changed
meanwhile."""
import unittest

import torch

from captured import CaptureTest, captured, reasons


class InliningTest(CaptureTest):
    def test_functions_with_arguments_of_all_kinds(self):
        def scale(x, by=2, /, *more, shift, power=1, **named):
            return (x * by + shift) ** power + sum_of(more) + named.get("last", 0)

        def sum_of(values):
            total = 0
            for value in values:
                total = total + value
            return total

        def f(x, y):
            pair, options = (x, 3), {"shift": y}
            return (scale(x, shift=1), scale(*pair, x, y, **options), scale(x, 2, y, shift=2, power=2, last=y),
                    scale(x, 4.0, *[y, y], shift=x, **{"last": 5}))

        self.assert_same(f, torch.randn(3), torch.randn(3))

    def test_functions_made_in_the_frame(self):
        def f(x, y):
            def add(a, b=y, *, c=1):
                return a + b * c + count

            count = 2
            double = lambda a: a * 2  # noqa: E731
            first = add(double(x))
            count = 3
            return first, add(x, c=y)

        self.assert_same(f, torch.randn(3), torch.randn(3))

    def test_closures_that_are_written_to(self):
        def f(x):
            total = x

            def add(value):
                nonlocal total
                total = total + value

            add(1)
            add(x)
            return total

        self.assert_same(f, torch.randn(3))

    def test_functions_of_other_modules_with_their_globals(self):
        namespace = {"torch": torch, "WEIGHT": torch.randn(3)}
        exec("def outside(x, power=2):\n    return torch.relu(x * WEIGHT) ** power\n", namespace)
        outside = namespace["outside"]

        def f(x):
            return outside(x) + outside(x, power=3)

        self.assert_same(f, torch.randn(3))
        compiled, backend = captured(f)
        x = torch.randn(3)
        compiled(x)
        namespace["WEIGHT"] = torch.randn(3)
        torch.testing.assert_close(compiled(x), f(x))
        self.assertEqual(len(backend.graphs), 1)
        for change in (lambda: setattr(outside, "__defaults__", (4,)),
                       lambda: setattr(outside, "__code__", (lambda x, power=2: torch.sin(x)).__code__)):
            change()
            torch.testing.assert_close(compiled(x), f(x))

    def test_methods_and_instances_that_are_called(self):
        class Scale:
            factor = 2.0

            def __init__(self, weight):
                self.weight = weight

            def once(self, x):
                return x * self.weight * self.factor

            def __call__(self, x, times=2):
                for _ in range(times):
                    x = self.once(x)
                return x

            def __getitem__(self, n):
                return self.weight[n]

        scale = Scale(torch.randn(3))

        def f(x):
            return scale(x) + scale.once(x) + scale[1]

        self.assert_same(f, torch.randn(3))
        compiled, backend = captured(f)
        x = torch.randn(3)
        compiled(x)
        Scale.factor = 3.0
        torch.testing.assert_close(compiled(x), f(x))
        Scale.once = lambda self, x: x + 1
        torch.testing.assert_close(compiled(x), f(x))
        scale.once = lambda x: x - 1
        torch.testing.assert_close(compiled(x), f(x))

    def test_modules_of_modules(self):
        class Block(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.norm = torch.nn.LayerNorm(4)
                self.layers = torch.nn.ModuleList([torch.nn.Linear(4, 4) for _ in range(3)])
                self.heads = torch.nn.ModuleDict({"a": torch.nn.Linear(4, 2), "b": torch.nn.Linear(4, 2)})
                self.last = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.GELU(), torch.nn.Linear(8, 4))

            def forward(self, x):
                for n, layer in enumerate(self.layers):
                    x = x + layer(self.norm(x)) * n
                return self.last(x) + self.layers[-1](x), {k: head(x) for k, head in self.heads.items()}

        model, x = Block(), torch.randn(2, 4)
        backend = self.assert_same(model, x)
        self.assertEqual(backend.targets().count("linear"), 8)
        compiled, backend = captured(model)
        for change in (lambda: None, lambda: model.layers.append(torch.nn.Linear(4, 4)),
                       lambda: setattr(model, "norm", torch.nn.Identity()),
                       lambda: model.layers[1].register_forward_hook(lambda module, args, result: result * 2)):
            change()
            for _ in range(2):
                torch.testing.assert_close(compiled(x), model(x))
        self.assertEqual(reasons(compiled, "forward")[:3], [""] * 3)

    def test_recursion(self):
        def f(x, n):
            return x if n == 0 else f(x + n, n - 1) * 2

        self.assert_same(f, torch.randn(3), 5)
        compiled, _ = captured(f)
        torch.testing.assert_close(compiled(torch.ones(1), 400), f(torch.ones(1), 400))
        self.assertIn("calls nested too deeply: ", reasons(compiled, "f")[0])

    def test_a_break_names_the_callees_line(self):
        def inner(x):
            return x * x.sum().item()

        def f(x):
            y = x + 1
            return inner(y)

        compiled, _ = captured(f)
        x = torch.ones(2)
        torch.testing.assert_close(compiled(x), f(x))
        event = next(e for e in compiled.capture.events if e["function"].endswith(".f"))
        self.assertEqual(event["line"], f.__code__.co_firstlineno + 2)
        self.assertRegex(event["reason"], rf"Tensor.item \(in .*inner, .*:{inner.__code__.co_firstlineno + 1}\)")


class LoopsTest(CaptureTest):
    def test_over_ranges_tuples_lists_and_what_functions_give(self):
        def f(x, scales, named):
            for n in range(3):
                if n == 1:
                    continue
                x = x + n
            for n, (scale, more) in enumerate(zip(scales, [x, 2, 3]), start=1):
                x = x * scale + more * n
            for key, value in named.items():
                x = x + value * len(key)
            for part in torch.split(x, 2):
                x = x + part.sum()
            for size in x.shape:
                x = x * size
            else:
                x = x + 1
            for n in reversed([1, 2]):
                if n == 1:
                    break
                x = x - n
            return x

        x = torch.randn(4)
        self.assert_same(f, x, (1.5, torch.randn(4)), {"a": 2, "bcd": torch.randn(4)})
        self.assert_same(f, x, [2, 3, 4], {})
        compiled, backend = captured(f)
        for scales, named in (((2,), {}), ((2, 3), {}), ([2], {}), ((2,), {"a": 1}), ((2,), {"b": 1}), ((2,), {})):
            torch.testing.assert_close(compiled(x, scales, named), f(x, scales, named))
        self.assertEqual(len(backend.graphs), 5)

    def test_while(self):
        def f(x, n):
            while n > 0:
                x = x * 2 + n
                n -= 1
            while True:
                x = x + 1
                n += 1
                if n >= 2:
                    return x

        self.assert_same(f, torch.randn(3), 4)

    def test_comprehensions(self):
        def f(x, n):
            y = 5
            rows = [x * y + k for y in range(n) if y != 1 for k in (1, 2)]
            named = {str(k): x + k for k in range(n)}
            return torch.stack(rows), [named[k] for k in named], y

        self.assert_same(f, torch.randn(3), 3)

    def test_loops_that_never_end_are_left_alone(self):
        def f(x):
            n = 0
            while n < 100_000:
                n += 1
            return x + n

        compiled, _ = captured(f)
        x = torch.ones(1)
        torch.testing.assert_close(compiled(x), f(x))
        self.assertIn("too many instructions", reasons(compiled, "f")[0])


class SideEffectsTest(CaptureTest):
    def test_on_what_the_frame_made_stay_inside(self):
        def f(x):
            parts, named = [], {}
            for n in range(3):
                parts.append(x * n)
                named[n] = parts[-1] + 1
            parts[0] = x
            named[1] = x - 1
            other = parts
            other += [named[2]]
            for part in parts:
                if len(parts) < 6:
                    parts.append(part + 1)
            return parts, named, 2 in named, x.dim() in (1, 2)

        self.assert_same(f, torch.randn(3))

    def test_one_list_at_two_places_of_the_result_is_one(self):
        def f(x):
            parts = [x + 1]
            return parts, (parts, 1)

        compiled, _ = captured(f)
        first, (second, _) = compiled(torch.ones(1))
        self.assertIs(first, second)


if __name__ == "__main__":
    unittest.main()
