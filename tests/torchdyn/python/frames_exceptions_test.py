"""Our own capture of frames: exceptions that are raised and caught within it. Each snippet is one graph; what
escapes has eager's traceback."""
import contextlib
import gc
import sys
import traceback
import unittest
import weakref

import torch

from captured import CaptureTest, captured, reasons


class Refused(ValueError):
    """With an __init__ and an attribute of its own."""

    def __init__(self, what, code=3):
        super().__init__(f"refused {what}")
        self.code = code


class Lazy:
    """Finds attributes in Python, and says by AttributeError that they are not there."""

    def __getattr__(self, name):
        if name.startswith("made_"):
            return len(name)
        raise AttributeError(f"no {name}")


class Countdown:
    def __init__(self, start):
        self.left = start

    def __iter__(self):
        return self

    def __next__(self):
        if self.left == 0:
            raise StopIteration
        self.left -= 1
        return self.left


class Swallowing:
    def __init__(self, kind):
        self.kind, self.seen = kind, None

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        self.seen = (kind, value)
        return kind is not None and issubclass(kind, self.kind)


@contextlib.contextmanager
def scope(log):
    log.append("enter")
    try:
        yield len(log)
    except KeyError as error:
        log.append(("caught", error.args))
    finally:
        log.append("leave")


def fails(x, kind=ValueError):
    raise kind(f"of {x.dim()} dimensions")


def one_graph(function):
    def test(self):
        self.assert_whole(function, torch.randn(2, 4))

    return test


def tests(cls):
    """Each function in the body is a snippet, but for what begins with an underscore."""
    made = {"test_" + name: one_graph(value) for name, value in vars(cls).items() if not name.startswith("_")}
    return type(cls.__name__, (CaptureTest,), {"__module__": cls.__module__, **made})


@tests
class CaughtTest:
    def by_class(x):
        log = []
        for kind in (KeyError, IndexError, ZeroDivisionError):
            try:
                fails(x, kind)
            except LookupError as error:
                log.append((type(error).__name__, error.args))
            except (ValueError, ArithmeticError) as error:
                log.append(str(error))
        return x + len(log), log

    def else_and_finally(x):
        log = []
        for n in range(3):
            try:
                if n == 1:
                    raise ValueError(n)
                x = x * 2
            except ValueError:
                x = x - 1
                continue
            else:
                log.append("else")
            finally:
                log.append(n)
        return x, log

    def what_operations_raise(x):
        log = []
        table, row = {"a": 1}, [1, 2]
        for attempt in (lambda: table["b"], lambda: row[5], lambda: row.pop(7), lambda: table.pop("c"), lambda: int("z"),
                        lambda: 1 // 0, lambda: (1, 2)[3], lambda: row.index(9), lambda: next(iter(())),
                        lambda: "text".missing, lambda: Lazy().gone, lambda: Swallowing(1).gone,
                        lambda: unknown_name):  # noqa: F821
            try:
                attempt()
            except Exception as error:
                log.append((type(error).__name__, str(error)))
        return x * len(log), log

    def attributes_and_their_defaults(x):
        lazy = Lazy()
        found = [hasattr(lazy, name) for name in ("made_a", "gone")]
        return x + getattr(lazy, "made_it") + getattr(lazy, "gone", 5), found, getattr(Swallowing(1), "seen", 3)

    def exceptions_of_classes_with_more(x):
        try:
            raise Refused("x", code=7)
        except ValueError as error:
            return x * error.code, error.args, str(error), isinstance(error, Refused)

    def raised_again(x):
        log = []
        try:
            try:
                fails(x)
            except ValueError:
                x = x + 1
                raise
        except ValueError as error:
            log.append(str(error))
        return x, log

    def causes_and_contexts(x):
        try:
            try:
                fails(x)
            except ValueError as first:
                raise KeyError("second") from first
        except KeyError as error:
            cause = error.__cause__
            same = cause is error.__context__
            x = x + len(cause.args)
        try:
            try:
                fails(x)
            except ValueError:
                raise KeyError("third")
        except KeyError as error:
            return x, same, str(error.__context__), error.__cause__ is None, error.__suppress_context__

    def leaving_several_functions(x):
        def inner(y):
            try:
                return fails(y)
            finally:
                log.append("inner")

        def outer(y):
            return inner(y * 2) + 1

        log = []
        try:
            x = outer(x)
        except ValueError:
            x = x - 1
        return x, log

    def iterators_of_classes(x):
        for n in Countdown(3):
            x = x + n
        return x, list(Countdown(2))

    def generators_that_return(x):
        def inner():
            yield x
            return 3

        def outer():
            count = yield from inner()
            yield x * count

        generator, total = outer(), 0
        try:
            while True:
                total = total + next(generator)
        except StopIteration as stop:
            return total, stop.value

    def generators_that_are_closed(x):
        def generate():
            try:
                yield x
                yield x * 2
            finally:
                log.append("closed")

        log, generator = [], generate()
        y = next(generator)
        generator.close()
        return y + 1, log

    def with_blocks_that_swallow(x):
        log = []
        for kind in (ValueError, KeyError):
            manager = Swallowing(ValueError)
            try:
                with manager as entered:
                    x = x * 2
                    fails(x, kind)
                    x = x + 100
            except KeyError:
                log.append("escaped")
            log.append((manager.seen[0] is kind, entered is manager, str(manager.seen[1])))
        return x, log

    def managers_made_of_generators(x):
        log = []
        with scope(log) as size:
            x = x * size
        with scope(log):
            raise KeyError("in the block")
        try:
            with scope(log):
                fails(x)
        except ValueError:
            log.append("after")
        return x, log

    def managers_of_contextlib(x):
        with contextlib.suppress(KeyError), contextlib.nullcontext(3) as three:
            x = x * three
            raise KeyError
        return x

    def errors_asserted(x):
        try:
            assert x.dim() == 3, "three"
        except AssertionError as error:
            return x * 2, str(error)


class EscapingTest(CaptureTest):
    def test_what_no_handler_takes_has_eagers_traceback(self):
        def uncaught(x):
            try:
                y = x * 2
                fails(y)
            except KeyError:
                y = x
            return y

        def out_of_a_finally(x):
            y = x * 2
            try:
                fails(y)
            finally:
                y = y + 1

        def out_of_a_handler(x):
            y = x * 2
            try:
                fails(y)
            except ValueError as error:
                raise Refused("it") from error

        def out_of_a_handler_with_a_context(x):
            y = x * 2
            try:
                fails(y)
            except ValueError:
                y = y + 1
                raise Refused("it")

        def out_of_a_handler_from_none(x):
            y = x * 2
            try:
                fails(y)
            except ValueError:
                raise Refused("it") from None

        def out_of_two_handlers(x):
            y = x * 2
            try:
                try:
                    fails(y)
                except ValueError:
                    raise KeyError("first")
            except KeyError:
                raise Refused("second")

        def in_a_handlers_callee(x):
            y = x * 2
            try:
                raise KeyError("in")
            except KeyError:
                fails(y)

        def in_a_handler_of_a_callee(x):
            def replaces(y):
                try:
                    fails(y)
                except ValueError:
                    raise Refused("it")
            return replaces(x * 2)

        def after_a_handler(x):
            y = x * 2
            try:
                fails(y)
            except ValueError:
                y = y + 1
            raise Refused("nothing is handled")

        def raised_again(x):
            y = x * 2
            try:
                fails(y)
            except ValueError:
                y = y + 1
                raise

        def out_of_a_with(x):
            y = x * 2
            with scope([]):
                fails(y)

        for function in (uncaught, out_of_a_finally, out_of_a_handler, out_of_a_handler_with_a_context,
                         out_of_a_handler_from_none, out_of_two_handlers, in_a_handlers_callee,
                         in_a_handler_of_a_callee, after_a_handler, raised_again, out_of_a_with):
            with self.subTest(function.__name__):
                _, backend = self.assert_raises_alike(function, torch.ones(2, 3))
                self.assertIn("mul", backend.targets(0))

    def test_a_handler_that_breaks_is_cpythons(self):
        def f(x):
            y = x * 2
            try:
                fails(y)
            except ValueError as error:
                print(end="")
                kept = (sys.exc_info()[1] is error, len(traceback.extract_tb(error.__traceback__)))
                y = y + 1
            return y, kept, sys.exc_info()

        self.assert_same(f, torch.ones(2), graphs=2)

    def test_an_exception_that_is_kept_has_its_traceback(self):
        def f(x):
            y = x * 2
            try:
                fails(y)
            except ValueError as error:
                kept = error
            return y + 1, kept

        compiled, _ = captured(f)
        for _ in range(2):
            y, kept = compiled(torch.ones(2))
            self.assertTrue(torch.equal(y, torch.full((2,), 3.0)))
            self.assertEqual([frame.name for frame in traceback.extract_tb(kept.__traceback__)], ["f", "fails"])

    def test_an_exception_that_is_made_is_returned(self):
        def f(x):
            return x * 2, Refused("x", code=4), KeyError("key")

        compiled, backend = captured(f)
        for _ in range(2):
            _, refused, key = compiled(torch.ones(2))
            self.assertEqual((type(refused), refused.args, vars(refused)), (Refused, ("refused x",), {"code": 4}))
            self.assertEqual((type(key), key.args, key.__traceback__), (KeyError, ("key",), None))
        self.assertEqual(len(backend.graphs), 1)

    def test_another_message_is_not_a_stale_one(self):
        def f(x, table):
            try:
                return x * table["scale"]
            except KeyError:
                return x + 1

        compiled, backend = captured(f)
        for table in ({}, {"scale": 2}, {"other": 1}, {}):
            torch.testing.assert_close(compiled(torch.ones(2), table), f(torch.ones(2), table))
        self.assertEqual(len(backend.graphs), 3)

    def test_what_is_caught_keeps_nothing_alive(self):
        def f(x):
            y = x * 2
            try:
                fails(y)
            except ValueError:
                y = y + 1
            return y

        compiled, _ = captured(f)
        for _ in range(2):
            x = torch.ones(2)
            before, gone = sys.getrefcount(x), weakref.ref(x)
            result = compiled(x)
            self.assertEqual(sys.getrefcount(x), before)
            del x
            self.assertIsNone(gone())
            self.assertEqual(sys.getrefcount(result), 2)
        gc.collect()

    def test_a_reason_names_the_exception(self):
        compiled, _ = captured(lambda x: fails(x * 2))
        with self.assertRaises(ValueError):
            compiled(torch.ones(2, 3))
        self.assertIn("the operation raises: ValueError: of 2 dimensions", reasons(compiled, "<lambda>")[0])


if __name__ == "__main__":
    unittest.main()
