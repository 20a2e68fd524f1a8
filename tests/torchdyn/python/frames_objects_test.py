"""Our own capture of frames: objects that frames make and fill, dicts of many kinds among them."""
import collections
import contextvars
import dataclasses
import os
import unittest

import torch

from captured import CaptureTest, captured

CURRENT = contextvars.ContextVar("current", default=2)
UNSET = contextvars.ContextVar("unset")
SEEN = {"a"}
TYPES = {int, dict}
TABLE = {1: 2.0, (2): 3.0, b"bytes": 4.0, "name": 5.0}


class Output(collections.OrderedDict):
    """Attributes that are not None are items, too, as in libraries' outputs of models."""

    def __post_init__(self):
        for field in dataclasses.fields(self):
            value = self.__dict__.get(field.name)
            if value is not None:
                self[field.name] = value

    def __setattr__(self, name, value):
        if name in {field.name for field in dataclasses.fields(self)} and value is not None:
            super().__setitem__(name, value)
        super().__setattr__(name, value)

    def __setitem__(self, key, value):
        super().__setitem__(key, value)
        super().__setattr__(key, value)

    def __getitem__(self, key):
        if isinstance(key, str):
            return dict(self.items())[key]
        return self.to_tuple()[key]

    def to_tuple(self):
        return tuple(self[key] for key in self.keys())


@dataclasses.dataclass
class Result(Output):
    loss: torch.Tensor | None = None
    logits: torch.Tensor | None = None
    extra: tuple | None = None


class Table(dict):
    def get(self, key):
        return super().get(str(key)) or {}


class Registry:
    table = Table(a={"scale": 3})


class ObjectsTest(CaptureTest):
    def test_outputs_of_models_are_made_and_read(self):
        def f(x):
            made = Result(logits=x * 2)
            made.loss = x.sum()
            made["extra"] = (made[0], made["logits"])
            size = len(made) + len(list(made)) + ("loss" in made) + ("missing" in made)
            return made, made.to_tuple()[1:], size, made.logits is made["logits"], made[:1], list(made.keys())

        compiled, backend = captured(f)
        for _ in range(2):
            (mine, *others), (theirs, *expected) = compiled(torch.ones(2)), f(torch.ones(2))
            self.assert_equal_values(others, expected)
            self.assertIs(type(mine), Result)
            self.assertEqual(list(mine), list(theirs))
            self.assertEqual(list(vars(mine)), list(vars(theirs)))
            self.assert_equal_values(mine.to_tuple(), theirs.to_tuple())
            self.assert_equal_values([vars(mine)[key] for key in mine], [vars(theirs)[key] for key in theirs])
            self.assertIs(mine["logits"], mine.logits)
        self.assertEqual(len(backend.graphs), 1, compiled.capture.events)

    def test_outputs_are_passed_on_as_keywords(self):
        def f(x):
            def take(loss, **rest):
                return loss, rest

            return take(**Result(loss=x + 1, logits=x)), dict(Result(logits=x))

        self.assert_whole(f, torch.ones(2))

    def test_ordered_dicts(self):
        def f(x):
            made = collections.OrderedDict(a=x, b=x + 1)
            made["c"] = 3
            made.move_to_end("a")
            del made["b"]
            return list(made), list(made.values()), made.pop("c"), made.get("z", 4), len(made), bool(made)

        self.assert_whole(f, torch.ones(2))

    def test_dicts_with_methods_of_their_own_are_read(self):
        def f(x):
            return x * Registry.table.get("a")["scale"], len(Registry.table.get("b")), "a" in Registry.table

        compiled, backend = captured(f)
        for scale in (3, 3, 4):
            Registry.table["a"] = {"scale": scale}
            self.assert_equal_values(compiled(torch.ones(2)), f(torch.ones(2)))
        self.assertEqual(len(backend.graphs), 2)

    def test_modules_are_made(self):
        def f(x, target):
            return torch.nn.CrossEntropyLoss(ignore_index=1)(x, target), torch.nn.MSELoss(reduction="sum")(x, x * 2)

        self.assert_whole(f, torch.randn(3, 4), torch.tensor([0, 1, 2]))

    def test_keys_of_all_kinds_are_read(self):
        def f(x):
            found = TABLE.get(7), TABLE.get(8, 1), b"bytes" in TABLE, 9 in TABLE
            return x * TABLE[1] + TABLE[b"bytes"], found, os.environ.get("TORCHDYN_NOT_THERE", "none")

        compiled, backend = captured(f)
        for step in range(3):
            if step == 2:
                TABLE[7] = 1
            self.assert_equal_values(compiled(torch.ones(2)), f(torch.ones(2)))
        del TABLE[7]
        self.assertEqual(len(backend.graphs), 2)

    def test_what_a_set_has_is_guarded(self):
        def f(x):
            return x * 2 if "b" in SEEN and dict in TYPES else x + 1

        compiled, backend = captured(f)
        for change in (lambda: None, lambda: SEEN.add("b"), lambda: SEEN.add("c"), lambda: TYPES.discard(dict)):
            change()
            self.assert_equal_values(compiled(torch.ones(2)), f(torch.ones(2)))
        self.assertEqual(len(backend.graphs), 3)

    def test_context_variables_are_set_and_reset(self):
        def f(x):
            token = CURRENT.set([x])
            try:
                x = x * 2 + CURRENT.get()[0]
            finally:
                CURRENT.reset(token)
            return x + CURRENT.get() + UNSET.get(5)

        compiled, backend = captured(f)
        for value in (2, 2, 3):
            token = CURRENT.set(value)
            self.assert_equal_values(compiled(torch.ones(2)), f(torch.ones(2)))
            self.assertEqual(CURRENT.get(), value)
            CURRENT.reset(token)
        self.assertEqual(len(backend.graphs), 2, compiled.capture.events)

    def test_a_context_variable_that_stays_set(self):
        def f(x):
            CURRENT.set(x.dim())
            return x + CURRENT.get()

        def run(function):
            return function(torch.ones(2)), CURRENT.get()

        compiled, _ = captured(f)
        for _ in range(2):
            mine = contextvars.copy_context().run(run, compiled)
            self.assert_equal_values(mine, contextvars.copy_context().run(run, f))

    def test_a_context_variable_over_a_break(self):
        def f(x):
            token = CURRENT.set(x.dim())
            y = x * 2
            print(end="")
            y = y + CURRENT.get()
            CURRENT.reset(token)
            return y, CURRENT.get()

        self.assert_same(f, torch.ones(2), graphs=2)

    def test_attributes_are_deleted(self):
        def f(x):
            made = Result(loss=x)
            made.more = x * 2
            del made.more
            return hasattr(made, "more"), made.loss + 1

        self.assert_whole(f, torch.ones(2))

    def test_match_statements(self):
        def f(x, subject):
            match subject:
                case {"scale": scale, "shift": 1}:
                    return x * scale
                case Result(loss=int(loss)):
                    return x * loss + 5
                case [int(first), *_]:
                    return x - first
                case str():
                    return x * 7
            return x + 9

        for subject in ({"scale": 3, "shift": 1}, {"scale": 3}, [4, 5], "text", 2.0):
            self.assert_same(f, torch.ones(2), subject)

    def test_slices_are_written(self):
        def f(x):
            row = [1, 2, 3]
            row[1:] = [x, x, 5]
            x = x * 2
            x[:1] = 9
            return row, x

        self.assert_whole(f, torch.ones(2))


if __name__ == "__main__":
    unittest.main()
