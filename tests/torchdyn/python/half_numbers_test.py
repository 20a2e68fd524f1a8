"""Numbers among operands of half types: eager's CPU kernels round some of them first, and so do ours."""
import unittest

import torch
import torchdyn

F = torch.nn.functional
NUMBER = 0.3  # rounded: 0.30078125 in bfloat16

OPERATORS = {
    "add": lambda x: x + NUMBER,
    "sub": lambda x: x - NUMBER,
    "rsub": lambda x: NUMBER - x,
    "mul": lambda x: x * NUMBER,
    "div": lambda x: x / NUMBER,
    "floor_divide": lambda x: x // NUMBER,
    "fmod": lambda x: torch.fmod(x, NUMBER),
    "remainder": lambda x: torch.remainder(x, NUMBER),
    "pow": lambda x: x.abs() ** NUMBER,
    "pow of a number": lambda x: NUMBER ** x,
    "eq": lambda x: x == NUMBER,
    "gt": lambda x: x > NUMBER,
    "le": lambda x: x <= NUMBER,
    "hardshrink": lambda x: F.hardshrink(x, NUMBER),
    "softshrink": lambda x: F.softshrink(x, NUMBER),
    "threshold": lambda x: F.threshold(x, NUMBER, 7.0),
    "leaky_relu": lambda x: F.leaky_relu(x, NUMBER),
}


class HalfNumbers(unittest.TestCase):
    def test_results_are_eagers_bit_by_bit(self):
        torch.manual_seed(0)
        for dtype in (torch.bfloat16, torch.float16):
            x = torch.randn(4101).to(dtype)
            x[::64] = torch.tensor(NUMBER).to(dtype)
            compiled = torchdyn.compile_calls([(f, (x,)) for f in OPERATORS.values()])
            for (name, f), call in zip(OPERATORS.items(), compiled):
                with self.subTest(name, dtype=dtype):
                    self.assertEqual(call.eager_reason, "")
                    self.assertEqual([graph["extern_calls"] for graph in call.graphs], [[]])
                    self.assertTrue(torch.equal(call(x), f(x)))

    def test_a_margin_keeps_the_gradient_of_a_hinge_at_its_edge(self):
        edge = torch.tensor(0.3).bfloat16()
        def gradient(f):
            a = edge.repeat(4).requires_grad_()
            f(a, torch.zeros(4).bfloat16(), torch.ones(4).bfloat16()).backward()
            return a.grad
        def f(a, b, t):
            return F.margin_ranking_loss(a, b, t, margin=0.3).float()
        self.assertTrue(gradient(f).any())
        self.assertTrue(torch.equal(gradient(torch.compile(f, backend="torchdyn")), gradient(f)))


if __name__ == "__main__":
    unittest.main()
