"""Our own capture of frames: blocks that set modes of torch."""
import contextlib
import unittest

import torch
import torch.nn.functional as F

from captured import CaptureTest, captured, reasons


@torch.autocast("cpu", dtype=torch.bfloat16)
def decorated(x):
    return x @ x


@contextlib.contextmanager
def quietly(is_on):
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=is_on):
        yield


class AutocastTest(CaptureTest):
    def assert_state(self):
        self.assertFalse(torch.is_autocast_enabled("cpu"))
        self.assertTrue(torch.is_autocast_cache_enabled())

    def test_blocks_are_in_the_graph(self):
        def f(x, w):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                y = F.linear(x, w).relu()
                kind, on = y.dtype, torch.is_autocast_enabled("cpu")
                with torch.autocast(device_type="cpu", enabled=False):
                    z = y.float() @ x
                z = z + F.softmax(y, -1)
            return y, z, kind, on, (x @ w).dtype, torch.is_autocast_enabled("cpu")

        backend = self.assert_same(f, torch.randn(4, 4), torch.randn(4, 4))
        self.assertEqual(backend.targets()[0], "_enter_autocast")
        self.assert_state()

    def test_decorators_and_managers_of_generators(self):
        def f(x):
            with quietly(True):
                y = decorated(x) + x @ x
            with quietly(False):
                return y, x @ x, decorated(x).dtype

        self.assert_same(f, torch.randn(4, 4))
        self.assert_state()

    def test_gradients(self):
        def f(x, w):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                y = F.gelu(x @ w)
            return y.float().sum()

        self.assert_gradients(f)

    def test_frames_within_a_block(self):
        def f(x, w):
            return F.linear(x, w), (x @ w).dtype

        compiled, backend = captured(f)
        x, w = torch.randn(4, 4), torch.randn(4, 4)
        for is_on in (True, True, False, False):
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=is_on):
                self.assert_equal_values(compiled(x, w), f(x, w))
        self.assertEqual(len(backend.graphs), 2)
        self.assertEqual(set(reasons(compiled, "f")), {""})

    def test_a_break_within_a_block(self):
        def f(x):
            y = x * 2
            with torch.autocast("cpu", dtype=torch.bfloat16):
                y = y @ x
                print(end="")
                y = y @ x
            return y, (x @ x).dtype

        self.assert_same(f, torch.randn(4, 4), graphs=2)
        self.assert_state()

    def test_an_exception_out_of_a_block(self):
        def f(x):
            try:
                with torch.autocast("cpu", dtype=torch.bfloat16):
                    y = x @ x
                    raise KeyError
            except KeyError:
                return y, x @ x

        self.assert_same(f, torch.randn(4, 4))
        self.assert_state()

    def test_in_place_and_several_results(self):
        def f(x):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                y = x @ x
                z = y.add_(1)
                values, indices = y.max(-1)
                return z is y, z.mul(2), values, indices, y.chunk(2)[0].dtype

        self.assert_same(f, torch.randn(4, 4))


class OtherModesTest(CaptureTest):
    def test_grad_modes(self):
        def f(x, w):
            with torch.no_grad():
                y = x * w
                with torch.enable_grad():
                    z = x @ w
                with torch.set_grad_enabled(False):
                    y = y + 1
            return y.sum() + z.sum(), torch.is_grad_enabled()

        x, w = torch.randn(3, 3, requires_grad=True), torch.randn(3, 3, requires_grad=True)
        self.assert_same(f, x, w)

    def test_what_profilers_see_is_no_break(self):
        def f(x):
            with torch.autograd.profiler.record_function("part"), torch.profiler.record_function("other"):
                return x * 2

        self.assert_whole(f, torch.ones(2))


if __name__ == "__main__":
    unittest.main()
