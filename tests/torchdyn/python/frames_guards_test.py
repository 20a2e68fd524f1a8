"""Our own capture of frames: whatever changes between calls is seen, also when nothing had for long."""
import collections
import contextvars
import gc
import sys
import types
import unittest

import torch
from torch import nn

from captured import CaptureTest, captured

CURRENT = contextvars.ContextVar("current", default=2)
SCALE = 2.0
TABLE = {"a": 2.0, "b": 3.0}


def helper(x, by=2.0):
    return x * by


class Slotted:
    __slots__ = ("scale",)

    def __init__(self, scale):
        self.scale = scale


class Settings:
    shift = 1.0

    def __init__(self, scale):
        self.scale = scale

    def apply(self, x):
        return x * self.scale + self.shift


class OtherSettings(Settings):
    def apply(self, x):
        return x - self.scale


class Block(nn.Module):
    bias = 0.5

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.linear = nn.Linear(3, 3)
        self.drop = nn.Dropout(0.5)
        self.steps = nn.ModuleList([nn.Linear(3, 3), nn.ReLU()])
        self.register_buffer("offset", torch.ones(3))
        self.scale = 2.0
        self.factors = [1.0, 2.0]
        self.pair = (1.0, 2.0)
        self.options = {"gain": 3.0}
        self.ordered = collections.OrderedDict(a=1.0, b=2.0)
        self.settings = Settings(2.0)
        self.slotted = Slotted(2.0)
        self.names = {"twice"}
        self.method = Settings(5.0).apply

    def forward(self, x):
        x = self.linear(x) * self.scale + self.offset
        for step in self.steps:
            x = step(x)
        for factor in self.factors:
            x = x * factor
        for name, value in self.options.items():
            x = x + value
        for name, value in self.ordered.items():
            x = x * 2 + value
        if "twice" in self.names:
            x = x * 2
        x = self.settings.apply(x) * self.slotted.scale * self.pair[1] + self.bias
        return helper(x) * SCALE * TABLE["a"] + self.method(x) * CURRENT.get()


class OtherBlock(Block):
    def forward(self, x):
        return self.linear(x) - self.offset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(Block(), Block())
        self.calls = 0

    def forward(self, x):
        return self.blocks(x).sin()


X = torch.linspace(-1, 1, 6).reshape(2, 3)
LONG = 5  # calls until guards have settled


class ChangesAreSeen(CaptureTest):
    """One change of each kind, after calls without any; then that it is seen each time it is made."""

    def assert_seen(self, change, undo=None):
        net = Net()
        net.blocks[0].drop.eval()
        compiled, backend = captured(net)

        def compare():
            expected, actual = net(X), compiled(X)
            self.assert_equal_values(actual, expected)
            self.assertEqual(actual.requires_grad, expected.requires_grad)
            return expected.detach(), expected.requires_grad

        for _ in range(LONG):
            before = compare()
        self.assertEqual(len(backend.graphs), 1, compiled.capture.events)
        try:
            change(net)
            after = compare()
            self.assertFalse(torch.equal(before[0], after[0]) and before[1] == after[1],
                             "nothing has changed")
            for _ in range(LONG):
                compare()
            change(net)
            compare()
        finally:
            if undo:
                undo(net)
        if undo:
            for _ in range(LONG):
                compare()

    def test_a_parameter_that_is_replaced(self):
        def change(net):
            net.blocks[1].linear.weight = nn.Parameter(torch.rand(3, 3))
        self.assert_seen(change)

    def test_a_parameter_in_its_modules_dict(self):
        def change(net):
            net.blocks[1].linear._parameters["weight"] = nn.Parameter(torch.rand(3, 3))
        self.assert_seen(change)

    def test_a_parameter_that_is_there_no_more(self):
        self.assert_seen(lambda net: net.blocks[1].linear.register_parameter("bias", None))

    def test_values_of_a_parameter(self):
        def change(net):
            with torch.no_grad():
                net.blocks[1].linear.weight.add_(1)
        self.assert_seen(change)

    def test_data_of_a_parameter(self):
        def change(net):
            net.blocks[1].linear.weight.data = torch.rand(3, 3).t()
        self.assert_seen(change)

    def test_a_parameter_that_is_frozen(self):
        def change(net):
            for parameter in net.parameters():
                parameter.requires_grad_(False)
        self.assert_seen(change)

    def test_tensors_that_are_swapped(self):
        def change(net):
            torch.utils.swap_tensors(net.blocks[1].linear.weight, nn.Parameter(torch.rand(3, 3)))
        self.assert_seen(change)

    def test_parameters_that_become_one(self):
        def change(net):
            net.blocks[1].linear.weight = net.blocks[0].steps[0].weight
        self.assert_seen(change)

    def test_a_buffer(self):
        def change(net):
            net.blocks[1].offset = torch.rand(3)
        self.assert_seen(change)

    def test_a_buffer_in_its_modules_dict(self):
        def change(net):
            net.blocks[1]._buffers["offset"] = torch.rand(3)
        self.assert_seen(change)

    def test_a_submodule_that_is_replaced(self):
        def change(net):
            net.blocks[1].linear = nn.Linear(3, 3)
        self.assert_seen(change)

    def test_an_item_of_a_list_of_modules(self):
        def change(net):
            net.blocks[1].steps[1] = nn.Tanh()
        self.assert_seen(change)

    def test_a_module_more_in_a_list(self):
        self.assert_seen(lambda net: net.blocks[1].steps.append(nn.Tanh()))

    def test_all_modules_of_a_list(self):
        def change(net):
            net.blocks[1].steps._modules = {"0": nn.Tanh()}
        self.assert_seen(change)

    def test_a_hook(self):
        handles = []

        def change(net):
            handles.append(net.blocks[1].linear.register_forward_hook(lambda m, args, result: result * 2))
        self.assert_seen(change, lambda net: [handle.remove() for handle in handles])

    def test_a_hook_before_the_call(self):
        handles = []

        def change(net):
            handles.append(net.blocks[0].register_forward_pre_hook(lambda m, args: (args[0] + 1,)))
        self.assert_seen(change, lambda net: [handle.remove() for handle in handles])

    def test_a_hook_of_all_modules(self):
        handles = []

        def hook(module, args, result):
            return result + 1 if isinstance(module, nn.Linear) else None

        def change(net):
            handles.append(nn.modules.module.register_module_forward_hook(hook))
        self.assert_seen(change, lambda net: [handle.remove() for handle in handles])

    def test_an_attribute(self):
        def change(net):
            net.blocks[1].scale += 1
        self.assert_seen(change)

    def test_an_attribute_that_is_deleted(self):
        def change(net):
            net.blocks[1].__dict__.setdefault("bias", 7.0)
            net.blocks[1].bias += 1

        def undo(net):
            del net.blocks[1].bias
        self.assert_seen(change, undo)

    def test_an_attribute_of_a_class(self):
        def change(net):
            Block.bias += 1

        def undo(net):
            Block.bias = 0.5
        self.assert_seen(change, undo)

    def test_a_method_of_a_class(self):
        def change(net):
            Settings.apply = lambda self, x: x

        def undo(net, apply=Settings.apply):
            Settings.apply = apply
        self.assert_seen(change, undo)

    def test_a_method_of_one_object(self):
        def change(net):
            net.blocks[1].forward = lambda x: x * 2
        self.assert_seen(change)

    def test_the_class_of_a_module(self):
        def change(net):
            net.blocks[1].__class__ = OtherBlock
        self.assert_seen(change)

    def test_the_class_of_an_object(self):
        def change(net):
            net.blocks[1].settings.__class__ = OtherSettings
        self.assert_seen(change)

    def test_the_dict_of_a_module(self):
        def change(net):
            net.blocks[1].__dict__ = dict(net.blocks[1].__dict__, scale=7.0)
        self.assert_seen(change)

    def test_the_dict_of_an_object(self):
        def change(net):
            net.blocks[1].settings.__dict__ = {"scale": 7.0}
        self.assert_seen(change)

    def test_an_attribute_of_an_object(self):
        def change(net):
            for _ in range(100):  # CPython has its own ways of what is done often
                net.blocks[1].settings.scale += 1
        self.assert_seen(change)

    def test_an_object(self):
        def change(net):
            net.blocks[1].settings = Settings(9.0)
        self.assert_seen(change)

    def test_a_slot(self):
        def change(net):
            net.blocks[1].slotted.scale += 1
        self.assert_seen(change)

    def test_an_item_of_a_list(self):
        def change(net):
            net.blocks[1].factors[1] += 1
        self.assert_seen(change)

    def test_an_item_more_in_a_list(self):
        self.assert_seen(lambda net: net.blocks[1].factors.append(3.0))

    def test_a_tuple(self):
        def change(net):
            net.blocks[1].pair = (1.0, 5.0)
        self.assert_seen(change)

    def test_an_item_of_a_dict(self):
        def change(net):
            net.blocks[1].options["gain"] += 1
        self.assert_seen(change)

    def test_an_item_more_in_a_dict(self):
        def change(net):
            net.blocks[1].options[str(len(net.blocks[1].options))] = 1.0
        self.assert_seen(change)

    def test_a_dict_that_is_emptied(self):
        self.assert_seen(lambda net: net.blocks[1].options.clear())

    def test_a_dict_that_is_updated(self):
        self.assert_seen(lambda net: net.blocks[1].options.update(gain=9.0))

    def test_an_item_of_an_ordered_dict(self):
        def change(net):
            net.blocks[1].ordered["a"] += 1
        self.assert_seen(change)

    def test_an_element_of_a_set(self):
        self.assert_seen(lambda net: net.blocks[1].names.discard("twice"))

    def test_a_method_that_an_object_holds(self):
        def change(net):
            net.blocks[1].method = Settings(6.0).apply
        self.assert_seen(change)

    def test_what_a_method_is_bound_to(self):
        def change(net):
            net.blocks[1].method.__self__.scale += 1
        self.assert_seen(change)

    def test_a_global(self):
        def change(net):
            global SCALE
            SCALE += 1
        self.assert_seen(change)

    def test_a_global_function(self):
        def change(net):
            global helper
            helper = lambda x: -x

        def undo(net, before=helper):
            global helper
            helper = before
        self.assert_seen(change, undo)

    def test_defaults_of_a_function(self):
        def change(net):
            helper.__defaults__ = (3.0,)

        def undo(net):
            helper.__defaults__ = (2.0,)
        self.assert_seen(change, undo)

    def test_the_code_of_a_function(self):
        def change(net):
            helper.__code__ = (lambda x, by: x - by).__code__

        def undo(net, before=helper.__code__):
            helper.__code__ = before
        self.assert_seen(change, undo)

    def test_an_item_of_a_global_dict(self):
        def change(net):
            TABLE["a"] += 1
        self.assert_seen(change)

    def test_a_context_variable(self):
        tokens = []
        self.assert_seen(lambda net: tokens.append(CURRENT.set(CURRENT.get() + 1)),
                         lambda net: [CURRENT.reset(token) for token in reversed(tokens)])

    def test_a_function_of_a_module(self):
        def change(net):
            nn.functional.relu = lambda x, inplace: x.tanh()

        def undo(net, before=nn.functional.relu):
            nn.functional.relu = before
        self.assert_seen(change, undo)


class TrainingFlag(CaptureTest):
    def test_is_seen_each_time(self):
        class Droppy(nn.Module):
            def __init__(self):
                super().__init__()
                self.drop = nn.Dropout(0.5)

            def forward(self, x):
                return self.drop(x + 1)

        net = Droppy()
        compiled, backend = captured(net)
        for _ in range(4):
            for mode in (True, False):
                net.train(mode)
                for _ in range(LONG):
                    torch.manual_seed(0)
                    expected = net(X)
                    torch.manual_seed(0)
                    self.assert_equal_values(compiled(X), expected)
        self.assertEqual(len(backend.graphs), 2)


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
        import weakref
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
