"""Calls of torch.cuda.jiterator's functions stay calls in a graph, with eager's results and errors."""
import unittest
from unittest import mock

import torch

import torchdyn

AXPY = "template <typename T> T axpy(T x, T y, T a) { return a * x + y; }"
BOTH = "template <typename T> void both(T x, T& y, T& z) { y = x + 1; z = x - 1; }"


def made(make, *args, **kwargs):
    """The function may be made without a GPU, to be traced."""
    with mock.patch("torch.cuda.is_available", return_value=True):
        return make(*args, **kwargs)


axpy = made(torch.cuda.jiterator._create_jit_fn, AXPY, a=1.5)
both = made(torch.cuda.jiterator._create_multi_output_jit_fn, BOTH, 2)


def scaled(x, y):
    return axpy(x, y, a=2.0) * 2


def second(x):
    return both(x)[1] + 1


class Jiterator(unittest.TestCase):
    def compiled(self, function, *args):
        call, = torchdyn.compile_calls([(function, args)])
        self.assertEqual(call.eager_reason, "")
        self.assertIn("torchdyn::jiterator(", call.graphs[0]["text"])
        return call

    def test_promotes_and_broadcasts_as_eager_does(self):
        x, y = torch.ones(3, 4, dtype=torch.int32).t(), torch.ones(3)
        self.assertIn("f32[4, 3]{1, 4} = torchdyn::jiterator(",
                      self.compiled(scaled, x, y).graphs[0]["text"])

    def test_on_the_cpu_raises_eagers_error(self):
        x = torch.ones(3)
        call = self.compiled(scaled, x, x)
        with self.assertRaises(RuntimeError) as eager:
            scaled(x, x)
        with self.assertRaises(RuntimeError) as ours:
            call(x, x)
        self.assertEqual(str(ours.exception).splitlines()[0],
                         str(eager.exception).splitlines()[0])

    @unittest.skipUnless(torch.cuda.is_available(), "needs a GPU")
    def test_gives_eagers_results(self):
        x, y = torch.randn(3, 4, device="cuda").t(), torch.randn(3, device="cuda")
        for function, args in ((scaled, (x, y)), (second, (x,))):
            got, want = self.compiled(function, *args)(*args), function(*args)
            self.assertTrue(torch.equal(got, want))
            self.assertEqual(got.stride(), want.stride())


if __name__ == "__main__":
    unittest.main()
