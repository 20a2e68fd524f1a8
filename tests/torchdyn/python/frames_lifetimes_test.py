"""Our own capture of frames: what comes and goes between calls, in the memory of what was there before."""
import gc
import sys
import types
import unittest
import weakref

import torch
from captured import CaptureTest, captured
from torch import nn
from world import LONG, Net, Settings, Slotted, X

SCALE = 2.0


class OthersInTheSamePlace(CaptureTest):
    """Objects that are made anew for each call, in memory that those of the last call gave back."""

    def assert_each(self, function, make, calls=40):
        compiled, _ = captured(function)
        for n in range(calls):
            number = n // 5 % 4 + 1000.5  # for some calls the same, then another
            self.assert_equal_values(compiled(X, make(number)), function(X, make(number)))

    def test_numbers(self):
        self.assert_each(lambda x, n: x * n, lambda n: n + 0.25)

    def test_tuples(self):
        self.assert_each(lambda x, t: x * t[0] + t[1], lambda n: (n, n + 1))

    def test_tuples_in_tuples(self):
        self.assert_each(lambda x, t: x * t[0][0] + t[1], lambda n: ((n, 1), 2))

    def test_lists(self):
        self.assert_each(lambda x, t: x * t[0] + t[1], lambda n: [n, n + 1])

    def test_dicts(self):
        self.assert_each(lambda x, d: x * d["a"], lambda n: {"a": n})

    def test_objects(self):
        self.assert_each(lambda x, s: s.apply(x), Settings)

    def test_objects_with_slots(self):
        self.assert_each(lambda x, s: x * s.scale, Slotted)

    def test_objects_whose_attributes_python_reads(self):
        def make(n):
            made = Settings(n)
            for _ in range(20):
                made.scale += 1
            return made
        self.assert_each(lambda x, s: s.apply(x), make)

    def test_classes(self):
        def make(n):
            return type("Made", (), {"scale": n})
        self.assert_each(lambda x, c: x * c.scale, make)

    def test_functions(self):
        def make(n):
            return lambda x: x * n
        self.assert_each(lambda x, f: f(x), make)

    def test_modules(self):
        def make(n):
            made = nn.Dropout(0.5).eval()
            made.scale = n
            return made
        self.assert_each(lambda x, m: m(x) * m.scale, make)

    def test_namespaces(self):
        self.assert_each(lambda x, s: x * s.scale, lambda n: types.SimpleNamespace(scale=n))


class WhatChangesOften(CaptureTest):
    def test_a_counter_beside_what_is_read(self):
        net = Net()
        compiled, backend = captured(net)
        for n in range(20):
            net.calls += 1  # nobody reads it
            self.assert_equal_values(compiled(X), net(X))
        self.assertEqual(len(backend.graphs), 1)

    def test_an_object_beside_others(self):
        """A dict that changes each time, with what does not change below it."""
        net = Net()
        compiled, backend = captured(net)
        for n in range(20):
            block = net.blocks[0]
            block.settings = Settings(2.0)
            block.linear.weight = nn.Parameter(block.linear.weight + 1)
            if n == 15:
                net.blocks[1].scale += 1
            self.assert_equal_values(compiled(X), net(X))
        self.assertEqual(len(backend.graphs), 2)

    def test_a_module_that_is_called_in_turn_with_others(self):
        layers = [nn.Linear(3, 3) for _ in range(4)]

        def run(layer, x):
            return layer(x).sin()

        compiled, backend = captured(run)
        for n in range(24):
            if n == 16:
                layers[2].weight = nn.Parameter(torch.rand(3, 3))
            for layer in layers:
                self.assert_equal_values(compiled(layer, X), run(layer, X))
        self.assertEqual(len(backend.graphs), 1)

    def test_globals_of_another_function_with_the_same_code(self):
        def read(x):
            return x * SCALE

        compiled, _ = captured(read)
        for n in range(3):
            other = types.FunctionType(read.__code__, {"SCALE": float(n), "__builtins__": __builtins__})
            for _ in range(LONG):
                self.assert_equal_values(compiled(X), read(X))
                self.assert_equal_values(compiled.capture.call(other, X), other(X))


class Lifetimes(CaptureTest):
    def test_guards_that_have_settled_keep_no_module_alive(self):
        net = Net()
        compiled, _ = captured(Net.forward)
        for _ in range(LONG):
            compiled(net, X)
        gone = [weakref.ref(module) for module in net.modules()]
        gone += [weakref.ref(parameter) for parameter in net.parameters()]
        del net
        gc.collect()
        self.assertEqual([ref for ref in gone if ref() is not None], [])
        for _ in range(LONG):
            other = Net()
            self.assert_equal_values(compiled(other, X), other(X))

    def test_references_and_memory_stay_as_they_are(self):
        net = Net()
        compiled, _ = captured(net)

        def held():
            gc.collect()
            things = [X, *net.modules(), *net.parameters(), *net.buffers(), Net.forward.__code__]
            return [sys.getrefcount(thing) for thing in things], len(gc.get_objects())

        with torch.no_grad():
            for _ in range(100):
                compiled(X)
            references, objects = held()
            blocks = sys.getallocatedblocks()
            for _ in range(2000):
                compiled(X)
            self.assertEqual(held(), (references, objects))
            self.assertLess(sys.getallocatedblocks() - blocks, 50)


if __name__ == "__main__":
    unittest.main()
