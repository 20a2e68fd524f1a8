"""Our own capture of frames: what Python's and torch's libraries give to those who call them."""
import copy
import functools
import itertools
import math
import operator
import unittest
import weakref

import numpy as np
import torch

from captured import CaptureTest, captured, reasons

CALLS = []


@functools.lru_cache(None)
def cached_scale(width):
    CALLS.append(width)
    return width * 2.5


@functools.lru_cache
def cached_list(width):
    return [width, width + 1]


@torch.jit.script
def scripted(x, by: float):
    return x * by + 1


class Config:
    kinds = ("a", "b")

    def __init__(self):
        self.width, self.layers, self.more = 4, [1, [2, 3]], {"rate": 0.5, "same": None}
        self.more["same"] = self.layers

    def widened(self):
        made = copy.deepcopy(self)
        made.width *= 2
        made.layers[1].append(4)
        return made


class LibraryTest(CaptureTest):
    def test_mathematics(self):
        def f(x):
            y = x * math.factorial(4) + math.comb(5, 2) * math.tan(0.5)
            return y / math.hypot(3, 4), math.isclose(1.0, 1.0 + 1e-12), math.fsum([0.1] * 10)
        self.assert_whole(f, torch.ones(2))

    def test_iterators(self):
        def f(x):
            for a, b in itertools.zip_longest([1, 2, 3], [4], fillvalue=0):
                x = x * (a + b)
            rows = list(itertools.combinations([x, x + 1, x + 2], 2))
            first = next(itertools.islice(iter([x, x * 2, x * 3]), 1, None))
            total = list(itertools.accumulate([x, x, x]))[-1]
            power = list(itertools.accumulate([1, 2, 3], operator.mul))
            again = sum(itertools.repeat(x, 3))
            return rows[-1], first, total, power, again, len(list(itertools.permutations(range(3))))
        self.assert_whole(f, torch.ones(2))

    def test_a_sliced_iterator_goes_on_where_it_was(self):
        def f(x):
            rows = (x * n for n in range(5))
            return list(itertools.islice(rows, 2)), next(rows)
        self.assert_whole(f, torch.ones(2))

    def test_a_weak_reference_is_called(self):
        held = [torch.ones(2), torch.zeros(2)]
        references = [weakref.ref(tensor) for tensor in held]

        def f(x):
            return x + held[0] + references[0](), held[1] is references[1]()
        self.assert_whole(f, torch.ones(2))
        compiled, _ = captured(lambda x: x + 1 if references[1]() is None else x - 1)
        self.assertEqual(compiled(torch.ones(1)).item(), 0)
        del held[:]
        self.assertEqual(compiled(torch.ones(1)).item(), 2)
        self.assert_whole(lambda x: x + 1 if references[0]() is None else x - 1, torch.ones(2))

    def test_recurrent_layers(self):
        for layer in (torch.nn.LSTM(3, 4, 2), torch.nn.GRU(3, 4, bidirectional=True), torch.nn.RNN(3, 4)):
            self.assert_whole(lambda x, layer=layer: layer(x.sin())[0] * 2, torch.randn(5, 2, 3))

    def test_what_is_cached_is_asked_for_once(self):
        cached_scale.cache_clear()
        del CALLS[:]
        self.assert_whole(lambda x: x * cached_scale(3) + cached_list(2)[1], torch.ones(2))
        self.assertEqual(CALLS, [3])

    def test_scripted_functions(self):
        backend = self.assert_same(lambda x: scripted(x.sin(), 2.0), torch.ones(3))
        self.assertEqual(backend.targets(), ["sin", "mul", "add"])

    def test_objects_are_copied_with_all_they_hold(self):
        config = Config()
        copy.deepcopy(config)  # the first time it notes the names of slots in the class

        def f(x):
            made = config.widened()
            same = made.more["same"] is made.layers
            return x * made.width, made.layers, same, made.more["rate"], config.layers[1] + [0]
        self.assert_whole(f, torch.ones(2))
        config.layers[1].append(9)
        self.assert_whole(f, torch.ones(2))

    def test_numbers_of_numpy(self):
        def f(x, n):
            y = x / np.sqrt(n) + np.log(2.0) * x
            return y.view(np.prod([2, 2])), np.float32(0.1), np.maximum(2, n), int(np.ceil(2.5))
        self.assert_whole(f, torch.ones(2, 2), 3)
        self.assert_whole(lambda x, scale: x * scale, torch.ones(2), np.float64(0.5))

    def test_a_tensor_of_a_number_of_numpy_keeps_its_type(self):
        self.assert_same(lambda x: x + torch.tensor(np.float64(2.0)), torch.ones(2), graphs=1)

    def test_types_of_tensors(self):
        def f(x):
            kind = x.type()
            return x.type(torch.DoubleTensor), x.type("torch.LongTensor"), kind, x.long().type(kind)
        self.assert_whole(f, torch.ones(2))

    def test_operators_by_their_names(self):
        def f(x):
            y = torch.ops.aten.relu(x) + torch.ops.aten.add.Tensor(x, x)
            return torch.ops.aten.max.dim(y, 0)
        self.assert_whole(f, torch.randn(3, 4))

    def test_variables(self):
        def f(x):
            still = torch.autograd.Variable(x * 2)
            return still.requires_grad, still * x
        self.assert_whole(f, torch.ones(2, requires_grad=True))

    def test_absolute_values(self):
        class Signed:
            def __abs__(self):
                return 5
        self.assert_whole(lambda x: abs(x) + abs(-3) + abs(Signed()), -torch.ones(2))

    def test_views_as_numbers(self):
        self.assert_whole(lambda x: (x.real + 1, x.imag, x.H), torch.ones(2, 2, dtype=torch.complex64))
        self.assert_whole(lambda x: x.real is x, torch.ones(2))


class ContainersTest(CaptureTest):
    def test_sequences_repeat_compare_and_add(self):
        def f(x):
            row = [x, x + 1] * 2
            row += (x, x)
            row *= 2
            same = [1, (2, 3)] == [1, (2, 3)] and (1, 2) != (1, 3) and [None] * 2 == [None, None]
            return row, same, 3 * (x,), x.shape + (1,), (1,) + x.shape, x.shape == (2,), (2,) == x.shape
        self.assert_whole(f, torch.ones(2))

    def test_every_other_item_is_written(self):
        def f(x):
            row = [0] * 6
            row[::2] = [x, x * 2, x * 3]
            row[::-3] = "ab"
            try:
                row[::2] = [x]
            except ValueError as error:
                row.append(str(error))
            return row
        self.assert_whole(f, torch.ones(2))

    def test_sets_of_objects(self):
        layers = torch.nn.ModuleList([torch.nn.Linear(2, 2), torch.nn.ReLU()])
        layers.append(layers[0])

        def f(x):
            for layer in layers.children():
                x = layer(x)
            names = [name for name, _ in layers.named_parameters()]
            seen = {layers[0], torch.nn.Linear, 3}
            return x, names, layers[2] in seen, layers[1] in seen, 3 in seen, len(seen)
        self.assert_whole(f, torch.randn(2))

    def test_sets_of_constants(self):
        def f(x):
            a, b = {1, 2, 3}, {3, 4}
            return x + len(a | b) - len(a & b), a - b, a ^ b, a > {1}, a == {1, 2, 3}
        self.assert_whole(f, torch.ones(2))

    def test_attributes_of_modules_are_written(self):
        class Kept(torch.nn.Module):
            def forward(self, x, rate):
                self.x, self.rate, self.both = x, rate, [x, rate]
                self.function = torch.sin
                return self.function(x) * self.rate

        module = Kept()
        x = torch.ones(2)
        compiled, backend = captured(module)
        self.assert_equal_values(compiled(x, 2.0), x.sin() * 2)
        self.assertIs(module.x, x)
        self.assertEqual(module.both, [x, 2.0])
        self.assertEqual((module.rate, module.function, len(backend.graphs)), (2.0, torch.sin, 1))
        self.assertEqual(reasons(compiled, "forward"), [""])

    def test_a_parameter_that_is_written_is_registered(self):
        class Kept(torch.nn.Module):
            def forward(self, x, weight):
                self.weight = weight
                return x * self.weight

        module, weight = Kept(), torch.nn.Parameter(torch.ones(2))
        captured(module)[0](torch.ones(2), weight)
        self.assertEqual([name for name, _ in module.named_parameters()], ["weight"])


if __name__ == "__main__":
    unittest.main()
