"""Marked functions run other code within a scope, and nobody can tell but by what that code does."""
import asyncio
import gc
import sys
import threading
import time
import traceback
import unittest

import torchdyn_layers as layers


class Count:
    def __init__(self):
        self.calls = 0

    def __call__(self):
        self.calls += 1


def mark(function):
    """Within a scope the function's code is another: longer, and counted."""
    count = Count()
    layers.mark(function.__code__, layers.calling_first(layers.padded(function.__code__), count))
    return count


def lines_of(error):
    return [(f.name, f.lineno) for f in traceback.extract_tb(error.__traceback__)]


class HookTest(unittest.TestCase):
    def setUp(self):
        layers.seen()
        self.addCleanup(lambda: self.assertFalse(layers.is_installed()))

    def assert_same(self, function, *args, calls=1, marked=None):
        count = mark(marked or function)
        expected = function(*args)
        self.assertEqual(count.calls, 0)
        self.assertEqual(layers.within(function, *args), expected)
        self.assertEqual(count.calls, calls)


class FramesTest(HookTest):
    def test_arguments_of_every_kind(self):
        def f(a, /, b, c=3, *rest, d, e=5, **others):
            local = a + b
            return local, c, rest, d, e, others

        def call():
            return f(1, 2, d=4), f(1, 2, 30, 31, 32, d=4, e=50, g=7, h=8), f(1, b=2, **{"d": 0})

        self.assert_same(call, marked=f, calls=3)

    def test_an_error_in_the_arguments_is_the_callers(self):
        def f(a, b):
            return a

        mark(f)
        with self.assertRaisesRegex(TypeError, "missing 1 required positional argument: 'b'"):
            layers.within(f, 1)

    def test_recursion(self):
        def fibonacci(n):
            return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)

        self.assert_same(fibonacci, 12, calls=465)

    def test_mutual_recursion_of_marked_and_plain(self):
        def even(n):
            return True if n == 0 else odd(n - 1)

        def odd(n):
            return False if n == 0 else even(n - 1)

        self.assert_same(even, 11, calls=6)

    def test_recursion_over_many_pieces_of_the_stack(self):
        def deep(n, a=1, b=2, c=3, d=4, e=5):
            return 0 if n == 0 else [a, b, c, d, e, deep(n - 1)][-1] + 1

        count = mark(deep)
        self.assertEqual(layers.within(deep, 400), 400)
        _, replaced, left = layers.seen()
        self.assertEqual(replaced, 401)
        reasons = {reason for _, reason in left}
        self.assertLessEqual(
            reasons, {"this piece of the stack has no room for the other code's frame"}
        )
        self.assertEqual(count.calls + len(left), 401)
        self.assertGreater(count.calls, 390)

    def test_recursion_without_end_raises(self):
        def endless():
            return endless()

        mark(endless)
        with self.assertRaises(RecursionError):
            layers.within(endless)
        self.assertEqual(layers.within(lambda: 1), 1)
        layers.seen()

    def test_closures_share_cells(self):
        def outer(start):
            total = start

            def add(n):
                nonlocal total
                total += n
                return total

            def read():
                return total

            return add, read

        def use(n):
            add, read = outer(n)
            add(1), add(2)
            return add(3), read(), [c.cell_contents for c in add.__closure__]

        inner = next(c for c in outer.__code__.co_consts if hasattr(c, "co_code") and c.co_name == "add")
        count = Count()
        layers.mark(inner, layers.calling_first(layers.padded(inner), count))
        self.assert_same(use, 10, marked=outer)
        self.assertEqual(count.calls, 3)

    def test_an_argument_in_a_cell(self):
        def f(x, *rest):
            return [lambda: (x, rest)][0]()

        self.assert_same(f, 1, 2, 3)

    def test_methods_and_super(self):
        class Base:
            def f(self, x):
                return x + 1

        class Derived(Base):
            def f(self, x):
                return super().f(x) * 2

        self.assert_same(Derived().f, 3, marked=Derived.f)
        self.assert_same(Derived().f, 3, marked=Base.f, calls=1)

    def test_constructors_descriptors_and_operators(self):
        class Point:
            def __init__(self, x):
                self.x = x

            @property
            def twice(self):
                return 2 * self.x

            def __add__(self, other):
                return Point(self.x + other.x)

            def __getattr__(self, name):
                return name

        counts = [mark(f) for f in (Point.__init__, Point.twice.fget, Point.__add__, Point.__getattr__)]
        value = layers.within(lambda: ((Point(1) + Point(2)).twice, Point(0).missing))
        self.assertEqual(value, (6, "missing"))
        self.assertEqual([c.calls for c in counts], [4, 1, 1, 1])

    def test_frames_that_c_functions_begin(self):
        def key(x):
            return -x

        self.assert_same(lambda: sorted([1, 3, 2], key=key), marked=key, calls=3)
        self.assert_same(lambda: list(map(key, range(4))), marked=key, calls=4)

    def test_the_evaluator_sees_what_the_frame_holds(self):
        captured = object()

        def f(a, b=2, *rest, c, **others):
            unbound = captured
            return unbound

        layers.mark(f.__code__, lambda slots: seen.append(slots) or f.__code__)
        seen = []
        self.assertIs(layers.within(lambda: f(1, c=3, d=4)), captured)
        (slots,) = seen
        self.assertIs(slots.pop("captured").cell_contents, captured)
        self.assertEqual(slots, {"a": 1, "b": 2, "rest": (), "c": 3, "others": {"d": 4}})


class GeneratorsTest(HookTest):
    def test_generators_run_as_they_are_and_their_callees_do_not(self):
        def twice(x):
            return 2 * x

        def generator(n):
            for i in range(n):
                received = yield twice(i)
                if received:
                    yield received

        def use():
            g = generator(3)
            values = [next(g), g.send("sent"), next(g), next(g)]
            g.close()
            return values

        mark(generator)
        self.assert_same(use, marked=twice, calls=3)
        reasons = {reason for name, reason in layers.seen()[2] if name.endswith("generator")}
        self.assertEqual(reasons, {"a generator's or coroutine's frame"})

    def test_throw_and_yield_from(self):
        def inner():
            try:
                yield 1
            except KeyError as error:
                yield repr(error)

        def outer():
            result = yield from inner()
            return result

        def use():
            g = outer()
            return next(g), g.throw(KeyError("k")), list(g)

        mark(inner), mark(outer)
        self.assertEqual(layers.within(use), use())

    def test_coroutines_and_asynchronous_generators(self):
        def square(x):
            return x * x

        async def numbers(n):
            for i in range(n):
                await asyncio.sleep(0)
                yield square(i)

        async def main():
            return [x async for x in numbers(4)]

        for function in (numbers, main):
            mark(function)
        self.assert_same(lambda: asyncio.run(main()), marked=square, calls=4)
        layers.seen()

    def test_a_generator_outlives_the_scope(self):
        def generator():
            yield from range(3)

        g = layers.within(generator)
        self.assertEqual(layers.within(next, g), 0)
        self.assertEqual(list(g), [1, 2])


class ExceptionsTest(HookTest):
    def test_tracebacks_name_the_same_lines(self):
        def thrower(x):
            y = x + 1
            if y:
                raise ValueError(y)

        def catcher(x):
            try:
                return thrower(x)
            except ValueError as error:
                return lines_of(error)

        expected = catcher(1)
        counts = mark(thrower), mark(catcher)
        self.assertEqual(layers.within(catcher, 1), expected)
        self.assertEqual([c.calls for c in counts], [1, 1])

    def test_an_exception_leaves_the_scope(self):
        def thrower():
            raise KeyError("k")

        count = mark(thrower)
        try:
            layers.within(thrower)
        except KeyError as error:
            lines = lines_of(error)
        self.assertEqual(lines[-1], ("thrower", thrower.__code__.co_firstlineno + 1))
        self.assertEqual(count.calls, 1)

    def test_finally_with_and_reraise(self):
        def f(log):
            class Manager:
                def __enter__(self):
                    log.append("enter")

                def __exit__(self, *error):
                    log.append(error[0])

            try:
                with Manager():
                    try:
                        [][0]
                    finally:
                        log.append("finally")
            except IndexError as error:
                log.append(str(error))
                try:
                    raise RuntimeError from error
                except RuntimeError as second:
                    log.append(repr(second.__cause__))
            return log

        count = mark(f)
        self.assertEqual(layers.within(f, []), f([]))
        self.assertEqual(count.calls, 1)

    def test_a_frame_that_is_kept_keeps_its_locals(self):
        def f(x):
            local = [x]
            return sys._getframe()

        count = mark(f)
        frame = layers.within(f, 7)
        self.assertEqual(count.calls, 1)
        self.assertEqual((frame.f_locals["x"], frame.f_locals["local"]), (7, [7]))
        self.assertEqual(frame.f_lineno, f.__code__.co_firstlineno + 2)

    def test_an_evaluator_that_fails_leaves_the_frame_as_it_is(self):
        def f(x):
            return x + 1

        layers.mark(f.__code__, lambda slots: 1 / 0)
        self.assertEqual(layers.within(f, 1), 2)
        self.assertEqual([name.split(".")[-1] for name, _ in layers.seen()[2]], ["f"])

    def test_ctrl_c_during_evaluation_is_the_programs(self):
        def f(x):
            for _ in range(10**6):
                x += 1
            return x

        def interrupted(slots):
            raise KeyboardInterrupt

        layers.mark(f.__code__, interrupted)
        with self.assertRaises(KeyboardInterrupt):
            layers.within(f, 1)
        layers.seen()

    def test_code_that_does_not_fit_is_not_run(self):
        captured = 1

        def f(x):
            return x

        def two(x, y):
            return y

        def closure(x):
            return captured

        def generator(x):
            yield x

        for other, why in (
            (two, "the other code's arguments differ"),
            (closure, "the other code's free variables differ"),
            (generator, "the other code is a generator's"),
        ):
            layers.mark(f.__code__, other.__code__)
            self.assertEqual(layers.within(f, 1), 1)
            self.assertEqual([reason for _, reason in layers.seen()[2]], [why])


class WatchersTest(HookTest):
    """Where somebody watches, the program runs as it is."""

    @staticmethod
    def watched(x):
        y = x + 1
        return y

    def run_watched(self):
        count = mark(self.watched)
        self.assertEqual(layers.within(self.watched, 1), 2)
        self.assertEqual(count.calls, 0)
        return {reason for name, reason in layers.seen()[2] if "watched" in name}

    def test_settrace(self):
        events = []

        def tracer(frame, event, arg):
            if frame.f_code is self.watched.__code__:
                events.append((event, frame.f_lineno - frame.f_code.co_firstlineno))
            return tracer

        sys.settrace(tracer)
        self.addCleanup(sys.settrace, None)
        reasons = self.run_watched()
        sys.settrace(None)
        self.assertEqual(reasons, {"sys.settrace or sys.setprofile is active"})
        self.assertEqual(events, [("call", 0), ("line", 2), ("line", 3), ("return", 3)])

    def test_setprofile(self):
        events = []
        sys.setprofile(lambda frame, event, arg: events.append((event, frame.f_code)))
        self.addCleanup(sys.setprofile, None)
        reasons = self.run_watched()
        sys.setprofile(None)
        self.assertEqual(reasons, {"sys.settrace or sys.setprofile is active"})
        own = [event for event, code in events if code is self.watched.__code__]
        self.assertEqual(own, ["call", "return"])

    def test_a_tracer_of_another_thread(self):
        def traced():
            sys.settrace(lambda *_: None)
            begin.set()
            end.wait()

        begin, end = threading.Event(), threading.Event()
        thread = threading.Thread(target=traced)
        thread.start()
        begin.wait()
        count = mark(self.watched)
        self.assertEqual(layers.within(self.watched, 1), 2)
        end.set()
        thread.join()
        self.assertEqual(count.calls, 1)

    @unittest.skipUnless(hasattr(sys, "monitoring"), "sys.monitoring came with CPython 3.12")
    def test_monitoring_of_all_code(self):
        tool, events = sys.monitoring.DEBUGGER_ID, sys.monitoring.events
        started = []
        sys.monitoring.use_tool_id(tool, "test")
        self.addCleanup(sys.monitoring.free_tool_id, tool)
        sys.monitoring.register_callback(tool, events.PY_START, lambda code, _: started.append(code))
        sys.monitoring.set_events(tool, events.PY_START)
        reasons = self.run_watched()
        sys.monitoring.set_events(tool, 0)
        self.assertEqual(reasons, {"a tool of sys.monitoring is active"})
        self.assertIn(self.watched.__code__, started)

    @unittest.skipUnless(hasattr(sys, "monitoring"), "sys.monitoring came with CPython 3.12")
    def test_monitoring_of_one_code_object(self):
        def other(x):
            return x + 1

        tool, events = sys.monitoring.COVERAGE_ID, sys.monitoring.events
        lines = []
        sys.monitoring.use_tool_id(tool, "test")
        self.addCleanup(sys.monitoring.free_tool_id, tool)
        sys.monitoring.register_callback(tool, events.LINE, lambda code, line: lines.append(line))
        sys.monitoring.set_local_events(tool, self.watched.__code__, events.LINE)
        self.addCleanup(sys.monitoring.set_local_events, tool, self.watched.__code__, 0)
        count = mark(other)
        self.assertEqual(layers.within(other, 1), 2)
        self.assertEqual(count.calls, 1)
        reasons = self.run_watched()
        self.assertEqual(reasons, {"a tool of sys.monitoring is active"})
        self.assertEqual(len(lines), 2)


class ScopesTest(HookTest):
    def test_the_hook_is_there_within_and_not_outside(self):
        self.assertFalse(layers.is_installed())
        self.assertTrue(layers.within(layers.is_installed))
        self.assertFalse(layers.is_installed())

    def test_scopes_nest(self):
        def f():
            return 1

        count = mark(f)
        self.assertEqual(layers.within(layers.within, f), 1)
        self.assertEqual(layers.within(layers.outside, f), 1)
        self.assertEqual(layers.within(layers.outside, layers.within, f), 1)
        self.assertEqual(count.calls, 2)

    def test_threads_have_scopes_of_their_own(self):
        def f(x):
            return x + 1

        def work(inside):
            call = layers.within if inside else lambda function, x: function(x)
            barrier.wait()
            results.append(all(call(f, i) == i + 1 for i in range(2000)))

        results, barrier = [], threading.Barrier(6)
        count = mark(f)
        switch = sys.getswitchinterval()
        sys.setswitchinterval(1e-5)
        threads = [threading.Thread(target=work, args=(i % 2 == 0,)) for i in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        sys.setswitchinterval(switch)
        self.assertEqual(results, [True] * 6)
        self.assertEqual(count.calls, 3 * 2000)

    def test_a_subinterpreter_is_refused(self):
        for name in ("_interpreters", "_xxsubinterpreters"):
            try:
                interpreters = __import__(name)
                break
            except ImportError:
                continue
        else:
            self.skipTest("this CPython has no module for subinterpreters")
        script = f"""if True:
            import sys
            sys.path[:] = {sys.path!r}
            try:
                import torchdyn_layers as layers
                layers.within(print)
            except (RuntimeError, ImportError) as error:
                refused = str(error)
            assert 'subinterpreter' in refused, refused
            """
        own = interpreters.create()
        failure = interpreters.run_string(own, script)
        interpreters.destroy(own)
        self.assertIsNone(failure)


class OtherHooksTest(HookTest):
    """`other` is a hook of somebody else's, which counts frames and passes them on."""

    def setUp(self):
        super().setUp()
        layers.other_frames()

        def counted(n):
            return 1 if n == 0 else counted(n - 1)

        self.f, self.count = counted, mark(counted)

    def check(self, others):
        self.assertEqual(layers.within(self.f, 9), 1)
        self.assertEqual((self.count.calls, layers.other_frames()), (10, others))

    def test_it_was_there_before(self):
        layers.install_other()
        self.check(others=10)
        self.assertTrue(layers.is_other_on_top())
        layers.remove_other()

    def test_it_comes_and_goes_within(self):
        def within():
            layers.install_other()
            value = self.f(9)
            layers.remove_other()
            return value

        self.assertEqual(layers.within(within), 1)
        self.assertEqual((self.count.calls, layers.other_frames()), (10, 10))

    def test_it_comes_within_and_stays(self):
        layers.within(layers.install_other)
        self.assertTrue(layers.is_other_on_top())
        self.f(9)
        self.assertEqual(layers.other_frames(), 10)
        layers.remove_other()  # puts us back, who are done
        self.assertTrue(layers.is_installed())
        self.f(0)
        self.assertFalse(layers.is_installed())

    def test_it_comes_within_and_stays_for_the_next_scope(self):
        layers.within(layers.install_other)
        self.check(others=10)  # above us and below us; frames go to each once
        self.assertTrue(layers.is_other_on_top())
        layers.remove_other()
        self.f(0)

    def test_it_goes_while_we_are_above(self):
        layers.install_other()

        def within():
            layers.remove_other()
            return self.f(9)

        self.assertEqual(layers.within(within), 1)  # without us, since it put back what it found
        self.assertEqual((self.count.calls, layers.other_frames()), (0, 0))
        self.check(others=0)


class CostTest(HookTest):
    CALLS = 100_000

    def test_nothing_is_kept_over_many_calls(self):
        def f(a, b=2, *rest, c=None, **others):
            def inner():
                return a

            return inner() + b

        def many(n):
            for _ in range(n):
                f(1, 2, 3, c=4, d=5)

        count = mark(f)
        values = f.__code__, f, count

        def state():
            gc.collect()
            return [sys.getrefcount(v) for v in values], sys.getallocatedblocks()

        layers.within(many, 100)
        counts, blocks = state()
        layers.within(many, self.CALLS)
        after, blocks_after = state()
        self.assertEqual(count.calls, self.CALLS + 100)
        self.assertEqual(after, counts)
        self.assertLess(abs(blocks_after - blocks), 100)

    def test_errors_keep_nothing(self):
        def f(x):
            raise ValueError(x)

        def many(n):
            for _ in range(n):
                try:
                    f(object())
                except ValueError:
                    pass

        mark(f)
        layers.within(many, 100)
        gc.collect()
        blocks = sys.getallocatedblocks()
        layers.within(many, 20_000)
        gc.collect()
        self.assertLess(abs(sys.getallocatedblocks() - blocks), 100)

    def test_a_call_outside_costs_what_it_did(self):
        def empty():
            pass

        def best():
            times = []
            for _ in range(15):
                begin = time.perf_counter_ns()
                for _ in range(self.CALLS // 5):
                    empty()
                times.append(time.perf_counter_ns() - begin)
            return min(times) / (self.CALLS // 5)

        before = best()
        within = layers.within(best)
        after = best()
        print(f"a call: {before:.0f} ns, within a scope {within:.0f} ns, afterwards {after:.0f} ns")
        self.assertLess(after, 1.3 * before)


class RecordsTest(unittest.TestCase):
    def test_a_record_is_freed_with_its_code(self):
        before = layers.count_marks()
        namespace = {}
        exec("def f(): pass", namespace)
        mark(namespace["f"])
        self.assertEqual(layers.count_marks(), before + 1)
        mark(namespace["f"])  # in place of the one before
        self.assertEqual(layers.count_marks(), before + 1)
        namespace.clear()
        gc.collect()
        self.assertEqual(layers.count_marks(), before)


if __name__ == "__main__":
    unittest.main()
