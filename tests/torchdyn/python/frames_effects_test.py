"""Our own capture of frames: what it changes of the world outside is changed when the graph has run."""
import copy
import unittest

import torch

from captured import CaptureTest, captured, reasons

COUNT = 0


class Holder:
    kind = "holder"

    def __init__(self, **named):
        self.__dict__.update(named)

    def __deepcopy__(self, memo):
        return Holder(**copy.deepcopy(self.__dict__, memo))


class EffectsTest(CaptureTest):
    def assert_alike(self, function, *args, calls=3, graphs=None):
        """`function` runs whole, and leaves what it gets as eager does."""
        compiled, backend = captured(function)
        eager = copy.deepcopy(args)
        for _ in range(calls):
            torch.testing.assert_close(compiled(*args), function(*eager))
            for mine, theirs in zip(args, eager):
                self.assert_equal_state(mine, theirs)
        self.assertEqual(set(reasons(compiled, function.__name__)), {""}, compiled.capture.events)
        if graphs is not None:
            self.assertEqual(len(backend.graphs), graphs)

    def assert_equal_state(self, mine, theirs):
        if isinstance(mine, Holder):
            self.assertEqual(list(vars(mine)), list(vars(theirs)))
            mine, theirs = vars(mine), vars(theirs)
        if isinstance(mine, dict):
            self.assertEqual(list(mine), list(theirs))
            mine, theirs = list(mine.values()), list(theirs.values())
        if isinstance(mine, (list, tuple)):
            self.assertEqual(len(mine), len(theirs))
            for a, b in zip(mine, theirs):
                self.assert_equal_state(a, b)
        else:
            self.assertTrue(torch.equal(mine, theirs) if isinstance(mine, torch.Tensor) else mine == theirs)

    def test_attributes_of_objects(self):
        def f(x, holder):
            holder.first = x + 1
            holder.kind = "changed"
            y = holder.first * 2
            holder.first = y
            holder.pair = (holder.kind, [x, y])
            return y + holder.first

        self.assert_alike(f, torch.randn(3), Holder())

    def test_counters(self):
        def f(x, holder):
            holder.count += 1
            return x * holder.count

        self.assert_alike(f, torch.randn(3), Holder(count=0))

    def test_lists_and_dicts(self):
        def f(x, items, table):
            items.append(x + 1)
            items[0] = items[-1] * 2
            table["new"] = x
            table["old"] = table.get("old", 0) + len(items)
            del table["gone"]
            table["gone"] = items[0]
            items += [3]
            return sum_of(items) + table["new"]

        def sum_of(values):
            total = 0
            for value in values:
                total = total + value
            return total

        self.assert_alike(f, torch.randn(3), [1, 2], {"old": 1, "gone": 2}, calls=2)

    def test_on_one_object_found_twice(self):
        def f(x, a, b):
            a.value = x + 1
            a.items.append(x)
            return b.value * 2 + len(b.items)

        compiled, _ = captured(f)
        x = torch.randn(3)
        shared = Holder(value=torch.zeros(3), items=[])
        for a, b in ((shared, shared), (Holder(items=[]), Holder(value=torch.ones(3), items=[])), (shared, shared)):
            a.items.clear(), b.items.clear()
            expected = x + 1 if a is b else b.value
            torch.testing.assert_close(compiled(x, a, b), expected * 2 + (1 if a is b else 0))

    def test_globals_and_closures(self):
        def f(x):
            global COUNT
            nonlocal total
            COUNT = COUNT + 1
            total = total + x
            return inner(x) * COUNT

        def inner(x):
            return x + total

        global COUNT
        COUNT, total = 5, torch.zeros(2)
        compiled, _ = captured(f)
        x = torch.ones(2)
        torch.testing.assert_close(compiled(x), torch.full((2,), 12.0))
        torch.testing.assert_close(compiled(x), torch.full((2,), 21.0))
        self.assertEqual((COUNT, total.tolist()), (7, [2.0, 2.0]))
        self.assertEqual(set(reasons(compiled, "f")), {""})

    def test_buffers_of_modules(self):
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("mean", torch.zeros(3))
                self.cache = None

            def forward(self, x):
                self.mean = self.mean * 0.9 + x.mean(0) * 0.1
                if self.cache is None:
                    self.cache = x * 2
                return x - self.mean + self.cache

        ours, eager = Net(), Net()
        compiled, _ = captured(ours)
        for n in range(3):
            x = torch.randn(2, 3)
            torch.testing.assert_close(compiled(x), eager(x))
            torch.testing.assert_close(ours.state_dict(), eager.state_dict())
            torch.testing.assert_close(ours.cache, eager.cache)
        self.assertIn("mean", ours._buffers)
        self.assertEqual(set(reasons(compiled, "forward")), {""})

    def test_identity_is_kept(self):
        def f(x, items, holder):
            items.append(x + 1)
            holder.items = items
            holder.own = [items[-1]]
            return items, holder.own

        compiled, _ = captured(f)
        items, holder = [], Holder()
        for _ in range(2):
            returned, own = compiled(torch.ones(2), items, holder)
            self.assertIs(returned, items)
            self.assertIs(holder.items, items)
            self.assertIs(holder.own, own)
            self.assertIs(own[0], items[-1])

    def test_come_before_a_break_and_after_it(self):
        def f(x, items, holder):
            holder.state = "before"
            items.append(x * 2)
            seen.append((holder.state, len(items)))
            print(end="")
            holder.state = "after"
            items.append(holder.state)
            return items[0] + 1

        results = []
        for function in (f, captured(f)[0]):
            seen, items, holder = [], [], Holder()
            results.append((function(torch.ones(2), items, holder), seen, items, vars(holder)))
        torch.testing.assert_close(results[0][0], results[1][0])
        self.assertEqual(results[0][1], results[1][1])
        self.assertEqual(results[0][2][1:], results[1][2][1:])
        self.assertEqual(results[0][3], results[1][3])


if __name__ == "__main__":
    unittest.main()
