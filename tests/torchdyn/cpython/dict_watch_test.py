"""Dicts say when they change, however that is done, and objects where they keep them."""
import collections
import sys
import types
import unittest

import torchdyn_layers as layers

IS_TOLD = sys.version_info >= (3, 12)


class Plain:
    def __init__(self):
        self.a = 1


class Slotted:
    __slots__ = ("a", "__dict__")


@unittest.skipUnless(IS_TOLD, "this CPython tells nobody of changes of dicts")
class DictWatchTest(unittest.TestCase):
    def setUp(self):
        layers.unwatch_all()
        layers.told_of_dicts()

    def assert_told(self, made, change, expected):
        self.assertTrue(layers.watch(made, 7))
        change(made)
        self.assertEqual(layers.told_of_dicts(), [(what, key, 7) for what, key in expected])

    def test_a_value(self):
        self.assert_told({"a": 1}, lambda d: d.__setitem__("a", 2), [("value", "a")])

    def test_a_value_that_stays(self):
        self.assert_told({"a": 1}, lambda d: d.__setitem__("a", 1), [])

    def test_a_key_more(self):
        self.assert_told({"a": 1}, lambda d: d.setdefault("b", 2), [("key", "b")])

    def test_a_key_less(self):
        self.assert_told({"a": 1}, lambda d: d.pop("a"), [("key", "a")])

    def test_the_last_key(self):
        self.assert_told({"a": 1, "b": 2}, lambda d: d.popitem(), [("key", "b")])

    def test_all_keys(self):
        self.assert_told({"a": 1}, dict.clear, [("all", "")])

    def test_an_update(self):
        self.assert_told({"a": 1}, lambda d: d.update(a=2, b=3), [("value", "a"), ("key", "b")])

    def test_an_update_of_an_empty_one(self):
        made = {}
        self.assertTrue(layers.watch(made, 1))
        made.update({"a": 1, "b": 2})
        self.assertTrue(layers.told_of_dicts())

    def test_an_ordered_one(self):
        self.assert_told(collections.OrderedDict(a=1, b=2), lambda d: d.popitem(last=False), [("key", "a")])

    def test_one_of_a_class(self):
        self.assert_told(collections.Counter(a=1), lambda d: d.update(a=2), [("value", "a")])

    def test_an_objects_own(self):
        made = Plain()
        if sys.version_info >= (3, 13):  # which sets attributes behind the dict's back
            self.assertFalse(layers.watch(made.__dict__, 3))
            made.__dict__ = {"a": 1}
        self.assertTrue(layers.watch(made.__dict__, 3))
        for _ in range(100):  # CPython has ways of its own of what is done often
            made.a += 1
        self.assertEqual(layers.told_of_dicts(), [("value", "a", 3)] * 100)

    def test_the_globals_of_a_function(self):
        module = types.ModuleType("made")
        exec("n = 0\ndef count():\n    global n\n    n += 1", module.__dict__)
        self.assertTrue(layers.watch(module.__dict__, 3))
        for _ in range(100):
            module.count()
        self.assertEqual(layers.told_of_dicts(), [("value", "n", 3)] * 100)

    def test_that_it_goes(self):
        made = {"a": 1}
        self.assertTrue(layers.watch(made, 3))
        del made
        self.assertEqual(layers.told_of_dicts(), [("gone", "", 3)])

    def test_that_an_objects_own_goes_with_the_object(self):
        made = Plain()
        made.__dict__ = {"a": 1}
        self.assertTrue(layers.watch(made.__dict__, 3))
        del made
        self.assertIn(("gone", "", 3), layers.told_of_dicts())

    def test_nothing_when_nobody_watches_any_more(self):
        made = {"a": 1}
        layers.watch(made, 3)
        layers.unwatch_all()
        made["a"] = 2
        del made
        self.assertEqual(layers.told_of_dicts(), [])

    def test_those_who_watched_before_it_went_hear_nothing_of_another_in_its_place(self):
        for n in range(100):
            made = {"a": n}
            layers.watch(made, n)
            made["a"] = -1
            self.assertIn(("value", "a", n), layers.told_of_dicts())
            del made
            self.assertEqual(layers.told_of_dicts(), [("gone", "", n)])


@unittest.skipUnless(IS_TOLD, "nobody asks where dicts are")
class DictPlaceTest(unittest.TestCase):
    def assert_kept(self, made):
        self.assertIs(layers.keeps_dict(made, made.__dict__), True)
        self.assertIs(layers.keeps_dict(made, {}), False)

    def test_an_object(self):
        self.assert_kept(Plain())

    def test_an_object_that_is_given_another(self):
        made = Plain()
        before = made.__dict__
        made.__dict__ = {"a": 2}
        self.assert_kept(made)
        self.assertIs(layers.keeps_dict(made, before), False)

    def test_an_object_with_slots_too(self):
        self.assert_kept(Slotted())

    def test_an_exception(self):
        self.assert_kept(ValueError("a"))

    def test_a_module(self):
        self.assert_kept(types.ModuleType("made"))

    def test_a_function(self):
        self.assert_kept(lambda: 0)

    def test_an_ordered_dict(self):
        self.assert_kept(collections.OrderedDict(a=1))

    def test_an_object_without_one(self):
        self.assertIsNone(layers.keeps_dict(1, {}))


if __name__ == "__main__":
    unittest.main()
