"""Our own capture of frames: whatever changes between calls is seen, also when nothing had for long."""
import types
import unittest

import torch
import world
from captured import CaptureTest, captured
from torch import nn
from world import LONG, Block, Net, OtherBlock, OtherSettings, Settings, X


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
            world.SCALE += 1
        self.assert_seen(change)

    def test_a_global_function(self):
        def change(net):
            world.helper = lambda x: -x

        def undo(net, before=world.helper):
            world.helper = before
        self.assert_seen(change, undo)

    def test_defaults_of_a_function(self):
        def change(net):
            world.helper.__defaults__ = (3.0,)

        def undo(net):
            world.helper.__defaults__ = (2.0,)
        self.assert_seen(change, undo)

    def test_the_code_of_a_function(self):
        def change(net):
            world.helper.__code__ = (lambda x, by: x - by).__code__

        def undo(net, before=world.helper.__code__):
            world.helper.__code__ = before
        self.assert_seen(change, undo)

    def test_an_item_of_a_global_dict(self):
        def change(net):
            world.TABLE["a"] += 1
        self.assert_seen(change)

    def test_a_context_variable(self):
        tokens = []
        self.assert_seen(lambda net: tokens.append(world.CURRENT.set(world.CURRENT.get() + 1)),
                         lambda net: [world.CURRENT.reset(token) for token in reversed(tokens)])

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


if __name__ == "__main__":
    unittest.main()
