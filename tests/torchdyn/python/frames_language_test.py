"""Our own capture of frames: Python as models are written in it. Each snippet is one graph."""
import collections
import dataclasses
import enum
import functools
import itertools
import math
import operator
import unittest

import torch
import torch.nn.functional as F

from captured import CaptureTest


class Mode(enum.Enum):
    SUM = "sum"
    MEAN = "mean"


@dataclasses.dataclass
class Config:
    width: int = 4
    mode: Mode = Mode.SUM
    rates: tuple = (0.5, 2.0)


Pair = collections.namedtuple("Pair", "first second")


class Base(torch.nn.Module):
    scale = 3

    def __init__(self, config=None):
        super().__init__()
        self.config = config or Config()
        self.linear = torch.nn.Linear(4, 4)
        self.layers = torch.nn.ModuleList([torch.nn.Linear(4, 4) for _ in range(2)])
        self.state = {"gain": 2.0, "names": ["a", "b"]}

    @property
    def width(self):
        return self.config.width

    @staticmethod
    def shifted(x, by=1):
        return x + by

    @classmethod
    def scaled(cls, x):
        return x * cls.scale

    def forward(self, x):
        return self.linear(x)


def one_graph(function):
    """A test that a snippet, a function of a tensor or a class of modules, is captured whole."""
    def test(self):
        torch.manual_seed(0)
        subject = function() if isinstance(function, type) else function
        self.assert_whole(subject, torch.randn(2, 4))

    return test


def tests(cls):
    """Each function and class in the body is a snippet, but for what begins with an underscore."""
    made = {"test_" + name: one_graph(value) for name, value in vars(cls).items() if not name.startswith("_")}
    return type(cls.__name__, (CaptureTest,), {"__module__": cls.__module__, **made})


@tests
class ObjectsTest:
    class properties_and_methods_of_classes(Base):
        def forward(self, x):
            return self.scaled(self.shifted(x, by=self.width)) + self.shifted(x)

    class super_calls(Base):
        def forward(self, x):
            return super().forward(x) * super(Base, self).extra_repr().count("x") + 1

    class dictionaries_of_state(Base):
        def forward(self, x):
            for key in self.state["names"]:
                x = x * self.state["gain"] + len(key)
            return x if "gain" in self.state else -x

    class dataclasses_and_enums(Base):
        def forward(self, x):
            low, high = self.config.rates
            if self.config.mode is Mode.SUM and self.config.mode == Mode.SUM:
                x = x.sum(0) * low
            return x * high if self.config.mode != Mode.MEAN else x

    class attributes_by_name(Base):
        def forward(self, x):
            for name in ("linear", "missing"):
                if hasattr(self, name):
                    x = getattr(self, name)(x)
            return x * getattr(self, "missing", 2.0) + getattr(self.config, "width")

    class types(Base):
        def forward(self, x):
            if isinstance(self.linear, (torch.nn.Conv2d, torch.nn.Linear)) and not isinstance(self, torch.nn.Linear):
                x = x + 1
            if type(self) is Base or issubclass(type(self), Base):
                x = x * len(type(self).__name__) + len(self.__class__.__mro__[0].__name__)
            return x if callable(self.linear) and not callable(self.config) else -x

    class special_methods(Base):
        def __len__(self):
            return 7

        def __contains__(self, key):
            return key == 3

        def __getattr__(self, name):
            if name == "invented":
                return 5
            return super().__getattr__(name)

        def forward(self, x):
            return x * len(self) + self.invented + (3 in self)

    def namedtuples(x):
        pair = Pair(x, second=2)
        first, second = pair
        return pair.first * second + pair[1], len(pair._fields[0])

    def plain_objects_made_in_the_frame(x):
        class_of = Accumulator
        made = class_of(x, 2)
        made.add(x)
        made.add(3)
        return made.total * made.factor


class Accumulator:
    def __init__(self, start, factor=1):
        self.total, self.factor = start, factor

    def add(self, value):
        self.total = self.total + value


@tests
class LanguageTest:
    def formatted_text(x):
        name, number = "layer", 3
        table = {f"{name}.{number}": 2.0, f"{number:>4}|{name!r}": 3.0}
        return x * table["layer.3"] + table["   3|'layer'"] + len(f"{type(x).__name__} {x.shape} {x.dtype}")

    def assertions(x):
        assert x.dim() == 2, f"expected two dimensions, got {x.dim()}"
        assert x.shape[-1] == 4
        return x + 1

    def text_methods(x):
        parts = "a.b.c".split(".")
        joined = "-".join(p.upper() for p in parts)
        return x * len(joined) if joined.startswith("A") and not joined.endswith("x") else x

    def unpacking(x):
        first, *middle, last = [x, 1, 2, x + 1]
        (a, b), c = (first, last), middle
        return a + b * sum(c) + [*middle, *c][-1] + {**{"k": 1}, "k": 2}["k"]

    def comparisons_of_sequences(x):
        pair, items = (x.dim(), 1), [x, 2]
        alike = pair == (2, 1), pair != (2, 2), pair == Pair(2, 1), items == [x, 2], items == [x]
        return x * sum(alike), alike

    def walrus_and_conditions(x):
        if (n := x.shape[0]) > 1 and (m := n * 2) < 10:
            x = x * m
        return x + (n if n else m)

    def slices(x):
        return x[..., 1:3], x[:, None], x[-1], x[::2, ::2], [1, 2, 3][1:], (1, 2)[::-1]

    def generators(x):
        def pieces(n):
            for k in range(n):
                yield x * k
            yield x

        total = sum(p for p in pieces(3))
        return total, all(p.dim() == 2 for p in pieces(2)), tuple(p + 1 for p in pieces(1)), any(k > 5 for k in range(3))

    def comprehensions(x):
        table = {k: [x * v for v in range(k)] for k in (1, 2)}
        return {k: torch.stack(v) for k, v in table.items()}, sorted({3, 1, 2}), len({a for a in "aab"})

    def exceptions_not_raised(x):
        try:
            y = x * 2
        except ValueError:
            y = x
        else:
            y = y + 1
        finally:
            y = y - 3
        return y

    def matching(x):
        match x.dim(), "mode":
            case 1, _:
                return x
            case 2, "other":
                return x + 1
            case 2, name:
                return x * len(name)

    def lambdas_and_closures(x):
        functions = [lambda v, k=k: v * k for k in range(3)]
        add = functools.partial(operator.add, x)
        return functools.reduce(lambda a, f: a + f(x), functions, x), add(1)

    def builtin_functions(x):
        values = list(map(lambda a: a + 1, [1, 2, 3]))
        numbers = [max(values), min(1, 2), abs(-3), round(2.6), sum(values), int("4"), float("1.5"), bool(values)]
        return x * math.prod(numbers[:3]), numbers, divmod(7, 2), list(reversed(values)), list(filter(None, [0, 1]))

    def itertools_functions(x):
        for a, b in itertools.product((1, 2), (3, 4)):
            x = x + a * b
        for a in itertools.chain([1], (2, 3)):
            x = x * a
        for n, a in zip(itertools.count(), (5, 6)):
            x = x + n * a
        return x

    def list_and_dict_methods(x):
        items = [x, x + 1]
        items.insert(0, x * 2)
        last = items.pop()
        table = dict(a=1, b=last)
        table.update(c=3)
        table.setdefault("d", []).append(4)
        gone = table.pop("a", None)
        return items, last, table, gone, [1, 2].index(2), [3, 3].count(3), table.get("z", 7), len(list(table))

    def docstrings_and_annotations(x: torch.Tensor) -> torch.Tensor:
        """Doc."""
        y: torch.Tensor = x + 1
        return y

    def imports(x):
        import math as m
        from torch.nn import functional as G
        return G.relu(x) * m.floor(2.5)


@tests
class TorchTest:
    class frozen_parts(Base):
        def forward(self, x):
            with torch.no_grad():
                y = self.linear(x)
            with torch.enable_grad():
                z = self.linear(x)
            return y + z, y.requires_grad, z.requires_grad, torch.is_grad_enabled()

    class decorated(Base):
        @torch.no_grad()
        def forward(self, x):
            return self.linear(x) * 2

    def factories(x):
        steps = torch.arange(x.shape[1], device=x.device, dtype=x.dtype)
        mask = torch.ones(2, 4, device=x.device).tril().bool()
        return x * steps + torch.zeros_like(x) + torch.full((), 2.0), mask, torch.tensor([1.0, 2.0])

    def devices_and_dtypes(x):
        y = x.to(torch.float64).to(x.device, torch.float32).to(x)
        return y.type_as(x), y.device.index is None, y.dtype is torch.float32, x.is_cuda, x.dtype.is_floating_point, x.to("cpu") is x

    def in_place_and_out(x):
        y = x.clone()
        y[0] = 1
        y[:, 1:2] += 2
        y.add_(1).mul_(2)
        torch.add(y, 1, out=y)
        return y

    def results_with_names(x):
        best = x.max(dim=1)
        values, indices = x.topk(2)
        return best.values, best.indices, values, indices, torch.var_mean(x)

    def finfo(x):
        return x.masked_fill(x < 0, torch.finfo(x.dtype).min)

    def functional(x):
        y = F.layer_norm(x, x.shape[1:])
        return F.scaled_dot_product_attention(y[None], y[None], y[None]), F.pad(x, (0, 1)), F.one_hot(x.argmax(1), 5)

    def einsum_and_shapes(x):
        b, d = x.shape
        y = torch.einsum("bd,cd->bc", x, x)
        return y.view(b, -1), x.unflatten(1, (2, d // 2)), x.numel(), x.size(-1), x.shape[:1] + (3,), x.T

    class data_of_tensors(Base):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.randn(4))

        def forward(self, x):
            y = x * self.weight
            y.data.clamp_(min=0)
            return y, x * self.weight.data, x.data

    class modules_of_torch(Base):
        def __init__(self):
            super().__init__()
            self.body = torch.nn.Sequential(torch.nn.Conv1d(2, 3, 1), torch.nn.BatchNorm1d(3), torch.nn.ReLU(),
                                            torch.nn.Flatten(0), torch.nn.Dropout(0.0))
            self.attention = torch.nn.MultiheadAttention(4, 2, batch_first=True)
            self.embedding = torch.nn.Embedding(5, 4)

        def forward(self, x):
            mixed, _ = self.attention(x[None], x[None], x[None], need_weights=False)
            return self.body(x[None]) + self.embedding(x.argmax(1)).sum() + mixed.sum()


if __name__ == "__main__":
    unittest.main()
